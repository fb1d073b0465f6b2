// Adapter for triggers of type BotMessenger. Updates (messages, button presses and so on) are polled, or
// arrive at a webhook. All triggers with the same token share the connection (platforms/connections), the
// command menu and the message order.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import { openWithConnection } from '../accounts/webhook-and-connection.ts';
import type { Adapter, AdapterServices, OpenTrigger, TriggerHost } from '../adapter.ts';
import { headerVerifier } from '../webhooks/header-verifier.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { BotAccounts } from './account.ts';
import { botConnector } from './connector.ts';
import { deliveryErrorOf } from './errors.ts';
import { readBotEvent } from './event.ts';
import { BotInbox } from './inbox.ts';
import { menuOf } from './menu.ts';
import { botOutbound, botPacing } from './outbound.ts';
import { type BotSubscriber, botMessengerPath, SECRET } from './path.ts';

/**
 * Sets the menu, even if a running gateway has set another one; that gateway sets a menu only at start and
 * reload.
 */
async function registerMenu(
  triggers: readonly BotMessengerTrigger[],
  { apiOf }: BotAccounts,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const [first] = triggers;
  if (first === undefined) return [];
  const commands = menuOf(triggers);
  await apiOf(first)
    .call('setMyCommands', { commands }, { signal })
    .catch((error: unknown) => {
      throw deliveryErrorOf(error, 'the menu');
    });
  return commands.map(({ command }) => `/${command}`);
}

export function botMessengerAdapter(services: AdapterServices): Adapter<BotMessengerTrigger> {
  const accounts = new BotAccounts(services);
  const table = new WebhookTable<BotSubscriber>(botMessengerPath(services.maxBodyBytes));
  return {
    type: 'BotMessenger',
    account: (trigger) => accounts.of(trigger).name,
    async open(trigger: BotMessengerTrigger, host: TriggerHost): Promise<OpenTrigger> {
      const account = accounts.of(trigger);
      const api = accounts.apiOf(trigger);
      // Nodes that do not connect also need the state. If this load fails, a later event repeats it.
      void account.load().catch(() => {});
      const connector = botConnector({ trigger, account, api, host });
      const connectionUse = host.connections.use({ trigger, connector });
      if (trigger.config.mode === 'polling') return { close: () => connectionUse.release() };
      const inbox = new BotInbox(account, api, host);
      return openWithConnection(connectionUse, () => {
        const proof = { header: SECRET, secret: trigger.config.secret_token, field: 'secret_token' };
        const verifier = headerVerifier(proof);
        const subscriber = { trigger, host, methods: ['POST'], verifier, account, inbox };
        return table.add(subscriber, trigger.config.path);
      });
    },
    read: readBotEvent,
    accepts: ({ config }, { context }) => config.bots === 'allow' || context['chat.sender.is_bot'] !== true,
    filters: ({ config }) =>
      chatFilters({
        channels: config.chat_ids.map(String),
        users: config.users.map((user) => user.replace(/^@/, '').toLowerCase()),
        patterns: config.patterns,
      }),
    outbound: botOutbound({
      pacing: botPacing(),
      apiOf: accounts.apiOf,
      accountOf: (trigger) => accounts.of(trigger).name,
      currentIdOf: (trigger, chat) => accounts.of(trigger).chats.currentIdOf(chat),
      noteAnswered: (trigger, query) => accounts.of(trigger).noteAnswered(query),
      noteMigration: (trigger, migration) => accounts.of(trigger).noteMigration(migration, [trigger]),
    }),
    diagnostics: (trigger) => accounts.of(trigger).diagnostics,
    menu: menuOf,
    register: (triggers, { signal }) => registerMenu(triggers, accounts, signal),
  };
}
