// Builds the configuration of gateway-stdio for a single remote server, if the program receives a URL and
// headers as options instead of a file. The catalog reader validates the URL and the headers, so `${VAR}`,
// checks and the redaction of secrets work as in a catalog file.

import { gatewaySchema } from '../gateway-file/gateway-schema.ts';
import type { LoadedConfig } from '../load-config.ts';
import { fillDefaults } from '../reader/fill-defaults.ts';
import { hasError, isError, type Problem } from '../reader/problem.ts';
import { SchemaReader } from '../reader/schema-reader.ts';
import { SecretValues } from '../reader/secret-values.ts';
import { SourceFile } from '../reader/source-file.ts';
import type { Environment } from '../reader/substitute.ts';
import { parseYamlTree } from '../reader/yaml-tree.ts';
import { readCatalog } from './read-catalog.ts';

/** Id of the single server. */
export const BRIDGED = 'remote';

/** Timeout that is longer than any call: client and server end calls by their own timeouts. */
const DAY_SECONDS = 86_400;

type Bridged = Pick<LoadedConfig, 'config' | 'catalog' | 'secrets'> & {
  readonly warnings: readonly string[];
};

/** Returns the configuration, or error messages that do not contain the URL or a header value. */
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
    // The only client has chosen this server itself.
    forward_roots: true,
    // The client waits for `initialize`; fail quickly if the server is unreachable.
    restart: { intensity: 1, park_seconds: 1 },
  };
  const source = new SourceFile('', JSON.stringify({ servers: { [BRIDGED]: entry } }));
  const secrets = new SecretValues();
  const reader = new SchemaReader(source, env, secrets);
  const { root, problems } = parseYamlTree(source);
  const catalog = root && readCatalog(reader, root, '');
  const all = [...problems, ...reader.problems];
  // The user has written options, not a file, so messages omit file positions and the path of the server.
  const toMessages = (some: readonly Problem[]) =>
    some.map(({ message }) => message.replace(`servers.${BRIDGED}.`, ''));
  if (catalog === undefined || hasError(all)) return { problems: toMessages(all.filter(isError)) };
  // The program uses neither a listener nor a catalog file nor a state folder.
  const config = fillDefaults(gatewaySchema, { listen_addr: '', catalog_path: '', state_dir: '' });
  return { config, catalog, secrets: secrets.list(), warnings: toMessages(all) };
}
