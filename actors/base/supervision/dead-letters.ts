// Dead letters: events sent to stopped actors. XState's production build drops them silently. Here they are
// counted, and the last MAX_RECENT are stored for the inspector, without payload (A9, ARCHITECTURE.md). Each
// actor system has its own collection, because a process can run several gateways.

import type { AnyActorRef, AnyEventObject } from 'xstate';

export interface DeadLetter {
  /** Type of the event. */
  readonly type: string;
  /** Id of the stopped actor, such as `files#3`. */
  readonly target: string;
}

/** Limit of stored letters. */
const MAX_RECENT = 100;

export class DeadLetters {
  #count = 0;
  readonly #recent: DeadLetter[] = [];

  /** Number of dead letters since the start. */
  get count(): number {
    return this.#count;
  }

  /** The last letters, oldest first. */
  get recent(): readonly DeadLetter[] {
    return [...this.#recent];
  }

  add(letter: DeadLetter): void {
    this.#count += 1;
    this.#recent.push({ type: letter.type, target: letter.target });
    if (this.#recent.length > MAX_RECENT) this.#recent.shift();
  }
}

type AnySystem = AnyActorRef['system'];

const bySystem = new WeakMap<AnySystem, DeadLetters>();

/** Returns the dead letters of an actor system. */
export function deadLettersOf(system: AnySystem): DeadLetters {
  let letters = bySystem.get(system);
  if (!letters) {
    letters = new DeadLetters();
    bySystem.set(system, letters);
  }
  return letters;
}

/** Returns true if the actor is done, failed or stopped. */
export function hasEnded(ref: AnyActorRef): boolean {
  return ref.getSnapshot().status !== 'active';
}

/** Sends the event, or counts a dead letter if the target has stopped. Returns true if it was sent. */
export function sendOrCount(ref: AnyActorRef, event: AnyEventObject): boolean {
  if (hasEnded(ref)) {
    deadLettersOf(ref.system).add({ type: event.type, target: ref.id });
    return false;
  }
  ref.send(event);
  return true;
}
