// Schema and checks of triggers for TeamChat (Microsoft Teams), a team chat. Its service sends activities
// (messages and other events) with a token that proves the sender.

import * as Type from 'typebox';
import { isLoopback } from '../../gateway-file/listen-addr.ts';
import { secret, text } from '../../text-schema.ts';
import { approval_allowed_users } from '../approval-rules.ts';
import { address, checkAddress } from '../fields/address.ts';
import { bots } from '../fields/chat-filters.ts';
import { warnOfTwoCredentials } from '../fields/one-credential.ts';
import { warnOfNames } from '../fields/platform-ids.ts';
import type { Filled } from '../fields/with-defaults.ts';
import { commandsInCommon, doListsOverlap } from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const ids = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 1000 });

/** Default of `openid_metadata_url`: describes the keys that sign the tokens of the service. */
export const teamChatMetadata = 'https://login.botframework.com/v1/.well-known/openidconfiguration';

const teamChatConfigSchema = Type.Object(
  {
    app_id: text("Id of the bot's registration."),
    app_password: secret("Secret of the bot's registration."),
    tenant_id: Type.Optional(
      Type.String({
        description: 'Tenant of a single-tenant bot; empty = multi-tenant.',
        pattern: '^[^\\0]*$',
        patternErrorMessage: 'text without a NUL character',
      }),
    ),
    allowed_tenants: ids('Ids of tenants to listen to; empty = all.'),
    allowed_channels: ids('Ids of conversations to listen to, including their threads; empty = all.'),
    approval_allowed_users,
    bots,
    reactions: Type.Enum(['ignore', 'allow'], {
      description: 'Handling of reactions to messages.',
      default: 'ignore',
    }),
    verify_tokens: Type.Boolean({
      description: 'Verify the token of each request; false is refused.',
      default: true,
    }),
    openid_metadata_url: address(
      "URL of the identity provider's metadata, which contains its keys.",
      teamChatMetadata,
    ),
    token_url: Type.Optional(
      Type.String({
        description:
          'Token endpoint. Default, and if empty: login.microsoftonline.com with tenant_id, or for multi-tenant bots.',
        pattern: '^(?:https?://[^\\s]+)?$',
        patternErrorMessage: 'an address that begins with https:// or http://',
      }),
    ),
    service_url_allow: ids(
      'Additional service hosts, with or without a port; http://HOST:PORT for an emulator on this machine.',
    ),
    path: webhookPath('Path of the webhook.', '/webhook/teamchat'),
  },
  { description: 'Team chat.' },
);

/** Config with defaults; tenant ids are in lower case. */
export type TeamChatConfig = Omit<Filled<Type.Static<typeof teamChatConfigSchema>>, 'token_url'> & {
  readonly token_url: string;
};

/** Replaces the tenant id in the token endpoint of multi-tenant bots. */
const MANY_TENANTS = 'botframework.com';
/** Host of the vendor's token endpoints. */
const PROVIDER = 'login.microsoftonline.com';
/** National clouds of the vendor, whose tokens have another issuer and scope. */
const OTHER_CLOUDS = /(?:^|\.)(?:azure|microsoft|microsoftonline|botframework)\.(?:us|cn)$/i;
const OTHER_CLOUD = 'belongs to a government cloud or the China cloud, which are not supported';
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;

/** Form of a tenant id. It excludes domains, which are often mistaken for an id. */
const TENANT = {
  pattern: /^[^.@\s]+$/,
  description: 'a tenant, such as 72f988bf-86f1-41af-91ab-2d7cd011db47',
};

