// The last calls in arrays of fixed length, so that adding a call allocates nothing. Texts are references:
// the caller passes equal names as the same string (call-names.ts), because a new string per call would
// outlive the young generation.

import { callOutcomes, type RecordedCall, type RecordedOutcome } from './call-record.ts';

export class CallRing {
  readonly capacity: number;
  /** Position of the next call. A position is the number of calls added before it. */
  next = 0;
  readonly #numbers: Float64Array;
  readonly #times: Float64Array;
  readonly #durations: Float64Array;
  readonly #sizes: Float64Array;
  readonly #outcomes: Uint8Array;
  readonly #servers: (string | null)[];
  readonly #tools: (string | null)[];
  readonly #methods: string[];
  readonly #clients: (string | null)[];
  readonly #sessions: (string | null)[];

  /** `capacity` is a power of two. */
  constructor(capacity: number) {
    this.capacity = capacity;
    this.#numbers = new Float64Array(capacity);
    this.#times = new Float64Array(capacity);
    this.#durations = new Float64Array(capacity);
    this.#sizes = new Float64Array(capacity);
    this.#outcomes = new Uint8Array(capacity);
    this.#servers = new Array(capacity).fill(null);
    this.#tools = new Array(capacity).fill(null);
    this.#methods = new Array(capacity).fill('');
    this.#clients = new Array(capacity).fill(null);
    this.#sessions = new Array(capacity).fill(null);
  }

  /** Position of the oldest call. */
  get first(): number {
    return Math.max(0, this.next - this.capacity);
  }

  add(
    n: number,
    at: number,
    ms: number,
    server: string | null,
    tool: string | null,
    method: string,
    outcome: RecordedOutcome,
    bytes: number,
    client: string | null,
    session: string | null,
  ): void {
    const slot = this.next & (this.capacity - 1);
    this.next += 1;
    this.#numbers[slot] = n;
    this.#times[slot] = at;
    this.#durations[slot] = ms;
    this.#sizes[slot] = bytes;
    this.#outcomes[slot] = callOutcomes.indexOf(outcome);
    this.#servers[slot] = server;
    this.#tools[slot] = tool;
    this.#methods[slot] = method;
    this.#clients[slot] = client;
    this.#sessions[slot] = session;
  }

  /** Returns the call at a position from `first` to `next`. */
  at(position: number): RecordedCall {
    const slot = position & (this.capacity - 1);
    return {
      n: this.#numbers[slot] ?? 0,
      at: this.#times[slot] ?? 0,
      ms: this.#durations[slot] ?? 0,
      server: this.#servers[slot] ?? null,
      tool: this.#tools[slot] ?? null,
      method: this.#methods[slot] ?? '',
      outcome: callOutcomes[this.#outcomes[slot] ?? 0] ?? 'ok',
      bytes: this.#sizes[slot] ?? 0,
      client: this.#clients[slot] ?? null,
      session: this.#sessions[slot] ?? null,
      requestId: null,
      trace: null,
      code: null,
    };
  }
}
