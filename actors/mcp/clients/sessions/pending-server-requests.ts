// Open requests to a client (sampling, elicitation, roots), sent by a legacy server (sessions), or derived
// from the result of a modern server (stateless). Several servers may use equal ids and progress tokens, so
// the client receives ids of the gateway. The response goes, with the original id, only to the sender of the
// request. Meanwhile the time limits of the calls that may have caused the request are paused
// (calls/limits.ts). Limits per session: MAX_OPEN requests, MAX_PAUSE_MS for each (A8, ARCHITECTURE.md).

import { applyEdits, renumber } from '../../jsonrpc/apply-edits.ts';
import { errorMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { rawJson, rawOf, replaceSpan, toBuffer } from '../../jsonrpc/span.ts';
import { MAX_PAUSE_MS } from '../../servers/calls/limits.ts';
import type { RelayingCall, ServerPeer } from '../../servers/calls/owner.ts';

const MAX_OPEN = 256;

/** Sender of the request; receives the client's messages about it. */
interface Requester {
  answer(envelope: Envelope): void;
  progress(envelope: Envelope): void;
  /** Fails the request. */
  refuse(why: string): void;
}

interface PendingRequest {
  readonly requester: Requester;
  readonly timer: NodeJS.Timeout;
  /** Connection that sent the request, and the request id there. Undefined for requests of the gateway. */
  readonly connection?: ServerPeer;
  readonly rawId?: string;
}

export interface SentServerRequest {
  /** Request id of the gateway. */
  readonly id: number;
  /** The request in the form for the client. */
  readonly message: Buffer;
}

export class PendingServerRequests {
  /** Open requests by the id that the client received. */
  readonly #questions = new Map<number, PendingRequest>();
  #nextId = 1;

  get size(): number {
    return this.#questions.size;
  }

  /**
   * Adds a server's request. `call` is set if the transport links it to a call. If the limit is reached,
   * refuses it and returns undefined.
   */
  add(
    connection: ServerPeer,
    envelope: Envelope,
    call: RelayingCall | undefined,
  ): SentServerRequest | undefined {
    const { bytes, rawId, progressToken } = envelope;
    const rawToken = progressToken === undefined ? undefined : rawOf(bytes, progressToken);
    const requester: Requester = {
      answer: (answer) => {
        if (answer.id !== undefined)
          connection.sendRaw(toBuffer(applyEdits(answer.bytes, [replaceSpan(answer.id, rawId)])));
      },
      progress: (progress) => {
        const token = progress.param('progressToken');
        if (token !== undefined && rawToken !== undefined)
          connection.sendRaw(toBuffer(applyEdits(progress.bytes, [replaceSpan(token, rawToken)])));
      },
      refuse: (why) => connection.sendRaw(errorMessage(rawId, rpcCodes.serverError, why)),
    };
    const id = this.#open({ requester, connection, rawId });
    if (id === undefined) return undefined;
    // Until `resume` in `#take`.
    connection.pause(requester, call);
    return { id, message: renumber(envelope, String(id)) };
  }

  /**
   * Adds a request of the gateway, for input that a modern server requires. `rawParams` is raw JSON. If the
   * limit is reached, calls `onRefused` and returns undefined.
   */
  addOwn(
    method: string,
    rawParams: string | undefined,
    onAnswer: (envelope: Envelope) => void,
    onRefused: (why: string) => void,
  ): SentServerRequest | undefined {
    const requester: Requester = { answer: onAnswer, progress: () => {}, refuse: onRefused };
    const id = this.#open({ requester });
    if (id === undefined) return undefined;
    const params = rawParams === undefined ? '' : `,"params":${rawParams}`;
    const text = `{"jsonrpc":"2.0","id":${id},"method":${rawJson(method)}${params}}`;
    // Raw JSON is a Latin-1 string, one character per byte (span.ts).
    return { id, message: Buffer.from(text, 'latin1') };
  }

  /** Forwards a response of the client. */
  answer(envelope: Envelope): void {
    this.#take(Number(envelope.rawId))?.requester.answer(envelope);
  }

  /** Forwards a progress notification of the client. */
  progress(envelope: Envelope): void {
    const token = envelope.param('progressToken');
    if (token !== undefined)
      this.#questions.get(Number(rawOf(envelope.bytes, token)))?.requester.progress(envelope);
  }

  /** Returns the gateway's id for a server's request. */
  idOf(connection: ServerPeer, rawId: string): number | undefined {
    for (const [id, question] of this.#questions) {
      if (question.connection === connection && question.rawId === rawId) return id;
    }
    return undefined;
  }

  /** Removes a request and refuses it to its sender. */
  withdraw(id: number, why: string): void {
    this.#take(id)?.requester.refuse(why);
  }

  /** Removes a request that its sender cancelled. */
  forget(id: number): void {
    this.#take(id);
  }

  withdrawAll(why: string): void {
    for (const id of [...this.#questions.keys()]) this.withdraw(id, why);
  }

  #open(question: Omit<PendingRequest, 'timer'>): number | undefined {
    if (this.#questions.size >= MAX_OPEN) {
      question.requester.refuse('too many open requests to this client');
      return undefined;
    }
    const id = this.#nextId++;
    const timer = setTimeout(() => this.withdraw(id, 'the client did not answer in time'), MAX_PAUSE_MS);
    timer.unref();
    this.#questions.set(id, { ...question, timer });
    return id;
  }

  #take(id: number): PendingRequest | undefined {
    const question = this.#questions.get(id);
    if (question === undefined) return undefined;
    this.#questions.delete(id);
    clearTimeout(question.timer);
    question.connection?.resume(question.requester);
    return question;
  }
}
