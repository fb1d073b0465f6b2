// Starts a server and opens its first connection. The state machine (machines/server.ts) decides when. The
// first connection serves the call that has waited longest, otherwise the client that requested the start,
// otherwise no particular client; never a client that has disconnected. No connection opens before the
// protocol eras of the server (sessions, stateless requests) are known.
//
// SS3  only a start by an operator cancels a backoff (delay after a failure) or park (refusal of calls after
//      many failures).

import type { ServerEntry } from '../../../../config/catalog/catalog-schema.ts';
import type { ServerState } from '../../../../machines/server.ts';
import { ConnectionLostError, StoppedError, UnavailableError } from '../../../base/errors/errors.ts';
import type { ServerInstall } from '../../installs/server-install.ts';
import type { ServerEras } from '../eras/eras.ts';
import type { Handle } from '../handle.ts';
import type { UpstreamSubscriptions } from '../notifications/upstream-subscriptions.ts';
import type { Pool } from '../pool/pool.ts';
import type { ServerDemand } from './server-demand.ts';
import type { ServerStatus } from './server-gate.ts';
import type { ServerLife } from './server-life.ts';

export interface StartOptions {
  readonly id: string;
  readonly entry: ServerEntry;
  readonly eras: ServerEras;
  /** Accepts and queues the calls of clients. */
  readonly handle: Handle;
  readonly pool: Pool;
  readonly upstreamSubscriptions: UpstreamSubscriptions;
  readonly life: ServerLife;
  readonly demand: ServerDemand;
  readonly status: Pick<ServerStatus, 'lastError'>;
  /** Set for a local server. */
  readonly install: ServerInstall | undefined;
  /** Asks the supervisor to start the state machine immediately, without backoff or park time. */
  wake(): void;
  /** Returns true if a client at /mcp/:id has an open stream. */
  isWatched(): boolean;
}

export class ServerStart {
  readonly #options: StartOptions;
  /** Number of starts; outdated ones open no connection. */
  #starts = 0;

  constructor(options: StartOptions) {
    const { life, install } = options;
    this.#options = options;
    life.onState((state) => {
      if (state !== 'starting') install?.leave();
    });
  }

  /** Starts the server for an operator. Resolves when it runs, rejects with the failure. */
  async start(): Promise<void> {
    const { id, entry, life, status, wake } = this.#options;
    if (!entry.enabled) {
      throw new UnavailableError(`server ${id} is disabled (enabled: false in its entry)`, 60);
    }
    if (life.isRunning) return;
    const whenSettled = life.until(isSettledStart);
    wake();
    const state = await whenSettled;
    if (state === 'failed') throw status.lastError ?? new ConnectionLostError(`server ${id} failed`);
    if (state !== 'running') throw new StoppedError(`server ${id} was stopped while it was starting`);
  }

  /** Returns true if calls need the server. After a crash, clients with open streams also count. */
  isWanted(isAfterCrash: boolean): boolean {
    const { entry, eras, handle, upstreamSubscriptions, isWatched } = this.#options;
    if (!entry.enabled) return false;
    const isListened = isAfterCrash && (!upstreamSubscriptions.subscriptions.isEmpty || isWatched());
    return isListened || handle.waiting > 0 || eras.isProbing;
  }

  /**
   * Installs the program if necessary, then opens the first connection when the eras are known. Called when
   * the machine starts the server.
   */
  begin(): void {
    const { pool, life, install } = this.#options;
    const number = ++this.#starts;
    pool.reset();
    const whenInstalled = install?.ensure();
    if (whenInstalled === undefined) {
      this.#proceed(number);
      return;
    }
    whenInstalled.then(
      () => {
        if (this.#isCurrent(number)) this.#proceed(number);
      },
      (error: unknown) => {
        // The machine treats a failed installation or probe like a lost connection.
        if (this.#isCurrent(number)) life.report({ type: 'pool.lost', error });
      },
    );
  }

  #isCurrent(number: number): boolean {
    return number === this.#starts && this.#options.life.state === 'starting';
  }

  #proceed(number: number): void {
    const { id, eras, handle, life } = this.#options;
    if (eras.knownEras !== undefined) {
      this.#openFirst();
      return;
    }
    const whenProbed = eras.ensureKnown().then(() => {
      const { knownEras } = eras;
      if (!this.#isCurrent(number) || knownEras === undefined) return;
      // These calls were accepted for eras of an earlier probe, which the server no longer supports.
      const message = `server ${id} supports another protocol era; try again`;
      handle.failWaiting(({ era }) => !knownEras[era], new UnavailableError(message, 1));
      this.#openFirst();
    });
    whenProbed.catch((error: unknown) => life.report({ type: 'pool.lost', error }));
  }

  /**
   * Called when the client that requested the start has disconnected: continues the start for the next queued
   * call, or stops it.
   */
  reconsider(): void {
    const { eras, handle, pool, life } = this.#options;
    // Era probes open no client connections.
    if (life.state !== 'starting' || pool.members.size > 0 || eras.knownEras === undefined) return;
    if (handle.waiting > 0) this.begin();
    else life.send({ type: 'stop' });
  }

  /** Opens the first connection: for the longest waiting call, or for the client that requested the start. */
  #openFirst(): void {
    const { eras, handle, pool, demand } = this.#options;
    const { longestWaiting } = handle;
    const demandedBy = demand.takeOwner();
    const owner = longestWaiting?.owner ?? demandedBy;
    pool.pick(owner, longestWaiting?.era ?? eras.serverEraFor(owner?.era ?? 'legacy') ?? 'legacy');
  }
}

/** Returns true if the start has succeeded, failed or was stopped. */
function isSettledStart(state: ServerState): boolean {
  return state !== 'starting' && state !== 'idle';
}
