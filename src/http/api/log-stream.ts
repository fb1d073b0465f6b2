// GET /logs: what the servers said and what was logged about them, as JSON, or as server-sent events that go on with each line that comes.
//
// LGS1 (A8)  at most 32 watch at a time. For one that does not read 1,000 lines wait; then its stream ends with a word.

import { OverloadedError } from '../../../actors/base/errors/errors.ts';
import { instant, oneOf, queryValues, wholeNumber } from '../../../actors/base/errors/query-values.ts';
import { levelNamed, lineLevels } from '../../../actors/mcp/servers/lines/line-level.ts';
import {
  isWanted,
  type LineQuery,
  type LineWatcher,
  type ServerLine,
} from '../../../actors/mcp/servers/lines/recent-lines.ts';
import type { HttpStream } from '../listener/seam.ts';
import type { ExchangeContext } from '../mcp/exchange-context.ts';
import type { RouteContext } from '../route-context.ts';
import { isoTime } from './iso-time.ts';

const known = ['server', 'level', 'since', 'lines'];
const DEFAULT_LINES = 100;
const MAX_LINES = 10_000;
const MAX_WATCHERS = 32;
const MAX_WAITING = 1_000;

const HEADERS = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-store'],
  ['x-accel-buffering', 'no'],
] as const;

/** One line, in the answer and in each event `line`. */
export function logRecord({ at, server, level, from, text }: ServerLine, redact: (text: string) => string) {
  // Redacted already, but the secrets may be others since.
  return { at: isoTime(at), server, level, from, text: redact(text) };
}

/** Throws InvalidQueryError, UnknownServerError and OverloadedError. */
export function answerLogs(routes: RouteContext, context: ExchangeContext): void {
  const { mcp, life, redactor } = routes;
  const query = logQuery(context.request.query);
  // One that has left the catalog may be asked for, too.
  if (query.server !== undefined && !mcp.lines.has(query.server)) mcp.servers.require(query.server);
  const lines = mcp.lines.read(query);
  const record = (line: ServerLine) => logRecord(line, (text) => redactor.redact(text));
  if (!/\btext\/event-stream\b/i.test(context.request.headers.accept ?? '')) {
    context.json(200, { lines: lines.map(record) });
    return;
  }
  if (life.isEnding) {
    context.refuseWhileDraining();
    return;
  }
  if (mcp.lines.watchers >= MAX_WATCHERS)
    throw new OverloadedError(`${MAX_WATCHERS} clients follow the logs already; try again later`);
  new LogStream(routes, context, record, query).begin(lines);
}

function logQuery(text: string): LineQuery {
  const asked = queryValues(text, known);
  const since = asked.get('since');
  const level = asked.get('level');
  return {
    server: asked.get('server'),
    level: level === undefined ? undefined : (levelNamed(level) ?? oneOf('level', lineLevels, level)),
    since: since === undefined ? undefined : instant(since, Date.now()),
    lines: wholeNumber('lines', asked.get('lines') ?? String(DEFAULT_LINES), MAX_LINES, 0),
  };
}

class LogStream implements LineWatcher {
  readonly #http: HttpStream;
  readonly #routes: RouteContext;
  readonly #record: (line: ServerLine) => object;
  readonly #query: Pick<LineQuery, 'server' | 'level'>;
  readonly #onBeat = { heartbeat: () => void this.#http.write(': \n\n') };
  readonly #stopWatching: () => void;
  #waiting: ServerLine[] = [];
  #hasRoom = true;

  constructor(
    routes: RouteContext,
    context: ExchangeContext,
    record: (line: ServerLine) => object,
    { server, level }: LineQuery,
  ) {
    this.#routes = routes;
    this.#record = record;
    this.#query = { server, level };
    this.#http = context.reply.stream(200, context.headers(HEADERS));
    this.#stopWatching = routes.mcp.lines.watch(this);
    context.reply.onAbort(() => this.#leave());
    this.#http.onDrain(() => this.#goOn());
    routes.heartbeat.streams.add(this.#onBeat);
  }

  /** `lines` are those that are there already. */
  begin(lines: readonly ServerLine[]): void {
    if (this.#http.isDone) {
      this.#leave();
      return;
    }
    this.#http.write(`: \n\n${lines.map((line) => this.#event(line)).join('')}`);
  }

  tell(line: ServerLine): void {
    if (!isWanted(line, this.#query)) return;
    if (this.#hasRoom) this.#hasRoom = this.#http.write(this.#event(line));
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(line);
    else this.#end('it was not read as fast as the servers write; ask again for what came since');
  }

  end(): void {
    this.#end('the gateway stops');
  }

  #end(reason: string): void {
    this.#leave();
    this.#http.write(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`);
    this.#http.end();
  }

  #event(line: ServerLine): string {
    return `event: line\ndata: ${JSON.stringify(this.#record(line))}\n\n`;
  }

  #goOn(): void {
    this.#hasRoom = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const line of waiting) this.tell(line);
  }

  #leave(): void {
    this.#stopWatching();
    this.#routes.heartbeat.streams.delete(this.#onBeat);
  }
}
