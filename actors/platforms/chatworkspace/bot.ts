// A bot of an app in one workspace, identified by its token. The platform returns the bot's identity, which
// is stored for the next process.

import { createHash } from 'node:crypto';
import type { Store } from '../../store/store.ts';
import { WorkspaceApi, type WorkspaceIdentity } from './api.ts';

/** Maximum age of the identity when the bot reconnects, in milliseconds. */
const MAX_AGE_MS = 600_000;
/** Pause between failed identity requests, in which events cause no further request. */
const RETRY_MS = 5_000;
/** Maximum time in which events wait for unknown identities. */
const MAX_WAIT_MS = 300_000;
const BOTS = 'chatworkspace-bots';
/** Lifetime of stored identities, so that rows of unused tokens expire. */
const ROW_TTL_MS = 30 * 86_400_000;

export class WorkspaceBot {
  readonly api: WorkspaceApi;
  /** Digest of the token; the token itself is not stored. */
  readonly #digest: string;
  readonly #store: Pick<Store, 'get' | 'put'>;
  readonly #createdAt = performance.now();
  #identity: WorkspaceIdentity | undefined;
  /** Value of performance.now. */
  #identifiedAt: number | undefined;
  #failedAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;
  #request: Promise<WorkspaceIdentity | undefined> | undefined;

  constructor(token: string, api_root: string, store: Pick<Store, 'get' | 'put'>) {
    this.#store = store;
    this.api = new WorkspaceApi({ token, api_root });
    this.#digest = createHash('sha256').update(`${api_root} ${token}`).digest('hex').slice(0, 32);
  }

  /** Undefined until the store or the platform has returned the identity. */
  get identity(): WorkspaceIdentity | undefined {
    return this.#identity;
  }

  /** True if the identity is still unknown after MAX_WAIT_MS. */
  get isStillUnknown(): boolean {
    return this.#identity === undefined && performance.now() - this.#createdAt > MAX_WAIT_MS;
  }

  /** Loads the identity from the store. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  /** Requests the identity from the platform, unless it is recent. Rejects if the request fails. */
  async identify(signal?: AbortSignal): Promise<WorkspaceIdentity | undefined> {
    const now = performance.now();
    const isFresh = this.#identifiedAt !== undefined && now - this.#identifiedAt < MAX_AGE_MS;
    if (isFresh && this.#identity !== undefined) return this.#identity;
    this.#request ??= this.#requestIdentity(signal).finally(() => {
      this.#request = undefined;
    });
    return this.#request;
  }

  /**
   * Requests the identity for an event that needs it, unless it is known or a request has just failed. Never
   * rejects.
   */
  async identifyForEvent(): Promise<void> {
    if (this.#identity !== undefined) return;
    await this.load().catch(() => {});
    if (this.#identity !== undefined || performance.now() - this.#failedAt < RETRY_MS) return;
    await this.identify().catch(() => {});
  }

  async #load(): Promise<void> {
    const value = (await this.#store.get(BOTS, this.#digest))?.value;
    if (value !== undefined) this.#identity ??= JSON.parse(value) as WorkspaceIdentity;
  }

  async #requestIdentity(signal: AbortSignal | undefined): Promise<WorkspaceIdentity | undefined> {
    let identity: WorkspaceIdentity | undefined;
    try {
      identity = await this.api.identity({ signal });
    } finally {
      if (identity === undefined) this.#failedAt = performance.now();
    }
    if (identity === undefined) return this.#identity;
    this.#identity = identity;
    this.#identifiedAt = performance.now();
    await this.#store.put(BOTS, this.#digest, JSON.stringify(identity), { ttlMs: ROW_TTL_MS });
    return identity;
  }
}
