// How often somebody is told why what they pressed, or marked, decides nothing: whoever presses again and again fills no chat, and
// takes nothing of what its platform lets us say there.
//
// RFL1  the first time about a question each person is told, whatever others do.
// RFL2  the same person is told again about the same question after a minute, and of all those who press again no more than so many
//       in a minute.
// RFL3  what is asked again for the same event has the same answer.

import { freeAt, type SpanLimit, withOneMore } from '../../../libs/rest/span-limit.ts';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';

const AGAIN_MS = 60_000;
const ALL: SpanLimit = { most: 30, ms: 60_000 };
/** Of what is forgotten the worst is that somebody is told once more. */
const MAX_KEPT = 10_000;

interface Told {
  readonly event: string;
  readonly at: number;
}

export class RefusalLimit {
  readonly #now: () => number;
  /** By person and question, whoever was told last at the end. */
  readonly #told = new Map<string, Told>();
  /** Of those who were told again. */
  #again: readonly number[] = [];

  /** `now` gives milliseconds that only grow. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Whether they are told, by that event; then it counts. */
  mayTell(person: string, question: string, event: string): boolean {
    const name = JSON.stringify([person, question]);
    const before = this.#told.get(name);
    const now = this.#now();
    if (before?.event === event) return true;
    if (before !== undefined) {
      if (now - before.at < AGAIN_MS || freeAt(this.#again, ALL) > now) return false;
      this.#again = withOneMore(this.#again, now, ALL);
    }
    this.#told.delete(name);
    this.#told.set(name, { event, at: now });
    forgetOldest(this.#told, MAX_KEPT);
    return true;
  }
}
