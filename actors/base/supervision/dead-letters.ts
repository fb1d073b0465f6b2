// Dead letters: events sent to an actor that had already ended. The production build of XState drops them silently;
// here they are counted and the last ones are kept for the inspector, with type and target only, never a payload
// (A9), and in a bounded ring (A8). One collection per actor system, so that two gateways in one process stay apart.

import type { AnyActorRef, AnyEventObject } from 'xstate';

export interface DeadLetter {
  /** The event's type. */
  readonly type: string;
  /** The id of the actor that had ended, such as `files#3`. */
  readonly target: string;
}

/** How many are kept. */
const kept = 100;

export class DeadLetters {
  #count = 0;
  readonly #recent: DeadLetter[] = [];

  /** All since the start. */
  get count(): number {
    return this.#count;
  }

  /** The last 100, oldest first. */
  get recent(): readonly DeadLetter[] {
    return [...this.#recent];
  }

  add(letter: DeadLetter): void {
    this.#count += 1;
    this.#recent.push({ type: letter.type, target: letter.target });
    if (this.#recent.length > kept) this.#recent.shift();
  }
}

type AnySystem = AnyActorRef['system'];

const bySystem = new WeakMap<AnySystem, DeadLetters>();

/** The dead letters of an actor system. */
export function deadLettersOf(system: AnySystem): DeadLetters {
  let letters = bySystem.get(system);
  if (!letters) {
    letters = new DeadLetters();
    bySystem.set(system, letters);
  }
  return letters;
}

/** Whether the actor has ended: done, failed or stopped. */
export function hasEnded(ref: AnyActorRef): boolean {
  return ref.getSnapshot().status !== 'active';
}

/** Sends, or counts the event as a dead letter when the target has ended. True when it was sent. */
export function tell(ref: AnyActorRef, event: AnyEventObject): boolean {
  if (hasEnded(ref)) {
    deadLettersOf(ref.system).add({ type: event.type, target: ref.id });
    return false;
  }
  ref.send(event);
  return true;
}
