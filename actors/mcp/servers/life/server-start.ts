// Starts a server: who has asked for it, when it may start, and for whom its first connection is opened. Whether it
// starts at all is decided by its machine (machines/server.ts).
//
// SS1  the first connection is for whoever waits longest, else for whoever asked, else for nobody; never for one who has left.
// SS2  nothing is opened before it is known which eras the server speaks.
// SS3  a backoff or park that is not over is ended by an operator's start only.

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import type { ServerState } from '../../../../machines/server.ts';
import { ConnectionLostError, StoppedError, UnavailableError } from '../../../base/errors/errors.ts';
import { steadyNow } from '../../../base/time/steady-clock.ts';
import type { CallOwner } from '../calls/call-owner.ts';
import type { ServerEras } from '../eras/eras.ts';
import type { Handle } from '../handle.ts';
import type { UpstreamSubscriptions } from '../notifications/upstream-subscriptions.ts';
import type { Pool } from '../pool/pool.ts';
import type { ServerNotes } from './server-gate.ts';
import type { ServerLife } from './server-life.ts';

export interface StartOptions {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly eras: ServerEras;
  readonly handle: Handle;
  readonly pool: Pool;
  readonly upstreamSubscriptions: UpstreamSubscriptions;
  readonly life: ServerLife;
  readonly notes: Pick<ServerNotes, 'lastError'>;
  /** Asks the supervisor to start the actor whatever its backoff or park. */
  wake(): void;
  /** Clients keep streams open that only this server feeds. */
  isWatched(): boolean;
}

export class ServerStart {
  readonly #options: StartOptions;
  /** Whose the first connection is where no call waits for it. */
  #demandedBy: CallOwner | undefined;
  /** The lists of the server are to be learnt, whoever has the first connection. */
  isToLearn = false;

  constructor(options: StartOptions) {
    this.#options = options;
  }

  /** An operator's start; resolves once the server runs. Rejects with the reason it could not. */
  async start(): Promise<void> {
    const { id, entry, life, notes, wake } = this.#options;
    if (!entry.enabled) {
      throw new UnavailableError(`server ${id} is switched off (its entry says enabled: false)`, 60);
    }
    if (life.isRunning) return;
    const done = life.until(isSettledStart);
    wake();
    const state = await done;
    if (state === 'failed') throw notes.lastError ?? new ConnectionLostError(`server ${id} failed`);
    if (state !== 'running') throw new StoppedError(`server ${id} was stopped while it was starting`);
  }

  /** A start as a waiting call would ask for it. Where no call waits, the first connection is `owner`'s. */
  demand(owner?: CallOwner | undefined): void {
    const { entry, handle, life, wake } = this.#options;
    if (!entry.enabled) return;
    this.#demandedBy = owner;
    const { until } = handle.breaker;
    if (until === undefined) life.send({ type: 'demand' });
    else if (until <= steadyNow()) wake();
  }

  /** Whether a start is wanted by now; after a crash open streams count as well. */
  isWanted(isAfterCrash: boolean): boolean {
    const { entry, eras, handle, upstreamSubscriptions, isWatched } = this.#options;
    if (!entry.enabled) return false;
    const isListened = isAfterCrash && (!upstreamSubscriptions.subscriptions.isEmpty || isWatched());
    return isListened || handle.waiting > 0 || eras.isAsking;
  }

  /** The machine has begun to start: opens the first connection, once it is known in which eras. */
  begin(): void {
    const { id, eras, handle, pool, life } = this.#options;
    pool.begin();
    if (eras.known !== undefined) {
      this.#openFirst();
      return;
    }
    const settled = eras.settle().then(() => {
      const { known } = eras;
      if (life.state !== 'starting' || known === undefined) return;
      // These calls came by an earlier verdict on the eras; their connections could not be opened.
      const what = `server ${id} turned out to speak the protocol of another era; try again`;
      handle.failWaiting(({ era }) => !known[era], new UnavailableError(what, 1));
      this.#openFirst();
    });
    settled.catch((error: unknown) => life.report({ type: 'pool.lost', error }));
  }

  /** Settles at once, or, for a server that has failed, when its backoff is over; then it is started. */
  async untilStartable(): Promise<void> {
    const { life } = this.#options;
    if (life.state !== 'failed') return;
    const left = life.until((state) => state !== 'failed');
    this.demand();
    await left;
  }

  /** `owner` is leaving: nothing is started for it any more. */
  forget(owner: CallOwner): void {
    if (this.#demandedBy === owner) this.#demandedBy = undefined;
  }

  /** One has left, and its connection with it: a start that was for it alone goes on for the next, or not at all. */
  reconsider(): void {
    const { eras, handle, pool, life } = this.#options;
    // While it is asked for its eras nothing has been started for anybody yet.
    if (life.state !== 'starting' || pool.members.size > 0 || eras.known === undefined) return;
    if (handle.waiting > 0) this.begin();
    else life.send({ type: 'stop' });
  }

  #openFirst(): void {
    const { eras, handle, pool } = this.#options;
    const { next } = handle;
    const owner = next?.owner ?? this.#demandedBy;
    this.#demandedBy = undefined;
    pool.pick(owner, next?.era ?? eras.for(owner?.era ?? 'legacy') ?? 'legacy');
  }
}

/** A start has succeeded, failed, or was given up by a stop. */
function isSettledStart(state: ServerState): boolean {
  return state !== 'starting' && state !== 'idle';
}
