// A client of the gateway's own servers in this process: handlers call tools by it as clients of the modern era do over HTTP,
// by the same router, within the same bounds, and without a socket.
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
import { modernMeta } from '../jsonrpc/modern-meta.ts';
import { readClientMessage, readServerMessage } from '../jsonrpc/read-message.ts';
import { RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { type Message, whole } from '../jsonrpc/span.ts';
import type { ManagedServer } from '../servers/managed-server.ts';
import type { MessageRouter } from './message-router.ts';
import type { Outlet } from './outlet.ts';

/** The gateway, as far as this client needs it. */
export interface InProcessHost {
  readonly router: Pick<MessageRouter, 'stateless'>;
  readonly serverInfo: { readonly name: string; readonly version: string };
  /** Throws UnknownServerError. */
  server(id: string): ManagedServer;
}

export interface InProcessOptions {
  /** By its id, or one that has none in the catalog. Without it all servers, whose names stand before those of their tools. */
  readonly server?: string | ManagedServer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** @default 60000 */
  readonly timeoutMs?: number | undefined;
  /** W3C traceparent. */
  readonly trace?: string | undefined;
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

interface RequestExtras extends Pick<InProcessCallOptions, 'onProgress' | 'onReport'> {
  readonly meta?: Readonly<Record<string, unknown>>;
}

const KEY_MEMBER = 'actor-gateway/key';

/** As the server gave it (`tools/list`). */
export interface Tool {
  readonly name: string;
  readonly [member: string]: unknown;
}

/** As the server gave it (`tools/call`). */
export interface ToolResult {
  readonly content?: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

const TIMEOUT_MS = 60_000;
/** A list that has no end after these is none. */
const MAX_PAGES = 1_000;

export class InProcessClient {
  readonly #host: InProcessHost;
  #lastId = 0;

  constructor(host: InProcessHost) {
    this.#host = host;
  }

  /** All pages of the list, without elements that have no name. Rejects as `callTool` does. */
  async listTools(options: InProcessOptions = {}): Promise<readonly Tool[]> {
    const tools: Tool[] = [];
    let cursor: unknown;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const result = await this.#request('tools/list', cursor === undefined ? {} : { cursor }, options);
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
    const more = { meta: key === undefined ? {} : { [KEY_MEMBER]: key }, onProgress, onReport };
    const result = await this.#request('tools/call', { name, arguments: args }, options, more);
    if (result.resultType === 'input_required')
      throw new StoppedError(`the tool ${name} asks its caller something, and nobody is there to answer`);
    return result as ToolResult;
  }

  async #request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    { server, signal, timeoutMs = TIMEOUT_MS, trace }: InProcessOptions,
    { meta, onProgress, onReport }: RequestExtras = {},
  ): Promise<Readonly<Record<string, unknown>>> {
    endWhatIsOver();
    signal?.throwIfAborted();
    const { router, serverInfo } = this.#host;
    this.#lastId += 1;
    const id = this.#lastId;
    const caller = { clientInfo: { name: serverInfo.name, version: serverInfo.version }, capabilities: {} };
    const request = {
      jsonrpc: '2.0',
      id,
      method,
      params: { ...params, _meta: { progressToken: id, ...meta, ...modernMeta(caller) } },
    };
    const envelope = readClientMessage(Buffer.from(JSON.stringify(request)));
    const target = typeof server === 'string' ? this.#host.server(server) : server;
    const waiting = new Waiting({ onProgress, onReport });
    const running = router.stateless(envelope, target, waiting, {
      requestId: `in-process-${id}`,
      traceparent: trace,
    });
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

function isTool(item: unknown): item is Tool {
  return typeof (item as { readonly name?: unknown } | null)?.name === 'string';
}

function whyUnsent({ state, lastError }: ManagedServer): string {
  return `: the server is ${state}${lastError === undefined ? '' : `, and failed last: ${lastError.message}`}`;
}

/** The way back of one request. */
class Waiting implements Outlet {
  readonly result: Promise<Readonly<Record<string, unknown>>>;
  reject: (error: unknown) => void = () => {};
  #resolve: (result: Readonly<Record<string, unknown>>) => void = () => {};

  readonly #told: Pick<InProcessCallOptions, 'onProgress' | 'onReport'>;

  constructor(told: Pick<InProcessCallOptions, 'onProgress' | 'onReport'>) {
    this.#told = told;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.reject = reject;
    });
    // It may be given up before anybody waits for it.
    this.result.catch(() => {});
  }

  /** Of what comes before an answer only its progress is of use here. */
  send(message: Message): void {
    const { onProgress, onReport } = this.#told;
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

  finish(message: Buffer): void {
    try {
      this.#resolve(resultIn(message));
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

/** Throws an RpcFault for a refusal, and for what no client could use. */
function resultIn(message: Buffer): Readonly<Record<string, unknown>> {
  const { result, error } = JSON.parse(message.toString('utf8')) as Readonly<Record<string, unknown>>;
  if (error !== undefined) {
    const { code, message: why } = (error ?? {}) as Readonly<Record<string, unknown>>;
    throw new RpcFault(
      typeof code === 'number' ? code : rpcCodes.internalError,
      typeof why === 'string' ? why : 'the server refuses the request and does not say why',
    );
  }
  if (typeof result !== 'object' || result === null)
    throw new UpstreamProtocolError('the server gave a result that is no object');
  return result as Readonly<Record<string, unknown>>;
}
