// The server catalog: what may be said about a server, in two readings. `StdioEntry` and `RemoteEntry` are what
// the gateway works with, filled and discriminated by `runtime`; `writtenEntrySchema` is what an operator may
// write, before it is known which of the two it is. The fields are declared once.

import * as Type from 'typebox';
import { seconds, secondsOrZero } from '../duration-schema.ts';
import { headersByName, name, text, variablesByName } from '../text-schema.ts';

export const serverIdPattern = '^[A-Za-z0-9._-]{1,64}$';

/** A pattern of names of tools. */
export const toolPattern = Type.String({
  minLength: 1,
  maxLength: 1024,
  // Taken literally, what other programs give a meaning would let tools through that a `deny` is to hold back.
  pattern: '^(?!.*\\[\\[:)(?!.*\\{[^{}]*\\.\\.)[^()]*$',
  patternErrorMessage: 'a pattern of * ? [a-z] [!a-z] {a,b}, without ( ), {1..3} and [[:alpha:]]',
});

/** Without a default one can tell whether it was written. */
const toolPatterns = (description: string, byDefault?: string[]) =>
  Type.Array(toolPattern, { description, ...(byDefault === undefined ? {} : { default: byDefault }) });

// `Type.Partial` would bring TypeBox's type engine with it, 8 ms of each start.
const partial = <P extends Type.TProperties>(properties: P) =>
  Type.Unsafe<Partial<Type.Static<Type.TObject<P>>>>({ type: 'object', properties });

const isolation = (description: string, byDefault: 'shared' | 'session') =>
  Type.Enum(['shared', 'session'], { description, default: byDefault });

/** Fields of every server, local or remote. */
const sharedFields = {
  era: Type.Enum(['legacy', 'modern', 'auto'], {
    description:
      'Protocol the server speaks: legacy (sessions, up to 2025-11-25), modern (2026-07-28), or auto: the server is asked.',
    default: 'legacy',
  }),
  enabled: Type.Boolean({ description: 'false keeps the server off.', default: true }),
  placement: Type.Enum(['node', 'cluster'], {
    description:
      'Of gateways that share a database: node: each runs the server for itself; cluster: one of them runs it, and the others send their calls there.',
    default: 'node',
  }),
  idle_timeout_seconds: secondsOrZero('Stopped after this long without a call; 0 = never.', 300),
  start_timeout_seconds: seconds('A start that takes longer has failed.', 30),
  request_timeout_seconds: seconds('A request without answer or progress fails after this long.', 60),
  max_request_seconds: seconds('A request fails after this long in any case, progress or not.', 600),
  forward_roots: Type.Boolean({
    description: "Pass the client's roots on; some servers widen what they allow to them.",
    default: false,
  }),
  pool: Type.Object(
    {
      max: Type.Integer({
        description:
          'Most processes or remote sessions at once. Default 1; under isolation session 32 processes or 1000 remote sessions.',
        default: 1,
        minimum: 1,
        maximum: 100_000,
      }),
      in_flight: Type.Integer({
        description:
          'Requests in flight at the server; of eight or more one session alone gets seven eighths. Under isolation session, for each session.',
        default: 256,
        minimum: 1,
        maximum: 100_000,
      }),
      waiting: Type.Integer({
        description:
          'Requests that may wait; one more is refused at once. Under isolation session, for each session.',
        default: 256,
        minimum: 1,
        maximum: 100_000,
      }),
    },
    { description: 'Connections to the server and what they may carry.', default: {} },
  ),
  health: Type.Object(
    {
      interval_seconds: secondsOrZero('Time between two pings; 0 = no health checks.', 30),
      timeout_seconds: seconds('A ping without answer for this long has failed.', 5),
      failures: Type.Integer({
        description: 'So many failures in a row end the connection.',
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
        description: 'More failures than this within the period park the server.',
        default: 5,
        minimum: 0,
        maximum: 1000,
      }),
      period_seconds: seconds('The period in which failures are counted.', 60),
      min_backoff_ms: Type.Integer({
        description: 'First pause before another start, in milliseconds; it doubles with each failure.',
        default: 250,
        minimum: 1,
        maximum: 2_147_483_647,
      }),
      max_backoff_seconds: seconds('Longest pause before another start.', 30),
      park_seconds: secondsOrZero('A parked server is tried again after this long.', 60),
    },
    { description: 'What happens after a failure.', default: {} },
  ),
  tools: Type.Object(
    {
      allow: toolPatterns('Patterns of tool names that clients see.', ['*']),
      deny: toolPatterns('Patterns of tool names that clients do not see; stronger than allow.', []),
    },
    { description: "Which of the server's tools are offered.", default: {} },
  ),
  tags: Type.Array(
    Type.String({
      pattern: serverIdPattern,
      patternErrorMessage: '1 to 64 of A-Z a-z 0-9 . _ -',
    }),
    {
      description:
        'Words by which tool search can narrow its results, and by which profiles choose servers; a change needs no restart.',
      default: [],
      maxItems: 16,
    },
  ),
};

