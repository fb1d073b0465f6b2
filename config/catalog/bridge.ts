// A configuration made of one remote address, for a program that is given no file. It goes through the reader of
// the catalog, so that `${VAR}`, the checks of address and headers, and what counts as a secret are the same there.

import { gatewaySchema } from '../gateway-file/gateway-schema.ts';
import type { Loaded } from '../load-config.ts';
import { fillDefaults } from '../reader/fill-defaults.ts';
import { hasError, isError, type Problem } from '../reader/problem.ts';
import { SchemaReader } from '../reader/schema-reader.ts';
import { SecretValues } from '../reader/secret-values.ts';
import { SourceFile } from '../reader/source-file.ts';
import type { Environment } from '../reader/substitute.ts';
import { parseYamlTree } from '../reader/yaml-tree.ts';
import { readCatalog } from './read-catalog.ts';

/** The id of the only server. */
export const BRIDGED = 'remote';

/** Longer than any call: how long one may take is for the client and the far side to say. */
const DAY_SECONDS = 86_400;

type Bridged = Pick<Loaded, 'config' | 'catalog' | 'secrets'> & { readonly warnings: readonly string[] };

/** Gives the configuration, or in plain words what is wrong; no message holds a value. */
export function bridgeTo(
  url: string,
  headers: Readonly<Record<string, string>>,
  env: Environment,
): Bridged | { readonly problems: readonly string[] } {
  const entry = {
    url,
    headers,
    isolation: 'session',
    era: 'auto',
    idle_timeout_seconds: 0,
    request_timeout_seconds: DAY_SECONDS,
    max_request_seconds: DAY_SECONDS,
    // The one client is the one who chose the server.
    forward_roots: true,
    // The client waits for its introduction, and is better told soon that nobody is there.
    restart: { intensity: 1, park_seconds: 1 },
  };
  const source = new SourceFile('', JSON.stringify({ servers: { [BRIDGED]: entry } }));
  const secrets = new SecretValues();
  const reader = new SchemaReader(source, env, secrets);
  const { root, problems } = parseYamlTree(source);
  const catalog = root && readCatalog(reader, root, '');
  const all = [...problems, ...reader.problems];
  const inWords = (some: readonly Problem[]) =>
    some.map(({ message }) => message.replace(`servers.${BRIDGED}.`, ''));
  if (catalog === undefined || hasError(all)) return { problems: inWords(all.filter(isError)) };
  const config = fillDefaults(gatewaySchema, { listen_addr: '', catalog_path: '', state_dir: '' });
  return { config, catalog, secrets: secrets.list(), warnings: inWords(all) };
}
