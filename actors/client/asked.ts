// What servers are asking a client right now (sampling, elicitation, roots). Ids and progress tokens are replaced by
// our own on the way to the client, since several servers may have chosen the same, and restored on the way back.
//
// Q1  an answer goes to the very connection that asked, or to nobody.
// Q2  at most MAX_ASKED questions are open per session, each for at most DEADLINE_MS (A8).

import { errorMessage } from '../jsonrpc/compose.ts';
import type { Envelope } from '../jsonrpc/envelope.ts';
import { type Edit, rawOf, splice } from '../jsonrpc/span.ts';
import type { Connection } from '../server/connection.ts';

const MAX_ASKED = 256;
const DEADLINE_MS = 600_000;

interface Question {
  readonly connection: Connection;
  readonly rawId: string;
  readonly rawToken: string | undefined;
  readonly timer: NodeJS.Timeout;
}

export class Asked {
  readonly #questions = new Map<number, Question>();
  #nextId = 1;

  get size(): number {
    return this.#questions.size;
  }

  /** The question as the client gets it; undefined when too many are open, and then the server has been told. */
  ask(connection: Connection, envelope: Envelope): { id: number; message: Buffer } | undefined {
    if (this.#questions.size >= MAX_ASKED) {
      this.refuse(connection, envelope.rawId, 'too many questions to this client are open');
      return undefined;
    }
    const id = this.#nextId++;
    const text = String(id);
    const edits: Edit[] = [];
    if (envelope.id !== undefined) edits.push({ ...envelope.id, text });
    if (envelope.askedToken !== undefined) edits.push({ ...envelope.askedToken, text });
    edits.sort((a, b) => a.start - b.start);
    const rawToken =
      envelope.askedToken === undefined ? undefined : rawOf(envelope.bytes, envelope.askedToken);
    const timer = setTimeout(() => this.withdraw(id, 'the client did not answer in time'), DEADLINE_MS);
    timer.unref();
    this.#questions.set(id, { connection, rawId: envelope.rawId, rawToken, timer });
    return { id, message: splice(envelope.bytes, edits) };
  }

  /** The client's answer goes back to the server that asked. */
  answer(envelope: Envelope): void {
    const question = this.#take(Number(envelope.rawId));
    if (question === undefined || envelope.id === undefined) return;
    question.connection.sendRaw(splice(envelope.bytes, [{ ...envelope.id, text: question.rawId }]));
  }

  /** The client's progress on a question. */
  progress(envelope: Envelope): void {
    const token = envelope.param('progressToken');
    if (token === undefined) return;
    const question = this.#questions.get(Number(rawOf(envelope.bytes, token)));
    if (question?.rawToken === undefined) return;
    question.connection.sendRaw(splice(envelope.bytes, [{ ...token, text: question.rawToken }]));
  }

  /** Our id of a question the server has cancelled. */
  idOf(connection: Connection, rawId: string): number | undefined {
    for (const [id, question] of this.#questions) {
      if (question.connection === connection && question.rawId === rawId) return id;
    }
    return undefined;
  }

  /** The question is given up and the server is told why. */
  withdraw(id: number, why: string): void {
    const question = this.#take(id);
    if (question !== undefined) this.refuse(question.connection, question.rawId, why);
  }

  /** The server itself has given the question up. */
  forget(id: number): void {
    this.#take(id);
  }

  withdrawAll(why: string): void {
    for (const id of [...this.#questions.keys()]) this.withdraw(id, why);
  }

  refuse(connection: Connection, rawId: string, why: string): void {
    connection.sendRaw(errorMessage(rawId, -32000, why));
  }

  #take(id: number): Question | undefined {
    const question = this.#questions.get(id);
    if (question === undefined) return undefined;
    this.#questions.delete(id);
    clearTimeout(question.timer);
    return question;
  }
}
