// A client's active request, created by the message router for each request: sends the response to the
// client, exactly once. Restores the client's request id, and adds the members that results need in the
// modern protocol era (2026-07-28, without sessions).

import type { Budget, Share } from '../../base/bounds/budget.ts';
import type { ListMember } from '../../base/bounds/linked-list.ts';
import { GatewayError, InternalError } from '../../base/errors/errors.ts';
import { applyEdits } from '../jsonrpc/apply-edits.ts';
import { type EncodedResult, errorMessage, resultTextMessage } from '../jsonrpc/compose.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { memberOf } from '../jsonrpc/members.ts';
import { completeMembers, completeResult } from '../jsonrpc/modern-meta.ts';
import { type RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { type Edit, type Message, rawJson, replaceSpan, sizeOf, toBuffer } from '../jsonrpc/span.ts';
import type { CallConnection, CallExchange } from '../servers/calls/call.ts';
import type { ClientShares } from '../servers/calls/client-shares.ts';
import type { CacheHint } from '../servers/lists/lists.ts';
import type { ResolvedTarget } from './aggregate/resolution.ts';
import type { RequestStates } from './eras/request-states.ts';
import type { Outlet } from './outlet.ts';

/**
 * A result, a tool's result with `isError`, a JSON-RPC error, a gateway error, or no response because of a
 * cancellation.
 */
export type ExchangeEnd = 'answered' | 'tool_error' | 'refused' | 'failed' | 'dropped';

/** Work for an exchange, usually a call at a server. */
export interface Cancellable {
  readonly connection: CallConnection | undefined;
  cancel(reason?: string): void;
}

/** Data for results to a modern client. */
export interface ModernResult {
  /** Name and version of the responding server. */
  serverInfo: unknown;
  /** True if the server supports the method. An error −32601 then concerns something else, such as a tool. */
  isMethodKnown: boolean;
  /** Converts request states for the cluster. Set if other nodes may receive retries. */
  readonly states?: Pick<RequestStates, 'edits' | 'wrap'> | undefined;
}

export interface ExchangeOptions {
  /** Removes secrets from texts of the gateway (A9, ARCHITECTURE.md). */
  redact(text: string): string;
  onEnd(exchange: ClientExchange, end: ExchangeEnd, error: GatewayError | undefined): void;
}

export class ClientExchange implements CallExchange, ListMember<ClientExchange> {
  readonly rawId: string;
  readonly outlet: Outlet;
  /** Id of the server; undefined until the request is sent to it. */
  server: string | undefined;
  /** Server and name that the request selected at an address of several servers (/mcp, /mcp/@NAME). */
  mergedTarget: ResolvedTarget | undefined;
  call: Cancellable | undefined;
  /** Names for the record of the call, read when the request arrives (CallRecorder). */
  targetName: string | null = null;
  clientName: string | null = null;
  /** True for methods that return a tool result. */
  hasToolResult = false;
  /** Set for modern clients. */
  modernResult: ModernResult | undefined;
  isDone = false;
  /** Shares of the client in the limits; undefined for unauthenticated clients without a session. */
  client: ClientShares | undefined;
  /** Budget with the request's slot (permission to be in flight). Written by InFlightLimiter only. */
  budget: Budget | undefined;
  /** The server's share of this budget. */
  serverShare: Share | undefined;
  /** Releases the bytes reserved by large requests. */
  releaseBytes: (() => void) | undefined;
  /** Size of the request in memory, in bytes. */
  bytes = 0;
  /** Size of the server's result or error, or of the gateway's result, in bytes. Set at the end. */
  responseBytes = 0;
  /** Code of the JSON-RPC error at the end. */
  errorCode: string | undefined;
  /** True if the JSON-RPC error is the server's. */
  isFaultOfServer = false;
  /** Neighbours in the list of the session's requests. */
  previous: ClientExchange | undefined;
  next: ClientExchange | undefined;
  /** Returns additional edits of the response. */
  rewrite: ((answer: Envelope) => readonly Edit[]) | undefined;
  /** Called on completion, before the client receives the response. */
  whenEnded: ((end: ExchangeEnd) => void) | undefined;

  readonly #options: ExchangeOptions;

  constructor(rawId: string, outlet: Outlet, options: ExchangeOptions) {
    this.rawId = rawId;
    this.outlet = outlet;
    this.#options = options;
  }

  answer(envelope: Envelope): void {
    if (this.isDone) return;
    const { outlet, rewrite, modernResult } = this;
    // A receiver in this process accepts a response without edits.
    if (outlet.answer !== undefined && rewrite === undefined && modernResult === undefined) {
      if (this.#endWith(envelope)) outlet.answer(envelope);
      return;
    }
    let message: Message;
    try {
      message = this.#edit(envelope);
    } catch (error) {
      // If the response cannot be edited, the client receives an error instead (A2, ARCHITECTURE.md).
      this.fail(
        error instanceof GatewayError
          ? error
          : new InternalError('could not convert the response for the client', { cause: error }),
        false,
      );
      return;
    }
    if (!this.#endWith(envelope)) return;
    this.#finish(message, modernResult && this.#codeOf(envelope, modernResult));
  }

  /** Returns the response, edited for the client. */
  #edit(envelope: Envelope): Message {
    const { id } = envelope;
    const edits = this.rewrite === undefined ? [] : [...this.rewrite(envelope)];
    if (this.modernResult?.states !== undefined) edits.push(...this.modernResult.states.edits(envelope));
    if (id !== undefined) edits.push(replaceSpan(id, this.rawId));
    return applyEdits(envelope.message, edits);
  }

  relay(message: Buffer): void {
    if (!this.isDone) this.outlet.send(message);
  }

  fail(error: GatewayError, isUnsent = this.server === undefined): void {
    if (!this.#end('failed', error)) return;
    if (this.outlet.fail !== undefined) {
      this.outlet.fail(error, isUnsent);
      return;
    }
    const data = this.server === undefined ? error.data : { ...error.data, server: this.server };
    const message = error.messageFor(this.#options.redact);
    this.outlet.finish(errorMessage(this.rawId, error.rpcCode, message, data), error);
  }

  drop(): void {
    if (this.#end('dropped')) this.outlet.drop();
  }

  /** Sends a result of the gateway. */
  result(result: unknown, hint?: CacheHint): void {
    this.resultText(rawJson(result), hint);
  }

  /** Same as `result`, for raw JSON in Latin-1. `hint` is the cache hint for modern clients. */
  resultText(rawResult: string, hint?: CacheHint): void {
    if (!this.#end('answered', undefined, rawResult.length)) return;
    const { modernResult } = this;
    const text =
      modernResult === undefined ? rawResult : completeResult(rawResult, modernResult.serverInfo, hint);
    this.outlet.finish(resultTextMessage(this.rawId, text));
  }

  /**
   * Same as `result`, for a result encoded once for many clients. `rawMeta` are `_meta` members as raw JSON.
   */
  encodedResult(result: EncodedResult, hint?: CacheHint, rawMeta?: string): void {
    if (!this.#end('answered', undefined, result.size)) return;
    const { modernResult } = this;
    const own = rawMeta === undefined ? undefined : `"_meta":{${rawMeta}}`;
    const members =
      modernResult === undefined ? own : completeMembers(modernResult.serverInfo, hint, { rawMeta });
    this.#finish(result.message(this.rawId, members));
  }

  /** Sends a result that another exchange has completed for this client. */
  complete(message: Buffer): void {
    if (this.#end('answered', undefined, message.length)) this.outlet.finish(message);
  }

  /** Sends a JSON-RPC error of the gateway, formatted like a server's. */
  refuse(fault: RpcFault): void {
    if (this.isDone) return;
    this.errorCode = String(fault.code);
    this.#end('refused');
    this.outlet.finish(
      errorMessage(this.rawId, fault.code, fault.message, fault.data),
      undefined,
      fault.code,
    );
  }

  /** Returns the HTTP status of the response at the end; null for other transports. */
  status(error: GatewayError | undefined): number | null {
    const rpcCode = this.modernResult === undefined ? undefined : this.errorCode;
    return this.outlet.statusOf?.(error, rpcCode === undefined ? undefined : Number(rpcCode)) ?? null;
  }

  /** True if the request was certainly not sent to the server. */
  get isUnsent(): boolean {
    return this.server === undefined || this.call?.connection === undefined;
  }

  /** Cancels the request for the client. */
  cancel(reason?: string): void {
    if (this.call === undefined) this.drop();
    else this.call.cancel(reason);
  }

  #finish(message: Message, rpcCode?: number): void {
    const { outlet } = this;
    if (Buffer.isBuffer(message) || outlet.finishInPieces === undefined)
      outlet.finish(toBuffer(message), undefined, rpcCode);
    else outlet.finishInPieces(message, rpcCode);
  }

  /**
   * Returns the error code if the error concerns the request itself; outlets may map it to an HTTP status.
   */
  #codeOf(answer: Envelope, { isMethodKnown }: ModernResult): number | undefined {
    if (answer.error === undefined) return undefined;
    const { code } = (answer.parse(answer.error) ?? {}) as { code?: unknown };
    return typeof code !== 'number' || (code === rpcCodes.methodNotFound && isMethodKnown) ? undefined : code;
  }

  /** Completes the exchange with the server's response. Returns false if it was already complete. */
  #endWith(answer: Envelope): boolean {
    const size = sizeOf(answer.message);
    if (answer.error === undefined)
      return this.#end(this.hasToolResult && answer.isToolError ? 'tool_error' : 'answered', undefined, size);
    if (!this.isDone) {
      this.isFaultOfServer = true;
      // Only the code is parsed, because the error may be large.
      const code = answer.parse(memberOf(answer.bytes, answer.error, 'code'));
      this.errorCode = typeof code === 'number' ? String(code) : undefined;
    }
    return this.#end('refused', undefined, size);
  }

  /** Completes the exchange. Returns false if it was already complete. */
  #end(end: ExchangeEnd, error?: GatewayError, responseBytes = 0): boolean {
    if (this.isDone) return false;
    this.isDone = true;
    this.responseBytes = responseBytes;
    this.whenEnded?.(end);
    this.#options.onEnd(this, end, error);
    return true;
  }
}
