// What was sent on a session's event streams lately, so that a client that lost a stream can have the rest of it
// (Streamable HTTP, "Resumability and Redelivery"). Bounded in bytes, oldest first out: a session can never hold
// more than that, however much a server says.
//
// R1  event ids are unique within the session and name their stream: `<stream>-<number>`.
// R2  only events of the stream that was lost are given back, never another's.

export interface StoredEvent {
  readonly stream: number;
  readonly number: number;
  readonly message: Buffer;
}

export const REPLAY_BYTES = 1024 * 1024;

export class ReplayRing {
  readonly #limitBytes: number;
  readonly #events: StoredEvent[] = [];
  #bytes = 0;
  #nextStream = 1;

  constructor(limitBytes: number = REPLAY_BYTES) {
    this.#limitBytes = limitBytes;
  }

  newStream(): number {
    return this.#nextStream++;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(event: StoredEvent): void {
    this.#events.push(event);
    this.#bytes += event.message.length;
    let gone = 0;
    while (this.#bytes > this.#limitBytes) {
      const oldest = this.#events[gone];
      if (oldest === undefined) break;
      this.#bytes -= oldest.message.length;
      gone += 1;
    }
    if (gone > 0) this.#events.splice(0, gone);
  }

  /** The kept events of one stream that came after a certain one. */
  after(stream: number, number: number): StoredEvent[] {
    return this.#events.filter((event) => event.stream === stream && event.number > number);
  }

  /** Nobody can ask for this stream any more. */
  forget(stream: number): void {
    for (let at = this.#events.length - 1; at >= 0; at -= 1) {
      const event = this.#events[at];
      if (event?.stream !== stream) continue;
      this.#bytes -= event.message.length;
      this.#events.splice(at, 1);
    }
  }
}

/** Reads an event id back; undefined when it is none of ours. */
export function parseEventId(id: string): { stream: number; number: number } | undefined {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(id);
  return match === null ? undefined : { stream: Number(match[1]), number: Number(match[2]) };
}

export function eventId(stream: number, number: number): string {
  return `${stream}-${number}`;
}
