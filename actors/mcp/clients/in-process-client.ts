// An MCP client in this process. Calls and lists of one server are sent in the era of that server; those at the merged address
// are requests of the modern era. Router, limits and log are those of all other clients.
//
// IPC1  each request ends once: by its answer, its signal or its deadline; in the latter two it is cancelled at its server.
// IPC2  a tool that says of itself that it has failed is an answer; who could not be asked, or knows no such tool, is an error.
// IPC3  an answer that is none fails its request, and nothing else: it is read on the way of all messages of its server.
// IPC4  the error of a request that was certainly not sent says so (`isUnsent`); where that is not known, it does not.

import { endWhatIsOver } from '../../../libs/rest/standstill.ts';
import {
  DeadlineError,
  type GatewayError,
  StoppedError,
  UnsentError,
  UpstreamProtocolError,
} from '../../base/errors/errors.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { modernMeta, rawMetaOf } from '../jsonrpc/modern-meta.ts';
import { readClientMessage, readServerMessage } from '../jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { type Message, rawJson, whole } from '../jsonrpc/span.ts';
import { toolCallEnvelope } from '../jsonrpc/tool-call-message.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import type { MessageRouter, Origin, Running } from './message-router.ts';
import type { Outlet } from './outlet.ts';
import { allServers } from './profiles/profile.ts';
import type { OwnCaller } from './routing/modern-router.ts';
import type { Tool, ToolRequestOptions, ToolResult } from './tool-request.ts';

/** The gateway, as far as this client needs it. */
export interface InProcessHost {
  readonly router: Pick<MessageRouter, 'stateless' | 'ownRequest'>;
  readonly serverInfo: { readonly name: string; readonly version: string };
  /** Throws UnknownServerError. */
  server(id: string): ManagedServer;
}

export interface InProcessOptions extends ToolRequestOptions {
  /** By its id, or one that has none in the catalog. Without it all servers, whose names stand before those of their tools. */
  readonly server?: string | ManagedServer | undefined;
}

export interface InProcessCallOptions extends InProcessOptions {
  /** Of the call, the same for each repetition: its server finds it at KEY_MEMBER of `_meta`. */
  readonly key?: string | undefined;
  /** What the tool says of its progress. */
  readonly onProgress?: ((message: string) => void) | undefined;
  /** Each report of its progress, with words or without. */
  readonly onReport?: ((report: ProgressReport) => void) | undefined;
}

/** What a tool says of its progress; members that are none are left out. */
export interface ProgressReport {
  readonly progress?: number;
  readonly total?: number;
  readonly message?: string;
}

type Progress = Pick<InProcessCallOptions, 'onProgress' | 'onReport'>;

type Result = Readonly<Record<string, unknown>>;

/** Hands a request to the router. */
type Begin = (
  id: number,
  server: ManagedServer | undefined,
  waiting: Waiting,
  origin: Origin,
) => Running | undefined;

const KEY_MEMBER = 'actor-gateway/key';

const TIMEOUT_MS = 60_000;
/** A list that has no end after these is none. */
const MAX_PAGES = 1_000;

export class InProcessClient {
  readonly #host: InProcessHost;
  #introduction: OwnCaller | undefined;
  #lastId = 0;

  constructor(host: InProcessHost) {
    this.#host = host;
  }

