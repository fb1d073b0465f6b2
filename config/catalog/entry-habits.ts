// How other programs call what an entry of the catalog says, and the forms in which they have it.

import { type Habits, meant, numberIn, scalarText, secondsOf } from '../reader/habits.ts';
import { memberOf } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';

/** From so much on a number is taken for milliseconds. */
const LEAST_MS = 1000;

/** Of one entry, since a key is a header for a remote server and a variable for a local one. */
export function entryHabits(entry: YamlTree): Habits {
  const isRemote = memberOf(entry, 'url') !== undefined;
  const key = () =>
    isRemote
      ? meant('headers', `headers: { Authorization: "Bearer \${TOKEN}" }`)
      : meant('env', `env: { API_KEY: "\${API_KEY}" }, with the name that the server reads`);
  const url = () => meant('url', 'url: http://HOST:PORT/mcp');
  const named = (field: string) => () => meant(field);
  const names = {
    timeout: timeout('request_timeout_seconds'),
    timeoutms: timeout('request_timeout_seconds', true),
    timeoutsec: timeout('request_timeout_seconds'),
    requesttimeoutms: timeout('request_timeout_seconds', true),
    tooltimeout: timeout('request_timeout_seconds'),
    tooltimeoutsec: timeout('request_timeout_seconds'),
    startuptimeout: timeout('start_timeout_seconds'),
    startuptimeoutms: timeout('start_timeout_seconds', true),
    startuptimeoutsec: timeout('start_timeout_seconds'),
    transport: runtime,
    transporttype: runtime,
    protocol: runtime,
    auth: key,
    authorization: key,
    token: key,
    bearer: key,
    bearertoken: key,
    apikey: key,
    host: url,
    hostname: url,
    port: url,
    endpoint: named('url'),
    uri: named('url'),
    address: named('url'),
    serverurl: named('url'),
    httpurl: named('url'),
    cmd: named('command'),
    program: named('command'),
    executable: named('command'),
    arguments: named('args'),
    environment: named('env'),
    workdir: named('cwd'),
    workingdir: named('cwd'),
    workingdirectory: named('cwd'),
    httpheaders: named('headers'),
    disabled: () => meant('enabled', 'enabled: false for a server that is to be off'),
    disabledtools: () => meant('tools.deny'),
    excludetools: () => meant('tools.deny'),
    allowedtools: () => meant('tools.allow'),
    includetools: () => meant('tools.allow'),
  };
  return { names, forms };
}

const forms: Habits['forms'] = {
  args: (value) =>
    value.kind === 'scalar' ? 'write each argument as an item: args: [first, "second one"]' : undefined,
  env: () => 'write each variable as NAME: value, not as NAME=value',
  headers: () => 'write each header as Name: value, below headers',
  command: (value) =>
    value.kind === 'list'
      ? 'the program alone is command; what follows it is args: [first, second]'
      : undefined,
  tools: (value) => (value.kind === 'list' ? 'write tools: { allow: [first, second] }' : undefined),
};

function timeout(field: string, isMs = false): (value: YamlTree) => string {
  return (value) => {
    const number = numberIn(value);
    const seconds =
      secondsOf(value) ??
      (number === undefined ? undefined : isMs || number >= LEAST_MS ? number / 1000 : number);
    const isGuess = !isMs && number !== undefined && number >= LEAST_MS;
    return meant(
      field,
      seconds === undefined
        ? `a number of seconds: ${field}: 60`
        : `${field}: ${seconds}${isGuess ? `, if ${number} was meant in milliseconds` : ''}`,
    );
  };
}

/** What starts the server, or how it is spoken to, is `runtime` here. */
function runtime(value: YamlTree): string {
  const said = scalarText(value).toLowerCase().replace(/[_-]/g, '');
  if (said === 'stdio') return meant('runtime', 'runtime: stdio, or nothing: a command means it');
  if (said === 'sse') return meant('runtime', 'runtime: sse');
  if (/^(?:http|https|streamablehttp|streamable)$/.test(said))
    return meant('runtime', 'runtime: http, or nothing: a url means it');
  return meant('runtime', 'runtime: stdio, http or sse');
}
