// An MCP client inside the gateway process (agents, flows, the library). It uses the same router, limits and
// log as other clients. Requests to a single server use the server's protocol era: legacy (sessions) or
// modern (stateless, 2026-07-28). Requests to all servers are modern. Each request completes once: by
// response, signal or deadline. A signal or the deadline cancels the request at the server. Errors have
// `isUnsent` if the request was certainly not sent.

import { abortOverdueWork } from '../../../libs/rest/process-suspension.ts';
import { HolderBudget } from '../../base/bounds/holder-budget.ts';
import { MAX_PARSE_COST, parseCost } from '../../base/bounds/parse-cost.ts';
import {
  DeadlineError,
  type GatewayError,
  StoppedError,
  UnsentError,
  UpstreamProtocolError,
} from '../../base/errors/errors.ts';
import { WorkTurns } from '../../base/time/work-turns.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { modernMeta, rawMetaOf } from '../jsonrpc/modern-meta.ts';
import { readClientMessage, readServerMessage } from '../jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { type Message, rawJson, sizeOf, toBuffer } from '../jsonrpc/span.ts';
import { toolCallEnvelope } from '../jsonrpc/tool-call-message.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import { cutResult, resultSize } from './cut-result.ts';
import type { MessageRouter, RequestOrigin, RunningRequest } from './message-router.ts';
import type { Outlet } from './outlet.ts';
import { allServers } from './profiles/profile.ts';
import type { OwnCaller } from './routing/modern-router.ts';
import type { Tool, ToolRequestOptions, ToolResult } from './tool-request.ts';

/** Parts of the gateway that this client uses. */
export interface InProcessHost {
  readonly router: Pick<MessageRouter, 'modernRequest' | 'ownRequest'>;
  readonly serverInfo: { readonly name: string; readonly version: string };
  /** Throws UnknownServerError. */
  server(id: string): ManagedServer;
}

export interface InProcessOptions extends ToolRequestOptions {
  /** Server id, or a server outside the catalog. Default: all servers, with prefixed tool names. */
  readonly server?: string | ManagedServer | undefined;
  /** Name of the sender in the audit. @default library */
  readonly sender?: string | undefined;
}

export interface InProcessCallOptions extends InProcessOptions {
  /** Idempotency key, equal for repeated attempts. Sent to the server in `_meta` under KEY_MEMBER. */
  readonly key?: string | undefined;
  /** Size limit; larger results are replaced by the beginning and a note. @default no limit */
  readonly maxResultBytes?: number | undefined;
  /** Called with the text in progress notifications. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Called with each progress notification. */
  readonly onReport?: ((report: ProgressReport) => void) | undefined;
}

/** A progress notification, without invalid members. */
export interface ProgressReport {
  readonly progress?: number;
  readonly total?: number;
  readonly message?: string;
}

type ReceivingOptions = Pick<InProcessCallOptions, 'onProgress' | 'onReport' | 'maxResultBytes'>;

type ResultObject = Readonly<Record<string, unknown>>;

/** Starts a request with this id. Returns undefined if the request is already complete. */
type Begin = (
  id: number,
  server: ManagedServer | undefined,
  response: PendingResponse,
  origin: RequestOrigin,
) => RunningRequest | undefined;

/** Member of `_meta` with the idempotency key. */
const KEY_MEMBER = 'actor-gateway/key';

const TIMEOUT_MS = 60_000;
/** Responses from this size on block the event loop for milliseconds while they are parsed. */
const LARGE_BYTES = 65_536;
/**
 * Memory budget for large results of agents and flows, shared by run; 42 results of the maximum size. A
 * result above the share is cut.
 */
const MAX_RESULTS_BYTES = 67_108_864;
/** Maximum number of list pages. */
const MAX_PAGES = 1_000;

/** Release of a result that needs no memory from the budget. */
const nothing = () => {};

export class InProcessClient {
  readonly #host: InProcessHost;
  #cachedCaller: OwnCaller | undefined;
  #lastId = 0;
  /** Parses large results one at a time, with other work in between. They may arrive together. */
  readonly #turns = new WorkTurns();
  /** Memory for large results that wait to be parsed. */
  readonly #results: HolderBudget;

  constructor(host: InProcessHost, results = new HolderBudget(MAX_RESULTS_BYTES)) {
    this.#host = host;
    this.#results = results;
  }

