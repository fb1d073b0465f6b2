// Environment for local servers: a few common variables, and the variables of the catalog entry. A server
// inherits all other variables only with `inherit_env: true`, because the environment of the gateway contains
// its own key and tokens of other servers (A9, ARCHITECTURE.md).

import type { StdioEntry } from '../../../../config/catalog/catalog-schema.ts';
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

export interface ChildEnvironmentEntry {
  readonly env: Readonly<Record<string, string>>;
  /** Names inherited from the gateway's environment, or true for all. */
  readonly inherit_env: true | readonly string[];
}

/** Returns a local server's command line and environment. */
export function launchOf(
  entry: StdioEntry,
  gatewayEnv: Readonly<Record<string, string | undefined>>,
): Launch {
  const { command, args, cwd } = entry;
  return { command, args, cwd, env: childEnvironment(entry, gatewayEnv) };
}

/** Returns the complete process environment. The entry's `env` overrides inherited variables. */
export function childEnvironment(
  entry: ChildEnvironmentEntry,
  gatewayEnv: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  // Variable names on Windows are case-insensitive: Path and PATH are the same.
  const key = (name: string): string => (platform === 'win32' ? name.toUpperCase() : name);
  const { env, inherit_env } = entry;
  const inheritedNames = new Set([...commonNames, ...(platform === 'win32' ? windowsNames : [])].map(key));
  if (inherit_env !== true) for (const name of inherit_env) inheritedNames.add(key(name));
  const isInherited = (name: string): boolean =>
    inherit_env === true || inheritedNames.has(key(name)) || key(name).startsWith('LC_');

  const result = new Map<string, [name: string, value: string]>();
  for (const [name, value] of Object.entries(gatewayEnv))
    if (value !== undefined && isInherited(name)) result.set(key(name), [name, value]);
  for (const [name, value] of Object.entries(env)) result.set(key(name), [name, value]);
  return Object.fromEntries(result.values());
}
