// One run of a platform connection: acquires the lease, connects, serves until the connection closes or a
// close is requested, and releases the lease. A run completes only after all its resources are released.
//
// - The lease is held from before `connect` until the connection is closed or abandoned.
// - Connecting and closing have deadlines. At the deadline, and when the run is aborted, the signal passed to
//   `connect` is aborted. A connection that then still does not close is abandoned, with an error in the log.
// - A connection that opens after the deadline is closed.
// - If the lease is lost, the run is aborted immediately and fails; the actor retries.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { ConnectionFailure } from '../../../machines/connection-failure.ts';
import type { Log } from '../../base/errors/log.ts';
import type { ConnectionLease, HeldLease } from './connection-lease.ts';
import { ConnectionError, type Connector, failureOf, type OpenConnection, type Users } from './connector.ts';
import { UserUpdates } from './user-updates.ts';

export interface ConnectionRunOptions {
  /** Key of the lease, and for the log: platform and account. */
  readonly key: string;
  readonly connector: Connector;
  readonly users: Users;
  readonly lease: ConnectionLease;
  readonly log: Log;
  /** Called with the connected node during standby, and with undefined when the lease is acquired. */
  readonly onStandby: (by: { readonly node: string | undefined } | undefined) => void;
  readonly onOpen: (userUpdates: UserUpdates) => void;
  readonly onUsersRefused: (refusals: ReadonlyMap<Trigger, string>) => void;
  /** Time for a graceful close. */
  readonly closeMs: number;
}

const CONNECT_MS = 30_000;
/** Deadline for an aborted connection to close. */
const ABORT_MS = 1_000;
const LEASE_LOST = 'this node could not reach the database in time: another node may connect now';

/** Run failure; undefined if closed on request. */
export type RunEnd = ConnectionFailure | undefined;

export class ConnectionRun {
  readonly #options: ConnectionRunOptions;
  readonly #aborting = new AbortController();
  readonly #closing = new AbortController();

  constructor(options: ConnectionRunOptions) {
    this.#options = options;
  }

  /** Runs until the connection is closed. Never rejects. Not reusable. */
  async run(): Promise<RunEnd> {
    const { key, lease, connector, onStandby } = this.#options;
    try {
      const signal = AbortSignal.any([this.#aborting.signal, this.#closing.signal]);
      const { isOnEveryNode } = connector;
      const onWaits = (node: string | undefined) => onStandby({ node });
      const held = await lease
        .acquire(key, signal, { isOnEveryNode, onWaits })
        .finally(() => onStandby(undefined));
      try {
        signal.throwIfAborted();
        return await this.#runWithLease(held);
      } finally {
        held.release();
      }
    } catch (error) {
      return this.#closing.signal.aborted ? undefined : failureOf(error);
    } finally {
      this.#aborting.abort();
    }
  }

  /** Closes gracefully. */
  close(): void {
    this.#closing.abort();
  }

  /** Closes immediately. */
  abort(): void {
    this.#aborting.abort();
  }

  async #runWithLease({ lossSignal }: HeldLease): Promise<RunEnd> {
    const abort = () => this.abort();
    lossSignal.addEventListener('abort', abort, { once: true });
    if (lossSignal.aborted) abort();
    try {
      const runEnd = await this.#connect();
      return lossSignal.aborted ? { kind: 'transient', reason: LEASE_LOST } : runEnd;
    } finally {
      lossSignal.removeEventListener('abort', abort);
    }
  }

  async #connect(): Promise<RunEnd> {
    const { key, connector, users } = this.#options;
    const { connectMs = CONNECT_MS } = connector;
    const { signal } = this.#aborting;
    // Converts a synchronous throw into a rejection.
    const connecting = (async () => connector.connect(signal, users))();
    const first = await firstEvent(connecting, connectMs, this.#closing.signal, signal);
    if (first === 'aborted' || first === 'late') {
      this.#aborting.abort();
      const lateClose = connecting.then((open) => this.#closeConnection(open, 0));
      if ((await firstEvent(lateClose, ABORT_MS)) === 'late') this.#abandon();
      if (first === 'aborted') return undefined;
      const seconds = connectMs / 1000;
      return failureOf(
        new ConnectionError(`${key} did not connect within ${seconds} s`, { kind: 'transient' }),
      );
    }
    return this.#serve(await connecting);
  }

  async #serve(open: OpenConnection): Promise<RunEnd> {
    const { key, users, onOpen, onUsersRefused, closeMs, log } = this.#options;
    const userUpdates = new UserUpdates({ open, users, onRefused: onUsersRefused, log, key });
    try {
      onOpen(userUpdates);
      const event = await firstEvent(open.closed, undefined, this.#closing.signal, this.#aborting.signal);
      if (event !== 'aborted') return await endOf(open);
      await this.#closeConnection(open, this.#aborting.signal.aborted ? 0 : closeMs);
      return undefined;
    } finally {
      userUpdates.close();
    }
  }

  /** Resolves when the connection is closed or abandoned. */
  async #closeConnection(open: OpenConnection, graceMs: number): Promise<void> {
    const closing = (async () => open.close(graceMs))().catch((error) => {
      const { key, log } = this.#options;
      log.warn({ connection: key, reason: failureOf(error).reason }, 'could not close a connection cleanly');
      return whenSettled(open.closed);
    });
    // The platform may also close the connection first.
    const closed = Promise.race([closing, whenSettled(open.closed)]);
    if ((await firstEvent(closed, graceMs, this.#aborting.signal)) === 'settled') return;
    this.#aborting.abort();
    if ((await firstEvent(closed, ABORT_MS)) === 'late') this.#abandon();
  }

  #abandon(): void {
    const { key, log } = this.#options;
    log.error({ connection: key }, 'connection did not close when aborted; abandoning it');
  }
}

async function endOf({ closed }: OpenConnection): Promise<ConnectionFailure> {
  try {
    await closed;
    return { kind: 'transient', reason: 'the platform closed the connection' };
  } catch (error) {
    return failureOf(error);
  }
}

function whenSettled(promise: Promise<unknown>): Promise<void> {
  return promise.then(
    () => {},
    () => {},
  );
}

/** Resolves with the first event: the promise settles, the timeout expires, or a signal is aborted. */
function firstEvent(
  promise: Promise<unknown>,
  ms?: number,
  ...signals: readonly AbortSignal[]
): Promise<'settled' | 'late' | 'aborted'> {
  return new Promise((resolve) => {
    const timer = ms === undefined ? undefined : setTimeout(() => end('late'), ms).unref();
    const onAbort = (): void => end('aborted');
    const end = (event: 'settled' | 'late' | 'aborted'): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
      resolve(event);
    };
    for (const signal of signals) signal.addEventListener('abort', onAbort);
    if (signals.some(({ aborted }) => aborted)) onAbort();
    promise.then(
      () => end('settled'),
      () => end('settled'),
    );
  });
}
