// Handler of an agent behind a URL: each job is one POST, answered by JSON, plain text or an SSE stream.
// Every attempt has a deadline; the size of the answer is limited. Redirects are not followed, so jobs and
// headers reach only the configured address. Errors contain only host and status, because a server's text may
// repeat secrets of the request.
//
// Statuses 408, 409, 425, 429 and 5xx are retried, all remaining statuses are final. 409 means that the agent
// still processes an earlier attempt with this key (draft-ietf-httpapi-idempotency-key-header). A 429, or a
// retried status with `Retry-After`, does not count as a failed attempt.

import { Agent as HttpPool, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsPool, request as requestHttps } from 'node:https';
import { abortOverdueWork } from '../../../libs/rest/process-suspension.ts';
import { pauseOf } from '../../../libs/rest/retry-after.ts';
import { WorkTurns } from '../../base/time/work-turns.ts';
import { AgentReplyReader } from './agent-reply-reader.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from './handler.ts';
import type { HandlerContext } from './handler-context.ts';
import { idempotencyHeader } from './idempotency-header.ts';
import { jobJson } from './job-json.ts';

export interface HttpAgentOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Limit per attempt, including connecting, in milliseconds. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes?: number;
}

interface AgentRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: readonly Uint8Array[];
  readonly signal: AbortSignal;
  readonly progress: HandlerContext['progress'];
}

const MAX_ANSWER_BYTES = 4_194_304;
/** Turns of the event loop for parsing answers. */
const turns = new WorkTurns();
const transientStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429]);

// Idle sockets keep no process alive. Callers limit the number of concurrent requests.
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
      'idempotency-key': idempotencyHeader(job.idempotencyKey),
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
      if (deadline.aborted) throw this.#failure(`did not answer within ${this.#options.timeoutMs} ms`);
      if (signal.aborted) throw this.#failure('was aborted before its answer');
      throw this.#failure(`could not be reached, or closed the connection: ${codeOf(error)}`);
    }
  }

  /** Rejects with a final error for a payload with excessive nesting. */
  async #bodyFor(job: Job): Promise<readonly Uint8Array[]> {
    try {
      return await jobJson(job);
    } catch (error) {
      const cause = error instanceof RangeError ? 'it is nested too deeply' : 'it is not JSON';
      throw this.#failure(`cannot receive the event: ${cause}`, { isFinal: true });
    }
  }

  /** Sends the request and reads the answer. If there is no pool, opens a new connection. */
  #exchange(agentRequest: AgentRequest, connectionPool: HttpPool | false): Promise<AgentReply> {
    const { headers, body, signal, progress } = agentRequest;
    const isHttps = this.#url.protocol === 'https:';
    const start = isHttps ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      abortOverdueWork();
      signal.throwIfAborted();
      const request = start(this.#url, { method: 'POST', headers, agent: connectionPool, signal });
      // The request is written after connecting, which may take long; over an existing connection it is
      // written immediately.
      request.on('socket', (socket) => {
        if (socket.connecting)
          socket.once('connect', abortOverdueWork).once('secureConnect', abortOverdueWork);
        else abortOverdueWork();
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
        // The server closed an idle socket just before the request, which was therefore not read. Other
        // pooled sockets may also be closed, so the repetition uses a new connection.
        const wasStale =
          request.reusedSocket && !hasAnswer && ['ECONNRESET', 'EPIPE'].includes(codeOf(error));
        if (wasStale && !signal.aborted) this.#exchange(agentRequest, false).then(resolve, reject);
        else reject(error);
      });
      for (const piece of body.slice(0, -1)) request.write(piece);
      request.end(body.at(-1));
    });
  }

  async #read(response: IncomingMessage, progress: AgentRequest['progress']): Promise<AgentReply> {
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw this.#refusal(status, response.headers['retry-after']);
    const limit = this.#options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
    const answer = new AgentReplyReader(response.headers['content-type'] ?? '');
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit) throw this.#failure(`answered more than ${limit} bytes`, { isFinal: true });
      const isWhole = answer.feed(chunk);
      if (answer.preview !== undefined) progress(answer.preview);
      if (isWhole) break;
    }
    if (answer.hasFailed) throw this.#failure('reported an error in its stream');
    try {
      return await turns.run(() => answer.end());
    } catch (error) {
      throw this.#failure(error instanceof Error ? error.message : 'did not answer', { isFinal: true });
    }
  }

  #refusal(status: number, pause: string | undefined): HandlerError {
    if (status >= 300 && status <= 399)
      return this.#failure(`answered ${status}: redirects are not followed`, { isFinal: true });
    const isFinal = status < 500 && !transientStatuses.has(status);
    const retryAfterMs = pauseOf(pause, Date.now());
    const isRateLimited = !isFinal && (status === 429 || retryAfterMs !== undefined);
    return this.#failure(`answered ${status}`, { isFinal, isRateLimited, retryAfterMs });
  }

  #failure(message: string, options: ConstructorParameters<typeof HandlerError>[1] = {}): HandlerError {
    return new HandlerError(`the agent at ${this.#url.host} ${message}`, options);
  }
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'the connection was closed';
}
