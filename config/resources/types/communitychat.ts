// What a trigger of type CommunityChat may say in spec.config: a community chat with signed interactions.

import * as Type from 'typebox';
import { seconds } from '../../duration-schema.ts';
import { secret, text } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import { channels } from '../fields/chat-filters.ts';
import type { Filled } from '../fields/filled.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const ids = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 1000 });

const communityChatConfigSchema = Type.Object(
  {
    bot_token: secret('Token of the bot.'),
    application_id: text('Id of the application.'),
    public_key: Type.String({
      description: 'Public key of the application (Ed25519).',
      pattern: '^[0-9A-Fa-f]{64}$',
      patternErrorMessage: '64 hexadecimal characters',
    }),
    app_secret: Type.Optional(secret('Secret of the application.')),
    guild_ids: ids('Servers to listen to; none = all.'),
    allowed_roles: ids('Ids of roles that may run commands; none = all.'),
    channels,
    api_root: Type.Optional(address('Base of the API.')),
    max_skew_seconds: seconds('How far the signed time may be off.', 300),
    path: webhookPath('Path of the webhook.', '/webhook/communitychat'),
  },
  { description: 'A community chat.' },
);

type CommunityChatConfig = Filled<Type.Static<typeof communityChatConfigSchema>>;

export const communityChatType: TriggerType<CommunityChatConfig, false> = {
  config: communityChatConfigSchema,
  isBuilt: false,
  mentions: 'none',
  webhook: {},
  isChat: true,
  complete(config, fields) {
    checkAddress(fields, 'api_root', config.api_root);
    return config;
  },
};