const stdioFields = {
  command: name('Program to run; not a shell line. With a slash it is a path relative to this file.'),
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
  env: variablesByName("Environment of the program, beyond the few variables of the gateway's that all get."),
  cwd: Type.String({
    description: 'Working folder, relative to this file.',
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
    { description: "Names passed on from the gateway's environment, or true for all.", default: [] },
  ),
};

const remoteFields = {
  url: { ...text('Address of the remote server, http or https.'), shownAs: 'address', secretBy: 'name' },
  headers: headersByName('HTTP headers sent with every request.'),
};

export const stdioKeys = Object.keys(stdioFields);
export const remoteKeys = Object.keys(remoteFields);

const isolationMeaning = 'shared: clients share the connections; session: each client session has its own.';

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

const writtenFields = {
  runtime: Type.Enum(['stdio', 'http', 'sse'], {
    description: 'Implied by command (stdio) or url (http); sse is the older transport of remote servers.',
  }),
  ...stdioFields,
  ...remoteFields,
  isolation: Type.Enum(['shared', 'session'], {
    description: `${isolationMeaning} Default: shared for a command, session for a url.`,
  }),
  ...sharedFields,
};

/** What may stand in an entry under `servers`; `command` and `url` exclude each other. */
export const writtenEntrySchema = partial(writtenFields);

/** Words of clients for what our fields say. */
export const clientFields = {
  type: Type.Enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse'], {
    description: "A desktop client's word for runtime.",
  }),
  disabled: Type.Boolean({ description: "A desktop client's word for enabled: false." }),
  // What other lists of theirs say, such as alwaysAllow, is when a person is asked: that stays the client's business.
  disabledTools: toolPatterns("A desktop client's word for tools.deny, to which it is added."),
  excludeTools: toolPatterns('The same, of another client.'),
  enabledTools: toolPatterns("A desktop client's word for tools.allow."),
  includeTools: toolPatterns('The same, of another client.'),
};

/** Such words that are rewritten before a file is read along its schema; they are here for whoever looks them up. */
const rewrittenFields = {
  serverUrl: text("Windsurf's word for url."),
  httpUrl: text("Gemini's word for url; what it calls url is an address of runtime sse."),
  timeout: Type.Number({
    exclusiveMinimum: 0,
    maximum: 2_147_483_647,
    description:
      'Their word for request_timeout_seconds: in milliseconds of Gemini, in seconds of Cline, and else in seconds up to 3600, beyond that in milliseconds.',
  }),
  envFile: Type.String({
    description: 'A file of VS Code and Cursor with further variables (NAME=value) for env.',
    shownAs: 'name',
  }),
};

/** What may stand in an entry of our own, and the words of clients. */
export const desktopFields = { ...writtenFields, ...clientFields };

/** What may stand in an entry under `mcpServers`. */
export const desktopEntrySchema = partial({ ...desktopFields, ...rewrittenFields });

interface WithCredentials {
  /** Credentials to redact in errors from this server; empty by default. */
  readonly credentials?: readonly string[];
}

/** A local server: `command` with a slash and `cwd` are absolute. */
export type StdioEntry = Omit<Type.Static<typeof stdioEntrySchema>, 'inherit_env'> &
  WithCredentials & { inherit_env: true | string[] };
/** A remote server. */
export type RemoteEntry = Type.Static<typeof remoteEntrySchema> & WithCredentials;
/** One server of the catalog, everything filled; `runtime` tells the kinds apart. */
export type ServerEntry = StdioEntry | RemoteEntry;

/** Returns the entry with additional credentials. */
export function withCredentials(entry: ServerEntry, credentials: readonly string[]): ServerEntry {
  return credentials.length === 0
    ? entry
    : { ...entry, credentials: [...(entry.credentials ?? []), ...credentials] };
}

export interface Catalog {
  /** By id; the record has no prototype, so that any id is a plain key. */
  readonly servers: Readonly<Record<string, ServerEntry>>;
}
