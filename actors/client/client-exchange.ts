// One request of a client while it is under way: remembers the client's own id, and puts it back into the answer.

import type { GatewayError } from '../errors.ts';
import { errorMessage, resultMessage, resultTextMessage } from '../jsonrpc/compose.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import type { RpcFault } from '../jsonrpc/rpc-fault.ts';
import { type Edit, splice } from '../jsonrpc/span.ts';
import type { Call, Exchange } from '../server/call.ts';
import type { Outlet } from './outlet.ts';

export type ExchangeEnd = 'answered' | 'refused' | 'failed' | 'dropped';

export interface ExchangeOptions {
  /** Strikes secrets from what the gateway says itself (A9). */
  redact(text: string): string;
  onEnd(exchange: ClientExchange, end: ExchangeEnd, error: GatewayError | undefined): void;
}

export class ClientExchange implements Exchange {
  readonly rawId: string;
  readonly outlet: Outlet;
  /** The server the request was sent to, once that is known. */
  server: string | undefined;
  call: Call | undefined;
  isDone = false;
  /** Changes to make in the answer beside its id; in order. Only a few cold methods need one. */
  rewrite: ((answer: Envelope) => Edit[]) | undefined;
  /** Called when it ends, before the client hears of it. */
  whenEnded: ((end: ExchangeEnd) => void) | undefined;

  readonly #options: ExchangeOptions;

  constructor(rawId: string, outlet: Outlet, options: ExchangeOptions) {
    this.rawId = rawId;
    this.outlet = outlet;
    this.#options = options;
  }

  answer(envelope: Envelope): void {
    if (!this.#end(envelope.error === undefined ? 'answered' : 'refused')) return;
    const { id, bytes } = envelope;
    const edits = this.rewrite?.(envelope) ?? [];
    if (id !== undefined) edits.push({ ...id, text: this.rawId });
    this.outlet.finish(splice(bytes, edits.length > 1 ? edits.sort((a, b) => a.start - b.start) : edits));
  }

  relay(message: Buffer): void {
    if (!this.isDone) this.outlet.send(message);
  }

  fail(error: GatewayError): void {
    if (!this.#end('failed', error)) return;
    const data = this.server === undefined ? error.data : { ...error.data, server: this.server };
    const message = this.#options.redact(error.message);
    this.outlet.finish(errorMessage(this.rawId, error.rpcCode, message, data), error);
  }

  drop(): void {
    if (this.#end('dropped')) this.outlet.drop();
  }

  /** The gateway answers itself. */
  result(result: unknown): void {
    if (this.#end('answered')) this.outlet.finish(resultMessage(this.rawId, result));
  }

  /** As `result`, with the result as raw JSON in Latin-1. */
  resultText(rawResult: string): void {
    if (this.#end('answered')) this.outlet.finish(resultTextMessage(this.rawId, rawResult));
  }

  /** The gateway refuses, in the words a server would use. */
  refuse(fault: RpcFault): void {
    if (this.#end('refused'))
      this.outlet.finish(errorMessage(this.rawId, fault.code, fault.message, fault.data));
  }

  /** The client wants no answer any more. */
  cancel(reason?: string): void {
    if (this.call === undefined) this.drop();
    else this.call.cancel(reason);
  }

  #end(end: ExchangeEnd, error?: GatewayError): boolean {
    if (this.isDone) return false;
    this.isDone = true;
    this.whenEnded?.(end);
    this.#options.onEnd(this, end, error);
    return true;
  }
}