  get #caller(): OwnCaller {
    this.#introduction ??= callerOf(this.#host.serverInfo);
    return this.#introduction;
  }

  /** All pages of the list, without elements that have no name. Rejects as `callTool` does. */
  async listTools(options: InProcessOptions = {}): Promise<readonly Tool[]> {
    const tools: Tool[] = [];
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const result = await this.#list(cursor === undefined ? {} : { cursor }, options);
      if (Array.isArray(result.tools)) tools.push(...result.tools.filter(isTool));
      cursor = result.nextCursor;
      if (cursor === undefined) return tools;
    }
    throw new UpstreamProtocolError(`the list of tools of ${nameOf(options.server)} has no end`);
  }

  /** Rejects with a GatewayError, with an RpcFault where the server refused the request, or for what `signal` was aborted. */
  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    { key, onProgress, onReport, ...options }: InProcessCallOptions = {},
  ): Promise<ToolResult> {
    const progress = { onProgress, onReport };
    const own = key === undefined ? {} : { [KEY_MEMBER]: rawJson(key) };
    const envelopeOf = (id: number) => toolCallEnvelope(id, name, args, own);
    const result =
      options.server === undefined
        ? await this.#request('tools/call', { name, arguments: args }, options, progress, key)
        : await this.#inEraOfServer('tools/call', options, progress, envelopeOf);
    if (result.resultType === 'input_required')
      throw new StoppedError(`the tool ${name} asks its caller something, and nobody is there to answer`);
    return result as ToolResult;
  }

  /** Requests a page of tools, in the server's era if there is one server. */
  #list(params: { readonly cursor?: unknown }, options: InProcessOptions): Promise<Result> {
    if (options.server === undefined) return this.#request('tools/list', params, options);
    return this.#inEraOfServer('tools/list', options, {}, (id) => {
      const request = { jsonrpc: '2.0', id, method: 'tools/list', params };
      return readClientMessage(Buffer.from(JSON.stringify(request)));
    });
  }

  /** Sends a request to one server in that server's era. */
  #inEraOfServer(
    method: string,
    options: InProcessOptions,
    progress: Progress,
    envelopeOf: (id: number) => Envelope,
  ): Promise<Result> {
    return this.#answerOf(method, options, progress, (id, server, waiting, origin) =>
      this.#host.router.ownRequest(envelopeOf(id), this.#caller, server as ManagedServer, waiting, origin),
    );
  }

  /** Sends a modern request to all servers. */
  #request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    options: InProcessOptions,
    progress: Progress = {},
    key?: string,
  ): Promise<Result> {
    return this.#answerOf(method, options, progress, (id, _, waiting, origin) => {
      const own = { progressToken: id, ...(key === undefined ? {} : { [KEY_MEMBER]: key }) };
      const _meta = { ...own, ...modernMeta(this.#caller) };
      const request = { jsonrpc: '2.0', id, method, params: { ...params, _meta } };
      const envelope = readClientMessage(Buffer.from(JSON.stringify(request)));
      return this.#host.router.stateless(envelope, allServers, waiting, origin);
    });
  }

  /** Starts a request and waits for its answer, signal or deadline. */
  async #answerOf(
    method: string,
    { server, signal, timeoutMs = TIMEOUT_MS, trace }: InProcessOptions,
    progress: Progress,
    begin: Begin,
  ): Promise<Result> {
    endWhatIsOver();
    signal?.throwIfAborted();
    this.#lastId += 1;
    const id = this.#lastId;
    const target = typeof server === 'string' ? this.#host.server(server) : server;
    const waiting = new Waiting(progress);
    const running = begin(id, target, waiting, { requestId: `in-process-${id}`, traceparent: trace });
    const giveUp = (error: unknown) => {
      waiting.reject(error);
      running?.cancel('the caller does not wait for it any more');
    };
    const onAbort = () => giveUp(signal?.reason);
    const onTime = () => {
      const isUnsent = running?.isUnsent === true;
      const where = target === undefined ? '' : ` at server ${target.id}`;
      const why = isUnsent && target !== undefined ? whyUnsent(target) : '';
      const late = new DeadlineError(`${method}${where} took more than ${Math.round(timeoutMs)} ms${why}`);
      giveUp(isUnsent ? new UnsentError(late) : late);
    };
    const timer = setTimeout(onTime, timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await waiting.result;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }
}

function callerOf({ name, version }: InProcessHost['serverInfo']): OwnCaller {
  const clientInfo = { name, version };
  const meta = rawMetaOf(rawJson(clientInfo), '{}', undefined);
  return { clientInfo, capabilities: {}, logLevel: undefined, meta };
}

function isTool(item: unknown): item is Tool {
  return typeof (item as { readonly name?: unknown } | null)?.name === 'string';
}

function whyUnsent({ state, lastError }: ManagedServer): string {
  return `: the server is ${state}${lastError === undefined ? '' : `, and failed last: ${lastError.message}`}`;
}

/** The way back of one request. */
class Waiting implements Outlet {
  readonly result: Promise<Result>;
  reject: (error: unknown) => void = () => {};
  #resolve: (result: Result) => void = () => {};

  readonly #progress: Progress;

  constructor(progress: Progress) {
    this.#progress = progress;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.reject = reject;
    });
    // It may be given up before anybody waits for it.
    this.result.catch(() => {});
  }

  /** Of what comes before an answer only its progress is of use here. */
  send(message: Message): void {
    const { onProgress, onReport } = this.#progress;
    if (onProgress === undefined && onReport === undefined) return;
    try {
      const told = readServerMessage(whole(message));
      if (told.method !== 'notifications/progress') return;
      const report = reportIn(told.parse(told.params));
      if (report.message !== undefined) onProgress?.(report.message);
      onReport?.(report);
    } catch {
      // What a server says besides is no matter of the call.
    }
  }

  fail(error: GatewayError, isUnsent: boolean): void {
    this.reject(isUnsent && !error.isUnsent ? new UnsentError(error) : error);
  }

  /** Parses only the result, not the whole message. */
  answer(answer: Envelope): void {
    const { error, result } = answer;
    this.#settle(() =>
      resultIn({
        result: answer.parse(result),
        ...(error === undefined ? {} : { error: answer.parse(error) }),
      }),
    );
  }

  finish(message: Buffer): void {
    this.#settle(() => resultIn(JSON.parse(message.toString('utf8'))));
  }

  #settle(read: () => Result): void {
    try {
      this.#resolve(read());
    } catch (failure) {
      this.reject(failure);
    }
  }

  drop(): void {
    this.reject(new StoppedError('the request was cancelled'));
  }
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

/** Throws an RpcFault for a refusal, and for an answer that no client could use. */
function resultIn({ result, error }: Result): Result {
  if (error !== undefined) {
    const { code, message: why } = (error ?? {}) as Readonly<Record<string, unknown>>;
    throw new RpcFault(
      typeof code === 'number' ? code : rpcCodes.internalError,
      typeof why === 'string' ? why : 'the server refuses the request and does not say why',
    );
  }
  if (typeof result !== 'object' || result === null)
    throw new UpstreamProtocolError('the server gave a result that is no object');
  return result as Result;
}
