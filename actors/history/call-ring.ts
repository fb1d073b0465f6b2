// The last calls in arrays of fixed length, so that adding a call allocates nothing. Texts are references:
// the caller passes equal names as the same string (call-names.ts), because a new string per call would
// outlive the young generation.

import { callOutcomes, type RecordedCall, type RecordedOutcome } from './call-record.ts';

/** Numbers per call: sequence number, end time, duration, size and outcome. */
const NUMBERS = 5;
/** Texts per call: server, tool, method, client and session. */
const TEXTS = 5;

export class CallRing {
  readonly capacity: number;
  /** Position of the next call. A position is the number of calls added before it. */
  next = 0;
  // The values of one call are adjacent, because each further array costs a cache miss per call.
  readonly #numbers: Float64Array;
  readonly #texts: (string | null)[];

  /** `capacity` is a power of two. */
  constructor(capacity: number) {
    this.capacity = capacity;
    this.#numbers = new Float64Array(capacity * NUMBERS);
    this.#texts = new Array(capacity * TEXTS).fill(null);
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
    const number = slot * NUMBERS;
    this.#numbers[number] = n;
    this.#numbers[number + 1] = at;
    this.#numbers[number + 2] = ms;
    this.#numbers[number + 3] = bytes;
    this.#numbers[number + 4] = callOutcomes.indexOf(outcome);
    const text = slot * TEXTS;
    this.#texts[text] = server;
    this.#texts[text + 1] = tool;
    this.#texts[text + 2] = method;
    this.#texts[text + 3] = client;
    this.#texts[text + 4] = session;
  }

  /** Returns the call at a position from `first` to `next`. */
  at(position: number): RecordedCall {
    const slot = position & (this.capacity - 1);
    const [n = 0, at = 0, ms = 0, bytes = 0, outcome = 0] = this.#numbers.subarray(slot * NUMBERS);
    const texts = this.#texts.slice(slot * TEXTS, (slot + 1) * TEXTS);
    const [server = null, tool = null, method = null, client = null, session = null] = texts;
    return {
      n,
      at,
      ms,
      server,
      tool,
      method: method ?? '',
      outcome: callOutcomes[outcome] ?? 'ok',
      bytes,
      client,
      session,
      requestId: null,
      trace: null,
      code: null,
    };
  }
}
