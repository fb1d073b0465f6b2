// Names and value formats that other programs use for catalog fields. Messages about unknown keys and values
// in the wrong format contain the advice.

import {
  type AliasAdvice,
  numberIn,
  replacementAdvice,
  scalarText,
  secondsOf,
} from '../reader/alias-advice.ts';
import { memberOf } from '../reader/yaml-members.ts';
import type { YamlTree } from '../reader/yaml-tree.ts';
import { transportOf } from './transport-words.ts';

/** Smallest number that is interpreted as milliseconds; smaller numbers are seconds. */
const MIN_MILLISECONDS = 1000;

/**
 * Returns the advice for an entry. API keys belong in headers for remote servers, and in variables for local
 * servers.
 */
export function entryAdvice(entry: YamlTree): AliasAdvice {
  const isRemote = memberOf(entry, 'url') !== undefined;
  const key = () =>
    isRemote
      ? replacementAdvice('headers', `headers: { Authorization: "Bearer \${TOKEN}" }`)
      : replacementAdvice('env', `env: { API_KEY: "\${API_KEY}" }, with the name that the server reads`);
  const url = () => replacementAdvice('url', 'url: http://HOST:PORT/mcp');
  const suggestField = (field: string) => () => replacementAdvice(field);
  // Keys are in lower case, without `_` and `-`.
  const names = {
    timeout: adviseSeconds('request_timeout_seconds'),
    timeoutms: adviseSeconds('request_timeout_seconds', 'ms'),
    timeoutsec: adviseSeconds('request_timeout_seconds'),
    requesttimeoutms: adviseSeconds('request_timeout_seconds', 'ms'),
    tooltimeout: adviseSeconds('request_timeout_seconds'),
    tooltimeoutsec: adviseSeconds('request_timeout_seconds'),
    startuptimeout: adviseSeconds('start_timeout_seconds'),
    startuptimeoutms: adviseSeconds('start_timeout_seconds', 'ms'),
    startuptimeoutsec: adviseSeconds('start_timeout_seconds'),
    transport: adviseRuntime,
    transporttype: adviseRuntime,
    protocol: adviseRuntime,
    auth: key,
    authorization: key,
    token: key,
    bearer: key,
    bearertoken: key,
    apikey: key,
    host: url,
    hostname: url,
    port: url,
    endpoint: suggestField('url'),
    uri: suggestField('url'),
    address: suggestField('url'),
    serverurl: suggestField('url'),
    httpurl: suggestField('url'),
    cmd: suggestField('command'),
    program: suggestField('command'),
    executable: suggestField('command'),
    arguments: suggestField('args'),
    environment: suggestField('env'),
    workdir: suggestField('cwd'),
    workingdir: suggestField('cwd'),
    workingdirectory: suggestField('cwd'),
    httpheaders: suggestField('headers'),
    disabled: () => replacementAdvice('enabled', 'enabled: false to disable a server'),
    enabledtools: () => replacementAdvice('tools.allow'),
    image: () => replacementAdvice('command', 'command: docker, args: [run, -i, --rm, IMAGE]'),
    docker: () => replacementAdvice('command', 'command: docker, args: [run, -i, --rm, IMAGE]'),
    disabledtools: () => replacementAdvice('tools.deny'),
    excludetools: () => replacementAdvice('tools.deny'),
    allowedtools: () => replacementAdvice('tools.allow'),
    includetools: () => replacementAdvice('tools.allow'),
  };
  return { names, forms };
}

/** Advice for catalog fields with a value in the format of another program. */
const forms: AliasAdvice['forms'] = {
  args: (value) =>
    value.kind === 'scalar' ? 'write each argument as an item: args: [first, "second one"]' : undefined,
  env: () => 'write each variable as NAME: value, not as NAME=value',
  headers: () => 'write each header as Name: value, below headers',
  command: (value) =>
    value.kind === 'list'
      ? 'command is the program only; put its arguments into args: [first, second]'
      : undefined,
  tools: (value) => (value.kind === 'list' ? 'write tools: { allow: [first, second] }' : undefined),
};

/** Returns advice to write `field` in seconds. Without `unit`, the size of the number decides on its unit. */
function adviseSeconds(field: string, unit?: 'ms'): (value: YamlTree) => string {
  const isMs = unit === 'ms';
  return (value) => {
    const number = numberIn(value);
    const seconds =
      secondsOf(value) ??
      (number === undefined ? undefined : isMs || number >= MIN_MILLISECONDS ? number / 1000 : number);
    const isGuess = !isMs && number !== undefined && number >= MIN_MILLISECONDS;
    return replacementAdvice(
      field,
      seconds === undefined
        ? `a number of seconds: ${field}: 60`
        : `${field}: ${seconds}${isGuess ? `, if ${number} is in milliseconds` : ''}`,
    );
  };
}

const runtimes = {
  stdio: 'stdio, which is the default with command',
  http: 'http, which is the default with url',
  sse: 'sse',
};

/** Returns advice to replace a transport field of another program, such as `transport`, by `runtime`. */
function adviseRuntime(value: YamlTree): string {
  const transport = transportOf(scalarText(value));
  return replacementAdvice(
    'runtime',
    `runtime: ${transport === undefined ? 'stdio, http or sse' : runtimes[transport]}`,
  );
}
