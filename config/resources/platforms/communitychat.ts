// Schema and checks of triggers for CommunityChat (Discord), a community chat. It sends interactions (uses of
// commands and buttons) as signed requests.

import * as Type from 'typebox';
import { seconds } from '../../duration-schema.ts';
import { secret } from '../../text-schema.ts';
import { approval_allowed_users } from '../approval-rules.ts';
import { address, checkAddress } from '../fields/address.ts';
import { channels } from '../fields/chat-filters.ts';
import { chatMenu, checkMenus } from '../fields/chat-menus.ts';
import { ed25519KeyFault } from '../fields/ed25519-key.ts';
import { warnOfTwoCredentials } from '../fields/one-credential.ts';
import { warnOfNames } from '../fields/platform-ids.ts';
import type { Filled } from '../fields/with-defaults.ts';
import { commandsInCommon, doListsOverlap } from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const ids = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 1000 });

const communityChatConfigSchema = Type.Object(
  {
    bot_token: secret('Token of the bot.'),
    application_id: Type.String({
      description: 'Id of the application.',
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      patternErrorMessage: 'an id of digits',
    }),
    public_key: Type.String({
      description: 'Public key of the application (Ed25519).',
      pattern: '^[0-9A-Fa-f]{64}$',
      patternErrorMessage: '64 hexadecimal characters',
    }),
    app_secret: Type.Optional(secret('Secret of the application; not used.')),
    guild_ids: ids('Ids of servers to listen to; empty = all, including direct messages.'),
    allowed_roles: ids('Ids of roles that may run commands; empty = all.'),
    channels,
    approval_allowed_users,
    register: Type.Enum(['global', 'guilds', 'never'], {
      description:
        'Registration of the commands with the platform: global, on the servers in guild_ids, or never (registered elsewhere).',
      default: 'global',
    }),
    max_skew_seconds: seconds('Maximum difference to the signed time, in the past and in the future.', 300),
    path: webhookPath('Path of the webhook.', '/webhook/communitychat'),
    api_root: address('Base URL of the API, with its version.', 'https://discord.com/api/v10'),
  },
  { description: 'Community chat.' },
);

export type CommunityChatConfig = Filled<Type.Static<typeof communityChatConfigSchema>>;

/** Format of ids on the platform. */
const DIGITS = /^\d+$/;

/** Names of commands with common characters only; the platform allows others in some languages. */
const commandName = /^\/?[-_a-z0-9]{1,32}$/;

export const communityChatType: TriggerType<CommunityChatConfig> = {
  config: communityChatConfigSchema,
  menu: chatMenu,
  // By default, the mention of a user in an answer does not notify the user.
  mentions: 'none',
  webhook: {},
  isChat: true,
  isAmbiguous: doInteractionsOverlap,
  checkAll(all) {
    const accountOf = ({ application_id, api_root }: CommunityChatConfig) =>
      JSON.stringify([application_id, api_root]);
    warnOfTwoCredentials(all, 'bot_token', accountOf);
    warnOfTwoCredentials(all, 'public_key', accountOf);
    checkMenus(all);
  },
  complete(config, fields) {
    checkAddress(fields, 'api_root', config.api_root);
    // The schema reports a missing or malformed key.
    const { public_key = '' } = config as { readonly public_key?: string };
    const fault =
      fields.isFaulty('public_key') || public_key === '' ? undefined : ed25519KeyFault(public_key);
    // This is only a warning: a file may be checked before the key is known, and with an invalid key the
    // trigger accepts no event.
    if (fault !== undefined)
      fields.report(
        'public_key',
        `${fault}, so every interaction is refused; copy it again from the platform`,
        'warning',
      );
    if (config.register === 'guilds' && config.guild_ids.length === 0 && !fields.isFaulty('guild_ids'))
      fields.report('register', 'guilds needs guild_ids');
    warnOfNames(fields, 'guild_ids', config.guild_ids, {
      pattern: DIGITS,
      description: 'a server, which is a number',
    });
    warnOfNames(fields, 'allowed_roles', config.allowed_roles, {
      pattern: DIGITS,
      description: 'a role, which is a number',
    });
    const name =
      config.guild_ids.length === 0 ? config.channels.find((channel) => !isId(channel)) : undefined;
    if (name !== undefined && !fields.isFaulty('channels') && !fields.isFaulty('guild_ids'))
      fields.report(
        'channels',
        `${JSON.stringify(name)} may match channels on any server; add guild_ids, or use channel ids`,
        'warning',
      );
    return {
      ...config,
      public_key: public_key.toLowerCase(),
      api_root: config.api_root.replace(/\/+$/, ''),
    };
  },
  commandFault(command) {
    return commandName.test(command)
      ? undefined
      : 'the platform allows only commands of 1 to 32 characters a-z 0-9 - _';
  },
};

type Chat = TriggerOf<string, CommunityChatConfig>;

/**
 * Returns true if an interaction may match both triggers. Roles are not compared, because a user may have
 * roles of both triggers. A channel's name and an id may be the same channel. A trigger with channels takes
 * precedence over a trigger without channels, so they do not overlap.
 */
function doInteractionsOverlap(a: Chat, b: Chat): boolean {
  if (a.config.public_key !== b.config.public_key) return false;
  if (!doListsOverlap(a.config.guild_ids, b.config.guild_ids, (one, other) => one === other)) return false;
  if ((a.config.channels.length === 0) !== (b.config.channels.length === 0)) return false;
  return doListsOverlap(a.config.channels, b.config.channels, mayBeSame) && commandsInCommon(a, b).length > 0;
}

function mayBeSame(one: string, other: string): boolean {
  return withoutHash(one) === withoutHash(other) || isId(one) !== isId(other);
}

const withoutHash = (channel: string) => channel.replace(/^#/, '');
const isId = (channel: string) => DIGITS.test(channel);
