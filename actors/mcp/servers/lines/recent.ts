// Stores recent lines about servers: stderr, log messages, and the gateway's own log lines. The sources
// redact and rate-limit the lines (stderr-tail.ts, log-messages.ts, storing-log.ts). All lines together use
// up to `maxBytes` (A8, ARCHITECTURE.md). A server that uses no more than an equal part loses no lines to
// other servers (A6). Queries return lines in order of arrival.

import { isAtLeast, type LineLevel } from './level.ts';

export interface NewLine {
  readonly server: string;
  readonly level: LineLevel;
  /** Source of the line. `message`: a log message of the server. */
  readonly from: 'stderr' | 'message' | 'gateway';
  readonly text: string;
}

export interface ServerLine extends NewLine {
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface LineQuery {
  /** All servers if omitted. */
  readonly server?: string | undefined;
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
  /** Minimum severity; all levels if omitted. */
  readonly level?: LineLevel | undefined;
  /** Maximum number of lines; the newest are returned. */
  readonly lines: number;
}

export interface LineWatcher {
  notify(line: ServerLine): void;
  /** Called after the last line. */
  end(): void;
}

interface StoredLine {
  readonly line: ServerLine;
  readonly seq: number;
  readonly bytes: number;
}

interface ServerLines {
  readonly lines: StoredLine[];
  bytes: number;
}

const MAX_BYTES = 4 * 1024 * 1024;
/** Memory per line without its text, in bytes. */
export const LINE_BYTES = 100;

export class RecentLines {
  readonly #maxBytes: number;
  readonly #servers = new Map<string, ServerLines>();
  readonly #watchers = new Set<LineWatcher>();
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

  /** Returns true if there are lines about the server, which may have been removed from the catalog. */
  has(server: string): boolean {
    return this.#servers.has(server);
  }

  add(newLine: NewLine, at = Date.now()): void {
    const { server, text } = newLine;
    const line: ServerLine = { at, ...newLine };
    this.#seq += 1;
    const bytes = LINE_BYTES + 2 * (text.length + server.length);
    const own = this.#servers.get(server) ?? { lines: [], bytes: 0 };
    this.#servers.set(server, own);
    own.lines.push({ line, seq: this.#seq, bytes });
    own.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#dropOne(server, own);
    for (const watcher of this.#watchers) watcher.notify(line);
  }

  /** Returns the matching lines, oldest first. */
  read({ lines, ...query }: LineQuery): ServerLine[] {
    const { server } = query;
    const sources = server === undefined ? [...this.#servers.values()] : [this.#servers.get(server)];
    // A server cannot contribute more lines than requested in total.
    const matches = sources.flatMap(
      (each) => each?.lines.filter(({ line }) => matchesQuery(line, query)).slice(-lines) ?? [],
    );
    matches.sort((a, b) => a.seq - b.seq);
    return matches.slice(-lines).map(({ line }) => line);
  }

  /** Notifies the watcher of new lines. Returns a function that undoes this. */
  watch(watcher: LineWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** Closes all watches when the gateway stops. */
  endWatches(): void {
    for (const watcher of [...this.#watchers]) watcher.end();
    this.#watchers.clear();
  }

  /**
   * Drops the oldest line of the writer if it exceeds its part, otherwise of the server with the most bytes.
   */
  #dropOne(writer: string, own: ServerLines): void {
    let name = writer;
    let stored = own;
    if (own.bytes <= this.#maxBytes / this.#servers.size)
      for (const [otherName, other] of this.#servers) {
        if (other.bytes <= stored.bytes) continue;
        name = otherName;
        stored = other;
      }
    const dropped = stored.lines.shift();
    if (dropped === undefined) return;
    stored.bytes -= dropped.bytes;
    this.#bytes -= dropped.bytes;
    if (stored.lines.length === 0) this.#servers.delete(name);
  }
}

/** Returns true if a line matches the query, apart from the number of lines. */
export function matchesQuery(
  line: ServerLine,
  { server, since = 0, level }: Omit<LineQuery, 'lines'>,
): boolean {
  if (server !== undefined && line.server !== server) return false;
  return line.at >= since && (level === undefined || isAtLeast(line.level, level));
}
