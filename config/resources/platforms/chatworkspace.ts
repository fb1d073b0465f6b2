// What a trigger of type ChatWorkspace may say in spec.config: a workspace chat, over a socket or by signed requests.

import * as Type from 'typebox';
import { secret } from '../../text-schema.ts';
import { approval_allowed_users } from '../approval-rules.ts';
import { address, checkAddress } from '../fields/address.ts';
import { bots, channels, patterns, users } from '../fields/chat-filters.ts';
import type { Filled } from '../fields/filled.ts';
import { warnOfNames } from '../fields/platform-ids.ts';
import { appInToken, appOf, checkApps } from '../fields/workspace-app.ts';
import { commandsInCommon, doListsMeet } from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const chatWorkspaceConfigSchema = Type.Object(
  {
    bot_token: secret('Token of the bot (xoxb-…).'),
    app_token: Type.Optional(secret('App-level token (xapp-…), for the connection by socket.')),
    signing_secret: Type.Optional(secret('Secret of the signature, for events by HTTP.')),
    app_id: Type.Optional(
      Type.String({
        description:
          'Id of the app (A…). An app_token says it, too; without either the app has a name made of its token or secret.',
        pattern: '^[A-Z0-9]{1,32}$',
        patternErrorMessage: 'an id such as A0123ABCDEF',
      }),
    ),
    mode: Type.Optional(
      Type.Enum(['socket', 'http'], {
        description: 'How events come. Default: socket with an app_token, http with a signing_secret alone.',
      }),
    ),
    channels,
    users,
    events: Type.Array(Type.Enum(['app_mention', 'message']), {
      description: 'Messages to handle: those that mention the bot, or all; none = all.',
      default: [],
    }),
    patterns,
    bots,
    approval_allowed_users,
    path: webhookPath('Path of the webhook, under mode http.', '/webhook/chatworkspace'),
    api_root: address('Base of the API, before the method.', 'https://slack.com/api'),
  },
  { description: 'A workspace chat.' },
);

type Written = Filled<Type.Static<typeof chatWorkspaceConfigSchema>>;

/** Filled: its mode is known. */
export type ChatWorkspaceConfig = Omit<Written, 'mode'> & { readonly mode: 'socket' | 'http' };

/** As the platform takes the name of a slash command. */
const slashCommand = /^\/[\p{Ll}\p{Lo}\p{N}_-]{1,32}$/u;
/** Of people, bots among them, or everybody. */
const USER = /^(?:\*|[A-Z][A-Z0-9]*)$/;
const bare = (channel: string) => channel.replace(/^#/, '');

type Workspace = TriggerOf<string, ChatWorkspaceConfig>;

export const chatWorkspaceType: TriggerType<ChatWorkspaceConfig> = {
  config: chatWorkspaceConfigSchema,
  isChat: true,
  welcome: 'if-written',
  mentions: 'none',
  webhook: { isUsed: ({ mode }) => mode === 'http' },
  isAmbiguous: doMessagesMeet,
  checkAll: checkApps,
  wayIn: ({ config }, url) => ({
    text: config.mode === 'http' ? `POST ${url}${config.path}` : 'over a socket',
  }),
  complete(config, fields) {
    checkAddress(fields, 'api_root', config.api_root);
    checkTokens(config, fields);
    warnOfNames(fields, 'users', config.users, { pattern: USER, what: 'a user, such as U0123ABCDEF' });
    return {
      ...config,
      mode: modeOf(config, fields),
      api_root: config.api_root.replace(/\/+$/, ''),
    };
  },
  commandFault(command) {
    if (!command.startsWith('/') || slashCommand.test(command)) return undefined;
    return 'the platform takes slash commands of 1 to 32 small letters, digits, - and _ only';
  },
};

function modeOf({ mode }: Pick<Partial<Written>, 'mode'>, fields: Fields): 'socket' | 'http' {
  const byDefault = fields.has('app_token') ? 'socket' : 'http';
  if (mode === 'socket' && !fields.has('app_token')) fields.report('mode', 'socket needs an app_token');
  else if (mode === 'http' && !fields.has('signing_secret'))
    fields.report('mode', 'http needs a signing_secret');
  else if (byDefault === 'http' && !fields.has('signing_secret'))
    fields.report(
      '',
      'nothing brings events: give it an app_token (a socket), or a signing_secret (by HTTP)',
    );
  return mode ?? byDefault;
}

/** Tokens are easily taken for each other. */
function checkTokens({ bot_token, app_token, app_id }: ChatWorkspaceConfig, fields: Fields): void {
  // Where there is none, that is said already.
  if (bot_token && !bot_token.startsWith('xoxb-'))
    fields.report('bot_token', 'has not the form of a bot token, which begins with xoxb-', 'warning');
  if (app_token && !app_token.startsWith('xapp-'))
    fields.report('app_token', 'has not the form of an app-level token, which begins with xapp-', 'warning');
  const inToken = appInToken(app_token);
  if (app_id !== undefined && inToken !== undefined && inToken !== app_id)
    fields.report('app_id', `is another app than that of the app_token, which is ${inToken}`);
}

/** Names and ids of channels are not compared: what is a name here may be an id there. */
function doMessagesMeet(a: Workspace, b: Workspace): boolean {
  return (
    appOf(a.config) === appOf(b.config) &&
    a.config.bot_token === b.config.bot_token &&
    doListsMeet(a.config.channels, b.config.channels, (one, other) => bare(one) === bare(other)) &&
    doListsMeet(a.config.users, b.config.users, (one, other) => one === other) &&
    a.config.channels.length > 0 === b.config.channels.length > 0 &&
    a.config.users.length > 0 === b.config.users.length > 0 &&
    commandsInCommon(a, b).length > 0
  );
}
