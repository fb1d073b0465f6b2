// Users of a connection are the triggers that share it. This file passes the current users to `onUsers` of an
// open connection, initially and after each change. Adapters apply settings there that depend on all of these
// triggers, such as a command menu.
//
// - Calls do not overlap; changes during a call are combined into one further call.
// - Transient failures and refusals of single triggers are retried with backoff. Other refusals are retried
//   only after the next change. No failure closes the connection.
// - Each call reports the refused triggers to `onRefused`; a transient failure reports nothing.
// - A call that exceeds the deadline is aborted, and abandoned if it does not settle. This is a transient
//   failure, and does not block later changes.
// - `close` aborts the running call and prevents further calls.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { connectionPause } from '../../../machines/connection-failure.ts';
import type { Log } from '../../base/errors/log.ts';
import {
  ConnectionError,
  failureOf,
  type OpenConnection,
  TriggersRefusedError,
  type Users,
} from './connector.ts';

export interface UserUpdatesOptions {
  readonly open: OpenConnection;
  readonly users: Users;
  /** Receives the triggers that the platform refuses, with reasons; empty if all are accepted. */
  readonly onRefused: (refusals: ReadonlyMap<Trigger, string>) => void;
  /** For the log: platform and account. */
  readonly key: string;
  readonly log: Log;
}

/** Debounce interval: a reload changes several triggers. */
const GATHER_MS = 20;
/** Call deadline, sufficient for a few sequential requests. */
const CALL_MS = 90_000;
/** Deadline for an aborted call to settle. */
const ABORT_MS = 1_000;

export class UserUpdates {
  readonly #options: UserUpdatesOptions;
  readonly #closing = new AbortController();
  #isDue = false;
  #isRunning = false;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(options: UserUpdatesOptions) {
    this.#options = options;
    this.notifyChange();
  }

  /** Reports that a trigger joined, left or changed. */
  notifyChange(): void {
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
      await this.#notify();
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

  /** Calls `onUsers`. Rejects if it does, or at the deadline. */
  async #notify(): Promise<void> {
    const { open, users } = this.#options;
    const aborting = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, aborting.signal]);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      const error = new ConnectionError(`no result within ${CALL_MS / 1000} s`, { kind: 'transient' });
      const abandon = () => reject(error);
      const abort = () => {
        timer = setTimeout(abandon, ABORT_MS).unref();
        aborting.abort(error);
      };
      timer = setTimeout(abort, CALL_MS).unref();
    });
    // Converts a synchronous throw into a rejection.
    const notifying = (async () => open.onUsers?.(users(), signal))();
    try {
      await Promise.race([notifying, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Logs the failure. Returns the pause before a retry; undefined if the call is not retried. */
  #pauseAfter(error: unknown): number | undefined {
    if (this.#closing.signal.aborted) return undefined;
    const { key, log, onRefused } = this.#options;
    const failure = failureOf(error);
    this.#failures += 1;
    const areSomeRefused = error instanceof TriggersRefusedError;
    if (areSomeRefused) onRefused(error.refusals);
    const isRetried = areSomeRefused || failure.kind === 'transient';
    const pauseMs = isRetried ? connectionPause(failure, this.#failures, Math.random()) : undefined;
    log.warn(
      { connection: key, reason: failure.reason, in_ms: pauseMs },
      'could not apply the triggers of a connection at the platform',
    );
    return pauseMs;
  }
}
