// What the servers wrote on stderr last, all of them together, for whoever asks or watches. Lines come redacted, clean and at a bounded
// rate (stderr-tail.ts).
//
// SLN1 (A8)  the lines kept take at most `maxBytes`, whatever is written.
// SLN2 (A6)  no server takes all places: one whose lines take no more than an equal part of the room loses none to others.
// SLN3       lines are given in the order in which they came.

export interface ServerLine {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly server: string;
  readonly text: string;
}

export interface LineQuery {
  /** All servers where it is left out. */
  readonly server?: string | undefined;
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
  /** The last so many of them. */
  readonly lines: number;
}

export interface LineWatcher {
  tell(line: ServerLine): void;
  /** There will be no more. */
  end(): void;
}

interface Kept extends ServerLine {
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

  add(server: string, text: string, at = Date.now()): void {
    this.#seq += 1;
    const bytes = LINE_BYTES + 2 * (text.length + server.length);
    const line: Kept = { at, server, text, seq: this.#seq, bytes };
    const own = this.#servers.get(server) ?? { lines: [], bytes: 0 };
    this.#servers.set(server, own);
    own.lines.push(line);
    own.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#dropOne(server, own);
    for (const watcher of this.#watchers) watcher.tell({ at, server, text });
  }

  /** The oldest first. */
  read({ server, since = 0, lines }: LineQuery): ServerLine[] {
    const asked = server === undefined ? [...this.#servers.values()] : [this.#servers.get(server)];
    // Of each server no more than are wanted of all.
    const found = asked.flatMap((each) => each?.lines.filter(({ at }) => at >= since).slice(-lines) ?? []);
    found.sort((a, b) => a.seq - b.seq);
    return found.slice(-lines).map(({ at, server, text }) => ({ at, server, text }));
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
