// Environment for local servers: a few common variables, and the variables of the catalog entry. A server
// inherits all other variables only with `inherit_env: true`, because the environment of the gateway contains
// tokens of other servers (A9, ARCHITECTURE.md). With the gateway's own keys a server could act as the
// operator, so a variable with such a key is inherited only if `inherit_env` names it.

import type { StdioEntry } from '../../../../config/catalog/catalog-schema.ts';
import type { GatewayConfig } from '../../../../config/gateway-file/gateway-schema.ts';
import type { Launch } from './start-failure.ts';

/** Variables that programs generally need: paths, locale, proxies, certificates. */
const commonNames = [
  ...['PATH', 'HOME', 'USER', 'SHELL', 'TERM', 'LANG', 'TZ', 'TMPDIR'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
];

/** Most programs on Windows do not start without these. */
const windowsNames = [
  ...['SystemRoot', 'SystemDrive', 'windir', 'ComSpec', 'PATHEXT', 'TEMP', 'TMP'],
  ...['USERPROFILE', 'USERNAME', 'HOMEDRIVE', 'HOMEPATH', 'APPDATA', 'LOCALAPPDATA'],
  ...['ProgramData', 'ProgramFiles', 'ProgramFiles(x86)', 'ProgramW6432', 'PROCESSOR_ARCHITECTURE'],
];

/** Variables of the gateway's process. */
export interface GatewayEnvironment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** Credentials that grant operator access, also by the node address or the database. */
  readonly ownKeys: ReadonlySet<string>;
}

export function gatewayEnvironment(
  variables: GatewayEnvironment['variables'],
  { api_key, node, store }: GatewayConfig,
): GatewayEnvironment {
  const keys = [api_key, node?.secret ?? '', store.postgres?.url ?? ''];
  return { variables, ownKeys: new Set(keys.filter((key) => key !== '')) };
}

export interface ChildEnvironmentEntry {
  readonly env: Readonly<Record<string, string>>;
  /** Names inherited from the gateway's environment, or true for all. */
  readonly inherit_env: true | readonly string[];
}

/** Returns a local server's command line and environment. */
export function launchOf(entry: StdioEntry, gateway: GatewayEnvironment): Launch {
  const { command, args, cwd } = entry;
  return { command, args, cwd, env: childEnvironment(entry, gateway) };
}

/** Returns the complete process environment. The entry's `env` overrides inherited variables. */
export function childEnvironment(
  entry: ChildEnvironmentEntry,
  { variables, ownKeys }: GatewayEnvironment,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  // Variable names on Windows are case-insensitive: Path and PATH are the same.
  const key = (name: string): string => (platform === 'win32' ? name.toUpperCase() : name);
  const { env, inherit_env } = entry;
  const inheritedNames = new Set([...commonNames, ...(platform === 'win32' ? windowsNames : [])].map(key));
  if (inherit_env !== true) for (const name of inherit_env) inheritedNames.add(key(name));
  const isInherited = (name: string, value: string): boolean =>
    (inherit_env === true && !ownKeys.has(value)) ||
    inheritedNames.has(key(name)) ||
    key(name).startsWith('LC_');

  /** Variables by comparable name. */
  const result = new Map<string, [name: string, value: string]>();
  for (const [name, value] of Object.entries(variables))
    if (value !== undefined && isInherited(name, value)) result.set(key(name), [name, value]);
  for (const [name, value] of Object.entries(env)) result.set(key(name), [name, value]);
  return Object.fromEntries(result.values());
}
