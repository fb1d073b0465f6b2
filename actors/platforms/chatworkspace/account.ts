// In-memory state of the app, which is this platform's account. Shared by the app's triggers and kept across
// reloads.

import { appOf } from '../../../config/resources/fields/workspace-app.ts';
import type { ChatWorkspaceTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { Log } from '../../base/errors/log.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import type { AdapterServices } from '../adapter.ts';
import { BotMessageLimit } from '../chats/message-limit.ts';
import { AppBots } from './app-bots.ts';
import { WorkspaceBot } from './bot.ts';
import { ChannelNames } from './channel-names.ts';

export interface WorkspaceAccount {
  /** App id. Used in keys; contains no secret. */
  readonly name: string;
  readonly messageLimit: BotMessageLimit;
  readonly channels: ChannelNames;
  readonly bots: AppBots;
}

export class WorkspaceAccounts {
  readonly #accounts = new Map<string, WorkspaceAccount>();
  readonly #log: Log;
  /** Returns the trigger's bot. */
  readonly botOf: (trigger: ChatWorkspaceTrigger) => WorkspaceBot;
  /** Returns a digest that identifies the trigger's bot. */
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
      messageLimit: new BotMessageLimit(),
      channels: new ChannelNames(this.#log),
      bots: new AppBots(this.botOf),
    };
    this.#accounts.set(name, account);
    return account;
  };

  readonly find = (name: string): WorkspaceAccount | undefined => this.#accounts.get(name);
}
