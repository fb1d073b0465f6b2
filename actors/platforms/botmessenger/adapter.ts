// Triggers of type BotMessenger: a messenger whose bots are asked for their updates, or sent them. All triggers with one token
// share one connection (actors/platforms/connections), one menu of commands and one order of what comes.

import type { BotMessengerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { chatFilters } from '../../events/inbox/chat-filters.ts';
import { openBoth } from '../accounts/webhook-and-connection.ts';
import type { Adapter, AdapterServices, OpenTrigger, SourceHost } from '../adapter.ts';
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

/** Whatever a gateway that runs has shown: it shows that again only when it begins, or its files change. */
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
    async open(trigger: BotMessengerTrigger, host: SourceHost): Promise<OpenTrigger> {
      const account = accounts.of(trigger);
      const api = accounts.apiOf(trigger);
      // Where another node is connected nobody else asks for what is known of its chats.
      void account.load().catch(() => {});
      const connector = botConnector({ trigger, account, api, host });
      const used = host.connections.use({ trigger, connector });
      if (trigger.config.mode === 'polling') return { close: () => used.release() };
      const inbox = new BotInbox(account, api, host);
      return openBoth(used, () => {
        const proof = { header: SECRET, secret: trigger.config.secret_token, field: 'secret_token' };
        const verifier = headerVerifier(proof);
        const subscriber = { trigger, host, methods: ['POST'], verifier, account, inbox };
        return table.add(subscriber, trigger.config.path);
      });
    },
    read: readBotEvent,
    takes: ({ config }, { context }) => config.bots === 'allow' || context['chat.sender.is_bot'] !== true,
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
      presentIdOf: (trigger, chat) => accounts.of(trigger).chats.presentIdOf(chat),
      noteAnswered: (trigger, query) => accounts.of(trigger).noteAnswered(query),
      noteMigration: (trigger, migration) => accounts.of(trigger).noteMigration(migration, [trigger]),
    }),
    remarks: (trigger) => accounts.of(trigger).remarks,
    menu: menuOf,
    register: (triggers, { signal }) => registerMenu(triggers, accounts, signal),
  };
}
