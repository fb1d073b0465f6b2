// The open requests of a legacy server to the modern client whose call it serves. The client gets them with the result of its
// request, under names that the gateway generates, and answers under these names with its next request.
//
// OQ1  an answer of the client goes to the question it was given for, on the very connection that asked (ML1).
// OQ2  every question ends once: answered, taken back by the server, or refused.
// OQ3  at most MAX_OPEN wait; one more is refused at once (A8).

import { errorMessage, resultTextMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { memberOf } from '../../jsonrpc/members.ts';
import { rawJson, rawOf } from '../../jsonrpc/span.ts';
import type { ServerPeer } from '../../servers/calls/call-owner.ts';
import { withoutElicitationId } from './url-elicitation.ts';

const MAX_OPEN = 256;

const BRACE = 0x7b;

interface Question {
  readonly connection: ServerPeer;
  readonly rawId: string;
  readonly method: string;
  readonly rawParams: string | undefined;
}

export class OpenQuestions {
  readonly #open = new Map<string, Question>();
  #asked = 0;

  get size(): number {
    return this.#open.size;
  }

  /** Takes a request of the server; false when it was refused. */
  ask(connection: ServerPeer, { method, bytes, params, rawId }: Envelope): boolean {
    if (this.#open.size >= MAX_OPEN) {
      connection.sendRaw(errorMessage(rawId, -32000, 'too many questions to this client are open'));
      return false;
    }
    const rawParams = params && withoutElicitationId(method, bytes, params);
    this.#asked += 1;
    this.#open.set(`input-${this.#asked}`, { connection, rawId, method, rawParams });
    return true;
  }

  /** The server no longer wants an answer to its request of that id. */
  takeBack(connection: ServerPeer, rawId: string): void {
    for (const [key, question] of this.#open)
      if (question.connection === connection && question.rawId === rawId) this.#open.delete(key);
  }

  /** Passes on what the client's request answers in its `inputResponses`. */
  answer(envelope: Envelope): void {
    const responses = envelope.param('inputResponses');
    for (const [key, { connection, rawId }] of [...this.#open]) {
      const span = memberOf(envelope.bytes, responses, key);
      // What is no object is no answer: the server could not even read it, and would wait for ever.
      if (span === undefined || envelope.bytes[span.start] !== BRACE) continue;
      this.#open.delete(key);
      connection.sendRaw(resultTextMessage(rawId, rawOf(envelope.bytes, span)));
    }
  }

  refuseAll(why: string): void {
    for (const { connection, rawId } of this.#open.values())
      connection.sendRaw(errorMessage(rawId, -32000, why));
    this.#open.clear();
  }

  /** All of them as `inputRequests`, in raw JSON. */
  get rawRequests(): string {
    const requests = [...this.#open].map(([key, { method, rawParams }]) => {
      const params = rawParams === undefined ? '' : `,"params":${rawParams}`;
      return `${rawJson(key)}:{"method":${rawJson(method)}${params}}`;
    });
    return `{${requests.join(',')}}`;
  }
}
