// The environment of a local server: a few variables every program needs, what its entry says, and nothing else,
// because the gateway's own environment holds its key and other servers' tokens (A9).

/** What programs need to run, to speak the user's language, and to get through a proxy. */
const everywhere = [
  ...['PATH', 'HOME', 'USER', 'SHELL', 'TERM', 'LANG', 'TZ', 'TMPDIR'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'],
];

/** Without these most programs do not even start on Windows. */
const onWindows = [
  ...['SystemRoot', 'SystemDrive', 'windir', 'ComSpec', 'PATHEXT', 'TEMP', 'TMP'],
  ...['USERPROFILE', 'USERNAME', 'HOMEDRIVE', 'HOMEPATH', 'APPDATA', 'LOCALAPPDATA'],
  ...['ProgramData', 'ProgramFiles', 'ProgramFiles(x86)', 'ProgramW6432', 'PROCESSOR_ARCHITECTURE'],
];

export interface ChildEnvironmentEntry {
  readonly env: Readonly<Record<string, string>>;
  /** Names passed on from the gateway's environment, or true for all. */
  readonly inherit_env: true | readonly string[];
}

/** The complete environment of a server's process. The entry's `env` wins over what is passed on. */
export function childEnvironment(
  entry: ChildEnvironmentEntry,
  gatewayEnv: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, string> {
  // On Windows names of variables are equal whatever their case: Path and PATH are one.
  const key = (name: string): string => (platform === 'win32' ? name.toUpperCase() : name);
  const { env, inherit_env } = entry;
  const wanted = new Set([...everywhere, ...(platform === 'win32' ? onWindows : [])].map(key));
  if (inherit_env !== true) for (const name of inherit_env) wanted.add(key(name));
  const isPassedOn = (name: string): boolean =>
    inherit_env === true || wanted.has(key(name)) || key(name).startsWith('LC_');

  const result = new Map<string, [name: string, value: string]>();
  for (const [name, value] of Object.entries(gatewayEnv))
    if (value !== undefined && isPassedOn(name)) result.set(key(name), [name, value]);
  for (const [name, value] of Object.entries(env)) result.set(key(name), [name, value]);
  return Object.fromEntries(result.values());
}
