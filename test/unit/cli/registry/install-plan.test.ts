// From entries of a registry to entries of the catalog.

import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEntry } from '../../../../actors/mcp/registry/registry-entry.ts';
import { checkCatalog } from '../../../../config/catalog/check-catalog.ts';
import { SourceFile } from '../../../../config/reader/source-file.ts';
import { type Plan, plansFor } from '../../../../src/cli/registry/install-plan.ts';
import { anyMachine } from '../../../../src/cli/registry/package-command.ts';
import { type Answers, faultOf, missingOf, type Question } from '../../../../src/cli/registry/questions.ts';
import {
  allEntries,
  bundled,
  database,
  everything,
  everythingVersion,
  files,
  hosted,
  onItsOwnHost,
  otherKinds,
  type Published,
  weather,
} from '../../../fixtures/registry/entries.ts';

const plansOf = ({ server }: Published, machine = anyMachine) => {
  const entry = readEntry({ server });
  if (entry === undefined) throw new Error('no entry');
  return plansFor(entry, machine);
};
const planOf = (published: Published, at = 0) => plansOf(published).plans[at] as Plan;

/** Secrets stand as `<NAME=value>`. */
const written = (plan: Plan, answers: Answers) => plan.entry(answers, (name, value) => `<${name}=${value}>`);
const asksFor = (plan: Plan) => missingOf(plan.questions, {}).map(({ name }) => name);
const oneArgument = (argument: object, runtime = false): Published => ({
  server: {
    name: 'a/b',
    description: 'x',
    version: '1',
    packages: [
      {
        registryType: 'npm',
        identifier: 'x',
        transport: { type: 'stdio' },
        [runtime ? 'runtimeArguments' : 'packageArguments']: [argument],
      },
    ],
  },
});

describe('a package', () => {
  test('of npm is run by npx in its version, with its arguments and variables; defaults are taken where nothing is said', () => {
    const plan = planOf(everything);
    expect([plan.kind, plan.program, asksFor(plan)]).toEqual(['npm', 'npx', ['EVERYTHING_API_KEY']]);
    expect(written(plan, { EVERYTHING_API_KEY: ['4711'] })).toEqual({
      command: 'npx',
      args: ['-y', `@modelcontextprotocol/server-everything@${everythingVersion}`, 'stdio'],
      env: { EVERYTHING_API_KEY: '<EVERYTHING_API_KEY=4711>', EVERYTHING_MODE: 'calm', LOG_LEVEL: 'info' },
    });
  });

  test('of PyPI is run by uvx', () => {
    expect(written(planOf(weather), { WEATHER_API_KEY: ['k'] })).toMatchObject({
      command: 'uvx',
      args: ['weather-mcp-server==0.5.0'],
      env: { WEATHER_UNITS: 'celsius' },
    });
  });

  test('takes repeated arguments, options with their values, and options that are on or off; paths are whole ones', () => {
    const plan = planOf(files);
    const answers = { target_dir: ['/srv/a', 'b'], depth: ['3'], watch: ['true'] };
    expect(written(plan, answers)).toEqual({
      command: 'npx',
      args: [
        '-y',
        '--silent',
        '@example/server-filesystem@1.0.2',
        '/srv/a',
        resolve('b'),
        '--depth=3',
        '--watch',
      ],
    });
    expect(written(plan, { target_dir: ['/srv'], watch: ['false'] }).args).toEqual([
      '-y',
      '--silent',
      '@example/server-filesystem@1.0.2',
      '/srv',
    ]);
  });

  test('that is an image is run by docker, which passes the variables on by their names', () => {
    const plan = planOf(files, 1);
    expect([plan.program, asksFor(plan)]).toEqual(['docker', ['source_path']]);
    expect(written(plan, { source_path: ['/srv'] })).toEqual({
      command: 'docker',
      args: [
        ...['run', '-i', '--rm', '--mount=type=bind,src=/srv,dst=/project', '-e', 'LOG_LEVEL'],
        ...['example/filesystem:1.0.2', '/project'],
      ],
      env: { LOG_LEVEL: 'info' },
    });
  });

  test('that is an image is run by podman where that alone is there, and is told where its engine is', () => {
    const machine = {
      hasProgram: (name: string) => name === 'podman',
      hasVariable: (name: string) => name === 'XDG_RUNTIME_DIR',
    };
    const [, plan] = plansOf(files, machine).plans;
    expect(written(plan as Plan, { source_path: ['/srv'] })).toMatchObject({
      command: 'podman',
      args: expect.arrayContaining(['docker.io/example/filesystem:1.0.2']),
      inherit_env: ['XDG_RUNTIME_DIR'],
    });
  });

  test('has options of its runner and its own apart, with variables, choices and secrets', () => {
    const plan = planOf(database);
    expect(asksFor(plan)).toEqual(['db_type', 'database_name', 'DB_USERNAME', 'DB_PASSWORD']);
    const answers = { db_type: ['mysql'], database_name: ['shop'], DB_USERNAME: ['ada'], DB_PASSWORD: ['p'] };
    expect(written(plan, answers)).toEqual({
      command: 'docker',
      args: [
        ...['run', '-i', '--rm', '--network=host', '-e', 'DB_TYPE=mysql'],
        ...['-e', 'DB_USERNAME', '-e', 'DB_PASSWORD', '-e', 'SSL_MODE'],
        ...['docker.io/example/database-manager:3.1.0', '--host=localhost', 'shop'],
      ],
      env: { DB_USERNAME: 'ada', DB_PASSWORD: '<DB_PASSWORD=p>', SSL_MODE: 'prefer' },
    });
  });

  test('of another kind, or that listens at an address, is not installed, and says why', () => {
    const { plans, others } = plansOf(bundled);
    expect(plans).toEqual([]);
    expect(others).toEqual([
      expect.stringMatching(
        /^mcpb package .*SHA-256 \(a{64}\).*manifest\.json: actor-gateway servers add NAME -- COMMAND$/,
      ),
      expect.stringMatching(/streamable-http.*start it yourself.*actor-gateway servers add NAME URL$/),
    ]);
    expect(plansOf(otherKinds).others).toEqual([
      expect.stringMatching(
        /actor-gateway servers add NAME -- dnx Example\.SampleServer@0\.4\.0-beta --yes$/,
      ),
      expect.stringMatching(/^cargo package .*install it as its maker says/),
    ]);
  });

  test.each([
    ['npm', '--call=evil', '1.0.0'],
    ['npm', 'good', '^1.0.0'],
    ['npm', 'good', '-x'],
    ['pypi', '-r evil.txt', '1'],
    ['oci', '--privileged', '1'],
    ['nuget', 'A;B', '1'],
    ['mcpb', 'https://example.com/$(x)', '1'],
  ])(
    'whose name or version is an option of its program is refused (RGP2): %s %s %s',
    (registryType, identifier, version) => {
      const server = { name: 'a/b', description: 'x', version: '1' };
      const packages = [{ registryType, identifier, version, transport: { type: 'stdio' } }];
      expect(plansOf({ server: { ...server, packages } }).plans).toEqual([]);
    },
  );
});

