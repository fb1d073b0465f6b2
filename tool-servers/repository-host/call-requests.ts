// Sends the requests of a tool call to the host API: one at a time, typed by route, with validated responses.
//
//   wait for limits ──► send ──► read response
//     ▲                  │
//     └── rate limited ◄─┘
//
// 1. A writing request is retried only after a rate limit response, which proves that the host did not
//    execute it.
// 2. Wait budgets bound the total wait time per call. Cancellation stops a wait.
// 3. The rate meter is checked again immediately before sending: no request is sent while a limit is known.
// 4. Reading requests are retried after server errors and connection failures, but not after timeouts.

import { setTimeout as delay } from 'node:timers/promises';
import type { Endpoints } from '@octokit/types';
import type { z } from 'zod';
import { type ApiRequest, ApiResponse, type HttpApi } from '../../libs/rest/http-api.ts';
import { limitOf } from '../../libs/rest/rate-limit.ts';
import { RequestFault } from '../../libs/rest/request-fault.ts';
import type { Clean } from '../../libs/rest/without-secrets.ts';
import type { CallGate } from '../call-gate.ts';
import type { ServerToolCall } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import type { Access } from './access.ts';
import { type Bucket, bucketOf } from './bucket.ts';
import { acceptedMessage, toHostError, wasAccepted } from './host-error.ts';
import { limitError, waitReason } from './limit-messages.ts';
import type { RateMeter } from './rate-meter.ts';
import { toApiRequest } from './route-template.ts';
import { WaitBudget } from './wait-budget.ts';

/** Maximum duration of all requests in a call, excluding waits for rate limits. */
const CALL_MS = 180_000;
/** Maximum total wait for write slots, per call. */
const MAX_WRITE_WAIT_MS = 60_000;
/** Maximum number of retries after rate limit responses, per request. */
const MAX_RATE_LIMIT_RETRIES = 4;
/** Pauses before the retries of a reading request. */
const READ_RETRY_PAUSES_MS = [1_000, 4_000];

export type ApiRoute = keyof Endpoints;
type OptionalValues<Parameters> = { [Name in keyof Parameters]: Parameters[Name] | undefined };
type ParametersOf<R extends ApiRoute> = OptionalValues<
  Omit<Endpoints[R]['parameters'], 'headers' | 'request' | 'baseUrl' | 'mediaType'>
>;

export interface HostOptions {
  readonly access: Access;
  readonly maxWaitMs: number;
  readonly timeoutMs: number;
  /** Removes the token from text. */
  readonly clean: Clean;
}

interface ParsedResponse<Data> {
  readonly status: number;
  readonly data: Data;
  /** Value of the `Link` header. */
  readonly link: string | undefined;
}

/** Limits shared by all calls. */
interface SharedLimits {
  readonly meter: RateMeter;
  /** Limits concurrent requests. */
  readonly gate: CallGate;
}

export class CallRequests {
  readonly #api: HttpApi;
  readonly #meter: RateMeter;
  readonly #gate: CallGate;
  readonly #options: HostOptions;
  readonly #waits: WaitBudget;
  readonly #writeWaits: WaitBudget;
  readonly #call: ServerToolCall;
  readonly #deadline: AbortSignal;
  /** Aborted on cancellation and at the deadline. */
  readonly #abortSignal: AbortSignal;

  constructor(api: HttpApi, { meter, gate }: SharedLimits, options: HostOptions, call: ServerToolCall) {
    this.#api = api;
    this.#meter = meter;
    this.#gate = gate;
    this.#options = options;
    this.#waits = new WaitBudget(call, options.maxWaitMs);
    this.#writeWaits = new WaitBudget(call, MAX_WRITE_WAIT_MS);
    this.#call = call;
    this.#deadline = AbortSignal.timeout(CALL_MS + options.maxWaitMs);
    this.#abortSignal = AbortSignal.any([call.signal, this.#deadline]);
  }

  /** Removes the token from text that was decoded after redaction of the response. */
  get clean(): Clean {
    return this.#options.clean;
  }

  /**
   * Sends a request. `read` validates the response and selects the used fields.
   * @throws ToolError on failure; its subclass HostRefusal if the host responds with an error
   */
  async request<R extends ApiRoute, Read extends z.ZodType>(
    route: R,
    parameters: ParametersOf<R>,
    read: Read,
    accept?: string,
  ): Promise<ParsedResponse<z.output<Read>>> {
    const { status, headers, json, text } = await this.#send(route, parameters, accept);
    const isJson = /json/i.test(headers.get('content-type') ?? '');
    const parsed = read.safeParse((isJson ? json : undefined) ?? text);
    if (parsed.success) return { status, data: parsed.data, link: headers.get('link') ?? undefined };
    if (isWriting(route) && wasAccepted(status)) throw new ToolError(acceptedMessage(status));
    const [issue] = parsed.error.issues;
    const position = issue === undefined || issue.path.length === 0 ? '' : `, at ${issue.path.join('.')}`;
    throw new ToolError(
      `The response of the host (${status}) does not match its API${position}. The operator must check that REPOHOST_API_URL is the address of the API.`,
    );
  }

