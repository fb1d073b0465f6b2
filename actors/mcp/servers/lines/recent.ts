// Stores recent lines: stderr and log messages of servers, and the gateway's own log lines. Each line has
// a source: a server, a trigger, the gateway. The writers redact and rate-limit the lines (stderr-tail.ts,
// log-messages.ts, storing-log.ts). All lines together use up to `maxBytes` (A8, ARCHITECTURE.md). A source
// that uses no more than an equal part loses no lines to other sources (A6). Queries return lines in order of
// arrival.

import { Budget, Share } from '../../../base/bounds/budget.ts';
import { OverloadedError } from '../../../base/errors/errors.ts';
import { isAtLeast, type LineLevel } from './level.ts';

/** Kinds of named sources. The source of a log line is the first field with such a name. */
export const namedKinds = ['server', 'trigger', 'agent', 'fleet', 'flow', 'connection'] as const;

export const lineKinds = [...namedKinds, 'store', 'gateway'] as const;

export interface LineSource {
  readonly kind: (typeof lineKinds)[number];
  /** '' for the store and the gateway. */
  readonly name: string;
}

export interface NewLine extends LineSource {
  readonly level: LineLevel;
  /** Writer of the line. `message`: a log message of the server. */
  readonly from: 'stderr' | 'message' | 'gateway';
  readonly text: string;
}

export interface LogLine extends NewLine {
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface LineQuery {
  /** All kinds if omitted. */
  readonly kind?: LineSource['kind'] | undefined;
  /** All sources if omitted. */
  readonly name?: string | undefined;
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
  /** Minimum severity; all levels if omitted. */
  readonly level?: LineLevel | undefined;
  /** Maximum number of lines; the newest are returned. */
  readonly lines: number;
}

export interface LineWatcher {
  notify(line: LogLine): void;
  /** Called after the last line. */
  end(): void;
}

interface StoredLine {
  readonly line: LogLine;
  readonly seq: number;
  readonly bytes: number;
}

interface SourceLines {
  readonly lines: StoredLine[];
  bytes: number;
}

const MAX_WATCHERS = 32;
const MAX_BYTES = 4 * 1024 * 1024;
/** Memory per line without its text, in bytes. */
export const LINE_BYTES = 100;

export class RecentLines {
  readonly #maxBytes: number;
  readonly #sources = new Map<string, SourceLines>();
  /** Watchers with the share of their client. */
  readonly #watchers = new Map<LineWatcher, Share>();
  readonly #slots = new Budget(MAX_WATCHERS);
  #bytes = 0;
  #seq = 0;

  constructor(maxBytes = MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** Returns true if there are lines of the source, which may have been removed from the configuration. */
  has(source: LineSource): boolean {
    return this.#sources.has(keyOf(source));
  }

  add(newLine: NewLine, at = Date.now()): void {
    const key = keyOf(newLine);
    const line: LogLine = { at, ...newLine };
    this.#seq += 1;
    const bytes = LINE_BYTES + 2 * (newLine.text.length + newLine.name.length);
    const own = this.#sources.get(key) ?? { lines: [], bytes: 0 };
    this.#sources.set(key, own);
    own.lines.push({ line, seq: this.#seq, bytes });
    own.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#dropOne(key, own);
    for (const watcher of this.#watchers.keys()) watcher.notify(line);
  }

  /** Returns the matching lines, oldest first. */
  read({ lines, ...query }: LineQuery): LogLine[] {
    const { kind, name } = query;
    const isOneSource = kind !== undefined && name !== undefined;
    const sources = isOneSource ? [this.#sources.get(keyOf({ kind, name }))] : [...this.#sources.values()];
    // A source cannot contribute more lines than requested in total.
    const matches = sources.flatMap(
      (each) => each?.lines.filter(({ line }) => matchesQuery(line, query)).slice(-lines) ?? [],
    );
    matches.sort((a, b) => a.seq - b.seq);
    return matches.slice(-lines).map(({ line }) => line);
  }

  /**
   * Notifies the watcher of new lines. Returns a function that undoes this. Throws OverloadedError above the
   * limit of all watchers or of one client. By default each watcher counts as a separate client.
   */
  watch(watcher: LineWatcher, client = new Share()): () => void {
    if (!this.#slots.acquire(1, client))
      throw new OverloadedError(
        client.used === 0
          ? `${MAX_WATCHERS} clients already follow the logs; retry later`
          : `this client already follows the logs ${client.used} times; end some, or retry later`,
      );
    this.#watchers.set(watcher, client);
    return () => this.#unwatch(watcher);
  }

  /** Closes all watches when the gateway stops. */
  endWatches(): void {
    for (const watcher of [...this.#watchers.keys()]) {
      this.#unwatch(watcher);
      watcher.end();
    }
  }

  #unwatch(watcher: LineWatcher): void {
    const client = this.#watchers.get(watcher);
    if (client === undefined) return;
    this.#watchers.delete(watcher);
    this.#slots.release(1, client);
  }

  /**
   * Drops the oldest line of the writing source if that uses more than an equal part, otherwise the oldest
   * line of the source with the most bytes.
   */
  #dropOne(writer: string, own: SourceLines): void {
    let key = writer;
    let stored = own;
    if (own.bytes <= this.#maxBytes / this.#sources.size)
      for (const [otherKey, other] of this.#sources) {
        if (other.bytes <= stored.bytes) continue;
        key = otherKey;
        stored = other;
      }
    const dropped = stored.lines.shift();
    if (dropped === undefined) return;
    stored.bytes -= dropped.bytes;
    this.#bytes -= dropped.bytes;
    if (stored.lines.length === 0) this.#sources.delete(key);
  }
}

/** Returns true if a line matches the query, apart from the number of lines. */
export function matchesQuery(
  line: LogLine,
  { kind, name, since = 0, level }: Omit<LineQuery, 'lines'>,
): boolean {
  if (kind !== undefined && line.kind !== kind) return false;
  if (name !== undefined && line.name !== name) return false;
  return line.at >= since && (level === undefined || isAtLeast(line.level, level));
}

const keyOf = ({ kind, name }: LineSource): string => `${kind} ${name}`;
