// In-memory state of the bot, which is this platform's account: name, migrated chats and menu. Shared by the
// bot's triggers and kept across reloads. Some of it is also in the store, for the next process.

import { createHash } from 'node:crypto';
import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import { WeakValues } from '../../base/bounds/weak-values.ts';
import type { AdapterServices } from '../adapter.ts';
import { BotMessageLimit } from '../chats/message-limit.ts';
import { type Diagnostic, Diagnostics } from '../diagnostics.ts';
import { BotApi, type BotCredential, type BotIdentity } from './api.ts';
import { menuOf } from './menu.ts';
import { MigratedChats } from './migrated-chats.ts';
import { RecentAlbums } from './recent-albums.ts';
import type { GroupMigration } from './update.ts';

/** Maximum age of the bot's name when it reconnects, in milliseconds. */
const NAME_MAX_AGE_MS = 600_000;
const PUBLIC_ORIGIN = 'https://api.telegram.org';
/** Store collections: user names and menus by account. */
const NAMES = 'botmessenger-names';
const MENUS = 'botmessenger-menus';
const NO_MENU = '[]';
/** Number of answered presses to remember. The platform no longer accepts answers to older presses. */
const MAX_ANSWERED = 1_000;

export class BotAccount {
  /** Bot id, with the host for private installations. Used in keys; contains no secret. */
  readonly name: string;
  readonly #id: string;
  readonly #services: Pick<AdapterServices, 'store' | 'log'>;
  readonly chats: MigratedChats;
  readonly messageLimit = new BotMessageLimit();
  readonly albums = new RecentAlbums();
  /** Last reported webhook failure, in epoch milliseconds. */
  reportedFailureAt = 0;
  readonly #diagnostics = new Diagnostics();
  /** Query ids of button presses that were answered. */
  readonly #answered = new Set<string>();
  #username: string | undefined;
  #identifiedAt: number | undefined;
  /** Menu that this process has set, as JSON. */
  #menu: string | undefined;
  /** True if an earlier process set a menu. */
  #hadMenu = false;
  #loading: Promise<void> | undefined;

  constructor(name: string, id: string, services: Pick<AdapterServices, 'store' | 'log'>) {
    this.name = name;
    this.#id = id;
    this.#services = services;
    this.chats = new MigratedChats(name, services.store);
  }

  /** Identity of the bot. The user name is undefined until the store or the platform has returned it. */
  get identity(): BotIdentity {
    return { account: this.name, id: this.#id, username: this.#username };
  }

  /** Diagnostics for operators, newest first. */
  get diagnostics(): readonly Diagnostic[] {
    return this.#diagnostics.of(this.name);
  }

  addDiagnostic(text: string, at?: number): void {
    this.#diagnostics.add(this.name, text, at);
  }

  noteAnswered(query: string): void {
    this.#answered.add(query);
    deleteOldest(this.#answered, MAX_ANSWERED);
  }

  readonly isAnswered = (query: string): boolean => this.#answered.has(query);

  /** Loads the state of the previous process. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #load(): Promise<void> {
    const { store } = this.#services;
    await this.chats.load();
    this.#username ??= (await store.get(NAMES, this.name))?.value;
    const menu = (await store.get(MENUS, this.name))?.value;
    this.#hadMenu = menu !== undefined && menu !== NO_MENU;
  }

  /** Requests the bot's name from the platform, unless it is recent. Rejects if the request fails. */
  async identify(api: BotApi, signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (this.#identifiedAt !== undefined && now - this.#identifiedAt < NAME_MAX_AGE_MS) return;
    const username = await api.username({ signal });
    this.#identifiedAt = now;
    if (username === undefined || username === this.#username) return;
    this.#username = username;
    await this.#services.store.put(NAMES, this.name, username);
  }

  /**
   * Sets the platform's menu to the commands of the triggers, unless this process has set the same menu
   * already. A menu from an earlier process is set again, because others can change it. Rejects if the
   * request fails.
   */
  async showMenu(api: BotApi, triggers: readonly BotMessengerTrigger[], signal: AbortSignal): Promise<void> {
    const { store } = this.#services;
    const commands = menuOf(triggers);
    const menu = JSON.stringify(commands);
    const isUnused = commands.length === 0 && this.#menu === undefined && !this.#hadMenu;
    // If the bot has no commands, a menu that another program has set stays.
    if (menu === this.#menu || isUnused) return;
    // Stored before the request: otherwise, after crashes, the next process would not recognise the menu as
    // the gateway's.
    if (commands.length > 0) await store.put(MENUS, this.name, menu);
    await api.call('setMyCommands', { commands }, { signal });
    this.#menu = menu;
    if (commands.length === 0) await store.put(MENUS, this.name, menu);
  }

  /** Stores a migration, and logs it once with the triggers that use the old id. */
  async noteMigration({ from, to }: GroupMigration, triggers: readonly BotMessengerTrigger[]): Promise<void> {
    if (!(await this.chats.note({ from, to }))) return;
    const affectedTriggers = triggers.filter(({ config }) => config.chat_ids.includes(Number(from)));
    this.#services.log.warn(
      { bot: this.name, from, to, triggers: affectedTriggers.map(({ name }) => name) },
      affectedTriggers.length === 0
        ? 'a group became a supergroup and has a new id; its conversation continues'
        : 'a group became a supergroup and has a new id; the old id in chat_ids still matches, but replace it with the new one',
    );
  }
}

/**
 * Bot accounts. An account exists as long as a trigger uses the bot; a reload replaces the trigger, not the
 * account.
 */
export class BotAccounts {
  readonly #services: Pick<AdapterServices, 'store' | 'log'>;
  readonly #accounts = new WeakValues<BotAccount>();
  readonly #byTrigger = new WeakMap<BotMessengerTrigger, BotAccount>();
  readonly #apis = new WeakMap<BotMessengerTrigger, BotApi>();

  constructor(services: Pick<AdapterServices, 'store' | 'log'>) {
    this.#services = services;
  }

  readonly of = (trigger: BotMessengerTrigger): BotAccount => {
    const existing = this.#byTrigger.get(trigger);
    if (existing !== undefined) return existing;
    const name = accountNameOf(trigger.config);
    const account = this.#accounts.getOrCreate(
      name,
      () => new BotAccount(name, botIdOf(trigger.config), this.#services),
    );
    this.#byTrigger.set(trigger, account);
    return account;
  };

  readonly apiOf = (trigger: BotMessengerTrigger): BotApi => {
    const api = this.#apis.get(trigger) ?? new BotApi(trigger.config);
    this.#apis.set(trigger, api);
    return api;
  };
}

/**
 * Returns the account name: the bot id, with the host for private installations, whose bot ids are separate.
 */
function accountNameOf(config: BotCredential): string {
  const { origin, host } = new URL(config.api_root);
  const id = botIdOf(config);
  return origin === PUBLIC_ORIGIN ? id : `${id}@${host}`;
}

/** Returns the part of the token before the colon. An invalid token is hashed, because it may be a secret. */
function botIdOf({ bot_token }: Pick<BotCredential, 'bot_token'>): string {
  const id = /^(\d+):/.exec(bot_token)?.[1];
  return id ?? createHash('sha256').update(bot_token).digest('hex').slice(0, 16);
}