  get #caller(): OwnCaller {
    this.#cachedCaller ??= callerOf(this.#host.serverInfo);
    return this.#cachedCaller;
  }

  /** Returns the tools on all pages. Tools without a name are omitted. Rejects like `callTool`. */
  async listTools(options: InProcessOptions = {}): Promise<readonly Tool[]> {
    const tools: Tool[] = [];
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const result = await this.#list(cursor === undefined ? {} : { cursor }, options);
      if (Array.isArray(result.tools)) tools.push(...result.tools.filter(isTool));
      cursor = result.nextCursor;
      // Some servers send an empty cursor, or null, on the last page.
      if (typeof cursor !== 'string' || cursor === '') return tools;
    }
    throw new UpstreamProtocolError(
      `the list of tools of ${nameOf(options.server)} has more than ${MAX_PAGES} pages`,
    );
  }

  /**
   * Calls a tool. A tool result with `isError` resolves. Rejects with a GatewayError (also for an unreachable
   * server), an RpcFault if the server refuses, or the reason of `signal`.
   */
  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { key, onProgress, onReport, maxResultBytes, ...options }: InProcessCallOptions = {},
  ): Promise<ToolResult> {
    const receiving = { onProgress, onReport, maxResultBytes };
    const own = key === undefined ? {} : { [KEY_MEMBER]: rawJson(key) };
    const envelopeOf = (id: number) => toolCallEnvelope(id, name, args, own);
    const result =
      options.server === undefined
        ? await this.#request('tools/call', { name, arguments: args }, options, receiving, key)
        : await this.#inEraOfServer('tools/call', options, receiving, envelopeOf);
    if (result.resultType === 'input_required')
      throw new StoppedError(`the tool ${name} requires input, which this client cannot provide`);
    return result as ToolResult;
  }

  /** Requests a page of tools, in the server's era for a single server. */
  #list(params: { readonly cursor?: unknown }, options: InProcessOptions): Promise<ResultObject> {
    if (options.server === undefined) return this.#request('tools/list', params, options);
    return this.#inEraOfServer('tools/list', options, {}, (id) => {
      const request = { jsonrpc: '2.0', id, method: 'tools/list', params };
      return readClientMessage(Buffer.from(JSON.stringify(request)));
    });
  }

  /** Sends a request to a single server in the server's era. */
  #inEraOfServer(
    method: string,
    options: InProcessOptions,
    receiving: ReceivingOptions,
    envelopeOf: (id: number) => Envelope,
  ): Promise<ResultObject> {
    // `options.server` is set, so `server` is not undefined.
    return this.#sendAndAwait(method, options, receiving, (id, server, response, origin) =>
      this.#host.router.ownRequest(envelopeOf(id), this.#caller, server as ManagedServer, response, origin),
    );
  }

  /** Sends a modern request to all servers. */
  #request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    options: InProcessOptions,
    receiving: ReceivingOptions = {},
    key?: string,
  ): Promise<ResultObject> {
    return this.#sendAndAwait(method, options, receiving, (id, _, response, origin) => {
      const own = { progressToken: id, ...(key === undefined ? {} : { [KEY_MEMBER]: key }) };
      const _meta = { ...own, ...modernMeta(this.#caller) };
      const request = { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
      const envelope = readClientMessage(Buffer.from(JSON.stringify(request)));
      return this.#host.router.modernRequest(envelope, allServers, response, origin);
    });
  }

  /** Sends a request and awaits the response, the signal or the deadline. */
  async #sendAndAwait(
    method: string,
    { server, signal, timeoutMs = TIMEOUT_MS, trace, sender = 'library' }: InProcessOptions,
    receiving: ReceivingOptions,
    begin: Begin,
  ): Promise<ResultObject> {
    // After a suspension of the process, timers are late: overdue work is aborted before a request is sent.
    abortOverdueWork();
    signal?.throwIfAborted();
    this.#lastId += 1;
    const id = this.#lastId;
    const target = typeof server === 'string' ? this.#host.server(server) : server;
    const response = new PendingResponse(receiving, this.#turns, this.#results, trace ?? '');
    const origin = { requestId: `in-process-${id}`, traceparent: trace, sender };
    const running = begin(id, target, response, origin);
    const abandon = (error: unknown) => {
      response.reject(error);
      running?.cancel('the caller no longer waits for the response');
    };
    const onAbort = () => abandon(signal?.reason);
    const onDeadline = () => {
      const isUnsent = running?.isUnsent === true;
      const location = target === undefined ? '' : ` at server ${target.id}`;
      const why = isUnsent && target !== undefined ? unsentReason(target) : '';
      const deadlineError = new DeadlineError(
        `${method}${location} took more than ${Math.round(timeoutMs)} ms${why}`,
      );
      abandon(isUnsent ? new UnsentError(deadlineError) : deadlineError);
    };
    const timer = setTimeout(onDeadline, timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await response.result;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }
}

/** Returns the identity that the gateway sends as a client. It declares no capabilities (`{}`). */
function callerOf({ name, version }: InProcessHost['serverInfo']): OwnCaller {
  const clientInfo = { name, version };
  const meta = rawMetaOf(rawJson(clientInfo), '{}', undefined);
  return { clientInfo, capabilities: {}, logLevel: undefined, meta };
}

function isTool(item: unknown): item is Tool {
  return typeof (item as { readonly name?: unknown } | null)?.name === 'string';
}

function unsentReason({ state, lastError }: ManagedServer): string {
  return `: the server is ${state}${lastError === undefined ? '' : `; last error: ${lastError.message}`}`;
}

/**
 * Receives one request's messages. An invalid response rejects only this request, although the
 * connection that delivers it is shared.
 */
class PendingResponse implements Outlet {
  readonly result: Promise<ResultObject>;
  reject: (error: unknown) => void = () => {};
  #resolve: (result: ResultObject) => void = () => {};

  readonly #receiving: ReceivingOptions;
  readonly #turns: WorkTurns;
  readonly #results: HolderBudget;
  /** Trace of the run that the result belongs to; '' for all other results. */
  readonly #run: string;

  constructor(receiving: ReceivingOptions, turns: WorkTurns, results: HolderBudget, run: string) {
    this.#receiving = receiving;
    this.#turns = turns;
    this.#results = results;
    this.#run = run;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.reject = reject;
    });
    // The promise may be rejected before a caller awaits it.
    this.result.catch(() => {});
  }

  /** Reports progress. Other notifications are ignored. */
  send(message: Message): void {
    const { onProgress, onReport } = this.#receiving;
    if (onProgress === undefined && onReport === undefined) return;
    try {
      const notification = readServerMessage(toBuffer(message));
      if (notification.method !== 'notifications/progress') return;
      const report = reportIn(notification.parse(notification.params));
      if (report.message !== undefined) onProgress?.(report.message);
      onReport?.(report);
    } catch {
      // An invalid notification does not affect the call.
    }
  }

  fail(error: GatewayError, isUnsent: boolean): void {
    this.reject(isUnsent && !error.isUnsent ? new UnsentError(error) : error);
  }

  /** Accepts an unedited response. Parses only the result, not the whole message. */
  answer(answer: Envelope): void {
    const { maxResultBytes } = this.#receiving;
    const size = resultSize(answer);
    const release = this.#acquire(size);
    if (maxResultBytes !== undefined && size > maxResultBytes)
      this.#cut(answer, `at most ${maxResultBytes} are read`);
    else if (release === undefined) this.#cut(answer, 'and too many results are in progress');
    else {
      const { error, result } = answer;
      this.#settle(sizeOf(answer.message), release, () =>
        maxResultBytes !== undefined && size >= LARGE_BYTES && isCostly(answer)
          ? { ...cutResult(answer, TOO_MANY_VALUES) }
          : resultIn({
              result: answer.parse(result),
              ...(error === undefined ? {} : { error: answer.parse(error) }),
            }),
      );
    }
  }

  /** Accepts an edited response. A large one with a size limit is not parsed here, because it may be cut. */
  finish(message: Buffer): void {
    if (message.length >= LARGE_BYTES && this.#receiving.maxResultBytes !== undefined)
      this.answer(readServerMessage(message));
    else this.#settle(message.length, nothing, () => resultIn(JSON.parse(message.toString('utf8'))));
  }

  /** Acquires memory for a result with a size limit. Returns undefined above the share of the run. */
  #acquire(size: number): (() => void) | undefined {
    const { maxResultBytes } = this.#receiving;
    if (maxResultBytes === undefined || size < LARGE_BYTES || size > maxResultBytes) return nothing;
    return this.#results.hold(size, this.#run);
  }

  #cut(answer: Envelope, reason: string): void {
    // The copy converts the type: an interface is not assignable to ResultObject.
    this.#resolve({ ...cutResult(answer, reason) });
  }

  #settle(size: number, release: () => void, readResult: () => ResultObject): void {
    const settle = () => {
      try {
        this.#resolve(readResult());
      } catch (failure) {
        this.reject(failure);
      } finally {
        release();
      }
    };
    if (size < LARGE_BYTES) settle();
    else void this.#turns.run(settle);
  }

  drop(): void {
    this.reject(new StoppedError('the request was cancelled'));
  }
}

