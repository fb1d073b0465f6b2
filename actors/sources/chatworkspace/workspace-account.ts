// What is known of an app, and of its bot in each workspace, in this process: shared by triggers and kept over reloads. What an
// earlier process knew of a bot is in the store.

import { createHash } from 'node:crypto';
import { appOf } from '../../../config/resources/fields/workspace-app.ts';
import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Store } from '../../store/store.ts';
import { BotTurns } from '../bot-turns.ts';
import { ClientsByCredential } from '../clients-by-credential.ts';
import { ChannelNames } from './channel-names.ts';
import { type BotIdentity, WorkspaceApi } from './chatworkspace-api.ts';

/** So old may the identity be when the bot is connected anew. */
const KEPT_MS = 600_000;
/** Events are no reason to ask more often. */
const ASKED_EVERY_MS = 1_000;
const BOTS = 'chatworkspace-bots';

/** A bot in a workspace: what a bot token stands for. */
export class WorkspaceBot {
  readonly api: WorkspaceApi;
  /** Of the token, which must show nowhere. */
  readonly #digest: string;
  #identity: BotIdentity | undefined;
  /** In terms of performance.now. */
  #identifiedAt: number | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;
  #asking: Promise<BotIdentity | undefined> | undefined;

  constructor(token: string, api_root: string) {
    this.api = new WorkspaceApi({ token, api_root });
    this.#digest = createHash('sha256').update(`${api_root} ${token}`).digest('hex').slice(0, 32);
  }

  /** Undefined until the platform, or the store, has said it. */
  get identity(): BotIdentity | undefined {
    return this.#identity;
  }

  /** What an earlier process knew. */
  load(store: Store): Promise<void> {
    this.#loading ??= this.#load(store).catch((error) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  /** Asks the platform who it is, unless it has just said so. Rejects as the call does. */
  async identify(store: Store, signal?: AbortSignal): Promise<BotIdentity | undefined> {
    const now = performance.now();
    const isFresh = this.#identifiedAt !== undefined && now - this.#identifiedAt < KEPT_MS;
    if (isFresh && this.#identity !== undefined) return this.#identity;
    this.#asking ??= this.#ask(store, signal).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  /** The same for an event that waits: not long, and not where the platform has just been asked in vain. Never rejects. */
  async identifySoon(store: Store, timeoutMs: number): Promise<void> {
    if (this.#asking === undefined && performance.now() - this.#askedAt < ASKED_EVERY_MS) return;
    await this.identify(store, AbortSignal.timeout(timeoutMs)).catch(() => {});
  }

  async #load(store: Store): Promise<void> {
    const value = (await store.get(BOTS, this.#digest))?.value;
    if (value !== undefined) this.#identity ??= JSON.parse(value) as BotIdentity;
  }

  async #ask(store: Store, signal: AbortSignal | undefined): Promise<BotIdentity | undefined> {
    this.#askedAt = performance.now();
    const identity = await this.api.identity({ signal });
    if (identity === undefined) return this.#identity;
    const isKnown = JSON.stringify(identity) === JSON.stringify(this.#identity);
    this.#identity = identity;
    this.#identifiedAt = performance.now();
    if (!isKnown) await store.put(BOTS, this.#digest, JSON.stringify(identity));
    return identity;
  }
}

export interface WorkspaceAccount {
  /** The app; no secret, it stands in keys. */
  readonly name: string;
  readonly turns: BotTurns;
  readonly channels: ChannelNames;
}

export class WorkspaceAccounts {
  readonly #accounts = new Map<string, WorkspaceAccount>();
  readonly #bots = new ClientsByCredential<ChatWorkspaceTrigger, WorkspaceBot>(
    ({ config }) => [config.bot_token, config.api_root],
    ({ config }) => new WorkspaceBot(config.bot_token, config.api_root),
  );

  readonly of = ({ config }: ChatWorkspaceTrigger): WorkspaceAccount => {
    const name = appOf(config);
    const account = this.#accounts.get(name) ?? {
      name,
      turns: new BotTurns(),
      channels: new ChannelNames(),
    };
    this.#accounts.set(name, account);
    return account;
  };

  /** By its name. */
  readonly named = (name: string): WorkspaceAccount | undefined => this.#accounts.get(name);

  readonly botOf = (trigger: ChatWorkspaceTrigger): WorkspaceBot => {
    const bot = this.#bots.of(trigger);
    if (bot === undefined) throw new Error(`trigger ${trigger.name} has no bot_token`);
    return bot;
  };
}
