// Content of the files that `init` writes, with comments for the user. Secrets are references to variables;
// their values are written to .env.

import { isLoopback, parseListenAddr, urlOf } from '../../../config/gateway-file/listen-addr.ts';

/** Answers of the user, or the defaults. */
export interface InitOptions {
  /** Listen address, host:port. */
  readonly listen: string;
  readonly hasKey: boolean;
  /**
   * Folder for the files server, absolute or relative to the output folder; undefined without that server.
   */
  readonly files: string | undefined;
  readonly hasBrowser: boolean;
  /** True to import the servers of MCP clients on this machine. */
  readonly isImporting: boolean;
  readonly hasTriggers: boolean;
}

export interface NewFile {
  /** Relative to the output folder. */
  readonly path: string;
  readonly text: string;
}

export const defaults: InitOptions = {
  listen: '127.0.0.1:8080',
  hasKey: false,
  files: './files',
  hasBrowser: false,
  isImporting: false,
  hasTriggers: false,
};

/** Returns true for a loopback address, reachable only from this machine. */
export function isPrivate(listen: string): boolean {
  return isLoopback(/^(.*):\d+$/.exec(listen)?.[1] ?? '');
}

/** Returns all files except .env. The first two are the gateway file and the catalog. */
export function renderFiles(options: InitOptions): NewFile[] {
  const { files, hasTriggers } = options;
  return [
    { path: 'gateway.yaml', text: gatewayText(options) },
    { path: 'catalog.yaml', text: catalogText(options) },
    ...(files === defaults.files
      ? [{ path: 'files/hello.txt', text: 'Hello from the files of the gateway.\n' }]
      : []),
    ...(hasTriggers
      ? [
          { path: 'triggers/hello.yaml', text: triggerText(options) },
          { path: 'agents/greeter.yaml', text: AGENT },
          { path: 'agents/rules/greeter.yaml', text: RULES },
        ]
      : []),
  ];
}

/** Returns the names of the variables whose values `init` generates. */
export function variablesOf({ hasKey, hasTriggers, listen }: InitOptions): string[] {
  return [
    ...(hasKey ? ['GATEWAY_API_KEY'] : []),
    ...(hasTriggers && !isPrivate(listen) ? ['HELLO_KEY'] : []),
  ];
}

function gatewayText({ listen, hasKey, hasTriggers }: InitOptions): string {
  const key = hasKey
    ? `# All requests except GET /health need this key. Its value is in .env, next to this file.
api_key: \${GATEWAY_API_KEY}`
    : `# With a key, all requests except GET /health need it. Put its value into .env, next to this file.
# api_key: \${GATEWAY_API_KEY}`;
  const spec = hasTriggers
    ? `# Triggers receive events, agents answer them. Changed files are reloaded automatically.
spec:
  triggers: { directory: ./triggers, watch: true }
  agents: { directory: ./agents }`
    : `# Triggers receive events (webhooks, chats, schedules), agents answer them.
# spec:
#   triggers: { directory: ./triggers, watch: true }
#   agents: { directory: ./agents }`;
  return `# The gateway file. "actor-gateway explain gateway" describes all fields,
# "actor-gateway --config gateway.yaml --check" reports errors.

# 127.0.0.1 is reachable only from this machine; 0.0.0.0:8080 is open to the network, and needs a key.
listen_addr: ${listen}

# The tool servers.
catalog_path: ./catalog.yaml

${key}

# Minimum log level; debug prints more.
log_level: info

${spec}
`;
}

function catalogText(options: InitOptions): string {
  const { files, hasBrowser } = options;
  const entries = [
    files === undefined ? commentOut(filesEntry(files)) : `  ${filesEntry(files)}`,
    hasBrowser ? `  ${BROWSER_ENTRY}` : commentOut(BROWSER_ENTRY),
  ];
  const hasNone = files === undefined && !hasBrowser;
  return `# The catalog: tool servers by id. The first request for a server starts it.
# "actor-gateway explain catalog.servers" describes all fields. Add a server by its command (command, args,
# env), or by its address (url, headers). Write secrets as variables: \${NAME}.
servers:${hasNone ? ' {} # replace {} by entries such as those below' : ''}
${entries.join('\n\n')}
`;
}

/** Appends the chosen servers to an imported catalog, unless their ids are taken. */
export function withOwnServers(catalog: string, { files, hasBrowser }: InitOptions): string {
  const isTaken = (id: string) => new RegExp(`^ {2}["']?${id}["']?:`, 'm').test(catalog);
  const entries = [
    ...(files === undefined || isTaken('files') ? [] : [filesEntry(files)]),
    ...(hasBrowser && !isTaken('browser') ? [BROWSER_ENTRY] : []),
  ];
  return [catalog.trimEnd(), ...entries.map((entry) => `\n  ${entry}`)].join('\n').concat('\n');
}

const filesEntry = (files = './files') => `files: # reads and writes files in this folder only
    command: actor-gateway-files # part of the gateway
    args: [${yamlScalar(files)}] # put "--read-only" before it to forbid changes`;

const BROWSER_ENTRY = `browser: # opens web pages; needs Chromium or Chrome on this machine
    command: actor-gateway-browser # part of the gateway
    isolation: session # one browser per client`;

const commentOut = (entry: string): string =>
  `  ${entry}`
    .split('\n')
    .map((line) => `  # ${line.slice(2)}`)
    .join('\n');

/** Returns a text as a YAML scalar, quoted if necessary. */
function yamlScalar(text: string): string {
  const needsNoQuotes = /^[A-Za-z0-9./_][A-Za-z0-9./_-]*$/.test(text) && !/^[0-9.]+$/.test(text);
  return needsNoQuotes || text === '.' || text === '..' ? text : JSON.stringify(text.replaceAll('${', '$${'));
}

function triggerText({ listen }: InitOptions): string {
  const proof = isPrivate(listen)
    ? `# Requests are not verified, which is allowed while only this machine reaches the gateway. Otherwise use:
    # webhook_secret: \${HELLO_SECRET}
    insecure_allow_unverified: true`
    : `# Senders must send this header; its value is in .env.
    required_headers: { X-Hello-Key: "\${HELLO_KEY}" }`;
  return `# A webhook, answered by the agent "greeter". "actor-gateway explain trigger.spec" describes all fields.
#   ${sampleRequest(listen)}
apiVersion: example.com/v1
kind: Trigger
metadata: { name: hello }
spec:
  type: HTTP
  config:
    path: /webhook/hello
    respond: sync # the response contains the agent's answer
    ${proof}
  default_agent: greeter
`;
}

/** Returns a curl command that sends a test request to the sample webhook. */
export function sampleRequest(listen: string): string {
  const proof = isPrivate(listen) ? '' : ` -H "X-Hello-Key: $HELLO_KEY"`;
  return `curl${proof} -H 'content-type: application/json' -d '{"text":"hello"}' ${urlOf(parseListenAddr(listen))}/webhook/hello`;
}

const AGENT = `# An agent with fixed rules instead of a model; it needs no key. With a model, for example:
#   model: google:gemini-2.5-flash
#   system_prompt: You are friendly, and brief.
#   mcp_servers: [files]
apiVersion: example.com/v1
kind: Agent
metadata: { name: greeter }
spec:
  description: Greets users
  model: scripted:rules/greeter.yaml
`;

const RULES = `# The first matching rule answers. The file is reloaded when it changes.
- match: { text: "(?i)\\\\b(hello|hi|hey)\\\\b" }
  answer: "Hello! The trigger {{trigger}} sent me this: {{input}}"
- answer: "Say hello, and I greet you. You wrote: {{input}}"
`;
