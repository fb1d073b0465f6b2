// Conversion of registry entries to catalog entries.
// Invariant RGP1 is in src/cli/registry/install-plan.ts.

import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readEntry } from '../../../../actors/mcp/registry/entry.ts';
import { checkCatalog } from '../../../../config/catalog/check-catalog.ts';
import { SourceFile } from '../../../../config/reader/source-file.ts';
import { type Plan, plansFor } from '../../../../src/cli/registry/install-plan.ts';
import { anyMachine } from '../../../../src/cli/registry/package-command.ts';
import {
  type Answers,
  answerError,
  type EntryQuestion,
  unansweredQuestions,
} from '../../../../src/cli/registry/questions.ts';
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
  if (entry === undefined) throw new Error('expected an entry');
  return plansFor(entry, machine);
};
const planOf = (published: Published, at = 0) => plansOf(published).plans[at] as Plan;

/** Secrets are written as `<NAME=value>`. */
const entryOf = (plan: Plan, answers: Answers) => plan.entry(answers, (name, value) => `<${name}=${value}>`);
const asksFor = (plan: Plan) => unansweredQuestions(plan.questions, {}).map(({ name }) => name);
const withArgument = (argument: object, runtime = false): Published => ({
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

describe('a package of a registry entry', () => {
  test('of npm runs by npx in its version, with arguments, variables and their defaults', () => {
    const plan = planOf(everything);
    expect([plan.kind, plan.program, asksFor(plan)]).toEqual(['npm', 'npx', ['EVERYTHING_API_KEY']]);
    expect(entryOf(plan, { EVERYTHING_API_KEY: ['4711'] })).toEqual({
      command: 'npx',
      args: ['-y', `@modelcontextprotocol/server-everything@${everythingVersion}`, 'stdio'],
      env: { EVERYTHING_API_KEY: '<EVERYTHING_API_KEY=4711>', EVERYTHING_MODE: 'calm', LOG_LEVEL: 'info' },
    });
  });

  test('of PyPI runs by uvx', () => {
    expect(entryOf(planOf(weather), { WEATHER_API_KEY: ['k'] })).toMatchObject({
      command: 'uvx',
      args: ['weather-mcp-server==0.5.0'],
      env: { WEATHER_UNITS: 'celsius' },
    });
  });

  test('may have repeated arguments, options with values and flags, and gets absolute paths', () => {
    const plan = planOf(files);
    const answers = { target_dir: ['/srv/a', 'b'], depth: ['3'], watch: ['true'] };
    expect(entryOf(plan, answers)).toEqual({
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
    expect(entryOf(plan, { target_dir: ['/srv'], watch: ['false'] }).args).toEqual([
      '-y',
      '--silent',
      '@example/server-filesystem@1.0.2',
      '/srv',
    ]);
  });

  test('that is an image runs by docker, which passes variables by name', () => {
    const plan = planOf(files, 1);
    expect([plan.program, asksFor(plan)]).toEqual(['docker', ['source_path']]);
    expect(entryOf(plan, { source_path: ['/srv'] })).toEqual({
      command: 'docker',
      args: [
        ...['run', '-i', '--rm', '--mount=type=bind,src=/srv,dst=/project', '-e', 'LOG_LEVEL'],
        ...['example/filesystem:1.0.2', '/project'],
      ],
      env: { LOG_LEVEL: 'info' },
    });
  });

  test("that is an image runs by podman if only that exists, with the engine's address", () => {
    const machine = {
      hasProgram: (name: string) => name === 'podman',
      hasVariable: (name: string) => name === 'XDG_RUNTIME_DIR',
    };
    const [, plan] = plansOf(files, machine).plans;
    expect(entryOf(plan as Plan, { source_path: ['/srv'] })).toMatchObject({
      command: 'podman',
      args: expect.arrayContaining(['docker.io/example/filesystem:1.0.2']),
      inherit_env: ['XDG_RUNTIME_DIR'],
    });
  });

  test('has separate options for its runner and its program, with variables and secrets', () => {
    const plan = planOf(database);
    expect(asksFor(plan)).toEqual(['db_type', 'database_name', 'DB_USERNAME', 'DB_PASSWORD']);
    const answers = { db_type: ['mysql'], database_name: ['shop'], DB_USERNAME: ['ada'], DB_PASSWORD: ['p'] };
    expect(entryOf(plan, answers)).toEqual({
      command: 'docker',
      args: [
        ...['run', '-i', '--rm', '--network=host', '-e', 'DB_TYPE=mysql'],
        ...['-e', 'DB_USERNAME', '-e', 'DB_PASSWORD', '-e', 'SSL_MODE'],
        ...['docker.io/example/database-manager:3.1.0', '--host=localhost', 'shop'],
      ],
      env: { DB_USERNAME: 'ada', DB_PASSWORD: '<DB_PASSWORD=p>', SSL_MODE: 'prefer' },
    });
  });

  test('of an unsupported kind, or with its own listener, is refused with the reason', () => {
    const { plans, unusable: others } = plansOf(bundled);
    expect(plans).toEqual([]);
    expect(others).toEqual([
      expect.stringMatching(
        /^mcpb package .*SHA-256 \(a{64}\).*manifest\.json: actor-gateway servers add NAME -- COMMAND$/,
      ),
      expect.stringMatching(/streamable-http.*start it yourself.*actor-gateway servers add NAME URL$/),
    ]);
    expect(plansOf(otherKinds).unusable).toEqual([
      expect.stringMatching(
        /actor-gateway servers add NAME -- dnx Example\.SampleServer@0\.4\.0-beta --yes$/,
      ),
      expect.stringMatching(/^cargo package .*install it by its documentation/),
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
    'with a name or version that could be a program option is refused: %s %s %s',
    (registryType, identifier, version) => {
      const server = { name: 'a/b', description: 'x', version: '1' };
      const packages = [{ registryType, identifier, version, transport: { type: 'stdio' } }];
      expect(plansOf({ server: { ...server, packages } }).plans).toEqual([]);
    },
  );
});

describe('a remote address of a registry entry', () => {
  test('has its variables and headers filled in, prefers the newer transport, and omits headers without a value', () => {
    const { plans } = plansOf(hosted);
    expect(plans.map(({ title }) => title)).toEqual([
      'streamable-http at https://{tenant}.example.com/mcp',
      'sse at https://old.example.com/sse',
    ]);
    expect(asksFor(plans[0] as Plan)).toEqual(['tenant', 'token']);
    expect(entryOf(plans[0] as Plan, { tenant: ['acme'], token: ['4711'] })).toEqual({
      url: 'https://acme.example.com/mcp',
      headers: { Authorization: 'Bearer <token=4711>', 'X-Region': 'eu' },
    });
    expect(entryOf(plans[1] as Plan, {})).toEqual({ url: 'https://old.example.com/sse', runtime: 'sse' });
    const own = planOf(onItsOwnHost);
    expect(asksFor(own)).toEqual(['baseUrl']);
    expect(entryOf(own, { baseUrl: ['https://mcp.acme.test'] })).toEqual({
      url: 'https://mcp.acme.test/mcp',
    });
  });
});

describe('text from a registry', () => {
  test("cannot refer to the operator's variables, while an answer of the user can (RGP1)", () => {
    const stolen = `\${OPERATORS_TOKEN}`;
    const fixed = planOf(withArgument({ type: 'positional', value: `x${stolen}` }));
    expect(entryOf(fixed, {}).args).toEqual(['-y', 'x', `x$${stolen}`]);
    const plan = planOf(withArgument({ type: 'named', name: '--say', default: stolen, isRequired: true }));
    expect(entryOf(plan, {}).args).toEqual(['-y', 'x', `--say=$${stolen}`]);
    expect(entryOf(plan, { say: [stolen] }).args).toEqual(['-y', 'x', `--say=${stolen}`]);
    expect(entryOf(plan, { say: [`a ${stolen}`] }).args).toEqual(['-y', 'x', `--say=a $${stolen}`]);
    const halves = {
      type: 'positional',
      value: `\${it}`,
      variables: { it: { default: '{OPERATORS_TOKEN}' } },
    };
    expect(entryOf(planOf(withArgument(halves)), {}).args).toEqual(['-y', 'x', `$${stolen}`]);
    const planWithValues = planOf(
      withArgument({
        type: 'positional',
        value: `{a}{b}`,
        variables: { a: { isRequired: true }, b: { value: stolen } },
      }),
    );
    expect(entryOf(planWithValues, { a: ['{b}'] }).args).toEqual(['-y', 'x', `{b}$${stolen}`]);
  });

  test('is skipped without an error if it is malformed', () => {
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

test('user answers for a registry entry are checked against format and choices; errors never repeat an answer', () => {
  const question = (more: object) =>
    ({
      name: 'x',
      isRepeated: false,
      isRequired: true,
      isSecret: false,
      choices: [],
      variables: {},
      ...more,
    }) as EntryQuestion;
  expect(answerError(question({ format: 'number' }), '4,5')).toBe('it is a number');
  expect(answerError(question({ format: 'boolean' }), 'yes')).toBe('it is true or false');
  expect(answerError(question({ choices: ['a', 'b'] }), 'c')).toBe('it is one of a, b');
  expect(answerError(question({}), '')).toBe('it needs a value');
  expect(answerError(question({ format: 'number' }), `\${DEPTH}`)).toBeUndefined();
});

test('the generated entries of all registry entries are a valid catalog', () => {
  for (const published of allEntries)
    for (const plan of plansOf(published).plans) {
      const answers = Object.fromEntries(
        unansweredQuestions(plan.questions, {}).map(({ name }) => [
          name,
          [name === 'baseUrl' ? 'https://a.test' : 'acme'],
        ]),
      );
      const catalog = { servers: { it: plan.entry(answers, (name) => `\${${name.toUpperCase()}}`) } };
      const { problems } = checkCatalog(new SourceFile('/c.yaml', JSON.stringify(catalog)), {});
      expect(problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    }
});
