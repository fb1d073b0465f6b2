// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested.
// Which values of variables are struck from what is shown, over agents whose fields come from variables: one that is in a field that
// may hold a secret is among the secrets, wherever else it is; one that is only where the gateway tells names of is not.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ResourceFolder } from '../../../unit/config/resources/resource-folder.ts';

const folder = new ResourceFolder();

type Place = (reference: string) => object;

const local = (fields: object) => ({ mcp_servers: [{ name: 's', command: 'serve', ...fields }] });
const remote = (fields: object) => ({
  mcp_servers: [{ name: 's', url: 'https://h.example/mcp', ...fields }],
});

/** Where a name is told of. */
const shown: Readonly<Record<string, Place>> = {
  model: (reference) => ({ model: `google:${reference}` }),
  fallback: (reference) => ({ model: 'google:m', fallback: [`ollama:${reference}`] }),
  approvers: (reference) => ({ policy: { approvers: [reference] } }),
  channel: (reference) => ({ policy: { approval_channel: reference } }),
  command: (reference) => local({ command: `/opt/${reference}/serve` }),
  cwd: (reference) => local({ cwd: reference }),
  server: (reference) => ({ mcp_servers: [{ server: reference }] }),
  host: (reference) => remote({ url: `https://${reference}.example/mcp` }),
};

/** Where a secret may be. */
const hidden: Readonly<Record<string, Place>> = {
  env: (reference) => local({ env: { A: `a-${reference}` } }),
  agentEnv: (reference) => ({ ...local({}), env: { A: reference } }),
  args: (reference) => local({ args: [`--token=${reference}`] }),
  headers: (reference) => remote({ headers: { Authorization: `Bearer ${reference}` } }),
  query: (reference) => remote({ url: `https://h.example/mcp?key=${reference}` }),
  path: (reference) => remote({ url: `https://h.example/${reference}/mcp` }),
  fragment: (reference) => remote({ url: `https://h.example/mcp#${reference}` }),
  prompt: (reference) => ({ system_prompt: reference }),
};

// Names that could be keys, but do not occur in a file by chance.
const value = fc.stringMatching(/^z[a-z0-9]{2,6}-[a-z]\d[a-z]\d[a-z][a-z0-9]{0,6}$/);
const plainName = fc.constantFrom('MODEL', 'PLACE', 'ADA', 'BASE');
const keyName = fc.constantFrom('MODEL_KEY', 'API_TOKEN', 'THE_SECRET', 'DB_PASSWORD', 'MY_AUTH');
const placeOf = (places: Readonly<Record<string, Place>>) => fc.constantFrom(...Object.values(places));

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

test('a name that the gateway tells of is no secret (SHV1)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(placeOf(shown), { minLength: 1, maxLength: 4 }),
      plainName,
      value,
      async (places, name, text) => {
        const { errors, secrets } = await secretsOf(
          places.map((place) => place(`\${${name}}`)),
          { [name]: text },
        );
        expect(errors).toEqual([]);
        expect(secrets.filter((each) => each.includes(text))).toEqual([]);
      },
    ),
    { numRuns: 100 },
  );
});

test('what is in one field that may hold a secret is one, wherever else it is and whatever its variable is called (SHV2)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(placeOf(shown), { maxLength: 3 }),
      placeOf(hidden),
      fc.oneof(plainName, keyName),
      plainName,
      value,
      fc.nat(),
      async (places, secretPlace, name, otherName, text, at) => {
        const specs = places.map((place) => place(`\${${otherName}}`));
        specs.splice(at % (specs.length + 1), 0, secretPlace(`\${${name}}`));
        const { errors, secrets } = await secretsOf(specs, { [otherName]: text, [name]: text });
        expect(errors).toEqual([]);
        expect(secrets.some((each) => text.includes(each))).toBe(true);
      },
    ),
    { numRuns: 100 },
  );
});

test('what the variable of a key gives is a secret in every field', async () => {
  await fc.assert(
    fc.asyncProperty(placeOf(shown), keyName, value, async (place, name, text) => {
      const { secrets } = await secretsOf([place(`\${${name}}`)], { [name]: text });
      expect(secrets).toContain(text);
    }),
    { numRuns: 60 },
  );
});

test('what does not fit its field is a secret', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom<Place>(
        (reference) => ({ model: reference }),
        (reference) => ({ timeout_seconds: reference }),
        (reference) => ({ interrupted_calls: reference }),
        (reference) => ({ mcp_servers: [{ server: `${reference} x` }] }),
      ),
      value,
      async (place, text) => {
        const { errors, secrets } = await secretsOf([place('${MODEL}')], { MODEL: text });
        expect(errors).toHaveLength(1);
        expect(errors.join()).not.toContain(text);
        expect(secrets).toContain(text);
      },
    ),
    { numRuns: 60 },
  );
});
