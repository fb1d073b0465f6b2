// The questions of one tool call to the host, one after the other, typed by their routes, with answers that were looked at.
//
//   turn (wait while the host is known to refuse) ──► sent ──► answer read
//     ▲                                                │
//     └──────── refused for too many requests ◄────────┘
//
// 1. A request that writes is sent again only after such a refusal, which says that it was not carried out.
// 2. All waits of one call together take no longer than its patience, and end when the call is cancelled.
// 3. The meter is asked once more when a request leaves: while a limit is known, nothing is sent.
// 4. What only reads is asked again after a fault of the host or of the connection, but not of a host that had all its time.

import { setTimeout as delay } from 'node:timers/promises';
import type { Endpoints } from '@octokit/types';
import type { z } from 'zod';
import { ApiAnswer, type ApiRequest, type HttpApi } from '../../libs/rest/http-api.ts';
import { limitOf } from '../../libs/rest/rate-limit.ts';
import { RequestFault } from '../../libs/rest/request-fault.ts';
import type { Clean } from '../../libs/rest/without-secrets.ts';
import type { CallGate } from '../call-gate.ts';
import type { ToolCall } from '../tool.ts';
import { ToolError } from '../tool-error.ts';
import type { Access } from './access.ts';
import { type Bucket, bucketOf } from './bucket.ts';
import { hostFault, wasTaken, whatWasTaken } from './host-fault.ts';
import { limitRefusal, waitingFor } from './limit-words.ts';
import { Patience } from './patience.ts';
import type { RateMeter } from './rate-meter.ts';
import { placedInRequest } from './route-template.ts';

/** Of one call, all its requests together, its waits for limits not counted. */
const CALL_MS = 180_000;
/** How long one call may wait for its turns to write, all together. */
const MAX_TURNS_MS = 60_000;
/** How often one request is sent again after refusals for too many. */
const MAX_REFUSALS = 4;
/** The pauses before a request that reads is sent again after a fault. */
const READ_AGAIN_MS = [1_000, 4_000];

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
  readonly #api: HttpApi;
  readonly #meter: RateMeter;
  readonly #gate: CallGate;
  readonly #options: HostOptions;
  readonly #patience: Patience;
  readonly #turns: Patience;
  readonly #call: ToolCall;
  readonly #deadline: AbortSignal;
  /** The call was cancelled, or has taken too long. */
  readonly #end: AbortSignal;

  constructor(api: HttpApi, { meter, gate }: Bounds, options: HostOptions, call: ToolCall) {
    this.#api = api;
    this.#meter = meter;
    this.#gate = gate;
    this.#options = options;
    this.#patience = new Patience(call, options.maxWaitMs);
    this.#turns = new Patience(call, MAX_TURNS_MS);
    this.#call = call;
    this.#deadline = AbortSignal.timeout(CALL_MS + options.maxWaitMs);
    this.#end = AbortSignal.any([call.signal, this.#deadline]);
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
    const { status, headers, json, text } = await this.#sent(route, parameters, accept);
    const isJson = /json/i.test(headers.get('content-type') ?? '');
    const parsed = read.safeParse((isJson ? json : undefined) ?? text);
    if (parsed.success) return { status, data: parsed.data, link: headers.get('link') ?? undefined };
    if (isWriting(route) && wasTaken(status)) throw new ToolError(whatWasTaken(status));
    const [issue] = parsed.error.issues;
    const where = issue === undefined || issue.path.length === 0 ? '' : `, at ${issue.path.join('.')}`;
    throw new ToolError(
      `The host's answer (${status}) is not what its API promises${where}. The operator has to check that REPOHOST_API_URL is the address of the API.`,
    );
  }

  async #sent(endpoint: Endpoint, parameters: object, accept: string | undefined): Promise<ApiAnswer> {
    const bucket = bucketOf(endpoint);
    const isWrite = isWriting(endpoint);
    const request = this.#requestOf(endpoint, parameters, accept);
    for (let refusals = 0, faults = 0; ; ) {
      await this.#turn(bucket);
      const came = await this.#once(request, bucket, isWrite);
      if (came === undefined) continue;
      const limit = came instanceof ApiAnswer ? limitOf(came) : undefined;
      const pauseMs = isWrite || !mayPass(came) ? undefined : READ_AGAIN_MS[faults++];
      if (limit !== undefined) {
        if (refusals++ === MAX_REFUSALS)
          throw limitRefusal({ why: limit.kind, waitMs: limit.waitMs }, bucket, this.#options);
      } else if (came instanceof ApiAnswer && came.status < 400) return came;
      else if (pauseMs === undefined) throw this.#fault(came, isWrite);
      else
        await delay(pauseMs, undefined, { signal: this.#end }).catch(() => {
          throw this.#ended(isWrite);
        });
    }
  }

  #requestOf(endpoint: Endpoint, parameters: object, accept: string | undefined): ApiRequest {
    try {
      const request = placedInRequest(endpoint, parameters);
      return { ...request, signal: this.#end, ...(accept !== undefined && { headers: { accept } }) };
    } catch (error) {
      if (error instanceof RangeError)
        throw new ToolError(`${error.message}. Check what is given as owner, repo, path or name.`);
      throw error;
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

  /** Undefined when it was not sent: the host has become known to refuse meanwhile. */
  async #once(
    request: ApiRequest,
    bucket: Bucket,
    isWrite: boolean,
  ): Promise<ApiAnswer | RequestFault | undefined> {
    try {
      return await this.#gate.run(this.#end, async () => {
        if (this.#meter.begin(bucket) !== undefined) return undefined;
        const answer = await this.#api.request(request);
        // Before the next in line begins.
        this.#meter.learn(bucket, answer.headers);
        const limit = limitOf(answer);
        if (limit !== undefined) this.#meter.refused(bucket, limit);
        return answer;
      });
    } catch (error) {
      if (this.#end.aborted) throw this.#ended(isWrite);
      if (error instanceof RequestFault) return error;
      throw error;
    }
  }

  /** What is thrown when the call was cancelled or has taken too long. */
  #ended(isWrite: boolean): unknown {
    if (this.#call.signal.aborted) return this.#call.signal.reason;
    return new ToolError(
      `This took longer than ${(CALL_MS + this.#options.maxWaitMs) / 1000} s and was given up.${isWrite ? ' It is not known whether the last step was done: look before you call again.' : ''}`,
    );
  }

  #fault(came: ApiAnswer | RequestFault, isWrite: boolean): ToolError {
    const { access, timeoutMs } = this.#options;
    const { host } = this.#api;
    return hostFault(came, {
      isWrite,
      hasToken: access.token !== undefined,
      host,
      timeoutMs,
      clean: this.clean,
    });
  }
}

function isWriting(route: Endpoint): boolean {
  return !route.startsWith('GET ');
}

/** Whether it may go well when it is asked again. */
function mayPass(came: ApiAnswer | RequestFault): boolean {
  return came instanceof ApiAnswer
    ? came.status >= 500
    : came.kind === 'unreachable' || came.kind === 'broken';
}
