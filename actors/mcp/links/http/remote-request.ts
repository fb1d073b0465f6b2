// One HTTP exchange with a remote server: a request, and the answer as it comes. It ends in exactly one of
// `onEnd`, `onRefused` and `onFailed`, and after `destroy` in none. No redirect is followed and no proxy variable
// is read. There is no deadline for the answer, which is the caller's matter, but one for the connection and
// one for the body of a refusal, for which nobody else waits.

import type { GatewayError } from '../../../base/errors/errors.ts';
import type { ConnectionPool } from './connection-pool.ts';
import type { ConnectionUser, HttpConnection } from './http-connection.ts';
import type { ReadingTurn } from './paced-reader.ts';
import { networkError, protocolError, type Redactor, type Refusal } from './remote-errors.ts';
import type { ResponseHead } from './response-head.ts';

const REFUSAL_BODY_MS = 2_000;
const REFUSAL_BODY_BYTES = 65_536;

/** Where requests go to. */
export interface RemoteTarget {
  readonly pool: ConnectionPool;
  readonly redactor: Redactor;
}

export interface RemoteEvents {
  /** The head of a 2xx answer; its body follows. */
  onAccepted(head: ResponseHead): void;
  /** Gives how many bytes it has taken: all of them, unless `turn` is over before; the rest comes again. */
  onData(chunk: Buffer, turn: ReadingTurn | undefined): number;
  onEnd(): void;
  onRefused(refusal: Refusal): void;
  /** No answer, or half of one. `wasSent: false`: the server got nothing of the request. */
  onFailed(error: GatewayError, wasSent: boolean): void;
}

export class RemoteRequest implements ConnectionUser {
  readonly #target: RemoteTarget;
  readonly #url: URL;
  readonly #method: string;
  readonly #handler: RemoteEvents;
  #connection: HttpConnection | undefined;
  /** On which the whole answer has come; it may carry another request by now. */
  #spent: HttpConnection | undefined;
  #wasSent = false;
  #isOver = false;
  /** Set while an answer other than 2xx comes. */
  #refusal: PartialRefusal | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(target: RemoteTarget, url: URL, method: string, handler: RemoteEvents) {
    this.#target = target;
    this.#url = url;
    this.#method = method;
    this.#handler = handler;
  }

  send(head: string, body: Buffer | undefined): void {
    this.#connection = this.#target.pool.take();
    this.#connection.send(head, body, this);
  }

  /** Gives up the exchange and its connection; one that is complete has given that back already. */
  destroy(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  /** It cannot be sent: told later, as every other failure is (L4). */
  failLater(error: Error): void {
    queueMicrotask(() => this.onBroken(error));
  }

  /** The exchange fails unless it is over this long from now; a second call replaces the first. */
  setDeadline(ms: number): void {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.onBroken(new Error(`not complete within ${ms} ms`)), ms);
  }

  onConnected(): void {
    this.#wasSent = true;
  }

  onHead(head: ResponseHead): void {
    if (head.status < 200 || head.status > 299) {
      clearTimeout(this.#timer);
      this.#refusal = { head, chunks: [], size: 0 };
      this.#timer = setTimeout(() => this.#refuse(false), REFUSAL_BODY_MS);
      return;
    }
    const coding = head.header('content-encoding') ?? 'identity';
    if (coding === 'identity') {
      this.#handler.onAccepted(head);
      return;
    }
    const what = `answered in the coding ${coding}, which was not asked for`;
    this.destroy();
    this.#handler.onFailed(protocolError(this.#url, what, this.#target.redactor), true);
  }

  onBody(piece: Buffer, turn: ReadingTurn | undefined): number {
    const refusal = this.#refusal;
    if (this.#isOver) return piece.length;
    if (refusal === undefined) return this.#handler.onData(piece, turn);
    refusal.size += piece.length;
    refusal.chunks.push(piece);
    if (refusal.size > REFUSAL_BODY_BYTES) this.#refuse(false);
    return piece.length;
  }

  /** The answer that has come was not the one to this request: what its connection brings next would not be, either. */
  distrust(): void {
    this.#spent?.retire();
  }

  onEnd(): void {
    this.#spent = this.#connection;
    this.#connection = undefined;
    if (this.#isOver) return;
    if (this.#refusal !== undefined) {
      this.#refuse(true);
      return;
    }
    this.destroy();
    this.#handler.onEnd();
  }

  onBroken(error: Error): void {
    if (this.#isOver) return;
    // A body that breaks off is still a refusal.
    if (this.#refusal !== undefined) {
      this.#refuse(false);
      return;
    }
    this.destroy();
    const { redactor } = this.#target;
    this.#handler.onFailed(networkError(this.#url, error, this.#wasSent, redactor), this.#wasSent);
  }

  #refuse(isWhole: boolean): void {
    const refusal = this.#refusal;
    if (this.#isOver || refusal === undefined) return;
    this.destroy();
    const { status, reason } = refusal.head;
    const headers = {
      location: refusal.head.header('location'),
      'retry-after': refusal.head.header('retry-after'),
    };
    const body = Buffer.concat(refusal.chunks).subarray(0, REFUSAL_BODY_BYTES);
    this.#handler.onRefused({
      method: this.#method,
      url: this.#url,
      status,
      reason,
      headers,
      body,
      isWhole,
    });
  }
}

interface PartialRefusal {
  readonly head: ResponseHead;
  readonly chunks: Buffer[];
  size: number;
}
