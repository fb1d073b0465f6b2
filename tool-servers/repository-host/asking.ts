// The questions of one tool call to the host, one after the other, typed by their routes, with answers that were looked at.
//
//   turn (wait while the host is known to refuse) ──► sent ──► answer read
//     ▲                                                │
//     └──────── refused for too many requests ◄────────┘
//
// 1. A request that writes is sent again only after such a refusal, which says that it was not carried out.
// 2. All waits of one call together take no longer than its patience, and end when the call is cancelled.
// 3. The meter is asked once more when a request leaves: while a limit is known, nothing is sent.

import type { Octokit } from '@octokit/core';
import type { Endpoints } from '@octokit/types';
import type { z } from 'zod';
import type { CallGate } from '../call-gate.ts';
import type { ToolCall } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import type { Access } from './access.ts';
import { hostFault, isRequestFault, wasTaken, whatWasTaken } from './host-fault.ts';
import { limitRefusal, waitingFor } from './limit-words.ts';
import { Patience } from './patience.ts';
import { type Bucket, bucketOf, limitOf } from './rate-limit.ts';
import { type RateMeter, StillClosed } from './rate-meter.ts';
import type { Clean } from './redaction.ts';
import { placedInPath } from './route-template.ts';

/** Of one call, all its requests together, its waits for limits not counted. */
const CALL_MS = 180_000;
/** How long one call may wait for its turns to write, all together. */
const MAX_TURNS_MS = 60_000;
/** How often one request is sent again after refusals for too many. */
const MAX_REFUSALS = 4;
/** The version of the API all this was written for. */
const HEADERS = { 'x-github-api-version': '2022-11-28' };

export type Endpoint = keyof Endpoints;
type Loosely<Parameters> = { [Name in keyof Parameters]: Parameters[Name] | undefined };
type ParametersOf<R extends Endpoint> = Loosely<
  Omit<Endpoints[R]['parameters'], 'headers' | 'request' | 'baseUrl' | 'mediaType'>
>;

export interface HostOptions {
  readonly access: Access;
  readonly maxWaitMs: number;
  readonly timeoutMs: number;
  /** Takes the token out of a text. */
  readonly clean: Clean;
}

interface HostResponse<Data> {
  readonly status: number;
  readonly data: Data;
  /** The `Link` header. */
  readonly link: string | undefined;
}

/** Shared by all calls. */
interface Bounds {
  readonly meter: RateMeter;
  /** For requests that run. */
  readonly gate: CallGate;
}

export class Asking {
  readonly #octokit: Octokit;
  readonly #fetch: typeof fetch;
  readonly #meter: RateMeter;
  readonly #gate: CallGate;
  readonly #options: HostOptions;
  readonly #patience: Patience;
  readonly #turns: Patience;
  readonly #call: ToolCall;
  readonly #deadline: AbortSignal;

  /** @param send what Octokit is to send its requests with */
  constructor(
    octokit: Octokit,
    send: typeof fetch,
    { meter, gate }: Bounds,
    options: HostOptions,
    call: ToolCall,
  ) {
    this.#octokit = octokit;
    this.#fetch = send;
    this.#meter = meter;
    this.#gate = gate;
    this.#options = options;
    this.#patience = new Patience(call, options.maxWaitMs);
    this.#turns = new Patience(call, MAX_TURNS_MS);
    this.#call = call;
    this.#deadline = AbortSignal.timeout(CALL_MS + options.maxWaitMs);
  }

  /** Takes the token out of what was decoded only after it came in. */
  get clean(): Clean {
    return this.#options.clean;
  }