  async #send(route: ApiRoute, parameters: object, accept: string | undefined): Promise<ApiResponse> {
    const bucket = bucketOf(route);
    const isWrite = isWriting(route);
    const request = this.#requestOf(route, parameters, accept);
    for (let refusals = 0, faults = 0; ; ) {
      await this.#waitForTurn(bucket);
      const outcome = await this.#sendOnce(request, bucket, isWrite);
      if (outcome === undefined) continue;
      const limit = outcome instanceof ApiResponse ? limitOf(outcome) : undefined;
      if (limit !== undefined) {
        if (refusals++ === MAX_RATE_LIMIT_RETRIES)
          throw limitError({ why: limit.kind, waitMs: limit.waitMs }, bucket, this.#options);
        // The meter knows the limit now, so the next turn waits for it.
        continue;
      }
      if (outcome instanceof ApiResponse && outcome.status < 400) return outcome;
      const pauseMs = isWrite || !isRetryable(outcome) ? undefined : READ_RETRY_PAUSES_MS[faults++];
      if (pauseMs === undefined) throw this.#toError(outcome, isWrite);
      await delay(pauseMs, undefined, { signal: this.#abortSignal }).catch(() => {
        throw this.#abortReason(isWrite);
      });
    }
  }

  #requestOf(route: ApiRoute, parameters: object, accept: string | undefined): ApiRequest {
    try {
      const request = toApiRequest(route, parameters);
      return { ...request, signal: this.#abortSignal, ...(accept !== undefined && { headers: { accept } }) };
    } catch (error) {
      if (error instanceof RangeError)
        throw new ToolError(`${error.message}. Check owner, repo, path and name.`);
      throw error;
    }
  }

  /** Blocks until no known limit applies to the bucket. */
  async #waitForTurn(bucket: Bucket): Promise<void> {
    for (;;) {
      this.#call.signal.throwIfAborted();
      const block = this.#meter.blockOf(bucket);
      if (block === undefined) return;
      // A commit with many files needs several write slots. These are our own limit, not the host's.
      const budget = bucket === 'write' && block.why === 'pace' ? this.#writeWaits : this.#waits;
      if (!budget.allows(block.waitMs)) throw limitError(block, bucket, this.#options);
      await budget.wait(block.waitMs, waitReason(block, bucket));
    }
  }

  /** Sends the request. Returns undefined, without sending, if a rate limit became known in the meantime. */
  async #sendOnce(
    request: ApiRequest,
    bucket: Bucket,
    isWrite: boolean,
  ): Promise<ApiResponse | RequestFault | undefined> {
    try {
      return await this.#gate.run(this.#abortSignal, async () => {
        if (this.#meter.tryBegin(bucket) !== undefined) return undefined;
        const response = await this.#api.request(request);
        // Update the meter before the next queued request starts.
        this.#meter.updateFrom(bucket, response.headers);
        const limit = limitOf(response);
        if (limit !== undefined) this.#meter.recordRefusal(bucket, limit);
        return response;
      });
    } catch (error) {
      if (this.#abortSignal.aborted) throw this.#abortReason(isWrite);
      if (error instanceof RequestFault) return error;
      throw error;
    }
  }

  /** Returns the error for a canceled or late call. */
  #abortReason(isWrite: boolean): unknown {
    if (this.#call.signal.aborted) return this.#call.signal.reason;
    return new ToolError(
      `The call exceeded ${(CALL_MS + this.#options.maxWaitMs) / 1000} s and was aborted.${isWrite ? ' The outcome of the last step is unknown: check the state before you retry.' : ''}`,
    );
  }

  #toError(outcome: ApiResponse | RequestFault, isWrite: boolean): ToolError {
    const { access, timeoutMs } = this.#options;
    const { host } = this.#api;
    return toHostError(outcome, {
      isWrite,
      hasToken: access.token !== undefined,
      host,
      timeoutMs,
      clean: this.clean,
    });
  }
}

function isWriting(route: ApiRoute): boolean {
  return !route.startsWith('GET ');
}

/** Returns true if a retry may succeed. */
function isRetryable(outcome: ApiResponse | RequestFault): boolean {
  return outcome instanceof ApiResponse
    ? outcome.status >= 500
    : outcome.kind === 'unreachable' || outcome.kind === 'broken';
}
