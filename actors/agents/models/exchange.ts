// One request to a provider, as the client of its protocol makes it: what the client is given in place of `fetch`. It has limits
// and deadlines that the client has not, and it knows why something failed.
//
// XC1 (A8)  an answer has a deadline for its first byte and for each further piece, a bound in bytes, and one for a line, since a
//           line is parsed when it is whole.
// XC2       no redirect is followed: the key goes to the address the operator wrote and to no other.
// XC3       what is no event stream is not read as one: it would look like an answer that is empty.
// XC4       with its end, however it ends, the socket is given back or gone.
// XC5       what is sent is JSON that any reader takes, whatever anybody has written into it.
// XC6       after each piece whatever else there is to do has its turn (A6): an answer that is there at once is not read at once.

import { setImmediate } from 'node:timers/promises';
import { wellFormedJson } from '../../../machines/agent-run/tool-arguments.ts';
import { connectionFault } from './connection-fault.ts';
import { readErrorAnswer } from './error-answer.ts';
import { type ModelFault, ModelFaultError, refusal } from './model-errors.ts';

export interface ExchangeLimits {
  /** Until the first byte: some load the model first. @default 120000 */
  readonly firstByteMs?: number;
  /** Between two pieces. @default 60000 */
  readonly idleMs?: number;
  /** Of the answer on the wire, where each piece of text has some hundred bytes around it. @default 64 MiB */
  readonly maxBytes?: number;
  /** @default 8 MiB */
  readonly maxLineBytes?: number;
}

const FIRST_BYTE_MS = 120_000;
const IDLE_MS = 60_000;
const MAX_BYTES = 64 * 1_048_576;
const MAX_LINE_BYTES = 8 * 1_048_576;
/** Of a refusal; the rest of it is not read. */
const MAX_ERROR_BYTES = 65_536;
const LINE_FEED = 10;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Exchange {
  readonly #limits: ExchangeLimits;
  readonly #isBare: boolean;
  readonly #send: typeof fetch;
  readonly #abort = new AbortController();
  #idle: NodeJS.Timeout | undefined;
  #fault: ModelFault | undefined;
  #hasAnswered = false;

  /** `isBare`: the provider is asked without a key. */
  constructor(limits: ExchangeLimits, isBare: boolean, send: typeof fetch = fetch) {
    this.#limits = limits;
    this.#isBare = isBare;
    this.#send = send;
  }

  /** Why it failed, where that is known here. */
  get fault(): ModelFault | undefined {
    return this.#fault;
  }

  /** An answer has begun; whatever fails from here on is its fault. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Ends when `end` is called. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Nothing more is read. */
  end(fault?: ModelFault): void {
    clearTimeout(this.#idle);
    this.#fault ??= fault;
    this.#abort.abort();
  }

  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    // The clients insist on a key, and send the empty one.
    if (this.#isBare && headers.get('authorization')?.trim() === 'Bearer') headers.delete('authorization');
    if (this.#isBare) for (const name of keyHeaders) if (headers.get(name) === '') headers.delete(name);
    const body = typeof init.body === 'string' ? wellFormedJson(init.body) : init.body;
    const sent: RequestInit = { ...init, headers, redirect: 'manual', signal: this.signal };
    if (body !== undefined) sent.body = body;
    this.#wait(this.#limits.firstByteMs ?? FIRST_BYTE_MS);
    try {
      const response = await this.#send(input, sent);
      if (!response.ok) throw await this.#refused(response);
      const type = response.headers.get('content-type') ?? '';
      if (!/^text\/event-stream\b/i.test(type)) throw notAStream(type);
      this.#hasAnswered = true;
      return new Response(this.#bounded(response.body), { status: 200, headers: response.headers });
    } catch (error) {
      throw this.#failed(error);
    }
  };

  async #refused(response: Response): Promise<ModelFaultError> {
    const body = await this.#startOf(response.body);
    return new ModelFaultError(
      refusal(response.status, { ...readErrorAnswer(response.headers, body), hasKey: !this.#isBare }),
    );
  }

  /** Rejects never: a refusal is one without its body too. */
  async #startOf(body: Response['body']): Promise<string> {
    const pieces: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const piece of body ?? []) {
        pieces.push(piece);
        size += piece.length;
        if (size >= MAX_ERROR_BYTES) break;
      }
    } catch {}
    return Buffer.concat(pieces).toString('utf8');
  }

  #bounded(body: Response['body']): ReadableStream<Uint8Array> {
    const { idleMs = IDLE_MS, maxBytes = MAX_BYTES, maxLineBytes = MAX_LINE_BYTES } = this.#limits;
    const reader = body?.getReader();
    let size = 0;
    let line = 0;
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            this.#wait(size === 0 ? (this.#limits.firstByteMs ?? FIRST_BYTE_MS) : idleMs);
            const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
            clearTimeout(this.#idle);
            if (done || value === undefined) return controller.close();
            size += value.length;
            const feed = value.lastIndexOf(LINE_FEED);
            line = feed === -1 ? line + value.length : value.length - feed - 1;
            if (size > maxBytes) throw tooLarge(maxBytes);
            if (line > maxLineBytes) throw tooLarge(maxLineBytes);
            await setImmediate();
            controller.enqueue(value);
          } catch (error) {
            controller.error(this.#failed(error));
          }
        },
        cancel: () => this.end(),
      },
      { highWaterMark: 0 },
    );
  }

  #wait(ms: number): void {
    clearTimeout(this.#idle);
    const what = `was silent for ${ms} ms, and may be no longer by timeout_seconds of its provider`;
    this.#idle = setTimeout(() => this.end({ what, isFinal: false }), Math.min(ms, LONGEST_TIMER_MS));
  }

  /** The error of this exchange: it has ended. */
  #failed(error: unknown): unknown {
    const isOurs = error instanceof ModelFaultError;
    this.end(isOurs ? error.fault : this.signal.aborted ? undefined : connectionFault(error));
    return isOurs || this.#fault === undefined ? error : new ModelFaultError(this.#fault);
  }
}

const keyHeaders = ['x-api-key', 'x-goog-api-key'];

const tooLarge = (bytes: number) =>
  new ModelFaultError({ what: `answered more than ${bytes} bytes`, isFinal: true });

const notAStream = (type: string) =>
  new ModelFaultError({
    what: `answered with ${mediaType(type)}, not with an event stream: is base_url the address of its API?`,
    isFinal: true,
    canOtherAnswer: true,
  });

/** Of a header that anybody may have written, a name and no more. */
function mediaType(type: string): string {
  const [name = ''] = /^[\w.+-]{1,40}\/[\w.+-]{1,40}/.exec(type) ?? [];
  return name === '' ? 'no media type' : name;
}
