// Checkpoint commit: state and effects that a run stores before its outcome, under the current claim. The
// caller's promise resolves when the checkpoint is stored. If the store refuses the checkpoint, nothing is
// stored, and the promise rejects; if the claim is lost, it rejects, and the checkpoint may be stored.

import { StoppedError } from '../../base/errors/errors.ts';
import type { Committed, Turn, TurnResult } from '../../store/store.ts';
import type { Commit } from './committer.ts';
import type { Effects } from './work.ts';

/** Maximum state length in UTF-16 units. Each checkpoint writes the whole state. */
const MAX_STATE = 1_048_576;

/** Throws TypeError if the state exceeds the limit. */
export function checkState(state: string | null | undefined): void {
  if (state === undefined || state === null || state.length <= MAX_STATE) return;
  throw new TypeError(`the state of the event has ${state.length} characters; the limit is ${MAX_STATE}`);
}

/** Returns the effects of an outcome. Throws TypeError if a journal step exceeds the limit. */
export function effectsOf(outcome: Effects): Effects {
  const { snapshot, emit, timers, cancelTimers, steps, run, asks } = outcome;
  for (const text of steps ?? [])
    if (text.length > MAX_STATE)
      throw new TypeError(`the step has ${text.length} characters; the limit is ${MAX_STATE}`);
  return { snapshot, emit, timers, cancelTimers, steps, run, asks };
}

export interface CheckpointHost {
  /** Returns true if the run may no longer commit under its claim. */
  hasLostClaim(): boolean;
  onStored(committed: Committed): void;
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
    else if (committed.isCurrent) this.#host.onStored(committed);
    else this.onGivenUp();
  }

  /**
   * Replaces the refused result by an empty checkpoint, whose commit only checks the claim. Returns false if
   * the empty checkpoint was refused too.
   */
  onRefused(error: unknown): boolean {
    if (this.#refusal !== undefined) return false;
    this.#refusal = error;
    const { key, fence, seq, outcome } = this.#result;
    this.#result = { key, fence, seq, outcome };
    return true;
  }

  onGivenUp(): void {
    this.#host.reject(claimLostError());
  }
}

export const claimLostError = () => new StoppedError('lost the claim on the event; it will be handled again');
