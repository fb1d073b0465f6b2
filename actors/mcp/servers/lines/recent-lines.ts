// What was said of the servers last, all of them together, for whoever asks or watches: what they wrote on stderr, their log messages,
// and what the gateway logged about them. Lines come redacted, clean and at a bounded rate (stderr-tail.ts, log-messages.ts, kept-log.ts).
//
// SLN1 (A8)  the lines kept take at most `maxBytes`, whatever is written.
// SLN2 (A6)  no server takes all places: one whose lines take no more than an equal part of the room loses none to others.
// SLN3       lines are given in the order in which they came.

import { isAtLeast, type LineLevel } from './line-level.ts';

export interface NewLine {
  readonly server: string;
  readonly level: LineLevel;
  /** Whose word it is: written by the server on stderr, sent by it as a log message, or the gateway's own. */
  readonly from: 'stderr' | 'message' | 'gateway';
  readonly text: string;
}

export interface ServerLine extends NewLine {
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface LineQuery {
  /** All servers where it is left out. */
  readonly server?: string | undefined;
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
  /** The least grave ones wanted; all where it is left out. */
  readonly level?: LineLevel | undefined;
  /** The last so many of them. */
  readonly lines: number;
}

export interface LineWatcher {
  tell(line: ServerLine): void;
  /** There will be no more. */
  end(): void;
}

interface Kept {
  readonly line: ServerLine;
  readonly seq: number;
  readonly bytes: number;
}

interface OfServer {
  readonly lines: Kept[];
  bytes: number;
}

const MAX_BYTES = 4 * 1024 * 1024;
/** What a line costs beside its text. */
export const LINE_BYTES = 100;

export class RecentLines {
  readonly #maxBytes: number;
  readonly #servers = new Map<string, OfServer>();
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

  /** Whether there are lines of that server, which may have left the catalog. */
  has(server: string): boolean {
    return this.#servers.has(server);
  }

  add(added: NewLine, at = Date.now()): void {
    const { server, text } = added;
    const line: ServerLine = { at, ...added };
    this.#seq += 1;
    const bytes = LINE_BYTES + 2 * (text.length + server.length);
    const own = this.#servers.get(server) ?? { lines: [], bytes: 0 };
    this.#servers.set(server, own);
    own.lines.push({ line, seq: this.#seq, bytes });
    own.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#dropOne(server, own);
    for (const watcher of this.#watchers) watcher.tell(line);
  }

  /** The oldest first. */
  read({ lines, ...query }: LineQuery): ServerLine[] {
    const { server } = query;
    const asked = server === undefined ? [...this.#servers.values()] : [this.#servers.get(server)];
    // Of each server no more than are wanted of all.
    const found = asked.flatMap(
      (each) => each?.lines.filter(({ line }) => isWanted(line, query)).slice(-lines) ?? [],
    );
    found.sort((a, b) => a.seq - b.seq);
    return found.slice(-lines).map(({ line }) => line);
  }

  /** Tells it each line from now on; gives what ends that. */
  watch(watcher: LineWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /** The gateway stops. */
  endWatches(): void {
    for (const watcher of [...this.#watchers]) watcher.end();
    this.#watchers.clear();
  }

  /** Of whoever writes, while that has more than its part; else of whoever has most. */
  #dropOne(writer: string, own: OfServer): void {
    let [name, most] = [writer, own];
    if (own.bytes <= this.#maxBytes / this.#servers.size)
      for (const [each, kept] of this.#servers) if (kept.bytes > most.bytes) [name, most] = [each, kept];
    const gone = most.lines.shift();
    if (gone === undefined) return;
    most.bytes -= gone.bytes;
    this.#bytes -= gone.bytes;
    if (most.lines.length === 0) this.#servers.delete(name);
  }
}

/** Whether a line is among those that are asked for; of how many nothing is said here. */
export function isWanted(line: ServerLine, { server, since = 0, level }: Omit<LineQuery, 'lines'>): boolean {
  if (server !== undefined && line.server !== server) return false;
  return line.at >= since && (level === undefined || isAtLeast(line.level, level));
}
