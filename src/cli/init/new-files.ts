// The texts that `init` writes: each says what it is for, and what may be changed in it. They hold no secret: what must not be
// read by others is a variable, whose value goes into .env.

import { isLoopback, parseListenAddr, urlOf } from '../../../config/gateway-file/listen-addr.ts';

/** What was answered, or the defaults. */
export interface Wishes {
  /** host:port */
  readonly listen: string;
  readonly hasKey: boolean;
  /** Whose files the first server reads and writes, absolute or relative to the new folder; undefined for none. */
  readonly files: string | undefined;
  readonly hasBrowser: boolean;
  /** The catalog is begun with the servers that clients on this machine have. */
  readonly isImporting: boolean;
  readonly hasTriggers: boolean;
}

export interface NewFile {
  /** Relative to the folder. */
  readonly path: string;
  readonly text: string;
}

export const defaults: Wishes = {
  listen: '127.0.0.1:8080',
  hasKey: false,
  files: './files',
  hasBrowser: false,
  isImporting: false,
  hasTriggers: false,
};

/** Whether only this machine reaches the address. */
export function isPrivate(listen: string): boolean {
  return isLoopback(/^(.*):\d+$/.exec(listen)?.[1] ?? '');
}

/** All but .env, the gateway file first. */
export function newFiles(wishes: Wishes): NewFile[] {
  const { files, hasTriggers } = wishes;
  return [
    { path: 'gateway.yaml', text: gatewayText(wishes) },
    { path: 'catalog.yaml', text: catalogText(wishes) },
    ...(files === defaults.files
      ? [{ path: 'files/hello.txt', text: 'Hello from the files of the gateway.\n' }]
      : []),
    ...(hasTriggers
      ? [
          { path: 'triggers/hello.yaml', text: triggerText(wishes) },
          { path: 'agents/greeter.yaml', text: AGENT },
          { path: 'agents/rules/greeter.yaml', text: RULES },
        ]
      : []),
  ];
}

/** The variables that need a value, which is made for them. */
export function variablesOf({ hasKey, hasTriggers, listen }: Wishes): string[] {
  return [
    ...(hasKey ? ['GATEWAY_API_KEY'] : []),
    ...(hasTriggers && !isPrivate(listen) ? ['HELLO_KEY'] : []),
  ];
}

function gatewayText({ listen, hasKey, hasTriggers }: Wishes): string {
  const key = hasKey
    ? `# Every request but GET /health needs this key. Its value stands in .env, beside this file.
api_key: \${GATEWAY_API_KEY}`
    : `# With a key every request but GET /health needs it. Its value belongs into .env, beside this file.
# api_key: \${GATEWAY_API_KEY}`;
  const spec = hasTriggers
    ? `# Triggers take events in, agents answer them. Files that change are read again at once.
spec:
  triggers: { directory: ./triggers, watch: true }
  agents: { directory: ./agents }`
    : `# Triggers take events in (webhooks, chats, schedules), agents answer them.
# spec:
#   triggers: { directory: ./triggers, watch: true }
#   agents: { directory: ./agents }`;
  return `# The gateway: where it listens, and what it reads. "actor-gateway explain gateway" tells each field,
# "actor-gateway --config gateway.yaml --check" what is wrong with it.

# Only programs of this machine reach 127.0.0.1; 0.0.0.0:8080 is open to the network, and needs a key.
listen_addr: ${listen}

# The tool servers.
catalog_path: ./catalog.yaml

${key}

# Least level that is logged: debug shows more.
log_level: info

${spec}
`;
}

