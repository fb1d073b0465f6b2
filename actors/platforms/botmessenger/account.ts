// What is known of one bot in this process, shared by its triggers and kept over reloads: what it is called, its chats, its
// menu. What an earlier process knew is in the store.

import { createHash } from 'node:crypto';
import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import { WeakValues } from '../../base/bounds/weak-values.ts';
import type { AdapterServices } from '../adapter.ts';
import { BotTurns } from '../chats/bot-turns.ts';
import { type Remark, Remarks } from '../remarks.ts';
import { BotApi, type BotCredential, type BotIdentity } from './api.ts';
import { FormerChats } from './former-chats.ts';
import { menuOf } from './menu.ts';
import type { Migration } from './update.ts';

/** So old may the bot's name be when it is connected anew. */
const NAME_KEPT_MS = 600_000;
const PUBLIC_ORIGIN = 'https://api.telegram.org';
const NAMES = 'botmessenger-names';
const MENUS = 'botmessenger-menus';
const NO_MENU = '[]';
/** More than the platform takes answers to at a time. */
const MAX_ANSWERED = 1_000;

export class BotAccount {
  /** No secret; it stands in keys. */
  readonly name: string;
  readonly #id: string;
  readonly #services: Pick<AdapterServices, 'store' | 'log'>;
  readonly chats: FormerChats;
  readonly turns = new BotTurns();
  /** When the failure of the webhook was that was told last, epoch ms. */
  failureToldAt = 0;
  readonly #remarks = new Remarks();
  /** Presses that need no answer any more. */
  readonly #answered = new Set<string>();
  #username: string | undefined;
  #namedAt: number | undefined;
  /** As this process has had it shown. */
  #menu: string | undefined;
  /** An earlier process had one shown. */
  #hadMenu = false;
  #loading: Promise<void> | undefined;

  constructor(name: string, id: string, services: Pick<AdapterServices, 'store' | 'log'>) {
    this.name = name;
    this.#id = id;
    this.#services = services;
    this.chats = new FormerChats(name, services.store);
  }

  /** Its name is undefined until the platform, or the store, has said it. */
  get identity(): BotIdentity {
    return { account: this.name, id: this.#id, username: this.#username };
  }

  /** For an operator, the newest first. */
  get remarks(): readonly Remark[] {
    return this.#remarks.of(this.name);
  }

  remark(text: string, at?: number): void {
    this.#remarks.add(this.name, text, at);
  }

  noteAnswered(query: string): void {
    this.#answered.add(query);
    forgetOldest(this.#answered, MAX_ANSWERED);
  }

  readonly isAnswered = (query: string): boolean => this.#answered.has(query);

  /** What an earlier process knew. */
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

  /** Asks the platform what the bot is called, unless it has just said it. Rejects as the call does. */
  async identify(api: BotApi, signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (this.#namedAt !== undefined && now - this.#namedAt < NAME_KEPT_MS) return;
    const username = await api.username({ signal });
    this.#namedAt = now;
    if (username === undefined || username === this.#username) return;
    this.#username = username;
    await this.#services.store.put(NAMES, this.name, username);
  }

  /**
   * Has the platform show the commands of the triggers, unless this process has had it show them: whatever an earlier one
   * did, somebody may have changed the menu since. Rejects as the call does.
   */
  async showMenu(api: BotApi, triggers: readonly BotMessengerTrigger[], signal: AbortSignal): Promise<void> {
    const { store } = this.#services;
    const commands = menuOf(triggers);
    const menu = JSON.stringify(commands);
    const isUnused = commands.length === 0 && this.#menu === undefined && !this.#hadMenu;
    // A menu that was made elsewhere is left alone by a bot without commands.
    if (menu === this.#menu || isUnused) return;
    // Noted before it can be shown, and until it surely is not any more: a process that ends meanwhile must not leave a menu
    // that later ones take for somebody else's.
    if (commands.length > 0) await store.put(MENUS, this.name, menu);
    await api.call('setMyCommands', { commands }, { signal });
    this.#menu = menu;
    if (commands.length === 0) await store.put(MENUS, this.name, menu);
  }

  async noteMigration({ from, to }: Migration, triggers: readonly BotMessengerTrigger[]): Promise<void> {
    if (!(await this.chats.note({ from, to }))) return;
    const named = triggers.filter(({ config }) => config.chat_ids.includes(Number(from)));
    this.#services.log.warn(
      { bot: this.name, from, to, triggers: named.map(({ name }) => name) },
      named.length === 0
        ? 'a group has become a supergroup and has another id now; its conversation goes on'
        : 'a group has become a supergroup and has another id now; it is still taken for the old one, but write the new one into chat_ids',
    );
  }
}

/** An account lives as long as a trigger of its bot, and over a reload, which exchanges that trigger for another. */
export class BotAccounts {
  readonly #services: Pick<AdapterServices, 'store' | 'log'>;
  readonly #accounts = new WeakValues<BotAccount>();
  readonly #ofTrigger = new WeakMap<BotMessengerTrigger, BotAccount>();
  readonly #apis = new WeakMap<BotMessengerTrigger, BotApi>();

  constructor(services: Pick<AdapterServices, 'store' | 'log'>) {
    this.#services = services;
  }

  readonly of = (trigger: BotMessengerTrigger): BotAccount => {
    const before = this.#ofTrigger.get(trigger);
    if (before !== undefined) return before;
    const name = accountNameOf(trigger.config);
    const account = this.#accounts.of(
      name,
      () => new BotAccount(name, botIdOf(trigger.config), this.#services),
    );
    this.#ofTrigger.set(trigger, account);
    return account;
  };

  readonly apiOf = (trigger: BotMessengerTrigger): BotApi => {
    const api = this.#apis.get(trigger) ?? new BotApi(trigger.config);
    this.#apis.set(trigger, api);
    return api;
  };
}

/** The bot's id; at another installation than the platform's own the ids are that one's, too. */
function accountNameOf(config: BotCredential): string {
  const { origin, host } = new URL(config.api_root);
  const id = botIdOf(config);
  return origin === PUBLIC_ORIGIN ? id : `${id}@${host}`;
}

/** What stands before the colon. Of a text that is no token, and will be refused, nothing must show. */
function botIdOf({ bot_token }: Pick<BotCredential, 'bot_token'>): string {
  const id = /^(\d+):/.exec(bot_token)?.[1];
  return id ?? createHash('sha256').update(bot_token).digest('hex').slice(0, 16);
}
