// Starts a server, and opens its first connection. Its machine decides whether it starts (machines/server.ts).
//
// SS1  the first connection is for whoever waits longest, else for whoever asked, else for nobody; never for one who has left.
// SS2  nothing is opened before it is known which eras the server speaks.
// SS3  a backoff or park that is not over is ended by an operator's start only.

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import type { ServerState } from '../../../../machines/server.ts';
import { ConnectionLostError, StoppedError, UnavailableError } from '../../../base/errors/errors.ts';
import type { ServerEras } from '../eras/eras.ts';
import type { Handle } from '../handle.ts';
import type { UpstreamSubscriptions } from '../notifications/upstream-subscriptions.ts';
import type { Pool } from '../pool/pool.ts';
import type { ServerDemand } from './server-demand.ts';
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
  readonly demand: ServerDemand;
  readonly notes: Pick<ServerNotes, 'lastError'>;
  /** Asks the supervisor to start the actor, also during a backoff or park. */
  wake(): void;
  /** Clients keep streams open that only this server feeds. */
  isWatched(): boolean;
}

export class ServerStart {
  readonly #options: StartOptions;

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

  /** One has left, and its connection with it: a start that was for it alone goes on for the next, or not at all. */
  reconsider(): void {
    const { eras, handle, pool, life } = this.#options;
    // While it is asked for its eras nothing has been started for anybody yet.
    if (life.state !== 'starting' || pool.members.size > 0 || eras.known === undefined) return;
    if (handle.waiting > 0) this.begin();
    else life.send({ type: 'stop' });
  }

  #openFirst(): void {
    const { eras, handle, pool, demand } = this.#options;
    const { next } = handle;
    const demandedBy = demand.takeOwner();
    const owner = next?.owner ?? demandedBy;
    pool.pick(owner, next?.era ?? eras.for(owner?.era ?? 'legacy') ?? 'legacy');
  }
}

/** A start has succeeded, failed, or was given up by a stop. */
function isSettledStart(state: ServerState): boolean {
  return state !== 'starting' && state !== 'idle';
}
