// Random resource files. A valid trigger loads, and a single mistake is reported at its position. For any
// text, loading does not throw, and each reported problem is inside its file.

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Check } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { jsonSchemas } from '../../../../config/json-schema/json-schemas.ts';
import type { Problem } from '../../../../config/reader/problem.ts';
import { repoHostEventNames } from '../../../../config/resources/repository-hosts/repohost-events.ts';
import { runs } from '../../../fixtures/property-runs.ts';
import { ResourceFolder } from '../../../unit/config/resources/resource-folder.ts';

const folder = new ResourceFolder();

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const arbLabel = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
const labels = fc.dictionary(
  fc.stringMatching(/^[a-z./-]{1,8}$/),
  fc.string({ maxLength: 5 }).map(withoutReferences),
  {
    maxKeys: 2,
  },
);
const arbSecret = fc.constantFrom('secret-one-of-it', 'secret-two-of-it');
const path = fc.stringMatching(/^\/hooks(\/[a-z0-9._-]{1,5}x){0,2}$/);
const events = Object.entries(repoHostEventNames.actions).flatMap(([event, actions]) => [
  event,
  ...actions.map((action) => `${event}.${action}`),
]);
const upToThree = <T>(item: fc.Arbitrary<T>) => fc.uniqueArray(item, { maxLength: 3 });

/** Generators of `spec.config`, by type of trigger. */
const configs = {
  HTTP: fc.record(
    {
      webhook_secret: arbSecret,
      path,
      methods: fc.uniqueArray(fc.constantFrom('GET', 'POST', 'PUT'), { minLength: 1 }),
      required_headers: fc.dictionary(fc.stringMatching(/^x-[a-z]{1,4}$/), fc.constantFrom('*', 'value'), {
        maxKeys: 2,
      }),
      key: fc.constantFrom('header:x-id', 'body:alert.id'),
      respond: fc.constantFrom('sync', 'async'),
      respond_timeout_seconds: fc.integer({ min: 1, max: 100 }),
    },
    { requiredKeys: ['webhook_secret'] },
  ),
  RepoHost: fc.record(
    {
      webhook_secret: arbSecret,
      repo_events: upToThree(fc.constantFrom(...events)),
      repositories: upToThree(fc.constantFrom('acme/*', 'acme/web', '*')),
      branches: upToThree(fc.constantFrom('main', 'release/*', '**')),
      ignore_senders: upToThree(arbLabel),
      path,
    },
    { requiredKeys: ['webhook_secret'] },
  ),
  Schedule: fc.record(
    {
      cron: fc.constantFrom('* * * * *', '0 4 * * mon-fri', '0 0 0 1 1 *'),
      timezone: fc.constantFrom('UTC', 'Europe/Berlin'),
      catchup: fc.constantFrom('none', 'last', 'all'),
    },
    { requiredKeys: ['cron'] },
  ),
  Manual: fc.record(
    {
      require_confirmation: fc.boolean(),
      allowed_commands: upToThree(arbLabel),
      timeout: fc.integer({ min: 1, max: 999 }),
    },
    { requiredKeys: [] },
  ),
};

const arbCommand = fc.record(
  {
    agent: fc.constant('echo'),
    description: fc.string({ maxLength: 5 }).map(withoutReferences),
    parameters: fc.uniqueArray(
      fc.record({ name: fc.stringMatching(/^[a-z_]{1,5}$/), required: fc.boolean() }),
      { selector: ({ name }) => name, maxLength: 2 },
    ),
  },
  { requiredKeys: ['agent'] },
);

const arbTrigger: fc.Arbitrary<Json> = fc
  .constantFrom(...(Object.keys(configs) as (keyof typeof configs)[]))
  .chain((type) =>
    fc.record({
      apiVersion: fc.constantFrom('example.com/v1', 'a/v1alpha1'),
      kind: fc.constant('Trigger'),
      metadata: fc.record({ name: arbLabel, labels, annotations: labels }, { requiredKeys: ['name'] }),
      spec: fc.record(
        {
          type: fc.constant(type),
          config: configs[type] as fc.Arbitrary<Json>,
          commands: fc.dictionary(type === 'RepoHost' ? fc.constantFrom(...events) : arbLabel, arbCommand, {
            maxKeys: 3,
          }),
          default_agent: fc.constant('echo'),
          enabled: fc.boolean(),
          retry: fc.record(
            { attempts: fc.integer({ min: 1, max: 9 }), factor: fc.constant(2) },
            { requiredKeys: [] },
          ),
          timeout_seconds: fc.integer({ min: 1, max: 999 }),
        },
        { requiredKeys: ['type', 'config', 'default_agent'] },
      ),
    }),
  ) as fc.Arbitrary<Json>;

/** Removes `$`, which begins a reference to a variable. */
function withoutReferences(text: string): string {
  return text.replaceAll('$', '');
}

/** Mappings with arbitrary keys, in which a key is never unknown. */
const OPEN_MAPPINGS = ['labels', 'annotations', 'required_headers', 'commands'];
/** An unknown key, or a text where another type is required. */
const MISTAKE = 'zebra';

