// One HTTP exchange with a model provider. The client library calls its `fetch`, which adds limits and
// deadlines and records why the request failed.
//
// Invariant, which other files and tests cite by its tag:
// XC1  the first byte and each further piece have deadlines. The sizes of answers and lines are limited, and
//      the tool calls per line, because lines are parsed when complete.
//
// Redirects are not followed, so the key reaches only the configured address. A response that is not an event
// stream is rejected, because it would look like an empty answer. `end` releases or closes the socket. Lone
// surrogates in request bodies are replaced, because parsers reject them. The pieces of all answers are read
// in turns of the event loop, so fast providers cannot block other calls.

import { wellFormedJson } from '../../../machines/agent-run/tool-arguments.ts';
import { WorkTurns } from '../../base/time/work-turns.ts';
import { connectionFault } from './connection-fault.ts';
import { readErrorAnswer } from './error-response.ts';
import type { EventRepair } from './event-repair.ts';
import { LineCalls } from './line-calls.ts';
import { MAX_CALLS } from './model.ts';
import { faultOfStatus, type ModelFault, ModelFaultError } from './model-errors.ts';
import { repairLines } from './stream-lines.ts';
import { tooManyCalls } from './streamed-answer.ts';

export interface ExchangeLimits {
  /** Time before the first byte: some providers load the model first. @default 120000 */
  readonly firstByteMs?: number;
  /** Time between two pieces. @default 60000 */
  readonly idleMs?: number;
  /**
   * Size of the answer on the wire, where each piece of text has some hundred bytes of overhead. @default 64
   * MiB
   */
  readonly maxBytes?: number;
  /** @default 8 MiB */
  readonly maxLineBytes?: number;
}

const FIRST_BYTE_MS = 120_000;
const IDLE_MS = 60_000;
const MAX_BYTES = 64 * 1_048_576;
const MAX_LINE_BYTES = 8 * 1_048_576;
/** Maximum bytes read from error responses. */
const MAX_ERROR_BYTES = 65_536;
const LINE_FEED = 10;

/** Turns of the event loop for parsing pieces. */
const turns = new WorkTurns();
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface ModelExchangeOptions {
  readonly limits: ExchangeLimits;
  readonly hasNoKey: boolean;
  /** Names of the tools in the request, in order. */
  readonly tools: readonly string[];
  /** Edits the events of the stream; undefined if none needs it. */
  readonly repair?: EventRepair | undefined;
  /** Fetch to use. */
  readonly send: typeof fetch;
}

export class ModelExchange {
  readonly #options: ModelExchangeOptions;
  readonly #limits: ExchangeLimits;
  readonly #hasNoKey: boolean;
  readonly #abort = new AbortController();
  #idle: NodeJS.Timeout | undefined;
  #fault: ModelFault | undefined;
  #hasAnswered = false;

  constructor(options: ModelExchangeOptions) {
    this.#options = options;
    this.#limits = options.limits;
    this.#hasNoKey = options.hasNoKey;
  }

  /** Cause of the failure, if detected here. */
  get fault(): ModelFault | undefined {
    return this.#fault;
  }

  /** True after the start of a valid response; later failures are caused by its content. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /** Aborted by `end`. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Stops reading and closes the connection. */
  end(fault?: ModelFault): void {
    clearTimeout(this.#idle);
    this.#fault ??= fault;
    this.#abort.abort();
  }

  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    // The client libraries require a key, and send an empty key if the provider has no key.
    if (this.#hasNoKey && headers.get('authorization')?.trim() === 'Bearer') headers.delete('authorization');
    if (this.#hasNoKey) for (const name of keyHeaders) if (headers.get(name) === '') headers.delete(name);
    const body = typeof init.body === 'string' ? wellFormedJson(init.body) : init.body;
    const options: RequestInit = { ...init, headers, redirect: 'manual', signal: this.signal };
    if (body !== undefined) options.body = body;
    this.#restartTimer(this.#limits.firstByteMs ?? FIRST_BYTE_MS);
    try {
      const response = await this.#options.send(input, options);
      if (!response.ok) throw await this.#readRefusal(response);
      const type = response.headers.get('content-type') ?? '';
      if (!/^text\/event-stream\b/i.test(type)) throw notAStream(type);
      this.#hasAnswered = true;
      const { repair } = this.#options;
      const limited = this.#limitStream(response.body);
      const stream = repair === undefined ? limited : limited.pipeThrough(repairLines(repair));
      return new Response(stream, { status: 200, headers: response.headers });
    } catch (error) {
      throw this.#endWith(error);
    }
  };

  async #readRefusal(response: Response): Promise<ModelFaultError> {
    const body = await this.#readStart(response.body);
    const answer = readErrorAnswer(response.headers, body, this.#options.tools);
    return new ModelFaultError(faultOfStatus(response.status, { ...answer, hasKey: !this.#hasNoKey }));
  }

  /** Never rejects: an error response with an unreadable body is still an error response. */
  async #readStart(body: Response['body']): Promise<string> {
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

  #limitStream(body: Response['body']): ReadableStream<Uint8Array> {
    const { idleMs = IDLE_MS, maxBytes = MAX_BYTES, maxLineBytes = MAX_LINE_BYTES } = this.#limits;
    const reader = body?.getReader();
    let size = 0;
    let lineBytes = 0;
    const calls = new LineCalls();
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          try {
            this.#restartTimer(size === 0 ? (this.#limits.firstByteMs ?? FIRST_BYTE_MS) : idleMs);
            const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
            clearTimeout(this.#idle);
            if (done || value === undefined) return controller.close();
            size += value.length;
            const lastLineFeed = value.lastIndexOf(LINE_FEED);
            lineBytes = lastLineFeed === -1 ? lineBytes + value.length : value.length - lastLineFeed - 1;
            if (size > maxBytes) throw tooLarge(maxBytes);
            if (lineBytes > maxLineBytes) throw tooLarge(maxLineBytes);
            if (calls.add(value) > MAX_CALLS) throw new ModelFaultError(tooManyCalls);
            await turns.run(() => controller.enqueue(value));
          } catch (error) {
            controller.error(this.#endWith(error));
          }
        },
        cancel: () => this.end(),
      },
      { highWaterMark: 0 },
    );
  }

  #restartTimer(ms: number): void {
    clearTimeout(this.#idle);
    const description = `sent nothing for ${ms} ms (timeout_seconds of its provider)`;
    this.#idle = setTimeout(() => this.end({ description, isFinal: false }), Math.min(ms, LONGEST_TIMER_MS));
  }

  /** Stops the exchange and returns its error. */
  #endWith(error: unknown): unknown {
    const isOurs = error instanceof ModelFaultError;
    this.end(isOurs ? error.fault : this.signal.aborted ? undefined : connectionFault(error));
    return isOurs || this.#fault === undefined ? error : new ModelFaultError(this.#fault);
  }
}

const keyHeaders = ['x-api-key', 'x-goog-api-key'];

const tooLarge = (bytes: number) =>
  new ModelFaultError({ description: `answered more than ${bytes} bytes`, isFinal: true });

const notAStream = (type: string) =>
  new ModelFaultError({
    description: `answered with ${mediaType(type)} instead of an event stream: is base_url the address of its API?`,
    isFinal: true,
    // A fallback model may have another address.
    mayFallbackAnswer: true,
  });

/** Extracts the media type from an untrusted header. */
function mediaType(type: string): string {
  const [name = ''] = /^[\w.+-]{1,40}\/[\w.+-]{1,40}/.exec(type) ?? [];
  return name === '' ? 'no media type' : name;
}