function catalogText(wishes: Wishes): string {
  const { files, hasBrowser } = wishes;
  const entries = [
    files === undefined ? commented(filesEntry(files)) : `  ${filesEntry(files)}`,
    hasBrowser ? `  ${BROWSER_ENTRY}` : commented(BROWSER_ENTRY),
  ];
  const hasNone = files === undefined && !hasBrowser;
  return `# The catalog: the tool servers, by id. Each is started by the first request that needs it.
# "actor-gateway explain catalog.servers" tells each field. A server of your own is a command with its arguments
# (command, args, env), or an address (url, headers). A secret is a variable: \${NAME}.
servers:${hasNone ? ' {} # instead of {}, what is commented out below' : ''}
${entries.join('\n\n')}
`;
}

/** The same servers behind those of a catalog that was imported; what has such an id there stays. */
export function withOwnServers(catalog: string, { files, hasBrowser }: Wishes): string {
  const isTaken = (id: string) => new RegExp(`^ {2}["']?${id}["']?:`, 'm').test(catalog);
  const entries = [
    ...(files === undefined || isTaken('files') ? [] : [filesEntry(files)]),
    ...(hasBrowser && !isTaken('browser') ? [BROWSER_ENTRY] : []),
  ];
  return [catalog.trimEnd(), ...entries.map((entry) => `\n  ${entry}`)].join('\n').concat('\n');
}

const filesEntry = (
  files = './files',
) => `files: # reads and writes what is in the folder, and nothing outside of it
    command: actor-gateway-files # comes with the gateway
    args: [${yamlWord(files)}] # "--read-only" before it: nothing is changed`;

const BROWSER_ENTRY = `browser: # opens pages; needs Chromium or Chrome on this machine
    command: actor-gateway-browser # comes with the gateway
    isolation: session # each client has a browser of its own`;

const commented = (entry: string): string =>
  `  ${entry}`
    .split('\n')
    .map((line) => `  # ${line.slice(2)}`)
    .join('\n');

/** As a member of a list in brackets. */
function yamlWord(text: string): string {
  const isPlain = /^[A-Za-z0-9./_][A-Za-z0-9./_-]*$/.test(text) && !/^[0-9.]+$/.test(text);
  return isPlain || text === '.' || text === '..' ? text : JSON.stringify(text.replaceAll('${', '$${'));
}

function triggerText({ listen }: Wishes): string {
  const proof = isPrivate(listen)
    ? `# Nothing proves who sends, which is allowed as long as only this machine reaches the gateway. For others:
    # webhook_secret: \${HELLO_SECRET}
    insecure_allow_unverified: true`
    : `# Who sends proves it by this header; its value stands in .env.
    required_headers: { X-Hello-Key: "\${HELLO_KEY}" }`;
  return `# A webhook: what is sent to it, the agent "greeter" answers. "actor-gateway explain trigger.spec" tells each field.
#   ${sampleRequest(listen)}
apiVersion: example.com/v1
kind: Trigger
metadata: { name: hello }
spec:
  type: HTTP
  config:
    path: /webhook/hello
    respond: sync # the answer of the agent is the answer to the request
    ${proof}
  default_agent: greeter
`;
}

/** A command line that the trigger answers. */
export function sampleRequest(listen: string): string {
  const proof = isPrivate(listen) ? '' : ` -H "X-Hello-Key: $HELLO_KEY"`;
  return `curl${proof} -H 'content-type: application/json' -d '{"text":"hello"}' ${urlOf(parseListenAddr(listen))}/webhook/hello`;
}

const AGENT = `# An agent that answers by the rules of a file, without a model and without a key. With a model it is, for example:
#   model: google:gemini-2.5-flash
#   system_prompt: You are friendly, and brief.
#   mcp_servers: [files]
apiVersion: example.com/v1
kind: Agent
metadata: { name: greeter }
spec:
  description: Greets whoever writes
  model: scripted:rules/greeter.yaml
`;

const RULES = `# The first rule that fits answers; this file is read again when it changes.
- match: { text: "(?i)\\\\b(hello|hi|hey)\\\\b" }
  answer: "Hello! The trigger {{trigger}} has brought me this: {{input}}"
- answer: "Say hello, and I greet you. You said: {{input}}"
`;
