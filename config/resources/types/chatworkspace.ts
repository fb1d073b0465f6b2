// What a trigger of type ChatWorkspace may say in spec.config: a workspace chat, over a socket or by signed requests.

import * as Type from 'typebox';
import { secret } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import { channels, patterns, users } from '../fields/chat-filters.ts';
import type { Filled } from '../fields/filled.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const chatWorkspaceConfigSchema = Type.Object(
  {
    bot_token: secret('Token of the bot.'),
    app_token: Type.Optional(secret('App-level token, for the connection by socket.')),
    signing_secret: Type.Optional(secret('Secret of the signature, for events by HTTP.')),
    mode: Type.Optional(
      Type.Enum(['socket', 'http'], {
        description: 'How events come. Default: socket with an app_token, http with a signing_secret alone.',
      }),
    ),
    channels,
    users,
    events: Type.Array(Type.Enum(['app_mention', 'message']), {
      description: 'Events to handle; none = all.',
      default: [],
    }),
    patterns,
    api_root: Type.Optional(address('Base of the API.')),
    path: webhookPath('Path of the webhook, under mode http.', '/webhook/chatworkspace'),
  },
  { description: 'A workspace chat.' },
);

type ChatWorkspaceConfig = Filled<Type.Static<typeof chatWorkspaceConfigSchema>>;

export const chatWorkspaceType: TriggerType<ChatWorkspaceConfig, false> = {
  config: chatWorkspaceConfigSchema,
  isBuilt: false,
  mentions: 'none',
  webhook: {
    isUsed: ({ mode, app_token }) => (mode ?? (app_token === undefined ? 'http' : 'socket')) === 'http',
  },
  isChat: true,
  complete(config, fields) {
    checkAddress(fields, 'api_root', config.api_root);
    if (config.mode === 'socket' && !fields.has('app_token'))
      fields.report('mode', 'socket needs an app_token');
    if (config.mode === 'http' && !fields.has('signing_secret'))
      fields.report('mode', 'http needs a signing_secret');
    return config;
  },
};
