// Tells an open connection which triggers use it: at its beginning, and at each change from then on. What depends on all of
// them together, such as a menu of commands, is made there.
//
// UN1  one call at a time; what changes meanwhile is one more call after it, with the triggers as they are then.
// UN2  a transient failure, and a refusal of single triggers, is tried again with growing pauses while the connection lasts,
//      any other refusal when the triggers change; none of them ends the connection.
// UN3  nothing is called after `close`, and what is under way is told to end.
// UN4  which triggers are refused is told after each call that says so; a failure that passes says nothing of it.
// UN5  a call has a deadline, after which it is told to end, and left behind where it does not: that is a failure that passes, and
//      keeps no later change from being told.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { connectionPause } from '../../../machines/connection-failure.ts';
import type { Log } from '../../base/errors/log.ts';
import {
  ConnectionError,
  failureOf,
  type OpenConnection,
  type Users,
  UsersRefusedError,
} from './connector.ts';

export interface UsersNoticeOptions {
  readonly open: OpenConnection;
  readonly users: Users;
  /** Triggers that the platform refuses alone, and why; none when it takes all of them. */
  readonly onRefused: (refusals: ReadonlyMap<Trigger, string>) => void;
  /** For the log: platform and account. */
  readonly key: string;
  readonly log: Log;
}

/** A reload changes many triggers at once. */
const GATHER_MS = 20;
/** Longer than the few requests take, one after the other, that a platform is told with. */
const CALL_MS = 90_000;
/** For what has to end at once to have ended. */
const CUT_MS = 1_000;

export class UsersNotice {
  readonly #options: UsersNoticeOptions;
  readonly #closing = new AbortController();
  #isDue = false;
  #isRunning = false;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(options: UsersNoticeOptions) {
    this.#options = options;
    this.changed();
  }

  /** A trigger has joined, left, or is another. */
  changed(): void {
    if (this.#options.open.onUsers === undefined) return;
    this.#isDue = true;
    this.#failures = 0;
    this.#callAfter(GATHER_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#closing.abort();
  }

  #callAfter(ms: number): void {
    if (this.#isRunning || this.#closing.signal.aborted) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#call(), ms).unref();
  }

  async #call(): Promise<void> {
    this.#isDue = false;
    this.#isRunning = true;
    let pauseMs: number | undefined;
    try {
      await this.#told();
      this.#failures = 0;
      if (!this.#closing.signal.aborted) this.#options.onRefused(new Map());
    } catch (error) {
      pauseMs = this.#pauseAfter(error);
    } finally {
      this.#isRunning = false;
    }
    if (this.#isDue) this.#callAfter(GATHER_MS);
    else if (pauseMs !== undefined) this.#callAfter(pauseMs);
  }

  /** Rejects as the connection does, or as one that was late. */
  async #told(): Promise<void> {
    const { open, users } = this.#options;
    const cutting = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, cutting.signal]);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const error = new ConnectionError(`it took longer than ${CALL_MS / 1000} s`, { kind: 'transient' });
      const leaveBehind = () => reject(error);
      const cut = () => {
        timer = setTimeout(leaveBehind, CUT_MS).unref();
        cutting.abort(error);
      };
      timer = setTimeout(cut, CALL_MS).unref();
    });
    // A connection may throw where it should reject.
    const telling = (async () => open.onUsers?.(users(), signal))();
    try {
      await Promise.race([telling, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Undefined where it is not tried again. */
  #pauseAfter(error: unknown): number | undefined {
    if (this.#closing.signal.aborted) return undefined;
    const { key, log, onRefused } = this.#options;
    const failure = failureOf(error);
    this.#failures += 1;
    const isOfSingle = error instanceof UsersRefusedError;
    if (isOfSingle) onRefused(error.refusals);
    const isTriedAgain = isOfSingle || failure.kind === 'transient';
    const pauseMs = isTriedAgain ? connectionPause(failure, this.#failures, Math.random()) : undefined;
    log.warn(
      { connection: key, reason: failure.reason, in_ms: pauseMs },
      'the platform did not take what the triggers of a connection need',
    );
    return pauseMs;
  }
}