const TOO_MANY_VALUES = 'and too many values';

/** Returns true if parsing the result blocks the event loop for too long. */
function isCostly({ bytes, result }: Envelope): boolean {
  if (result === undefined) return false;
  return parseCost(bytes.subarray(result.start, result.end), MAX_PARSE_COST) > MAX_PARSE_COST;
}

function reportIn(params: unknown): ProgressReport {
  const { progress, total, message } = params as Readonly<Record<string, unknown>>;
  return {
    ...(typeof progress === 'number' ? { progress } : {}),
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}

function nameOf(server: string | ManagedServer | undefined): string {
  if (server === undefined) return 'all servers';
  return typeof server === 'string' ? server : server.id;
}

/** Returns the result. Throws RpcFault for error responses, UpstreamProtocolError for invalid results. */
function resultIn({ result, error }: ResultObject): ResultObject {
  if (error !== undefined) {
    const { code, message: why } = (error ?? {}) as Readonly<Record<string, unknown>>;
    throw new RpcFault(
      typeof code === 'number' ? code : rpcCodes.internalError,
      typeof why === 'string' ? why : 'the server refused the request without a reason',
    );
  }
  if (typeof result !== 'object' || result === null)
    throw new UpstreamProtocolError('the result of the server is not an object');
  return result as ResultObject;
}