export const teamChatType: TriggerType<TeamChatConfig> = {
  config: teamChatConfigSchema,
  isChat: true,
  // Without `welcome` in the trigger file, a new conversation gets the list of commands.
  welcome: 'always',
  // By default, the mention of a user in an answer does not notify the user.
  mentions: 'none',
  webhook: {},
  isAmbiguous: (a, b) =>
    a.config.app_id === b.config.app_id &&
    doChannelsOverlap(a, b) &&
    doListsOverlap(a.config.allowed_tenants, b.config.allowed_tenants, (one, other) => one === other) &&
    commandsInCommon(a, b).length > 0,
  checkAll(all) {
    warnOfTwoCredentials(all, 'app_password', ({ app_id }) => app_id);
  },
  complete(config, fields) {
    const { allowed_tenants, service_url_allow } = config;
    // `${VAR:-}` results in an empty text if the variable is unset.
    const tenant_id = config.tenant_id || undefined;
    const token_url = config.token_url || undefined;
    checkProvider(fields, 'openid_metadata_url', config.openid_metadata_url);
    checkProvider(fields, 'token_url', token_url);
    const urlTenant = tenantAt(token_url);
    if (tenant_id !== undefined && urlTenant !== undefined && urlTenant !== tenant_id.toLowerCase())
      fields.report(
        'token_url',
        'has another tenant than tenant_id and takes precedence; remove it',
        'warning',
      );
    if (!config.verify_tokens)
      fields.report('verify_tokens', 'must be true: without it, any client could send activities');
    for (const [index, item] of service_url_allow.entries()) {
      const fault = hostFault(item);
      if (fault !== undefined) fields.reportItem('service_url_allow', index, fault);
    }
    warnOfNames(fields, 'allowed_tenants', allowed_tenants, TENANT);
    const tenant = encodeURIComponent(tenant_id ?? MANY_TENANTS);
    return {
      ...config,
      tenant_id: tenant_id?.toLowerCase(),
      allowed_tenants: allowed_tenants.map((each) => each.toLowerCase()),
      token_url: token_url ?? `https://${PROVIDER}/${tenant}/oauth2/v2.0/token`,
      service_url_allow: service_url_allow.map((each) => each.toLowerCase()),
    };
  },
};

type Chats = TriggerOf<string, TeamChatConfig>;

/**
 * Returns true if a channel may match both triggers. A trigger with a list takes precedence over a trigger
 * without a list, so they do not overlap.
 */
function doChannelsOverlap(a: Chats, b: Chats): boolean {
  const as = a.config.allowed_channels;
  const bs = b.config.allowed_channels;
  if ((as.length === 0) !== (bs.length === 0)) return false;
  return doListsOverlap(as, bs, (one, other) => one === other);
}

/** Reports http URLs, because a forged identity provider could grant access or collect the secret. */
function checkProvider(fields: Fields, key: string, text: string | undefined): void {
  checkAddress(fields, key, text);
  if (text === undefined || !URL.canParse(text)) return;
  const { protocol, hostname } = new URL(text);
  if (protocol === 'http:' && !isLoopback(hostname))
    fields.report(key, 'must be https, except on this machine');
  if (OTHER_CLOUDS.test(hostname)) fields.report(key, OTHER_CLOUD);
}

/** Returns the tenant in a token endpoint of the vendor; undefined for other URLs. */
function tenantAt(tokenUrl: string | undefined): string | undefined {
  if (tokenUrl === undefined || !URL.canParse(tokenUrl)) return undefined;
  const { hostname, pathname } = new URL(tokenUrl);
  return hostname === PROVIDER ? pathname.split('/')[1]?.toLowerCase() : undefined;
}

function hostFault(item: string): string | undefined {
  // Only an emulator on this machine may use http.
  const [, local] = /^http:\/\/([^/]*)$/i.exec(item) ?? [];
  if (!HOST.test(local ?? item) || !URL.canParse(`https://${local ?? item}`))
    return 'is not a host such as chat.example.com or chat.example.com:8443';
  if (local === undefined)
    return OTHER_CLOUDS.test(new URL(`https://${item}`).hostname) ? OTHER_CLOUD : undefined;
  return isLoopback(new URL(`http://${local}`).hostname)
    ? undefined
    : 'must be https, except on this machine';
}
