// Queue of approval questions in a terminal chat. Shows one question after another, and decides which typed
// line is the answer.
//
// A line is an answer only if the question was visible when the user pressed its first key. If a question
// appears or disappears while the user types, a line started within GRACE_MS is late. A late line is not
// used: during a question it is no answer, and without a question it is no message if it is as short as an
// answer. A question stays open until the user answers here or another approver decides.

import type { ApprovalEvent } from '../../http/api/run-events.ts';
import type { TypedLine } from './typed-lines.ts';

/** Time a person needs to notice a new question. */
export const GRACE_MS = 1_500;

/** Length of `yes`. */
const LONGEST_ANSWER = 3;

export type ApprovalDecision = 'approve' | 'deny';

const decisionWords: Readonly<Record<string, ApprovalDecision>> = {
  ...{ y: 'approve', yes: 'approve' },
  ...{ n: 'deny', no: 'deny', '': 'deny' },
};

export class ApprovalQuestions {
  readonly #now: () => number;
  #questions: ApprovalEvent[] = [];
  /** Titles of all questions, by id, also of answered ones. */
  readonly #titles = new Map<string, string>();
  #graceUntil = Number.NEGATIVE_INFINITY;

  /** `now` returns milliseconds, of the same clock as `TypedLine.startedAt`. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Question on the screen. */
  get current(): ApprovalEvent | undefined {
    return this.#questions[0];
  }

  /** Title of an approval. */
  titleOf(id: string): string | undefined {
    return this.#titles.get(id);
  }

  /**
   * Adds a question. `isInterrupting`: the person is typing a message. Returns true if the question must be
   * shown now.
   */
  add(approval: ApprovalEvent, isInterrupting: boolean): boolean {
    this.#titles.set(approval.id, approval.title ?? approval.id);
    const isFirst = this.#questions.push(approval) === 1;
    if (isFirst && isInterrupting) this.#startGracePeriod();
    return isFirst;
  }

  /**
   * Returns true if the line is late: the user may have started it before the current question was visible,
   * or as the answer to a question that has disappeared.
   */
  isLate({ startedAt, newText }: Pick<TypedLine, 'startedAt' | 'newText'>): boolean {
    const mayBeAnswer = this.current !== undefined || newText.trim().length <= LONGEST_ANSWER;
    return startedAt < this.#graceUntil && mayBeAnswer;
  }

  /** Removes the current question and returns the decision; undefined if the line is not yes or no. */
  answer(
    line: string,
  ): { readonly question: ApprovalEvent; readonly decision: ApprovalDecision } | undefined {
    const decision = decisionWords[line.trim().toLowerCase()];
    const question = this.current;
    if (question === undefined || decision === undefined) return undefined;
    this.#questions.shift();
    return { question, decision };
  }

  /**
   * Adds a question again if the request with its answer has failed. Returns true if it must be shown now.
   */
  requeue(question: ApprovalEvent): boolean {
    return this.#titles.has(question.id) && this.add(question, false);
  }

  /** Removes a question that was decided elsewhere. Returns true if the current question was removed. */
  withdraw(id: string): boolean {
    const wasVisible = this.current?.id === id;
    this.#questions = this.#questions.filter((question) => question.id !== id);
    this.#titles.delete(id);
    if (wasVisible) this.#startGracePeriod();
    return wasVisible;
  }

  /**
   * Removes all questions when the run has ended. `isCancelledHere`: the person has cancelled the run.
   * Returns true if a question was visible.
   */
  clear(isCancelledHere: boolean): boolean {
    const wasVisible = this.current !== undefined;
    this.#questions = [];
    this.#titles.clear();
    if (wasVisible && !isCancelledHere) this.#startGracePeriod();
    return wasVisible;
  }

  #startGracePeriod(): void {
    this.#graceUntil = this.#now() + GRACE_MS;
  }
}
