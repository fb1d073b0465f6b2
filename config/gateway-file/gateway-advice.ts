// Hints on unknown keys of the gateway file (gateway.yaml): names that other programs use for the same
// settings. The second argument of `replacementAdvice` completes "did you mean FIELD? Write …".

import { type AliasAdvice, numberIn, replacementAdvice, scalarText } from '../reader/alias-advice.ts';
import { memberOf } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';

const MAX_PORT = 65_535;
const API_KEY_LINE = `api_key: \${GATEWAY_API_KEY}`;

/** Returns the hints for keys at the top level. */
export function gatewayAdvice(root: YamlTree): AliasAdvice {
  const listen = () => replacementAdvice('listen_addr', `listen_addr: ${hostIn(root)}:${portIn(root)}`);
  const apiKey = () => replacementAdvice('api_key', API_KEY_LINE);
  const requestTimeout = () =>
    replacementAdvice('request_timeout_seconds', 'it into the entry of a server in the catalog, in seconds');
  const folder = (kind: string) => (): string =>
    replacementAdvice(`spec.${kind}.directory`, `spec: { ${kind}: { directory: ./${kind} } }`);
  const proxy = () => 'the gateway supports only http; use a proxy for TLS';
  const names = {
    port: listen,
    host: listen,
    hostname: listen,
    address: listen,
    bind: listen,
    listen,
    addr: listen,
    timeout: requestTimeout,
    timeoutseconds: requestTimeout,
    requesttimeout: requestTimeout,
    token: apiKey,
    key: apiKey,
    secret: apiKey,
    password: apiKey,
    bearer: apiKey,
    authorization: apiKey,
    log: () => replacementAdvice('log_level'),
    logging: () => replacementAdvice('log_level'),
    verbose: () => replacementAdvice('log_level', 'log_level: debug'),
    debug: () => replacementAdvice('log_level', 'log_level: debug'),
    cors: () => replacementAdvice('allowed_origins', 'allowed_origins: [https://app.example.com]'),
    datadir: () => replacementAdvice('state_dir'),
    tls: proxy,
    ssl: proxy,
    https: proxy,
    triggers: folder('triggers'),
    agents: folder('agents'),
    fleets: folder('fleets'),
    flows: folder('flows'),
  };
  // `forms` has the hints on known fields with a value in the wrong format: `auth` is a mapping, and a text
  // is probably the API key.
  return { names, forms: { auth: apiKey } };
}

const apiKeyAtTop = replacementAdvice('api_key', `it at the top of the file: ${API_KEY_LINE}`);
const credentialNames = [
  'token',
  'key',
  'apikey',
  'bearer',
  'type',
  'password',
  'secret',
  'user',
  'username',
];

/** Hints for keys below `auth`, which supports only tokens of an identity provider. */
export const authAdvice: AliasAdvice = {
  names: Object.fromEntries(credentialNames.map((name) => [name, () => apiKeyAtTop])),
  forms: {},
};

/** Returns the port from an unknown key `port`; 8080 by default. */
function portIn(root: YamlTree): string {
  const port = memberOf(root, 'port');
  const number = port === undefined ? undefined : numberIn(port);
  return number !== undefined && Number.isInteger(number) && number <= MAX_PORT ? String(number) : '8080';
}

/**
 * Returns the host from an unknown key, 127.0.0.1 by default. Hosts other than localhost, 127.0.0.1 and
 * 0.0.0.0 become the placeholder `HOST`, because advice must not repeat text of the file.
 */
function hostIn(root: YamlTree): string {
  const keys = ['host', 'hostname', 'address', 'bind'];
  const written = keys.map((key) => memberOf(root, key)).find((tree) => tree !== undefined);
  if (written === undefined) return '127.0.0.1';
  const text = scalarText(written);
  if (text === 'localhost') return '127.0.0.1';
  return text === '127.0.0.1' || text === '0.0.0.0' ? text : 'HOST';
}
