// What is known of an app in this process: shared by its triggers and kept over reloads.

import { appOf } from '../../../config/resources/fields/workspace-app.ts';
import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Log } from '../../base/errors/log.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import type { AdapterServices } from '../adapter.ts';
import { BotTurns } from '../chats/bot-turns.ts';
import { AppBots } from './app-bots.ts';
import { WorkspaceBot } from './bot.ts';
import { ChannelNames } from './channel-names.ts';

export interface WorkspaceAccount {
  /** The app; no secret, it stands in keys. */
  readonly name: string;
  readonly turns: BotTurns;
  readonly channels: ChannelNames;
  readonly bots: AppBots;
}

export class WorkspaceAccounts {
  readonly #accounts = new Map<string, WorkspaceAccount>();
  readonly #log: Log;
  /** Returns the bot of a trigger. */
  readonly botOf: (trigger: ChatWorkspaceTrigger) => WorkspaceBot;
  /** Returns a digest that identifies the bot of a trigger. */
  readonly digestOf: (trigger: ChatWorkspaceTrigger) => string | undefined;

  constructor({ store, log }: Pick<AdapterServices, 'store' | 'log'>) {
    this.#log = log;
    const bots = new ClientsByCredential<ChatWorkspaceTrigger, WorkspaceBot>(
      ({ config }) => [config.bot_token, config.api_root],
      ({ config }) => new WorkspaceBot(config.bot_token, config.api_root, store),
    );
    this.botOf = bots.required;
    this.digestOf = bots.digestOf;
  }

  readonly of = ({ config }: ChatWorkspaceTrigger): WorkspaceAccount => {
    const name = appOf(config);
    const account = this.#accounts.get(name) ?? {
      name,
      turns: new BotTurns(),
      channels: new ChannelNames(this.#log),
      bots: new AppBots(this.botOf),
    };
    this.#accounts.set(name, account);
    return account;
  };

  /** By its name. */
  readonly named = (name: string): WorkspaceAccount | undefined => this.#accounts.get(name);
}
