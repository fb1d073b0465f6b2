// An agent behind a URL: a job is one POST, the answer JSON, plain text or a stream of events.
//
// HA1  every attempt has a deadline and a signal, and its socket is gone with it; the answer is bounded.
// HA2  no redirect is followed: the job, and the headers with it, go to the address the operator wrote and to no other.
// HA3  an error names host and status only. What a server says may repeat what it was sent.
// HA4  statuses that pass are tried again, others are final. 409 passes: an agent that knows the key says it while the first
//      attempt is still under way (draft-ietf-httpapi-idempotency-key-header). A 429, and whatever passes and names a pause,
//      says that it is too soon: that is no failed attempt.

import { Agent as HttpPool, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsPool, request as requestHttps } from 'node:https';
import { pauseOf } from '../../../libs/rest/retry-after.ts';
import { endWhatIsOver } from '../../../libs/rest/standstill.ts';
import { AgentReplyReader } from './agent-reply-reader.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from './handler.ts';
import type { HandlerContext } from './handler-context.ts';
import { jobJson } from './job-json.ts';

export interface HttpAgentOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Of one attempt, from the connection to the end of the answer. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes?: number;
}

interface Asked {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: readonly Uint8Array[];
  readonly signal: AbortSignal;
  readonly progress: HandlerContext['progress'];
}

const MAX_ANSWER_BYTES = 4_194_304;
const passing: ReadonlySet<number> = new Set([408, 409, 425, 429]);

// Sockets that rest keep no process alive; how many work at a time is bounded by who asks.
const pool = { keepAlive: true, maxFreeSockets: 64, timeout: 0 };
const httpPool = new HttpPool(pool);
const httpsPool = new HttpsPool(pool);

export class HttpAgent implements Handler {
  readonly #url: URL;
  readonly #options: HttpAgentOptions;

  constructor(options: HttpAgentOptions) {
    this.#options = options;
    this.#url = new URL(options.url);
  }

  async run(job: Job, context: Pick<HandlerContext, 'signal' | 'progress'>): Promise<AgentReply> {
    const { signal } = context;
    const body = await this.#bodyFor(job);
    const headers = {
      ...this.#options.headers,
      accept: 'application/json, text/event-stream, text/plain',
      'content-type': 'application/json',
      'content-length': String(body.reduce((sum, { length }) => sum + length, 0)),
      'idempotency-key': job.idempotencyKey,
      traceparent: job.trace,
    };
    const deadline = AbortSignal.timeout(Math.ceil(this.#options.timeoutMs));
    const both = AbortSignal.any([signal, deadline]);
    try {
      return await this.#exchange(
        { headers, body, signal: both, progress: (text) => context.progress(text) },
        this.#url.protocol === 'https:' ? httpsPool : httpPool,
      );
    } catch (error) {
      if (error instanceof HandlerError) throw error;
      if (deadline.aborted) throw this.#failure(`gave no answer within ${this.#options.timeoutMs} ms`);
      if (signal.aborted) throw this.#failure('was given up before its answer');
      throw this.#failure(`could not be reached, or broke off: ${codeOf(error)}`);
    }
  }

  /** A payload can be parsed that is nested too deeply to be written again; that is so at each attempt. */
  async #bodyFor(job: Job): Promise<readonly Uint8Array[]> {
    try {
      return await jobJson(job);
    } catch (error) {
      const cause = error instanceof RangeError ? 'it is nested too deeply' : 'it is no JSON';
      throw this.#failure(`cannot be sent the event: ${cause}`, { isFinal: true });
    }
  }

  /** Without an agent: over a connection of its own. */
  #exchange(asked: Asked, agent: HttpPool | false): Promise<AgentReply> {
    const { headers, body, signal, progress } = asked;
    const isHttps = this.#url.protocol === 'https:';
    const start = isHttps ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      endWhatIsOver();
      signal.throwIfAborted();
      const request = start(this.#url, { method: 'POST', headers, agent, signal });
      // What is written waits for the connection, which may take long; with one that is there it leaves right after this.
      request.on('socket', (socket) => {
        if (socket.connecting) socket.once('connect', endWhatIsOver).once('secureConnect', endWhatIsOver);
        else endWhatIsOver();
      });
      let hasAnswer = false;
      request.on('response', (response) => {
        hasAnswer = true;
        this.#read(response, progress).then(resolve, (error: unknown) => {
          request.destroy();
          reject(error);
        });
      });
      request.on('error', (error) => {
        // A socket that had rested may have been closed by the other side just then: nothing was read of the request. The
        // next one of the pool may be closed as well, so the repetition takes none of it.
        const wasStale =
          request.reusedSocket && !hasAnswer && ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
        if (wasStale && !signal.aborted) this.#exchange(asked, false).then(resolve, reject);
        else reject(error);
      });
      for (const piece of body.slice(0, -1)) request.write(piece);
      request.end(body.at(-1));
    });
  }

  async #read(response: IncomingMessage, progress: Asked['progress']): Promise<AgentReply> {
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw this.#refusal(status, response.headers['retry-after']);
    const limit = this.#options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
    const answer = new AgentReplyReader(response.headers['content-type'] ?? '');
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) throw this.#failure(`answered more than ${limit} bytes`, { isFinal: true });
      const isWhole = answer.feed(chunk);
      if (answer.shown !== undefined) progress(answer.shown);
      if (isWhole) break;
    }
    if (answer.hasFailed) throw this.#failure('reported an error in its stream');
    try {
      return answer.end();
    } catch (error) {
      throw this.#failure(error instanceof Error ? error.message : 'gave no answer', { isFinal: true });
    }
  }

  #refusal(status: number, pause: string | undefined): HandlerError {
    if (status >= 300 && status <= 399)
      return this.#failure(`answered ${status}: redirects are not followed`, { isFinal: true });
    const isFinal = status < 500 && !passing.has(status);
    const retryAfterMs = pauseOf(pause, Date.now());
    const isTooSoon = !isFinal && (status === 429 || retryAfterMs !== undefined);
    return this.#failure(`answered ${status}`, { isFinal, isTooSoon, retryAfterMs });
  }

  #failure(what: string, options: ConstructorParameters<typeof HandlerError>[1] = {}): HandlerError {
    return new HandlerError(`the agent at ${this.#url.host} ${what}`, options);
  }
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'the connection was closed';
}
