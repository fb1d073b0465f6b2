// Schemas and types of the catalog, the file that lists the MCP servers. `writtenEntrySchema` describes an
// entry in the file, where local and remote servers have one schema. `StdioEntry` and `RemoteEntry` are
// validated entries with defaults, distinguished by `runtime`. All share one declaration of the fields.
// SchemaNode (reader/schema-descriptions.ts) explains the keywords `secretBy` and `shownAs`.

import * as Type from 'typebox';
import { seconds, secondsOrZero } from '../duration-schema.ts';
import { headersByName, name, text, variablesByName } from '../text-schema.ts';

export const serverIdPattern = '^[A-Za-z0-9._-]{1,64}$';

/** Glob pattern for tool names. */
export const toolPattern = Type.String({
  minLength: 1,
  maxLength: 1024,
  // Rejects foreign glob syntax: matched literally, a `deny` pattern would have no effect.
  pattern: '^(?!.*\\[\\[:)(?!.*\\{[^{}]*\\.\\.)[^()]*$',
  patternErrorMessage: 'a pattern of * ? [a-z] [!a-z] {a,b}, without ( ), {1..3} and [[:alpha:]]',
});

/** List of tool patterns. Without `byDefault`, an omitted list stays undefined, unlike an empty list. */
const toolPatterns = (description: string, byDefault?: string[]) =>
  Type.Array(toolPattern, { description, ...(byDefault === undefined ? {} : { default: byDefault }) });

// Schema with optional fields only. `Type.Partial` would load TypeBox's type engine: 8 ms at each start.
const partial = <P extends Type.TProperties>(properties: P) =>
  Type.Unsafe<Partial<Type.Static<Type.TObject<P>>>>({ type: 'object', properties });

const isolation = (description: string, byDefault: 'shared' | 'session') =>
  Type.Enum(['shared', 'session'], { description, default: byDefault });

/** Fields of every server, local or remote. */
const sharedFields = {
  era: Type.Enum(['legacy', 'modern', 'auto'], {
    description:
      'Protocol era of the server: legacy (sessions, up to 2025-11-25), modern (2026-07-28), or auto (detected).',
    default: 'legacy',
  }),
  enabled: Type.Boolean({ description: 'Enable the server.', default: true }),
  placement: Type.Enum(['node', 'cluster'], {
    description:
      'Placement in a cluster: node (each gateway runs the server) or cluster (one gateway runs it, the others forward calls).',
    default: 'node',
  }),
  idle_timeout_seconds: secondsOrZero('Idle time before the server is stopped; 0 = never.', 300),
  start_timeout_seconds: seconds('Start timeout.', 30),
  request_timeout_seconds: seconds('Maximum time without a response or progress.', 60),
  max_request_seconds: seconds('Maximum duration of a request, regardless of progress.', 600),
  forward_roots: Type.Boolean({
    description: "Forward the client's roots; some servers grant access to them.",
    default: false,
  }),
  lost_process: Type.Optional(
    Type.Enum(['new', 'error'], {
      description:
        'Result of the next request of a client session whose process or remote session ended: new (the gateway opens another one) or error (the request fails once). Only with isolation session. Default: new.',
    }),
  ),
  pool: Type.Object(
    {
      max: Type.Integer({
        description:
          'Maximum number of processes or remote sessions. Default: 1; with isolation session, 32 processes or 1000 remote sessions. With isolation session and a limit of 8 or more, one principal can use at most seven eighths.',
        default: 1,
        minimum: 1,
        maximum: 100_000,
      }),
      in_flight: Type.Integer({
        description:
          'Maximum concurrent requests; per session with isolation session. With isolation shared and a limit of 8 or more, one session or principal can use at most seven eighths.',
        default: 256,
        minimum: 1,
        maximum: 100_000,
      }),
      waiting: Type.Integer({
        description:
          'Maximum queued requests; per session with isolation session. Further requests are refused.',
        default: 256,
        minimum: 1,
        maximum: 100_000,
      }),
    },
    { description: 'Connections to the server and their limits.', default: {} },
  ),
  health: Type.Object(
    {
      interval_seconds: secondsOrZero('Interval between pings; 0 = no health checks.', 30),
      timeout_seconds: seconds('Ping timeout.', 5),
      failures: Type.Integer({
        description:
          'Consecutive failed pings before a tools/list request is sent; without a response to it, the connection is closed.',
        default: 3,
        minimum: 1,
        maximum: 1000,
      }),
    },
    { description: 'Health checks of a running server.', default: {} },
  ),
  restart: Type.Object(
    {
      intensity: Type.Integer({
        description: 'Maximum failures within the period; one more parks the server.',
        default: 5,
        minimum: 0,
        maximum: 1000,
      }),
      period_seconds: seconds('Period for counting failures.', 60),
      min_backoff_ms: Type.Integer({
        description: 'Initial backoff, in milliseconds; doubled after each failure.',
        default: 250,
        minimum: 1,
        maximum: 2_147_483_647,
      }),
      max_backoff_seconds: seconds('Maximum backoff.', 30),
      park_seconds: secondsOrZero('Time before a parked server is started again.', 60),
    },
    { description: 'Restarts after failures.', default: {} },
  ),
  tools: Type.Object(
    {
      allow: toolPatterns('Glob patterns for tools that clients can see.', ['*']),
      deny: toolPatterns('Glob patterns for hidden tools; takes precedence over allow.', []),
    },
    { description: "Filter for the server's tools.", default: {} },
  ),
  tags: Type.Array(
    Type.String({
      pattern: serverIdPattern,
      patternErrorMessage: '1 to 64 of A-Z a-z 0-9 . _ -',
    }),
    {
      description: 'Labels for tool search and profiles; a change needs no restart.',
      default: [],
      maxItems: 16,
    },
  ),
};

