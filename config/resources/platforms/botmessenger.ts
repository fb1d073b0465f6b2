// Schema and checks of triggers for BotMessenger (Telegram), a messenger with bots and a command menu. The
// gateway polls for messages, or receives them by a webhook.

import * as Type from 'typebox';
import { isLoopback } from '../../gateway-file/listen-addr.ts';
import { secret } from '../../text-schema.ts';
import { approval_allowed_users } from '../approval-rules.ts';
import { address, checkAddress } from '../fields/address.ts';
import { botMenu, checkBots } from '../fields/bot-checks.ts';
import { bots, patterns, users } from '../fields/chat-filters.ts';
import type { Filled } from '../fields/with-defaults.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const botMessengerConfigSchema = Type.Object(
  {
    bot_token: secret('Token of the bot.'),
    chat_ids: Type.Array(
      Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
      {
        description: 'Ids of chats to listen to, negative for groups; empty = all.',
        default: [],
        maxItems: 1000,
      },
    ),
    users: { ...users, description: 'Ids or names of users to respond to; empty or * = all.' },
    patterns,
    bots,
    approval_allowed_users,
    mode: Type.Enum(['polling', 'webhook'], {
      description: 'Source of messages: polling or a webhook.',
      default: 'polling',
    }),
    secret_token: Type.Optional(
      Type.String({
        description: 'Secret for verifying webhook requests.',
        pattern: '^[A-Za-z0-9_-]{1,256}$',
        patternErrorMessage: '1 to 256 of A-Z a-z 0-9 _ -',
        writeOnly: true,
      }),
    ),
    webhook_url: Type.Optional(
      address(
        'Public https URL of the webhook, registered with the platform at startup. Without it, register the webhook manually.',
      ),
    ),
    path: webhookPath('Path of the webhook.', '/webhook/botmessenger'),
    api_root: address('Base URL of the API, before /bot.', 'https://api.telegram.org'),
  },
  { description: 'Messenger with bots.' },
);

export type BotMessengerConfig = Filled<Type.Static<typeof botMessengerConfigSchema>>;

/** Format of a bot's token. */
const token = /^[0-9]{1,20}:[A-Za-z0-9_-]{3,256}$/;
/** Command format of the platform's menu. */
const menuCommand = /^\/?[a-z0-9_]{1,32}$/;

export const botMessengerType: TriggerType<BotMessengerConfig> = {
  config: botMessengerConfigSchema,
  menu: botMenu,
  // By default, the mention of a user in an answer notifies the user.
  mentions: 'allow',
  // Without `welcome` in the trigger file, there is no message to new conversations.
  welcome: 'if-written',
  webhook: { isUsed: ({ mode }) => mode === 'webhook' },
  isChat: true,
  checkAll: checkBots,
  describeSource: ({ config }, url) => ({
    text: config.mode === 'webhook' ? `POST ${url}${config.path}` : 'polls for messages',
  }),
  complete(config, fields) {
    checkAddress(fields, 'api_root', config.api_root);
    checkAddress(fields, 'webhook_url', config.webhook_url);
    // The schema reports a missing token.
    if (config.bot_token && !token.test(config.bot_token))
      fields.report('bot_token', 'does not look like a token: a number, a colon and a secret', 'warning');
    if (config.mode === 'webhook') checkWebhook(config, fields);
    else if (fields.has('webhook_url'))
      fields.reportKey('webhook_url', 'has no effect without mode: webhook', 'warning');
    return { ...config, api_root: config.api_root.replace(/\/+$/, '') };
  },
  commandFault(command) {
    return menuCommand.test(command)
      ? undefined
      : "the platform's menu allows only commands of 1 to 32 characters a-z 0-9 _";
  },
};

function checkWebhook({ webhook_url }: BotMessengerConfig, fields: Fields): void {
  if (!fields.has('secret_token')) fields.report('mode', 'webhook needs a secret_token');
  if (webhook_url === undefined || !URL.canParse(webhook_url)) return;
  const { protocol, hostname } = new URL(webhook_url);
  if (protocol !== 'https:' && !isLoopback(hostname))
    fields.report('webhook_url', 'must begin with https://, which the platform requires');
}
