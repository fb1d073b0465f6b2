// How other programs call what the gateway file says.

import { type Habits, meant, numberIn, scalarText } from '../reader/habits.ts';
import { memberOf } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';

const MAX_PORT = 65_535;
const KEY = `api_key: \${GATEWAY_API_KEY}`;

/** At the top of the file. */
export function gatewayHabits(root: YamlTree): Habits {
  const listen = () => meant('listen_addr', `listen_addr: ${hostIn(root)}:${portIn(root)}`);
  const key = () => meant('api_key', KEY);
  const perServer = () =>
    meant('request_timeout_seconds', 'it into the entry of a server in the catalog, in seconds');
  const folder = (kind: string) => (): string =>
    meant(`spec.${kind}.directory`, `spec: { ${kind}: { directory: ./${kind} } }`);
  const proxy = () => 'the gateway itself speaks http only; a proxy before it does TLS';
  const names = {
    port: listen,
    host: listen,
    hostname: listen,
    address: listen,
    bind: listen,
    listen,
    addr: listen,
    timeout: perServer,
    timeoutseconds: perServer,
    requesttimeout: perServer,
    token: key,
    key,
    secret: key,
    password: key,
    bearer: key,
    authorization: key,
    log: () => meant('log_level'),
    logging: () => meant('log_level'),
    verbose: () => meant('log_level', 'log_level: debug'),
    debug: () => meant('log_level', 'log_level: debug'),
    cors: () => meant('allowed_origins', 'allowed_origins: [https://app.example.com]'),
    datadir: () => meant('state_dir'),
    tls: proxy,
    ssl: proxy,
    https: proxy,
    triggers: folder('triggers'),
    agents: folder('agents'),
    fleets: folder('fleets'),
    flows: folder('flows'),
  };
  return { names, forms: { auth: key } };
}

const KEY_ON_TOP = meant('api_key', `it at the top of the file: ${KEY}`);
const keyNames = ['token', 'key', 'apikey', 'bearer', 'type', 'password', 'secret', 'user', 'username'];

/** Below `auth`, which knows tokens of an identity provider only. */
export const authHabits: Habits = {
  names: Object.fromEntries(keyNames.map((name) => [name, () => KEY_ON_TOP])),
  forms: {},
};

function portIn(root: YamlTree): string {
  const port = memberOf(root, 'port');
  const number = port === undefined ? undefined : numberIn(port);
  return number !== undefined && Number.isInteger(number) && number <= MAX_PORT ? String(number) : '8080';
}

/** Others than these are left to whoever writes. */
function hostIn(root: YamlTree): string {
  const keys = ['host', 'hostname', 'address', 'bind'];
  const written = keys.map((key) => memberOf(root, key)).find((tree) => tree !== undefined);
  if (written === undefined) return '127.0.0.1';
  const text = scalarText(written);
  if (text === 'localhost') return '127.0.0.1';
  return text === '127.0.0.1' || text === '0.0.0.0' ? text : 'HOST';
}
