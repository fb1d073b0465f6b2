// Ask an actor and wait for its answer: a promise with a deadline and a death watch, so that nobody waits for an
// actor that has ended. For the control path (start, stop, demand); traffic goes through handles, not through here.
//
// K1  settles exactly once: answer, refusal, deadline, or the actor's end (A2).
// K2  once settled, no timer and no subscription is left.

import type { AnyActorRef, AnyEventObject, Subscription } from 'xstate';
import { hasEnded, tell } from './dead-letters.ts';
import { ActorGoneError, DeadlineError } from './errors.ts';

/** How the asked actor answers; calls after the first are ignored. */
export interface Reply<T> {
  answer(value: T): void;
  refuse(error: unknown): void;
}

/**
 * Sends the event that `make` builds around a reply, and resolves with the answer.
 * Rejects with what the actor refused with, with DeadlineError after `deadlineMs`, or with ActorGoneError.
 */
export function ask<T>(
  ref: AnyActorRef,
  make: (reply: Reply<T>) => AnyEventObject,
  deadlineMs: number,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isSettled = false;
    let timer: NodeJS.Timeout | undefined;
    let watch: Subscription | undefined;
    const settle = (finish: () => void): void => {
      isSettled = true;
      clearTimeout(timer);
      watch?.unsubscribe();
      finish();
    };

    const event = make({
      answer: (value) => settle(() => resolve(value)),
      refuse: (error) => settle(() => reject(error)),
    });
    const gone = (options?: ErrorOptions): void => {
      const text = `the actor ${ref.id} ended before it answered ${event.type}; try again once it is back`;
      settle(() => reject(new ActorGoneError(text, options)));
    };
    // An actor that was stopped, rather than done or failed, tells a late observer nothing.
    if (!isSettled && !hasEnded(ref)) {
      timer = setTimeout(() => {
        const text = `the actor ${ref.id} did not answer ${event.type} within ${deadlineMs} ms`;
        settle(() => reject(new DeadlineError(text)));
      }, deadlineMs);
      watch = ref.subscribe({ error: (cause) => gone({ cause }), complete: () => gone() });
    }
    if (!tell(ref, event)) gone();
  });
}