/** Returns all copies of the value that have one mistake: an unknown key, or a value of another type. */
function withOneMistake(value: Json, key = ''): Json[] {
  if (typeof value !== 'object' || value === null) return [{ [MISTAKE]: 1 }];
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    const inside = items.flatMap((item, index) =>
      withOneMistake(item).map((invalid) => items.with(index, invalid)),
    );
    return [{ [MISTAKE]: 1 }, ...inside];
  }
  const members = Object.entries(value as Readonly<Record<string, Json>>);
  const inside = members
    // Other tests cover a resource without a valid kind, and a trigger without a valid type.
    .filter(([name]) => name !== 'kind' && name !== 'type')
    .flatMap(([name, member]) =>
      withOneMistake(member, name).map((invalid) => ({ ...value, [name]: invalid })),
    );
  return [...inside, MISTAKE, ...(OPEN_MAPPINGS.includes(key) ? [] : [{ ...value, [MISTAKE]: 1 }])];
}

const textOf = (value: Json, indent: number | undefined) => JSON.stringify(value, null, indent);

/** Returns the possible positions (`LINE:COLUMN`) of the problem: the mistake, or the mapping around it. */
function locationsIn(text: string): string[] {
  const key = text.indexOf(JSON.stringify(MISTAKE));
  return [key, text.lastIndexOf('{', key)].map((at) => {
    const before = text.slice(0, at).split('\n');
    return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
  });
}

function expectInside({ file, line, column, message }: Problem): void {
  const lines = readFileSync(file, 'utf8').split('\n');
  expect(message).not.toBe('');
  expect(line).toBeGreaterThanOrEqual(1);
  expect(line).toBeLessThanOrEqual(lines.length);
  expect(column).toBeGreaterThanOrEqual(1);
  expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1);
}

describe('a trigger resource', () => {
  test('that is valid loads without an error, and passes the JSON Schema', async () => {
    await fc.assert(
      fc.asyncProperty(arbTrigger, fc.constantFrom(undefined, 2), async (value, indent) => {
        const { triggers, errors } = await folder.loadText(textOf(value, indent));
        expect(errors).toEqual([]);
        expect(triggers).toHaveLength(1);
        expect(Check(jsonSchemas.trigger, value)).toBe(true);
      }),
      { numRuns: runs(150) },
    );
  });

  test('with one mistake has an error at that position, and fails the JSON Schema', async () => {
    await fc.assert(
      fc.asyncProperty(arbTrigger, fc.nat(), fc.constantFrom(undefined, 2), async (value, index, indent) => {
        const invalidValues = withOneMistake(value);
        const invalid = invalidValues[index % invalidValues.length] ?? null;
        const text = textOf(invalid, indent);
        const { triggers, problems } = await folder.loadText(text);
        expect(triggers).toEqual([]);
        const problemLocations = problems
          .filter(({ severity }) => severity === 'error')
          .map(({ line, column }) => `${line}:${column}`);
        expect(
          problemLocations.some((location) => locationsIn(text).includes(location)),
          `${problemLocations} in ${text}`,
        ).toBe(true);
        expect(Check(jsonSchemas.trigger, invalid)).toBe(false);
      }),
      { numRuns: runs(300) },
    );
  });
});

/** Lines and characters that form valid and invalid files. */
const arbPiece = fc.constantFrom(
  'apiVersion: a/v1\n',
  'kind: Trigger\n',
  'kind: Agent\n',
  'kind: AgentFlow\n',
  'metadata: { name: a }\n',
  'spec:\n',
  '  type: HTTP\n',
  '  type: Slack\n',
  '  type: x\n',
  '  platform: whatsapp\n',
  '  config:\n',
  '    path: /\n',
  '    cron: x\n',
  '    github_events: [push]\n',
  '    patterns: ["("]\n',
  '  commands: { a: { agent: b } }\n',
  '  commands: []\n',
  '  model: "scripted:x"\n',
  '  runtime: { http: 1 }\n',
  '  retry: { attempts: 0 }\n',
  '---\n',
  '...\n',
  '\n',
  '- ',
  '{',
  '}',
  '[',
  ']',
  '&x ',
  '*x',
  '!t ',
  '"',
  "'",
  ': ',
  ',',
  '\0',
  '\t',
  '# x\n',
  '__proto__: 1\n',
  '  __proto__: { a: 1 }\n',
);

describe('loading resources', () => {
  test('never throws, and each problem has a position inside its file', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.array(arbPiece, { maxLength: 30 }).map((pieces) => pieces.join('')),
          fc.string({ unit: 'binary', maxLength: 60 }),
          fc.json(),
        ),
        fc.boolean(),
        async (text, isLenient) => {
          const { problems, triggers } = await folder.loadText(text, { isLenient });
          for (const problem of problems) expectInside(problem);
          // Texts without triggers have a problem.
          if (triggers.length === 0) expect(problems).not.toEqual([]);
        },
      ),
      { numRuns: runs(500) },
    );
  });

  test('survives binary files', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 60 }), async (bytes) => {
        const { triggers, problems } = await folder.load({ files: [folder.write('bytes.yaml', bytes)] });
        expect(triggers).toEqual([]);
        for (const problem of problems) expectInside(problem);
      }),
    );
  });
});
