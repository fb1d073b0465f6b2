// One try to connect, and what comes of it: takes the lease, connects, waits for the end, closes when it is asked to, gives
// the lease back. Whatever happens on the way, it is over only when nothing is left of it.
//
// The lease is held from before `connect` until what it gave has ended, or has had its time to end.
//
// RU2  whoever connects and closes has a deadline; after it, and when the run is cut, the signal is aborted, and what does not
//      end even then is left behind with an error in the log.
// RU3  what `connect` gives after its deadline is closed like any other.
// RU4  when the lease is lost everything is cut at once, and the run has failed: it is tried again.

import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { ConnectionFailure } from '../../../machines/connection-failure.ts';
import type { Log } from '../../base/errors/log.ts';
import type { ConnectionLease, HeldLease } from './connection-lease.ts';
import { ConnectionError, type Connector, failureOf, type OpenConnection, type Users } from './connector.ts';
import { UsersNotice } from './users-notice.ts';

export interface ConnectionRunOptions {
  /** Of the lease, and for the log: platform and account. */
  readonly key: string;
  readonly connector: Connector;
  readonly users: Users;
  readonly lease: ConnectionLease;
  readonly log: Log;
  /** Another node is connected, the one of that name where it is known; undefined once it is this one's turn. */
  readonly onStandby: (by: { readonly node: string | undefined } | undefined) => void;
  readonly onOpen: (notice: UsersNotice) => void;
  readonly onUsersRefused: (refusals: ReadonlyMap<Trigger, string>) => void;
  /** For what takes part in it to end by itself. */
  readonly closeMs: number;
}

const CONNECT_MS = 30_000;
/** For what has to end at once to have ended. */
const CUT_MS = 1_000;
const LOST = 'this node could not reach the database in time: another node may connect now';

/** How a run ended: undefined when it was asked to. */
export type RunEnd = ConnectionFailure | undefined;

export class ConnectionRun {
  readonly #options: ConnectionRunOptions;
  readonly #cutting = new AbortController();
  readonly #closing = new AbortController();

  constructor(options: ConnectionRunOptions) {
    this.#options = options;
  }

  /** Never rejects. To be called once. */
  async run(): Promise<RunEnd> {
    const { key, lease, connector, onStandby } = this.#options;
    try {
      const signal = AbortSignal.any([this.#cutting.signal, this.#closing.signal]);
      const { isOnEveryNode } = connector;
      const onWaits = (node: string | undefined) => onStandby({ node });
      const held = await lease
        .take(key, signal, { isOnEveryNode, onWaits })
        .finally(() => onStandby(undefined));
      try {
        signal.throwIfAborted();
        return await this.#held(held);
      } finally {
        held.release();
      }
    } catch (error) {
      return this.#closing.signal.aborted ? undefined : failureOf(error);
    } finally {
      this.#cutting.abort();
    }
  }

  /** Ends it in good order. */
  close(): void {
    this.#closing.abort();
  }

  /** Ends it at once. */
  cut(): void {
    this.#cutting.abort();
  }

  async #held({ lost }: HeldLease): Promise<RunEnd> {
    const cut = () => this.cut();
    lost.addEventListener('abort', cut, { once: true });
    if (lost.aborted) cut();
    try {
      const end = await this.#connected();
      return lost.aborted ? { kind: 'transient', reason: LOST } : end;
    } finally {
      lost.removeEventListener('abort', cut);
    }
  }

  async #connected(): Promise<RunEnd> {
    const { key, connector, users } = this.#options;
    const { connectMs = CONNECT_MS } = connector;
    const { signal } = this.#cutting;
    // A connector may throw where it should reject.
    const connecting = (async () => connector.connect(signal, users))();
    const first = await firstOf(connecting, connectMs, this.#closing.signal, signal);
    if (first === 'aborted' || first === 'late') {
      this.#cutting.abort();
      const opened = connecting.then((open) => this.#closed(open, 0));
      if ((await firstOf(opened, CUT_MS)) === 'late') this.#leaveBehind();
      if (first === 'aborted') return undefined;
      const seconds = connectMs / 1000;
      return failureOf(
        new ConnectionError(`${key} did not connect within ${seconds} s`, { kind: 'transient' }),
      );
    }
    return this.#lived(await connecting);
  }

  async #lived(open: OpenConnection): Promise<RunEnd> {
    const { key, users, onOpen, onUsersRefused, closeMs, log } = this.#options;
    const notice = new UsersNotice({ open, users, onRefused: onUsersRefused, log, key });
    try {
      onOpen(notice);
      const end = await firstOf(open.closed, undefined, this.#closing.signal, this.#cutting.signal);
      if (end !== 'aborted') return await endOf(open);
      await this.#closed(open, this.#cutting.signal.aborted ? 0 : closeMs);
      return undefined;
    } finally {
      notice.close();
    }
  }

  /** Resolves when it is closed, or nothing more can be done about it. */
  async #closed(open: OpenConnection, graceMs: number): Promise<void> {
    const closing = (async () => open.close(graceMs))().catch((error) => {
      const { key, log } = this.#options;
      log.warn({ connection: key, reason: failureOf(error).reason }, 'connection could not be closed well');
      return settled(open.closed);
    });
    // One that the platform closes meanwhile is closed as well.
    const over = Promise.race([closing, settled(open.closed)]);
    if ((await firstOf(over, graceMs, this.#cutting.signal)) === 'settled') return;
    this.#cutting.abort();
    if ((await firstOf(over, CUT_MS)) === 'late') this.#leaveBehind();
  }

  #leaveBehind(): void {
    const { key, log } = this.#options;
    log.error({ connection: key }, 'connection did not end when it was told to, and is left behind');
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

function settled(promise: Promise<unknown>): Promise<void> {
  return promise.then(
    () => {},
    () => {},
  );
}

/** What comes first: the promise settles, the time is over, or one of the signals is aborted. */
function firstOf(
  promise: Promise<unknown>,
  ms?: number,
  ...signals: readonly AbortSignal[]
): Promise<'settled' | 'late' | 'aborted'> {
  return new Promise((resolve) => {
    const timer = ms === undefined ? undefined : setTimeout(() => end('late'), ms).unref();
    const onAbort = (): void => end('aborted');
    const end = (what: 'settled' | 'late' | 'aborted'): void => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
      resolve(what);
    };
    for (const signal of signals) signal.addEventListener('abort', onAbort);
    if (signals.some(({ aborted }) => aborted)) onAbort();
    promise.then(
      () => end('settled'),
      () => end('settled'),
    );
  });
}
