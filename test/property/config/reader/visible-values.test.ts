// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// Values of environment variables in agent files: which of them count as secrets and are redacted everywhere.
// A value in a field that may contain a secret is a secret. A value that occurs only in displayed names is
// not.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ResourceFolder } from '../../../unit/config/resources/resource-folder.ts';

const folder = new ResourceFolder();

/** Returns the part of an agent's `spec` that contains the reference. */
type FieldWith = (reference: string) => object;

const local = (fields: object) => ({ mcp_servers: [{ name: 's', command: 'serve', ...fields }] });
const remote = (fields: object) => ({
  mcp_servers: [{ name: 's', url: 'https://h.example/mcp', ...fields }],
});

/** Fields with displayed names. */
const visibleFields: Readonly<Record<string, FieldWith>> = {
  model: (reference) => ({ model: `google:${reference}` }),
  fallback: (reference) => ({ model: 'google:m', fallback: [`ollama:${reference}`] }),
  approvers: (reference) => ({ policy: { approvers: [reference] } }),
  channel: (reference) => ({ policy: { approval_channel: reference } }),
  command: (reference) => local({ command: `/opt/${reference}/serve` }),
  cwd: (reference) => local({ cwd: reference }),
  server: (reference) => ({ mcp_servers: [{ server: reference }] }),
  host: (reference) => remote({ url: `https://${reference}.example/mcp` }),
};

/** Fields that may contain a secret. */
const secretFields: Readonly<Record<string, FieldWith>> = {
  env: (reference) => local({ env: { A: `a-${reference}` } }),
  agentEnv: (reference) => ({ ...local({}), env: { A: reference } }),
  args: (reference) => local({ args: [`--token=${reference}`] }),
  headers: (reference) => remote({ headers: { Authorization: `Bearer ${reference}` } }),
  query: (reference) => remote({ url: `https://h.example/mcp?key=${reference}` }),
  path: (reference) => remote({ url: `https://h.example/${reference}/mcp` }),
  fragment: (reference) => remote({ url: `https://h.example/mcp#${reference}` }),
  prompt: (reference) => ({ system_prompt: reference }),
};

// Values that look like keys, and that do not occur in a file by chance.
const value = fc.stringMatching(/^z[a-z0-9]{2,6}-[a-z]\d[a-z]\d[a-z][a-z0-9]{0,6}$/);
const plainName = fc.constantFrom('MODEL', 'PLACE', 'ADA', 'BASE');
const keyName = fc.constantFrom('MODEL_KEY', 'API_TOKEN', 'THE_SECRET', 'DB_PASSWORD', 'MY_AUTH');
const fieldOf = (fields: Readonly<Record<string, FieldWith>>) => fc.constantFrom(...Object.values(fields));

/** Loads an agent per spec. Returns the errors and the values that count as secrets. */
async function secretsOf(specs: readonly object[], env: Readonly<Record<string, string>>) {
  const files = specs.map((spec, index) =>
    folder.write(
      `${index}.yaml`,
      JSON.stringify({
        apiVersion: 'example.com/v1',
        kind: 'Agent',
        metadata: { name: `a${index}` },
        spec: { model: 'ollama:m', ...spec },
      }),
    ),
  );
  return await folder.load({ files, env: { GEMINI_API_KEY: 'the-key', ...env } });
}

test('a value that is the displayed name of a resource does not count as a secret', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fieldOf(visibleFields), { minLength: 1, maxLength: 4 }),
      plainName,
      value,
      async (fields, name, text) => {
        const { errors, secrets } = await secretsOf(
          fields.map((field) => field(`\${${name}}`)),
          { [name]: text },
        );
        expect(errors).toEqual([]);
        expect(secrets.filter((each) => each.includes(text))).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});

test('a value in a secret field counts as a secret everywhere, for any name of its environment variable', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fieldOf(visibleFields), { maxLength: 3 }),
      fieldOf(secretFields),
      fc.oneof(plainName, keyName),
      plainName,
      value,
      fc.nat(),
      async (fields, secretField, name, otherName, text, n) => {
        // The visible fields contain the same value, from another variable.
        const specs = fields.map((field) => field(`\${${otherName}}`));
        specs.splice(n % (specs.length + 1), 0, secretField(`\${${name}}`));
        const { errors, secrets } = await secretsOf(specs, { [otherName]: text, [name]: text });
        expect(errors).toEqual([]);
        // A secret may be a part of the value.
        expect(secrets.some((each) => text.includes(each))).toBe(true);
      },
    ),
    { numRuns: 100 },
  );
});

test('the value of a variable with a credential name counts as a secret in every field', async () => {
  await fc.assert(
    fc.asyncProperty(fieldOf(visibleFields), keyName, value, async (field, name, text) => {
      const { secrets } = await secretsOf([field(`\${${name}}`)], { [name]: text });
      expect(secrets).toContain(text);
    }),
    { numRuns: 60 },
  );
});

test('the value of a variable is kept secret if it is invalid in its field', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<FieldWith>(
        (reference) => ({ model: reference }),
        (reference) => ({ timeout_seconds: reference }),
        (reference) => ({ interrupted_calls: reference }),
        (reference) => ({ mcp_servers: [{ server: `${reference} x` }] }),
      ),
      value,
      async (field, text) => {
        const { errors, secrets } = await secretsOf([field('${MODEL}')], { MODEL: text });
        expect(errors).toHaveLength(1);
        expect(errors.join()).not.toContain(text);
        expect(secrets).toContain(text);
      },
    ),
    { numRuns: 60 },
  );
});
