// The approvals that a terminal asks about, one after the other, and which of the lines that are typed are answers to them. A question
// may be decided elsewhere while it is open, and another one may be in its place when a key is pressed that was meant for it.
//
// APQ1  a line is an answer only to the question that was open when its first key was pressed. What is begun within `LATE_MS` after
//       a question was withdrawn, or took the place of what somebody was typing, is no answer to the next one; and if it is as short
//       as an answer it is nothing else either.
// APQ2  a question is open until it is answered here or decided anywhere, and each is asked once.

import type { ApprovalEvent } from '../../http/api/run-events.ts';
import type { TypedLine } from './typed-lines.ts';

/** A person sees that there is something new, and holds the finger back. */
export const LATE_MS = 1_500;

/** `yes`. */
const LONGEST_ANSWER = 3;

export type Verdict = 'approve' | 'deny';

const verdicts: Readonly<Record<string, Verdict>> = {
  ...{ y: 'approve', yes: 'approve' },
  ...{ n: 'deny', no: 'deny', '': 'deny' },
};

export class ApprovalQuestions {
  readonly #now: () => number;
  #questions: ApprovalEvent[] = [];
  /** Of those that were asked, or are to be. */
  readonly #titles = new Map<string, string>();
  #lateUntil = Number.NEGATIVE_INFINITY;

  /** `now` in milliseconds, as the beginnings of lines. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The one that is asked now. */
  get open(): ApprovalEvent | undefined {
    return this.#questions[0];
  }

  /** What an approval is about. */
  titleOf(id: string): string | undefined {
    return this.#titles.get(id);
  }

  /** `isInterrupting`: somebody is typing something else. Gives whether it is asked at once. */
  add(approval: ApprovalEvent, isInterrupting: boolean): boolean {
    this.#titles.set(approval.id, approval.title ?? approval.id);
    const isFirst = this.#questions.push(approval) === 1;
    if (isFirst && isInterrupting) this.#beginLate();
    return isFirst;
  }

  /** Was meant for another question, or may have been. */
  isLate({ begunAt, added }: Pick<TypedLine, 'begunAt' | 'added'>): boolean {
    const mayBeAnswer = this.open !== undefined || added.trim().length <= LONGEST_ANSWER;
    return begunAt < this.#lateUntil && mayBeAnswer;
  }

  /** The open one is answered by a line; undefined where that says neither yes nor no. */
  answer(line: string): { readonly question: ApprovalEvent; readonly verdict: Verdict } | undefined {
    const verdict = verdicts[line.trim().toLowerCase()];
    const question = this.open;
    if (question === undefined || verdict === undefined) return undefined;
    this.#questions.shift();
    return { question, verdict };
  }

  /** Its answer did not arrive. Gives whether it is asked at once. */
  again(question: ApprovalEvent): boolean {
    return this.#titles.has(question.id) && this.add(question, false);
  }

  /** It was decided. Gives whether it was the open one, which is withdrawn. */
  decided(id: string): boolean {
    const wasOpen = this.open?.id === id;
    this.#questions = this.#questions.filter((question) => question.id !== id);
    this.#titles.delete(id);
    if (wasOpen) this.#beginLate();
    return wasOpen;
  }

  /** The run is over, and with it all that it asked; `isOwnEnd`: by who is asked. Gives whether one was open. */
  end(isOwnEnd: boolean): boolean {
    const wasOpen = this.open !== undefined;
    this.#questions = [];
    this.#titles.clear();
    if (wasOpen && !isOwnEnd) this.#beginLate();
    return wasOpen;
  }

  #beginLate(): void {
    this.#lateUntil = this.#now() + LATE_MS;
  }
}
