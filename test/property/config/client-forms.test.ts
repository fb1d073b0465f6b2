// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests contain references.
// A catalog in a client's format has the same servers as in the gateway's format. An imported catalog has no
// secret, and has the same servers once its variables are set.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';
import { commentedCatalog } from '../../../config/catalog/commented-catalog.ts';
import { importableServers } from '../../../config/catalog/importable-servers.ts';
import { loadTarget } from '../../../config/load-config.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { hideSecrets } from '../../../src/cli/import/hide-secrets.ts';
import { mergeServers } from '../../../src/cli/import/merge-servers.ts';
import { commentsOf } from '../../../src/cli/import/origin-text.ts';
import {
  clientForms,
  gatewayForm,
  type PlainServer,
  type PlainServers,
  urlOf,
  withComments,
} from '../../fixtures/client-forms.ts';
import { newFolder } from '../../fixtures/new-folder.ts';

const home = newFolder('gateway-forms-');

const environment = { FIRST_TOKEN: 'first value', SECOND: 's3cond-value' };

function write(path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/**
 * Loads the servers of a catalog for a comparison. Omits the working folder, which defaults to the folder of
 * the file, and the credentials, which depend on references.
 */
async function loadServers(file: string, env: Record<string, string>): Promise<Record<string, object>> {
  const { catalog } = await loadTarget({ catalog: file }, env);
  return Object.fromEntries(
    Object.entries(catalog.servers).map(([id, entry]: [string, ServerEntry]) => [
      id,
      { ...entry, cwd: '', credentials: undefined },
    ]),
  );
}

const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
const word = fc
  .stringMatching(/^[a-zA-Z0-9 ,:"'\\#*/é-]{0,12}$/)
  .map((text) => text.replace(/^~|:\/\//g, ''));
const text = fc.oneof(
  word,
  fc.constantFrom('${FIRST_TOKEN}', 'Bearer ${SECOND}', '--flag', '[x]', '{', 'a: b', ' '),
);
const toolName = fc.stringMatching(/^[a-z_]{1,8}$/);
const header = fc.constantFrom('Authorization', 'X-Api-Key', 'X-Region');
/** Headers allow fewer characters than other texts. */
const headerValue = fc.oneof(fc.stringMatching(/^[a-z0-9]{1,12}$/), fc.constant('Bearer ${FIRST_TOKEN}'));

const local = fc.record({
  command: fc.constantFrom('node', 'npx', '/usr/bin/env'),
  args: fc.array(text, { maxLength: 4 }),
  env: fc.dictionary(fc.constantFrom('LEVEL', 'API_KEY', 'REGION', 'MY_SECRET'), text, { maxKeys: 3 }),
});
const remote = fc
  .record({ host: name, isSse: fc.boolean(), headers: fc.dictionary(header, headerValue, { maxKeys: 2 }) })
  .map(({ host, isSse, headers }) => ({ url: urlOf(`a${host.replace(/-+$/, '')}`, isSse), isSse, headers }));
const anyServer: fc.Arbitrary<PlainServer> = fc.record({
  place: fc.oneof(local, remote),
  isOff: fc.boolean(),
  allow: fc.option(fc.array(toolName, { maxLength: 2 }), { nil: undefined }),
  deny: fc.array(toolName, { maxLength: 2 }),
  timeoutSeconds: fc.option(fc.integer({ min: 1, max: 600 }), { nil: undefined }),
});
const anyServers: fc.Arbitrary<PlainServers> = fc.dictionary(name, anyServer, { minKeys: 1, maxKeys: 3 });
/** Client format: its file, the properties that it supports, and a function that writes servers. */
const anyForm = fc.constantFrom(...Object.entries(clientForms).map(([id, form]) => ({ id, ...form })));

describe("a catalog in a client's format", () => {
  test('is read as the same catalog as in the format of the gateway', async () => {
    await fc.assert(
      fc.asyncProperty(anyServers, anyForm, fc.boolean(), async (servers, form, hasComments) => {
        // `limited` removes the properties that the client's format does not support.
        const serversById = Object.fromEntries(
          Object.entries(servers).map(([id, server]) => [id, form.limited(server)]),
        );
        const inClientForm = form.write(serversById);
        const clientFile = write(
          form.path,
          hasComments ? withComments(inClientForm) : JSON.stringify(inClientForm),
        );
        const gatewayFile = write('own/catalog.yaml', JSON.stringify(gatewayForm(serversById)));
        expect(await loadServers(clientFile, environment)).toEqual(
          await loadServers(gatewayFile, environment),
        );
      }),
      { numRuns: 100 },
    );
  });
});

// The suffix makes a secret different from all other texts of the catalog.
const secret = fc.stringMatching(/^[A-Za-z0-9]{8,24}$/).map((value) => `${value}7q`);
/** Returns a server command or URL that contains the secret `value`. */
type PlaceOfSecret = (value: string) => PlainServer['place'];
const localServer = (args: readonly string[], env: Record<string, string> = {}) => ({
  command: 'node',
  args,
  env,
});
const placesOfSecret: readonly PlaceOfSecret[] = [
  (value) => localServer([], { API_KEY: value }),
  (value) => localServer([], { GITHUB_PERSONAL_ACCESS_TOKEN: value, LEVEL: 'info' }),
  (value) => localServer([], { DB_PASSWORD: value }),
  (value) => localServer(['--api-key', value]),
  (value) => localServer([`--token=${value}`, '--verbose']),
  (value) =>
    localServer([
      '-y',
      'mcp-remote',
      'https://h.example.com/mcp',
      '--header',
      `Authorization: Bearer ${value}`,
    ]),
  (value) => localServer(['run', '-e', `SERVICE_SECRET=${value}`, 'image', value]),
  (value) => localServer([`postgresql://ann:${value}@db.example.com/shop`]),
  (value) => ({
    url: 'https://h.example.com/mcp',
    isSse: false,
    headers: { Authorization: `Bearer ${value}` },
  }),
  (value) => ({ url: 'https://h.example.com/mcp', isSse: false, headers: { 'X-API-Key': value } }),
  (value) => ({ url: `https://h.example.com/mcp?api_key=${value}&v=1`, isSse: false, headers: {} }),
  (value) => localServer(['--name', value], { SESSION_TOKEN: value }),
];

describe('an imported catalog', () => {
  test('contains no secret, and has the same servers once its variables are set', async () => {
    const secretAndPlace = fc.tuple(secret, fc.constantFrom(...placesOfSecret));
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(name, secretAndPlace, { minKeys: 1, maxKeys: 4 }),
        anyForm,
        async (secretsById, form) => {
          const serversById = Object.fromEntries(
            Object.entries(secretsById).map(([id, [value, placeOf]]) => {
              return [
                id,
                {
                  place: placeOf(value),
                  isOff: false,
                  allow: undefined,
                  deny: [],
                  timeoutSeconds: undefined,
                },
              ];
            }),
          );
          const secrets = Object.values(secretsById).map(([value]) => value);
          fc.pre(secrets.every((value) => !Object.keys(secretsById).some((id) => id.includes(value))));
          const json = JSON.stringify(form.write(serversById));
          const file = join(home, form.path);
          const found = importableServers(new SourceFile(file, json));
          const files = [{ client: 'It', shortName: 'it', file, servers: found.servers }];
          const { servers: withSecrets } = mergeServers(files);
          const { servers: withReferences, variables } = hideSecrets(withSecrets);
          const yaml = commentedCatalog(
            withReferences.map((server) => ({ ...server, comments: commentsOf(server, (path) => path) })),
            [],
          );
          for (const value of secrets) expect(yaml).not.toContain(value);
          expect(JSON.stringify(variables)).not.toMatch(new RegExp(secrets.join('|')));
          const original = write('own/catalog.yaml', JSON.stringify(gatewayForm(serversById)));
          const imported = write('own/imported.yaml', yaml);
          const values = valuesOf(
            withReferences,
            withSecrets,
            variables.map((variable) => variable.name),
          );
          expect(await loadServers(imported, values)).toEqual(await loadServers(original, {}));
        },
      ),
      { numRuns: 100 },
    );
  });
});

/** Returns the values of the variables: the original texts at the places of the references. */
function valuesOf(
  withReferences: unknown,
  withSecrets: unknown,
  names: readonly string[],
): Record<string, string> {
  const values: Record<string, string> = {};
  const compare = (after: unknown, before: unknown): void => {
    if (typeof after === 'string' && typeof before === 'string') {
      // Texts and names of references alternate: the parts with odd indexes are names.
      const parts = after.split(/\$\{([A-Z0-9_]+)\}/);
      const pattern = parts
        .map((part, index) => (index % 2 === 1 ? '(.+)' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
        .join('');
      const match = new RegExp(`^${pattern}$`, 's').exec(before);
      for (const [n, reference] of parts.filter((_, index) => index % 2 === 1).entries())
        if (names.includes(reference)) values[reference] = match?.[n + 1] ?? '';
    } else if (typeof after === 'object' && after !== null) {
      for (const [key, member] of Object.entries(after))
        compare(member, (before as Record<string, unknown>)[key]);
    }
  };
  compare(withReferences, withSecrets);
  return values;
}
