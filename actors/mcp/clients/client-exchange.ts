// The client's side of one request under way: it keeps the client's own id, and puts it back into the answer. For a
// modern client it also adds to each result what that era requires there.

import type { Budget, Share } from '../../base/bounds/budget.ts';
import type { Linked } from '../../base/bounds/linked-list.ts';
import { GatewayError, InternalError } from '../../base/errors/errors.ts';
import { applyEdits } from '../jsonrpc/apply-edits.ts';
import { errorMessage, type KeptResult, resultTextMessage } from '../jsonrpc/compose.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { completeMembers, completeResult } from '../jsonrpc/modern-meta.ts';
import { type RpcFault, rpcCodes } from '../jsonrpc/rpc-fault.ts';
import { type Edit, type Message, rawJson, replacing, whole } from '../jsonrpc/span.ts';
import type { CallConnection, Exchange } from '../servers/calls/call.ts';
import type { CacheHint } from '../servers/lists/lists.ts';
import type { HandedOutStates } from './eras/handed-out-states.ts';
import type { Outlet } from './outlet.ts';

export type ExchangeEnd = 'answered' | 'refused' | 'failed' | 'dropped';

/** What is under way for an exchange, and can be cancelled. */
export interface Cancellable {
  readonly connection: CallConnection | undefined;
  cancel(reason?: string): void;
}

/** What is added to each result for a modern client. */
export interface ModernResult {
  /** The server that the answer is of. */
  serverInfo: unknown;
  /** The server knows the method, so that a −32601 of it is about something else. */
  isMethodKnown: boolean;
  /** Set where other nodes may be asked to go on with what has handed a state out. */
  readonly states?: Pick<HandedOutStates, 'edits' | 'wrap'> | undefined;
}

export interface ExchangeOptions {
  /** Strikes secrets from what the gateway says itself (A9). */
  redact(text: string): string;
  onEnd(exchange: ClientExchange, end: ExchangeEnd, error: GatewayError | undefined): void;
}

export class ClientExchange implements Exchange, Linked<ClientExchange> {
  readonly rawId: string;
  readonly outlet: Outlet;
  /** The server the request is sent to, once that is known and the request on its way. */
  server: string | undefined;
  call: Cancellable | undefined;
  /** Only for modern clients. */
  modernResult: ModernResult | undefined;
  isDone = false;
  /** Its place in flight, and whose that is; only InFlightLimiter writes them. */
  budget: Budget | undefined;
  serverShare: Share | undefined;
  sessionShare: Share | undefined;
  /** Gives back the bytes of a large request. */
  giveBytes: (() => void) | undefined;
  /** The size of the request in memory. */
  bytes = 0;
  previous: ClientExchange | undefined;
  next: ClientExchange | undefined;
  /** Further changes of the answer. Only a few cold methods need them. */
  rewrite: ((answer: Envelope) => readonly Edit[]) | undefined;
  /** Called when it ends, before the client hears of it. */
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
    if (outlet.answer !== undefined && rewrite === undefined && modernResult === undefined) {
      if (this.#end(endOf(envelope))) outlet.answer(envelope);
      return;
    }
    let message: Message;
    try {
      message = this.#edited(envelope);
    } catch (error) {
      // A2: the client receives an error if the answer of the server cannot be edited.
      this.fail(
        error instanceof GatewayError
          ? error
          : new InternalError('could not make the answer ready for its client', { cause: error }),
        false,
      );
      return;
    }
    if (!this.#end(endOf(envelope))) return;
    this.#finish(message, modernResult && this.#codeOf(envelope, modernResult));
  }

  /** Returns the answer in the form for the client. */
  #edited(envelope: Envelope): Message {
    const { id } = envelope;
    const edits = this.rewrite === undefined ? [] : [...this.rewrite(envelope)];
    if (this.modernResult?.states !== undefined) edits.push(...this.modernResult.states.edits(envelope));
    if (id !== undefined) edits.push(replacing(id, this.rawId));
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

  /** The gateway answers itself. */
  result(result: unknown, hint?: CacheHint): void {
    this.resultText(rawJson(result), hint);
  }

  /** As `result`, with the result as raw JSON in Latin-1; `hint` says how long a modern client may keep it. */
  resultText(rawResult: string, hint?: CacheHint): void {
    if (!this.#end('answered')) return;
    const { modernResult } = this;
    const text =
      modernResult === undefined ? rawResult : completeResult(rawResult, modernResult.serverInfo, hint);
    this.outlet.finish(resultTextMessage(this.rawId, text));
  }

  /** As `result`, with a result that many are sent; `rawMeta` is raw JSON of members for its `_meta`. */
  keptResult(result: KeptResult, hint?: CacheHint, rawMeta?: string): void {
    if (!this.#end('answered')) return;
    const { modernResult } = this;
    const own = rawMeta === undefined ? undefined : `"_meta":{${rawMeta}}`;
    const members =
      modernResult === undefined ? own : completeMembers(modernResult.serverInfo, hint, { rawMeta });
    this.#finish(result.message(this.rawId, members));
  }

  /** The gateway refuses, in the words a server would use. */
  refuse(fault: RpcFault): void {
    if (this.#end('refused'))
      this.outlet.finish(
        errorMessage(this.rawId, fault.code, fault.message, fault.data),
        undefined,
        fault.code,
      );
  }

  /** Whether the server has certainly not been asked, while nothing has come of it. */
  get isUnsent(): boolean {
    return this.server === undefined || this.call?.connection === undefined;
  }

  /** The client has cancelled the request. */
  cancel(reason?: string): void {
    if (this.call === undefined) this.drop();
    else this.call.cancel(reason);
  }

  #finish(message: Message, rpcCode?: number): void {
    const { outlet } = this;
    if (Buffer.isBuffer(message) || outlet.finishInPieces === undefined)
      outlet.finish(whole(message), undefined, rpcCode);
    else outlet.finishInPieces(message, rpcCode);
  }

  #codeOf(answer: Envelope, { isMethodKnown }: ModernResult): number | undefined {
    if (answer.error === undefined) return undefined;
    const { code } = (answer.parse(answer.error) ?? {}) as { code?: unknown };
    return typeof code !== 'number' || (code === rpcCodes.methodNotFound && isMethodKnown) ? undefined : code;
  }

  #end(end: ExchangeEnd, error?: GatewayError): boolean {
    if (this.isDone) return false;
    this.isDone = true;
    this.whenEnded?.(end);
    this.#options.onEnd(this, end, error);
    return true;
  }
}

const endOf = ({ error }: Envelope): ExchangeEnd => (error === undefined ? 'answered' : 'refused');
