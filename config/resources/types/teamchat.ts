// What a trigger of type TeamChat may say in spec.config: a team chat whose service sends activities with a token.

import * as Type from 'typebox';
import { secret, text } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import type { Filled } from '../fields/filled.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const ids = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 1000 });

const teamChatConfigSchema = Type.Object(
  {
    app_id: text("Id of the bot's registration."),
    app_password: secret("Secret of the bot's registration."),
    tenant_id: Type.Optional(text('Tenant of a bot that belongs to one only.')),
    allowed_tenants: ids('Tenants to listen to; none = all.'),
    allowed_channels: ids('Conversations to listen to; none = all.'),
    approval_allowed_users: ids('Users who may approve.'),
    verify_tokens: Type.Boolean({
      description: 'Check the token of each request; false is not accepted.',
      default: true,
    }),
    openid_metadata_url: Type.Optional(address("Address of the identity provider's metadata.")),
    token_url: Type.Optional(address('Address that gives tokens.')),
    service_url_allow: ids('Hosts of services beyond the known ones.'),
    path: webhookPath('Path of the webhook.', '/webhook/teamchat'),
  },
  { description: 'A team chat.' },
);

type TeamChatConfig = Filled<Type.Static<typeof teamChatConfigSchema>>;

export const teamChatType: TriggerType<TeamChatConfig, false> = {
  config: teamChatConfigSchema,
  isBuilt: false,
  mentions: 'none',
  webhook: {},
  isChat: true,
  complete(config, fields) {
    checkAddress(fields, 'openid_metadata_url', config.openid_metadata_url);
    checkAddress(fields, 'token_url', config.token_url);
    if (!config.verify_tokens)
      fields.report('verify_tokens', 'must be true: without the token anybody could send activities');
    return config;
  },
};