describe('an address', () => {
  test('has its variables and headers filled; the newer transport is taken, and headers without a value are left out', () => {
    const { plans } = plansOf(hosted);
    expect(plans.map(({ title }) => title)).toEqual([
      'streamable-http at https://{tenant}.example.com/mcp',
      'sse at https://old.example.com/sse',
    ]);
    expect(asksFor(plans[0] as Plan)).toEqual(['tenant', 'token']);
    expect(written(plans[0] as Plan, { tenant: ['acme'], token: ['4711'] })).toEqual({
      url: 'https://acme.example.com/mcp',
      headers: { Authorization: 'Bearer <token=4711>', 'X-Region': 'eu' },
    });
    expect(written(plans[1] as Plan, {})).toEqual({ url: 'https://old.example.com/sse', runtime: 'sse' });
    const own = planOf(onItsOwnHost);
    expect(asksFor(own)).toEqual(['baseUrl']);
    expect(written(own, { baseUrl: ['https://mcp.acme.test'] })).toEqual({
      url: 'https://mcp.acme.test/mcp',
    });
  });
});

describe('a text of a registry', () => {
  test('refers to no variable of the operator, and an answer of the user may (RGP1)', () => {
    const stolen = `\${OPERATORS_TOKEN}`;
    const fixed = planOf(oneArgument({ type: 'positional', value: `x${stolen}` }));
    expect(written(fixed, {}).args).toEqual(['-y', 'x', `x$${stolen}`]);
    const plan = planOf(oneArgument({ type: 'named', name: '--say', default: stolen, isRequired: true }));
    expect(written(plan, {}).args).toEqual(['-y', 'x', `--say=$${stolen}`]);
    expect(written(plan, { say: [stolen] }).args).toEqual(['-y', 'x', `--say=${stolen}`]);
    expect(written(plan, { say: [`a ${stolen}`] }).args).toEqual(['-y', 'x', `--say=a $${stolen}`]);
    const halves = {
      type: 'positional',
      value: `\${it}`,
      variables: { it: { default: '{OPERATORS_TOKEN}' } },
    };
    expect(written(planOf(oneArgument(halves)), {}).args).toEqual(['-y', 'x', `$${stolen}`]);
    const filled = planOf(
      oneArgument({
        type: 'positional',
        value: `{a}{b}`,
        variables: { a: { isRequired: true }, b: { value: stolen } },
      }),
    );
    expect(written(filled, { a: ['{b}'] }).args).toEqual(['-y', 'x', `{b}$${stolen}`]);
  });

  test('that is broken is left out, and never thrown at', () => {
    expect(readEntry(undefined)).toBeUndefined();
    expect(readEntry({ server: { name: 1, version: 2 } })).toBeUndefined();
    const odd = {
      name: 'a/b',
      version: '1',
      packages: [1, {}, { registryType: 'npm', identifier: 'x', packageArguments: 7 }],
    };
    expect(plansFor(readEntry({ server: odd, _meta: 3 }) as never).plans).toHaveLength(1);
  });
});

test('answers are held against format and choices, and a fault never repeats them', () => {
  const question = (more: object) =>
    ({
      name: 'x',
      isRepeated: false,
      isRequired: true,
      isSecret: false,
      choices: [],
      variables: {},
      ...more,
    }) as Question;
  expect(faultOf(question({ format: 'number' }), '4,5')).toBe('it is a number');
  expect(faultOf(question({ format: 'boolean' }), 'yes')).toBe('it is true or false');
  expect(faultOf(question({ choices: ['a', 'b'] }), 'c')).toBe('it is one of a, b');
  expect(faultOf(question({}), '')).toBe('it needs a value');
  expect(faultOf(question({ format: 'number' }), `\${DEPTH}`)).toBeUndefined();
});

test('what is written for every entry is a good catalog', () => {
  for (const published of allEntries)
    for (const plan of plansOf(published).plans) {
      const answers = Object.fromEntries(
        missingOf(plan.questions, {}).map(({ name }) => [
          name,
          [name === 'baseUrl' ? 'https://a.test' : 'acme'],
        ]),
      );
      const catalog = { servers: { it: plan.entry(answers, (name) => `\${${name.toUpperCase()}}`) } };
      const { problems } = checkCatalog(new SourceFile('/c.yaml', JSON.stringify(catalog)), {});
      expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    }
});