  /**
   * Asks the host. `read` picks from the answer what is used.
   * @throws ToolError for whatever goes wrong; HostRefusal where the host refused
   */
  async ask<R extends Endpoint, Read extends z.ZodType>(
    route: R,
    parameters: ParametersOf<R>,
    read: Read,
    accept?: string,
  ): Promise<HostResponse<z.output<Read>>> {
    const { status, headers, data } = await this.#sent(route, parameters, accept);
    const parsed = read.safeParse(data);
    if (parsed.success) return { status, data: parsed.data, link: headers.link };
    if (isWriting(route) && wasTaken(status)) throw new ToolError(whatWasTaken(status));
    const [issue] = parsed.error.issues;
    const where = issue === undefined || issue.path.length === 0 ? '' : `, at ${issue.path.join('.')}`;
    throw new ToolError(
      `The host's answer (${status}) is not what its API promises${where}. The operator has to check that REPOHOST_API_URL is the address of the API.`,
    );
  }

  async #sent(route: Endpoint, parameters: object, accept: string | undefined) {
    const bucket = bucketOf(route);
    const isWrite = isWriting(route);
    for (let refusals = 0; ; ) {
      await this.#turn(bucket);
      try {
        const response = await this.#once(route, parameters, accept, bucket);
        this.#meter.learn(bucket, response.headers);
        return response;
      } catch (error) {
        if (error instanceof StillClosed) continue;
        const limit = this.#limitIn(error, bucket);
        if (limit === undefined) throw this.#fault(error, isWrite);
        this.#meter.refused(bucket, limit);
        if (refusals++ === MAX_REFUSALS)
          throw limitRefusal({ why: limit.kind, waitMs: limit.waitMs }, bucket, this.#options);
      }
    }
  }

  /** Waits until the host is willing, as far as is known. */
  async #turn(bucket: Bucket): Promise<void> {
    for (;;) {
      this.#call.signal.throwIfAborted();
      const closed = this.#meter.closed(bucket);
      if (closed === undefined) return;
      // A commit of many files takes its turn several times; that is no limit of the host's.
      const patience = bucket === 'write' && closed.why === 'pace' ? this.#turns : this.#patience;
      if (!patience.allows(closed.waitMs)) throw limitRefusal(closed, bucket, this.#options);
      await patience.wait(closed.waitMs, waitingFor(closed, bucket));
    }
  }

  async #once(route: Endpoint, parameters: object, accept: string | undefined, bucket: Bucket) {
    const signal = AbortSignal.any([this.#call.signal, this.#deadline]);
    const send: typeof fetch = async (input, init) => {
      signal.throwIfAborted();
      if (this.#meter.begin(bucket) !== undefined) throw new StillClosed();
      return await this.#fetch(input, init);
    };
    const placed = placedInPath(route, parameters);
    const ask = () =>
      this.#octokit.request(placed.route, {
        ...placed.parameters,
        headers: accept === undefined ? HEADERS : { ...HEADERS, accept },
        request: bucket === 'write' ? { signal, fetch: send, retries: 0 } : { signal, fetch: send },
      });
    return await this.#gate.run(signal, () => untilAborted(ask(), signal));
  }

  #limitIn(error: unknown, bucket: Bucket) {
    if (!isRequestFault(error) || error.response === undefined) return undefined;
    this.#meter.learn(bucket, error.response.headers);
    return limitOf(error.status, error.response.headers, error.message);
  }

  #fault(error: unknown, isWrite: boolean): unknown {
    if (this.#call.signal.aborted) return this.#call.signal.reason;
    const { access, maxWaitMs, timeoutMs } = this.#options;
    if (this.#deadline.aborted)
      return new ToolError(
        `This took longer than ${(CALL_MS + maxWaitMs) / 1000} s and was given up.${isWrite ? ' It is not known whether the last step was done: look before you call again.' : ''}`,
      );
    const { host } = new URL(access.apiUrl);
    const hasToken = access.token !== undefined;
    return hostFault(error, { isWrite, hasToken, host, timeoutMs, clean: this.clean });
  }
}

function isWriting(route: Endpoint): boolean {
  return !route.startsWith('GET ');
}

/** The plugin holds requests back without looking at signals. */
async function untilAborted<T>(asked: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
  });
  try {
    return await Promise.race([asked, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
