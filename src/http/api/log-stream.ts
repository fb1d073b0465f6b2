// GET /logs: the output of servers and the gateway's log lines. Returns the newest lines as JSON.
// A client that accepts `text/event-stream` gets them as server-sent events, and then each new line. The
// number of such clients is limited, also per principal (lines/recent.ts). For a slow client, up to
// MAX_QUEUED lines are queued; then the stream is closed with a reason (A8, ARCHITECTURE.md).

import { InvalidQueryError } from '../../../actors/base/errors/errors.ts';
import {
  parseChoice,
  parseQuery,
  parseTime,
  parseWholeNumber,
} from '../../../actors/base/errors/query-values.ts';
import { levelByName, lineLevels } from '../../../actors/mcp/servers/lines/level.ts';
import {
  type LineQuery,
  type LineWatcher,
  type LogLine,
  lineKinds,
  matchesQuery,
  namedKinds,
} from '../../../actors/mcp/servers/lines/recent.ts';
import type { HttpStream } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import type { RouteContext } from '../route-context.ts';
import { isoTime } from './iso-time.ts';
import type { LogRecord } from './log-shapes.ts';

const parameters = [...namedKinds, 'kind', 'level', 'since', 'lines'];
const DEFAULT_LINES = 100;
const MAX_LINES = 10_000;
const MAX_QUEUED = 1_000;

const HEADERS = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-store'],
  ['x-accel-buffering', 'no'],
] as const;

/** Returns the JSON of a line, for the response and for the event `line`. */
export function logRecord(
  { at, kind, name, level, from, text }: LogLine,
  redact: (text: string) => string,
): LogRecord {
  const server = kind === 'server' ? name : null;
  // Redacted again, because secrets can be newer than the line.
  return { at: isoTime(at), kind, name: redact(name) || null, server, level, from, text: redact(text) };
}

/** Handles GET /logs. Throws InvalidQueryError, UnknownServerError and OverloadedError. */
export function handleLogs(routes: RouteContext, context: ExchangeContext): void {
  const { mcp, life, redactor } = routes;
  const query = logQuery(context.request.query);
  // A server that was removed from the catalog is allowed while lines of it exist.
  const { kind, name } = query;
  if (kind === 'server' && name !== undefined && !mcp.lines.has({ kind, name })) mcp.servers.require(name);
  const lines = mcp.lines.read(query);
  const record = (line: LogLine) => logRecord(line, (text) => redactor.redact(text));
  if (!/\btext\/event-stream\b/i.test(context.request.headers.accept ?? '')) {
    context.json(200, { lines: lines.map(record) });
    return;
  }
  if (life.isEnding) {
    context.refuseWhileDraining();
    return;
  }
  new LogStream(routes, context, record, query).begin(lines);
}

function logQuery(text: string): LineQuery {
  const values = parseQuery(text, parameters);
  const since = values.get('since');
  const level = values.get('level');
  return {
    ...sourceQuery(values),
    level: level === undefined ? undefined : (levelByName(level) ?? parseChoice('level', lineLevels, level)),
    since: since === undefined ? undefined : parseTime(since, Date.now()),
    lines: parseWholeNumber('lines', values.get('lines') ?? String(DEFAULT_LINES), MAX_LINES, 0),
  };
}

/** Returns the kind and the name of the requested source. Throws InvalidQueryError for several sources. */
function sourceQuery(values: ReadonlyMap<string, string>): Pick<LineQuery, 'kind' | 'name'> {
  const kind = values.get('kind');
  const [named, ...others] = namedKinds.filter((each) => values.has(each));
  if (others.length > 0 || (named !== undefined && kind !== undefined))
    throw new InvalidQueryError(`use only one of ${namedKinds.join(', ')} and kind`);
  if (named !== undefined) return { kind: named, name: values.get(named) };
  return { kind: kind === undefined ? undefined : parseChoice('kind', lineKinds, kind) };
}

class LogStream implements LineWatcher {
  readonly #http: HttpStream;
  readonly #routes: RouteContext;
  readonly #record: (line: LogLine) => object;
  readonly #query: Pick<LineQuery, 'kind' | 'name' | 'level'>;
  readonly #onBeat = { heartbeat: () => void this.#http.write(': \n\n') };
  readonly #stopWatching: () => void;
  #queued: LogLine[] = [];
  #isWritable = true;

  constructor(
    routes: RouteContext,
    context: ExchangeContext,
    record: (line: LogLine) => object,
    { kind, name, level }: LineQuery,
  ) {
    this.#routes = routes;
    this.#record = record;
    this.#query = { kind, name, level };
    const client = routes.mcp.clients.sessions.shares.of(context.principal);
    this.#stopWatching = routes.mcp.lines.watch(this, client?.streams);
    this.#http = context.reply.stream(200, context.headers(HEADERS));
    context.reply.onAbort(() => this.#close());
    this.#http.onDrain(() => this.#flush());
    routes.heartbeat.streams.add(this.#onBeat);
  }

  /** Writes the existing lines. */
  begin(lines: readonly LogLine[]): void {
    if (this.#http.isDone) {
      this.#close();
      return;
    }
    this.#http.write(`: \n\n${lines.map((line) => this.#event(line)).join('')}`);
  }

  notify(line: LogLine): void {
    if (!matchesQuery(line, this.#query)) return;
    if (this.#isWritable) this.#isWritable = this.#http.write(this.#event(line));
    else if (this.#queued.length < MAX_QUEUED) this.#queued.push(line);
    else
      this.#end(
        'the client reads more slowly than the servers write; request the missing lines with ?since=',
      );
  }

  end(): void {
    this.#end('the gateway is stopping');
  }

  #end(reason: string): void {
    this.#close();
    this.#http.write(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`);
    this.#http.end();
  }

  #event(line: LogLine): string {
    return `event: line\ndata: ${JSON.stringify(this.#record(line))}\n\n`;
  }

  #flush(): void {
    this.#isWritable = true;
    const queuedLines = this.#queued;
    this.#queued = [];
    for (const line of queuedLines) this.notify(line);
  }

  #close(): void {
    this.#stopWatching();
    this.#routes.heartbeat.streams.delete(this.#onBeat);
  }
}
