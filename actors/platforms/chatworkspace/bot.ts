// A bot in a workspace, which is what a bot token stands for: who it is, as the platform says it, and as an earlier process knew it.

import { createHash } from 'node:crypto';
import type { Store } from '../../store/store.ts';
import { type BotIdentity, WorkspaceApi } from './api.ts';

/** So old may the identity be when the bot is connected anew. */
const KEPT_MS = 600_000;
/** After it was asked for in vain no event waits for it. */
const IN_VAIN_MS = 5_000;
/** So long what only the identity can decide waits for it. */
const UNKNOWN_MS = 300_000;
const BOTS = 'chatworkspace-bots';
/** A token that nobody has any more leaves nothing behind. */
const ROW_TTL_MS = 30 * 86_400_000;

export class WorkspaceBot {
  readonly api: WorkspaceApi;
  /** Of the token, which must show nowhere. */
  readonly #digest: string;
  readonly #store: Pick<Store, 'get' | 'put'>;
  readonly #madeAt = performance.now();
  #identity: BotIdentity | undefined;
  /** In terms of performance.now. */
  #identifiedAt: number | undefined;
  #inVainAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;
  #asking: Promise<BotIdentity | undefined> | undefined;

  constructor(token: string, api_root: string, store: Pick<Store, 'get' | 'put'>) {
    this.#store = store;
    this.api = new WorkspaceApi({ token, api_root });
    this.#digest = createHash('sha256').update(`${api_root} ${token}`).digest('hex').slice(0, 32);
  }

  /** Undefined until the platform, or the store, has said it. */
  get identity(): BotIdentity | undefined {
    return this.#identity;
  }

  /** Nobody has said it for so long that nothing more is to wait for it. */
  get isLongUnknown(): boolean {
    return this.#identity === undefined && performance.now() - this.#madeAt > UNKNOWN_MS;
  }

  /** What an earlier process knew. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  /** Asks the platform who it is, unless it has just said so. Rejects as the call does. */
  async identify(signal?: AbortSignal): Promise<BotIdentity | undefined> {
    const now = performance.now();
    const isFresh = this.#identifiedAt !== undefined && now - this.#identifiedAt < KEPT_MS;
    if (isFresh && this.#identity !== undefined) return this.#identity;
    this.#asking ??= this.#ask(signal).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** The same for an event that waits, unless that was in vain just now. Never rejects. */
  async identifySoon(): Promise<void> {
    if (this.#identity !== undefined) return;
    await this.load().catch(() => {});
    if (this.#identity !== undefined || performance.now() - this.#inVainAt < IN_VAIN_MS) return;
    await this.identify().catch(() => {});
  }

  async #load(): Promise<void> {
    const value = (await this.#store.get(BOTS, this.#digest))?.value;
    if (value !== undefined) this.#identity ??= JSON.parse(value) as BotIdentity;
  }

  async #ask(signal: AbortSignal | undefined): Promise<BotIdentity | undefined> {
    let identity: BotIdentity | undefined;
    try {
      identity = await this.api.identity({ signal });
    } finally {
      if (identity === undefined) this.#inVainAt = performance.now();
    }
    if (identity === undefined) return this.#identity;
    this.#identity = identity;
    this.#identifiedAt = performance.now();
    await this.#store.put(BOTS, this.#digest, JSON.stringify(identity), { ttlMs: ROW_TTL_MS });
    return identity;
  }
}