/** Default of `install_timeout_seconds`. Hashes of entries omit this default (entry-hash.ts). */
export const DEFAULT_INSTALL_SECONDS = 600;

const stdioFields = {
  command: name('Program to run, without a shell. With a slash: a path relative to this file.'),
  args: Type.Array(
    Type.String({
      pattern: '^[^\\0]*$',
      patternErrorMessage: 'text without a NUL character',
      secretBy: 'name',
    }),
    {
      description: 'Arguments of the program, one per item.',
      default: [],
    },
  ),
  env: variablesByName('Environment variables of the program, in addition to the inherited ones.'),
  cwd: Type.String({
    description: 'Working directory, relative to this file.',
    default: '.',
    minLength: 1,
    pattern: '^[^\\0]*$',
    patternErrorMessage: 'a path',
    shownAs: 'name',
  }),
  inherit_env: Type.Union(
    [
      Type.Boolean(),
      Type.Array(Type.String({ pattern: '^[^=\\0]+$', patternErrorMessage: 'the name of a variable' })),
    ],
    {
      description: "Additional variables inherited from the gateway's environment: names, or true for all.",
      default: [],
    },
  ),
  install_timeout_seconds: seconds(
    'Maximum duration of the installation by npx, uvx and other launchers, before the start.',
    DEFAULT_INSTALL_SECONDS,
  ),
};

const remoteFields = {
  url: { ...text('URL of the remote server, http or https.'), shownAs: 'address', secretBy: 'name' },
  headers: headersByName('HTTP headers sent with every request.'),
};

/** Fields that only local servers have. */
export const stdioKeys = Object.keys(stdioFields);
/** Fields that only remote servers have. */
export const remoteKeys = Object.keys(remoteFields);

const isolationMeaning =
  'shared: clients share connections; session: separate connections per client session.';

export const stdioEntrySchema = Type.Object({
  runtime: Type.Literal('stdio'),
  ...stdioFields,
  isolation: isolation(isolationMeaning, 'shared'),
  ...sharedFields,
});

export const remoteEntrySchema = Type.Object({
  runtime: Type.Enum(['http', 'sse']),
  ...remoteFields,
  isolation: isolation(isolationMeaning, 'session'),
  ...sharedFields,
});

/** Fields of an entry in the file, local or remote. */
const writtenFields = {
  runtime: Type.Enum(['stdio', 'http', 'sse'], {
    description:
      'Transport. Default: stdio with command, http with url. sse is the older transport of remote servers.',
  }),
  ...stdioFields,
  ...remoteFields,
  isolation: Type.Enum(['shared', 'session'], {
    description: `${isolationMeaning} Default: shared for a command, session for a url.`,
  }),
  ...sharedFields,
};

export const writtenKeys = Object.keys(writtenFields);

/** Entry under `servers`; `command` and `url` exclude each other. */
export const writtenEntrySchema = partial(writtenFields);

/** Fields that client programs use in place of the catalog's fields. */
export const clientFields = {
  type: Type.Enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse'], {
    description: 'Alias of runtime in files of desktop clients.',
  }),
  disabled: Type.Boolean({ description: 'Opposite of enabled, in files of desktop clients.' }),
  // Other lists of tools, such as alwaysAllow, are ignored: they control approval prompts of the client.
  disabledTools: toolPatterns('Alias of tools.deny in files of desktop clients; both lists apply.'),
  excludeTools: toolPatterns('Alias of disabledTools.'),
  enabledTools: toolPatterns('Alias of tools.allow in files of desktop clients.'),
  includeTools: toolPatterns('Alias of enabledTools.'),
};

/** Aliases that are rewritten before validation; listed here for the JSON Schema. */
const rewrittenFields = {
  serverUrl: text("Windsurf's alias of url."),
  httpUrl: text("Gemini's alias of url; Gemini's own url field implies runtime sse."),
  timeout: Type.Number({
    exclusiveMinimum: 0,
    maximum: 2_147_483_647,
    description:
      'Alias of request_timeout_seconds: milliseconds for Gemini, seconds for Cline; for other clients seconds up to 3600, otherwise milliseconds.',
  }),
  envFile: Type.String({
    description: 'File with variables (NAME=value) for env, from VS Code and Cursor.',
    shownAs: 'name',
  }),
};

/** Fields of the catalog, and their aliases in client programs. */
export const desktopFields = { ...writtenFields, ...clientFields };

/** Entry under `mcpServers`, the key for servers in files of client programs. */
export const desktopEntrySchema = partial({ ...desktopFields, ...rewrittenFields });

interface WithCredentials {
  /** Credentials to redact in errors from this server; empty by default. */
  readonly credentials?: readonly string[];
}

/** Local server. Paths in `command` and `cwd` are absolute. */
export type StdioEntry = Omit<Type.Static<typeof stdioEntrySchema>, 'inherit_env'> &
  WithCredentials & { inherit_env: true | string[] };
/** Remote server. */
export type RemoteEntry = Type.Static<typeof remoteEntrySchema> & WithCredentials;
/** Complete catalog entry; `runtime` discriminates the union. */
export type ServerEntry = StdioEntry | RemoteEntry;

/** Returns the entry with additional credentials. */
export function withCredentials(entry: ServerEntry, credentials: readonly string[]): ServerEntry {
  return credentials.length === 0
    ? entry
    : { ...entry, credentials: [...(entry.credentials ?? []), ...credentials] };
}

export interface Catalog {
  /** Entries by server id; the record has no prototype, so every id is a plain key. */
  readonly servers: Readonly<Record<string, ServerEntry>>;
}
