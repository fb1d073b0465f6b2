// What a trigger of type BotMessenger may say in spec.config: a messenger with bots and a menu of commands.

import * as Type from 'typebox';
import { secret } from '../../text-schema.ts';
import { address, checkAddress } from '../address.ts';
import { patterns, users } from '../chat-filters.ts';
import type { Filled } from '../filled.ts';
import type { TriggerType } from '../trigger-type.ts';
import { webhookPath } from '../webhook-path.ts';

const botMessengerConfigSchema = Type.Object(
  {
    bot_token: secret('Token of the bot.'),
    chat_ids: Type.Array(
      Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
      { description: 'Chats to listen to, negative for groups; none = all.', default: [], maxItems: 1000 },
    ),
    users,
    patterns,
    mode: Type.Enum(['polling', 'webhook'], {
      description: 'How messages come: they are asked for, or sent.',
      default: 'polling',
    }),
    secret_token: Type.Optional(
      Type.String({
        description: 'What proves requests under mode webhook.',
        pattern: '^[A-Za-z0-9_-]{1,256}$',
        patternErrorMessage: '1 to 256 of A-Z a-z 0-9 _ -',
        writeOnly: true,
      }),
    ),
    api_root: Type.Optional(address('Base of the API.')),
    path: webhookPath('Path of the webhook.', '/webhook/botmessenger'),
  },
  { description: 'A messenger with bots.' },
);

type BotMessengerConfig = Filled<Type.Static<typeof botMessengerConfigSchema>>;

/** As the platform's menu of commands takes them. */
const menuCommand = /^\/?[a-z0-9_]{1,32}$/;

export const botMessengerType: TriggerType<BotMessengerConfig> = {
  config: botMessengerConfigSchema,
  isBuilt: false,
  webhook: { isUsed: ({ mode }) => mode === 'webhook' },
  isChat: true,
  complete(config, fields) {
    checkAddress(fields, 'api_root', config.api_root);
    if (config.mode === 'webhook' && !fields.has('secret_token'))
      fields.report('mode', 'webhook needs a secret_token');
    return config;
  },
  commandFault(command) {
    return menuCommand.test(command)
      ? undefined
      : "the platform's menu takes commands of 1 to 32 of a-z 0-9 _ only";
  },
};
