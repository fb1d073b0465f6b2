// Open requests ("questions") of a legacy server (protocol up to 2025-11-25) to a modern client (from
// 2026-07-28 on). The client receives them in a result under generated keys, and answers under these keys in
// its next request. The gateway sends each answer on the connection of the question. Every question is
// answered, withdrawn by the server, or refused. Questions above MAX_OPEN are refused immediately (A8,
// ARCHITECTURE.md).

import { errorMessage, resultTextMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { rpcCodes } from '../../jsonrpc/rpc-fault.ts';
import { rawJson, rawOf } from '../../jsonrpc/span.ts';
import type { ServerPeer } from '../../servers/calls/owner.ts';
import { withoutElicitationId } from './url-elicitation.ts';

const MAX_OPEN = 256;

/** Byte of `{`. */
const BRACE = 0x7b;

interface OpenQuestion {
  readonly connection: ServerPeer;
  readonly rawId: string;
  readonly method: string;
  readonly rawParams: string | undefined;
}

export class OpenQuestions {
  readonly #open = new Map<string, OpenQuestion>();
  /** Number of questions so far; part of the generated keys. */
  #count = 0;

  get size(): number {
    return this.#open.size;
  }

  /** Adds a server request. Returns false if refused. */
  add(connection: ServerPeer, { method, bytes, params, rawId }: Envelope): boolean {
    if (this.#open.size >= MAX_OPEN) {
      connection.sendRaw(errorMessage(rawId, rpcCodes.serverError, 'too many open requests to this client'));
      return false;
    }
    const rawParams = params && withoutElicitationId(method, bytes, params);
    this.#count += 1;
    this.#open.set(`input-${this.#count}`, { connection, rawId, method, rawParams });
    return true;
  }

  /** Removes a request that the server cancelled. */
  withdraw(connection: ServerPeer, rawId: string): void {
    for (const [key, question] of this.#open)
      if (question.connection === connection && question.rawId === rawId) this.#open.delete(key);
  }

  /** Sends the answers in `inputResponses` to the server. */
  answer(envelope: Envelope): void {
    const responses = envelope.param('inputResponses');
    for (const [key, { connection, rawId }] of [...this.#open]) {
      const span = memberOf(envelope.bytes, responses, key);
      // Only objects are forwarded: the server could not read another value and would wait forever.
      if (span === undefined || envelope.bytes[span.start] !== BRACE) continue;
      this.#open.delete(key);
      connection.sendRaw(resultTextMessage(rawId, rawOf(envelope.bytes, span)));
    }
  }

  /** Refuses all open requests. */
  refuseAll(why: string): void {
    for (const { connection, rawId } of this.#open.values())
      connection.sendRaw(errorMessage(rawId, rpcCodes.serverError, why));
    this.#open.clear();
  }

  /** All open requests as `inputRequests`, in raw JSON. */
  get rawRequests(): string {
    const requests = [...this.#open].map(([key, { method, rawParams }]) => {
      const params = rawParams === undefined ? '' : `,"params":${rawParams}`;
      return `${rawJson(key)}:{"method":${rawJson(method)}${params}}`;
    });
    return `{${requests.join(',')}}`;
  }
}
