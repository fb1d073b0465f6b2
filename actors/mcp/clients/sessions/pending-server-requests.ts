// The requests of servers to one client that are not answered yet (sampling, elicitation, roots): from their
// connections, or made by the gateway for a server that asks through its results. They carry ids and progress tokens of
// our own on the way to the client, since several servers may have chosen the same; the server's are restored on the way
// back.
//
// Q1  an answer goes to the very connection or call that asked, or to nobody.
// Q2  at most MAX_ASKED questions are open per session, each for at most DEADLINE_MS (A8).

import { applyEdits, renumbered } from '../../jsonrpc/apply-edits.ts';
import { errorMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { rawJson, rawOf, replacing, whole } from '../../jsonrpc/span.ts';
import type { ServerPeer } from '../../servers/calls/call-owner.ts';

const MAX_ASKED = 256;
const DEADLINE_MS = 600_000;

/** Where what the client says about a question goes. */
interface Requester {
  answer(envelope: Envelope): void;
  progress(envelope: Envelope): void;
  /** There will be no answer. */
  refuse(why: string): void;
}

interface Question {
  readonly caller: Requester;
  readonly timer: NodeJS.Timeout;
  /** The connection it came on, and its id there. */
  readonly connection?: ServerPeer;
  readonly rawId?: string;
}

export interface SentServerRequest {
  /** Our own id of the question. */
  readonly id: number;
  /** The question as the client gets it. */
  readonly message: Buffer;
}

export class PendingServerRequests {
  readonly #questions = new Map<number, Question>();
  #nextId = 1;

  get size(): number {
    return this.#questions.size;
  }

  /** Asks what a server asks; undefined when too many questions are open, and then the server has been told. */
  ask(connection: ServerPeer, envelope: Envelope): SentServerRequest | undefined {
    const { bytes, rawId, askedToken } = envelope;
    const rawToken = askedToken === undefined ? undefined : rawOf(bytes, askedToken);
    const caller: Requester = {
      answer: (answer) => {
        if (answer.id !== undefined)
          connection.sendRaw(whole(applyEdits(answer.bytes, [replacing(answer.id, rawId)])));
      },
      progress: (progress) => {
        const token = progress.param('progressToken');
        if (token !== undefined && rawToken !== undefined)
          connection.sendRaw(whole(applyEdits(progress.bytes, [replacing(token, rawToken)])));
      },
      refuse: (why) => connection.sendRaw(errorMessage(rawId, -32000, why)),
    };
    const id = this.#open({ caller, connection, rawId });
    if (id === undefined) return undefined;
    return { id, message: renumbered(envelope, String(id)) };
  }

  /** Asks in the gateway's own name; `rawParams` is raw JSON. Undefined when too many questions are open. */
  pose(
    method: string,
    rawParams: string | undefined,
    onAnswer: (envelope: Envelope) => void,
    onRefused: (why: string) => void,
  ): SentServerRequest | undefined {
    const caller: Requester = { answer: onAnswer, progress: () => {}, refuse: onRefused };
    const id = this.#open({ caller });
    if (id === undefined) return undefined;
    const params = rawParams === undefined ? '' : `,"params":${rawParams}`;
    const text = `{"jsonrpc":"2.0","id":${id},"method":${rawJson(method)}${params}}`;
    return { id, message: Buffer.from(text, 'latin1') };
  }

  /** The client answers. */
  answer(envelope: Envelope): void {
    this.#take(Number(envelope.rawId))?.caller.answer(envelope);
  }

  /** The client's progress on a question. */
  progress(envelope: Envelope): void {
    const token = envelope.param('progressToken');
    if (token !== undefined)
      this.#questions.get(Number(rawOf(envelope.bytes, token)))?.caller.progress(envelope);
  }

  /** Our id of a question the server has cancelled. */
  idOf(connection: ServerPeer, rawId: string): number | undefined {
    for (const [id, question] of this.#questions) {
      if (question.connection === connection && question.rawId === rawId) return id;
    }
    return undefined;
  }

  /** The question is given up and whoever asked is told why. */
  withdraw(id: number, why: string): void {
    this.#take(id)?.caller.refuse(why);
  }

  /** Whoever asked has given the question up. */
  forget(id: number): void {
    this.#take(id);
  }

  withdrawAll(why: string): void {
    for (const id of [...this.#questions.keys()]) this.withdraw(id, why);
  }

  #open(question: Omit<Question, 'timer'>): number | undefined {
    if (this.#questions.size >= MAX_ASKED) {
      question.caller.refuse('too many questions to this client are open');
      return undefined;
    }
    const id = this.#nextId++;
    const timer = setTimeout(() => this.withdraw(id, 'the client did not answer in time'), DEADLINE_MS);
    timer.unref();
    this.#questions.set(id, { ...question, timer });
    return id;
  }

  #take(id: number): Question | undefined {
    const question = this.#questions.get(id);
    if (question === undefined) return undefined;
    this.#questions.delete(id);
    clearTimeout(question.timer);
    return question;
  }
}
