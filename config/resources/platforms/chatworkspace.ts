// Schema and checks of triggers for ChatWorkspace (Slack), a workspace chat. It sends events through a socket
// of the gateway, or as signed requests.

import * as Type from 'typebox';
import { secret } from '../../text-schema.ts';
import { approval_allowed_users } from '../approval-rules.ts';
import { address, checkAddress } from '../fields/address.ts';
import { bots, channels, patterns, users } from '../fields/chat-filters.ts';
import { warnOfNames } from '../fields/platform-ids.ts';
import type { Filled } from '../fields/with-defaults.ts';
import { appInToken, appOf, checkApps } from '../fields/workspace-app.ts';
import { commandsInCommon, doListsOverlap } from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const chatWorkspaceConfigSchema = Type.Object(
  {
    bot_token: secret('Token of the bot (xoxb-…).'),
    app_token: Type.Optional(secret('App-level token (xapp-…), for mode socket.')),
    signing_secret: Type.Optional(secret('Secret for the signature, for mode http.')),
    app_id: Type.Optional(
      Type.String({
        description:
          'Id of the app (A…). Default: from the app_token, otherwise a hash of the token or secret.',
        pattern: '^[A-Z0-9]{1,32}$',
        patternErrorMessage: 'an id such as A0123ABCDEF',
      }),
    ),
    mode: Type.Optional(
      Type.Enum(['socket', 'http'], {
        description: 'Source of events. Default: socket with an app_token, otherwise http.',
      }),
    ),
    channels,
    users,
    events: Type.Array(Type.Enum(['app_mention', 'message']), {
      description: 'Messages to handle: only mentions of the bot, or all messages; empty = all.',
      default: [],
    }),
    patterns,
    bots,
    approval_allowed_users,
    path: webhookPath('Path of the webhook, under mode http.', '/webhook/chatworkspace'),
    api_root: address('Base URL of the API, before the method.', 'https://slack.com/api'),
  },
  { description: 'Workspace chat.' },
);

type FilledConfig = Filled<Type.Static<typeof chatWorkspaceConfigSchema>>;

/**
 * Config with defaults. `mode` is set, also if the file has none: `socket` means that the gateway opens a
 * connection for events, `http` that the platform sends them as signed requests.
 */
export type ChatWorkspaceConfig = Omit<FilledConfig, 'mode'> & { readonly mode: 'socket' | 'http' };

/** Format of slash commands on the platform. */
const slashCommand = /^\/[\p{Ll}\p{Lo}\p{N}_-]{1,32}$/u;
/** User or bot id, or `*` for all. */
const USER = /^(?:\*|[A-Z][A-Z0-9]*)$/;
const withoutHash = (channel: string) => channel.replace(/^#/, '');

type Workspace = TriggerOf<string, ChatWorkspaceConfig>;

export const chatWorkspaceType: TriggerType<ChatWorkspaceConfig> = {
  config: chatWorkspaceConfigSchema,
  isChat: true,
  // Without `welcome` in the trigger file, there is no message to new conversations.
  welcome: 'if-written',
  // By default, the mention of a user in an answer does not notify the user.
  mentions: 'none',
  webhook: { isUsed: ({ mode }) => mode === 'http' },
  isAmbiguous: doMessagesOverlap,
  checkAll: checkApps,
  describeSource: ({ config }, url) => ({
    text: config.mode === 'http' ? `POST ${url}${config.path}` : 'socket connection',
  }),
  complete(config, fields) {
    checkAddress(fields, 'api_root', config.api_root);
    checkTokens(config, fields);
    warnOfNames(fields, 'users', config.users, { pattern: USER, description: 'a user, such as U0123ABCDEF' });
    return {
      ...config,
      mode: modeOf(config, fields),
      api_root: config.api_root.replace(/\/+$/, ''),
    };
  },
  commandFault(command) {
    if (!command.startsWith('/') || slashCommand.test(command)) return undefined;
    return 'the platform allows only slash commands of 1 to 32 lower-case letters, digits, - and _';
  },
};

/** Returns the mode in the file, or else the mode for the secret in the file. Reports a missing secret. */
function modeOf({ mode }: Pick<Partial<FilledConfig>, 'mode'>, fields: Fields): 'socket' | 'http' {
  const byDefault = fields.has('app_token') ? 'socket' : 'http';
  if (mode === 'socket' && !fields.has('app_token')) fields.report('mode', 'socket needs an app_token');
  else if (mode === 'http' && !fields.has('signing_secret'))
    fields.report('mode', 'http needs a signing_secret');
  else if (byDefault === 'http' && !fields.has('signing_secret'))
    fields.report('', 'has no source of events: set an app_token (socket) or a signing_secret (http)');
  return mode ?? byDefault;
}

/** Warns of swapped tokens. Reports an app id that contradicts the app-level token. */
function checkTokens({ bot_token, app_token, app_id }: ChatWorkspaceConfig, fields: Fields): void {
  // The schema reports a missing token.
  if (bot_token && !bot_token.startsWith('xoxb-'))
    fields.report('bot_token', 'does not look like a bot token, which begins with xoxb-', 'warning');
  if (app_token && !app_token.startsWith('xapp-'))
    fields.report('app_token', 'does not look like an app-level token, which begins with xapp-', 'warning');
  const appOfToken = appInToken(app_token);
  if (app_id !== undefined && appOfToken !== undefined && appOfToken !== app_id)
    fields.report('app_id', `differs from the app of the app_token, which is ${appOfToken}`);
}

/**
 * Returns true if a command may match both triggers. A trigger with a filter takes precedence over a trigger
 * without this filter, so they do not overlap. A channel's name in one trigger and its id in another are not
 * recognised as the same channel, because the files do not contain the id of a name.
 */
function doMessagesOverlap(a: Workspace, b: Workspace): boolean {
  return (
    appOf(a.config) === appOf(b.config) &&
    a.config.bot_token === b.config.bot_token &&
    doListsOverlap(
      a.config.channels,
      b.config.channels,
      (one, other) => withoutHash(one) === withoutHash(other),
    ) &&
    doListsOverlap(a.config.users, b.config.users, (one, other) => one === other) &&
    a.config.channels.length > 0 === b.config.channels.length > 0 &&
    a.config.users.length > 0 === b.config.users.length > 0 &&
    commandsInCommon(a, b).length > 0
  );
}
