// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Definitions of agents contain no variable values, and reading a definition returns the same agent. Valid
// agents pass the JSON Schema, and agents with an unknown key do not.

import fc from 'fast-check';
import { Check } from 'typebox/value';
import { expect, test } from 'vitest';
import { jsonSchemas } from '../../../../../config/json-schema/json-schemas.ts';
import { SecretValues } from '../../../../../config/reader/secret-values.ts';
import { readDefinition } from '../../../../../config/resources/agents/read-definition.ts';
import { ResourceFolder } from '../../../../unit/config/resources/resource-folder.ts';

const folder = new ResourceFolder();

/** Values that do not occur in a file by chance. */
const values = { ONE: 'Zq1-value-of-one', TWO: 'Zq2-value "of" \\ two\u2028', GEMINI_API_KEY: 'Zq3-the-key' };

/** Texts without `$` and `~`, which begin references and home paths, and without null characters. */
const texts = fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.replace(/[$~\0]/g, ''));
const reference = fc.constantFrom('${ONE}', '${TWO}', '${ONE} and ${TWO}', '${NONE:-else}', '$${ONE}');
const text = fc
  .oneof(
    texts,
    reference,
    fc.tuple(texts, reference).map(([a, b]) => a + b),
  )
  // Never empty, because some fields require a text.
  .map((each) => `.${each}`);
const name = fc.stringMatching(/^[a-z][a-z0-9]{0,6}$/);
const pattern = fc.constantFrom('*', 'read_*', 'files/*', 'destructive', '${ONE}');
const some = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 });

const tools = fc.record({ allow: some(pattern), deny: some(pattern) }, { requiredKeys: [] });
const server = fc.oneof(
  fc.record(
    {
      name,
      command: fc.constantFrom('serve', './serve', '${ONE}'),
      args: some(text),
      env: fc.dictionary(fc.stringMatching(/^[A-Z]{1,5}$/), text, { maxKeys: 2 }),
      cwd: fc.constantFrom('.', 'below', '${ONE}'),
      request_timeout_seconds: fc.integer({ min: 1, max: 500 }),
      tools,
    },
    { requiredKeys: ['name', 'command'] },
  ),
  fc.record(
    {
      name,
      url: fc.constant('https://mcp.example.com/${ONE}'),
      headers: fc.constantFrom({ Authorization: 'Bearer ${ONE}' }, {}),
    },
    { requiredKeys: ['name', 'url'] },
  ),
  fc.record({ server: name, tools }, { requiredKeys: ['server'] }),
  name,
);

const spec = fc.record(
  {
    model: fc.constantFrom('google:gemini', 'google:${ONE}', '${PROVIDER:-google}:m:1'),
    fallback: some(fc.constantFrom('ollama:l', 'google:m')),
    description: text,
    system_prompt: text,
    temperature: fc.integer({ min: 0, max: 2 }),
    max_tokens: fc.integer({ min: 1, max: 9999 }),
    max_iterations: fc.integer({ min: 1, max: 50 }),
    env: fc.dictionary(fc.stringMatching(/^[A-Z]{1,5}$/), text, { maxKeys: 2 }),
    mcp_servers: fc.uniqueArray(server, {
      minLength: 1,
      maxLength: 3,
      selector: (each) => (typeof each === 'string' ? each : 'server' in each ? each.server : each.name),
    }),
    tools: fc.array(pattern, { minLength: 1, maxLength: 3 }),
    policy: fc.record(
      { deny: some(pattern), ask: some(pattern), approvers: some(text), self_approval: fc.boolean() },
      { requiredKeys: [] },
    ),
    interrupted_calls: fc.constantFrom('tell', 'repeat', 'ask', 'fail'),
    memory: fc.oneof(fc.constant('none'), fc.record({ messages: fc.nat({ max: 99 }) })),
    output_schema: fc.constantFrom(
      { type: 'object' },
      { type: 'object', properties: { __proto__x: { type: 'string' } } },
    ),
    budget: fc.record({ tokens: fc.integer({ min: 1, max: 99 }) }, { requiredKeys: [] }),
  },
  { requiredKeys: ['model', 'mcp_servers'] },
);

const document = (value: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Agent',
  metadata: { name: 'a' },
  spec: value,
});

test('a definition contains no values of variables, and is read back as the same agent', async () => {
  await fc.assert(
    fc.asyncProperty(spec, async (value) => {
      const file = folder.write('a.yaml', JSON.stringify(document(value)));
      const { agents, errors } = await folder.load({ files: [file], env: values });
      expect(errors).toEqual([]);
      const runtime = agents[0]?.runtime;
      if (runtime?.kind !== 'model') throw new Error('no agent with a model');
      expect(runtime.definition).not.toMatch(/Zq\d/);
      expect(JSON.parse(runtime.definition)).toEqual(value);
      expect(readDefinition(runtime.definition, values, new SecretValues(), file)).toEqual(runtime);
      expect(Check(jsonSchemas.agent, document(value))).toBe(true);
    }),
    { numRuns: 120 },
  );
});

test('a missing variable of a definition is reported without any value', async () => {
  await fc.assert(
    fc.asyncProperty(spec, fc.constantFrom('ONE', 'TWO'), async (value, missingVariable) => {
      const file = folder.write('a.yaml', JSON.stringify(document(value)));
      const { agents } = await folder.load({ files: [file], env: values });
      const runtime = agents[0]?.runtime;
      if (runtime?.kind !== 'model') throw new Error('no agent with a model');
      const isNeeded = new RegExp(`(?<!\\$)\\$\\{${missingVariable}\\}`).test(runtime.definition);
      const readAgent = () =>
        readDefinition(
          runtime.definition,
          { ...values, [missingVariable]: undefined },
          new SecretValues(),
          file,
        );
      if (!isNeeded) expect(readAgent()).toEqual(runtime);
      else
        expect(readAgent).toThrow(
          new RegExp(`^(?![^]*Zq\\d)[^]*the environment variable ${missingVariable} is not set`),
        );
    }),
    { numRuns: 80 },
  );
});

/** Adds an unknown key to each mapping of the spec in turn. */
const withUnknownKey = (value: object): object[] => {
  const inside = Object.entries(value).flatMap(([key, member]) =>
    typeof member === 'object' && !Array.isArray(member) && key !== 'env' && key !== 'output_schema'
      ? [{ ...value, [key]: { ...member, zebra: 1 } }]
      : [],
  );
  return [{ ...value, zebra: 1 }, ...inside];
};

test('an agent with an unknown key is refused at the position of the key, also by the JSON Schema', async () => {
  await fc.assert(
    fc.asyncProperty(spec, fc.nat(), async (value, pick) => {
      const all = withUnknownKey(value);
      const bad = document(all[pick % all.length] ?? {});
      const { agents, errors } = await folder.load({
        files: [folder.write('a.yaml', JSON.stringify(bad))],
        env: values,
      });
      expect(agents).toEqual([]);
      expect(errors.join('\n')).toMatch(/zebra: unknown key/);
      expect(Check(jsonSchemas.agent, bad)).toBe(false);
    }),
    { numRuns: 80 },
  );
});
