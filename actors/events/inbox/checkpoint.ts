// A checkpoint on its way to the store, in the middle of a turn and under the turn's claim.
//
// CP1  it is over once: kept, or rejected; rejected, nothing of it was taken, or its claim is lost and nobody can tell.

import { StoppedError } from '../../base/errors/errors.ts';
import type { Committed, Turn, TurnResult } from '../../store/store.ts';
import type { Commit } from './committer.ts';
import type { Effects } from './work.ts';

/** In UTF-16 units: every checkpoint writes all of it. */
const MAX_STATE = 1_048_576;

/** Throws TypeError for a state that is not to be kept. */
export function checkState(state: string | null | undefined): void {
  if (state === undefined || state === null || state.length <= MAX_STATE) return;
  throw new TypeError(
    `the state of an event may have ${MAX_STATE} characters, and this one has ${state.length}`,
  );
}

/** Nothing but the effects of what a work gives. Throws TypeError for a row of a journal that is too long. */
export function effectsOf(of: Effects): Effects {
  const { snapshot, emit, timers, cancelTimers, steps, run, asks } = of;
  for (const text of steps ?? [])
    if (text.length > MAX_STATE)
      throw new TypeError(`a step may have ${MAX_STATE} characters, and this one has ${text.length}`);
  return { snapshot, emit, timers, cancelTimers, steps, run, asks };
}

export interface CheckpointHost {
  hasLostClaim(): boolean;
  onKept(committed: Committed): void;
  reject(error: unknown): void;
}

export class Checkpoint implements Commit {
  readonly #host: CheckpointHost;
  #result: TurnResult;
  #refusal: unknown;

  constructor(
    { key, fence, event }: Turn,
    state: string | null | undefined,
    effects: Effects,
    host: CheckpointHost,
  ) {
    this.#host = host;
    this.#result = { key, fence, seq: event.seq, outcome: 'checkpoint', state, ...effectsOf(effects) };
  }

  get result(): TurnResult {
    return this.#result;
  }

  hasLostClaim(): boolean {
    return this.#host.hasLostClaim();
  }

  onCommitted(committed: Committed): void {
    if (this.#refusal !== undefined) this.#host.reject(this.#refusal);
    else if (committed.isCurrent) this.#host.onKept(committed);
    else this.onGivenUp();
  }

  /** What is left of it keeps nothing. */
  onRefused(error: unknown): boolean {
    if (this.#refusal !== undefined) return false;
    this.#refusal = error;
    const { key, fence, seq, outcome } = this.#result;
    this.#result = { key, fence, seq, outcome };
    return true;
  }

  onGivenUp(): void {
    this.#host.reject(claimLost());
  }
}

export const claimLost = () => new StoppedError('the claim on the event is lost: it is handled again');
