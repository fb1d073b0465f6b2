// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Definitions of agents: the text of an agent's file, which a run stores to continue with the same agent
// after a restart. The definition of a random agent contains no values of variables, and is read back as the
// same agent. Valid agents pass the JSON Schema, and agents with an unknown key do not.

import fc from 'fast-check';
import { Check } from 'typebox/value';
import { expect, test } from 'vitest';
import { jsonSchemas } from '../../../../../config/json-schema/json-schemas.ts';
import { SecretValues } from '../../../../../config/reader/secret-values.ts';
import { readDefinition } from '../../../../../config/resources/agents/read-definition.ts';
import { ResourceFolder } from '../../../../unit/config/resources/resource-folder.ts';

const folder = new ResourceFolder();

/** Values of the environment variables. They begin with `Zq`, which does not occur in a file by chance. */
const values = { ONE: 'Zq1-value-of-one', TWO: 'Zq2-value "of" \\ two\u2028', GEMINI_API_KEY: 'Zq3-the-key' };

/** Texts without `$` and `~`, which begin references and home paths, and without null characters. */
const arbPlainText = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .map((text) => text.replace(/[$~\0]/g, ''));
const arbReference = fc.constantFrom('${ONE}', '${TWO}', '${ONE} and ${TWO}', '${NONE:-else}', '$${ONE}');
const arbText = fc
  .oneof(
    arbPlainText,
    arbReference,
    fc.tuple(arbPlainText, arbReference).map((parts) => parts.join('')),
  )
  // Never empty, because some fields require a text.
  .map((each) => `.${each}`);
const arbName = fc.stringMatching(/^[a-z][a-z0-9]{0,6}$/);
const arbPattern = fc.constantFrom('*', 'read_*', 'files/*', 'destructive', '${ONE}');
const upToThree = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 });

const arbTools = fc.record(
  { allow: upToThree(arbPattern), deny: upToThree(arbPattern) },
  { requiredKeys: [] },
);
const arbServer = fc.oneof(
  fc.record(
    {
      name: arbName,
      command: fc.constantFrom('serve', './serve', '${ONE}'),
      args: upToThree(arbText),
      env: fc.dictionary(fc.stringMatching(/^[A-Z]{1,5}$/), arbText, { maxKeys: 2 }),
      cwd: fc.constantFrom('.', 'below', '${ONE}'),
      request_timeout_seconds: fc.integer({ min: 1, max: 500 }),
      tools: arbTools,
    },
    { requiredKeys: ['name', 'command'] },
  ),
  fc.record(
    {
      name: arbName,
      url: fc.constant('https://mcp.example.com/${ONE}'),
      headers: fc.constantFrom({ Authorization: 'Bearer ${ONE}' }, {}),
    },
    { requiredKeys: ['name', 'url'] },
  ),
  fc.record({ server: arbName, tools: arbTools }, { requiredKeys: ['server'] }),
  arbName,
);

const arbSpec = fc.record(
  {
    model: fc.constantFrom('google:gemini', 'google:${ONE}', '${PROVIDER:-google}:m:1'),
    fallback: upToThree(fc.constantFrom('ollama:l', 'google:m')),
    description: arbText,
    system_prompt: arbText,
    temperature: fc.integer({ min: 0, max: 2 }),
    max_tokens: fc.integer({ min: 1, max: 9999 }),
    max_iterations: fc.integer({ min: 1, max: 50 }),
    env: fc.dictionary(fc.stringMatching(/^[A-Z]{1,5}$/), arbText, { maxKeys: 2 }),
    mcp_servers: fc.uniqueArray(arbServer, {
      minLength: 1,
      maxLength: 3,
      selector: (each) => (typeof each === 'string' ? each : 'server' in each ? each.server : each.name),
    }),
    tools: fc.array(arbPattern, { minLength: 1, maxLength: 3 }),
    policy: fc.record(
      {
        deny: upToThree(arbPattern),
        ask: upToThree(arbPattern),
        approvers: upToThree(arbText),
        self_approval: fc.boolean(),
      },
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

/** Returns an agent file with this spec. */
const document = (value: object) => ({
  apiVersion: 'example.com/v1',
  kind: 'Agent',
  metadata: { name: 'a' },
  spec: value,
});

test('the stored definition of an agent contains no variable values, and is read back as the same agent', async () => {
  await fc.assert(
    fc.asyncProperty(arbSpec, async (value) => {
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

test('a missing variable of a stored agent definition is reported, without the values of other variables', async () => {
  await fc.assert(
    fc.asyncProperty(arbSpec, fc.constantFrom('ONE', 'TWO'), async (value, missingVariable) => {
      const file = folder.write('a.yaml', JSON.stringify(document(value)));
      const { agents } = await folder.load({ files: [file], env: values });
      const runtime = agents[0]?.runtime;
      if (runtime?.kind !== 'model') throw new Error('no agent with a model');
      // Only an unescaped reference (`${ONE}`, not `$${ONE}`) needs the variable.
      const isNeeded = new RegExp(`(?<!\\$)\\$\\{${missingVariable}\\}`).test(runtime.definition);
      const readAgent = () =>
        readDefinition(
          runtime.definition,
          { ...values, [missingVariable]: undefined },
          new SecretValues(),
          file,
        );
      if (!isNeeded) expect(readAgent()).toEqual(runtime);
      // The error names the variable. A lookahead excludes values of variables.
      else
        expect(readAgent).toThrow(
          new RegExp(`^(?![^]*Zq\\d)[^]*the environment variable ${missingVariable} is not set`),
        );
    }),
    { numRuns: 80 },
  );
});

/** Returns copies of the spec, with an unknown key (`zebra`) in one mapping per copy. */
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
    fc.asyncProperty(arbSpec, fc.nat(), async (value, index) => {
      const invalidSpecs = withUnknownKey(value);
      const invalid = document(invalidSpecs[index % invalidSpecs.length] ?? {});
      const { agents, errors } = await folder.load({
        files: [folder.write('a.yaml', JSON.stringify(invalid))],
        env: values,
      });
      expect(agents).toEqual([]);
      expect(errors.join('\n')).toMatch(/zebra: unknown key/);
      expect(Check(jsonSchemas.agent, invalid)).toBe(false);
    }),
    { numRuns: 80 },
  );
});
