// What a trigger of type TeamChat may say in spec.config: a team chat whose service sends activities with a token.

import * as Type from 'typebox';
import { isLoopback } from '../../gateway-file/listen-addr.ts';
import { secret, text } from '../../text-schema.ts';
import { approval_allowed_users } from '../approval-rules.ts';
import { address, checkAddress } from '../fields/address.ts';
import { bots } from '../fields/chat-filters.ts';
import type { Filled } from '../fields/filled.ts';
import { warnOfTwoCredentials } from '../fields/one-credential.ts';
import { warnOfNames } from '../fields/platform-ids.ts';
import { commandsInCommon, doListsMeet } from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const ids = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { description, default: [], maxItems: 1000 });

/** Of the platform's connector. */
export const teamChatMetadata = 'https://login.botframework.com/v1/.well-known/openidconfiguration';

const teamChatConfigSchema = Type.Object(
  {
    app_id: text("Id of the bot's registration."),
    app_password: secret("Secret of the bot's registration."),
    tenant_id: Type.Optional(
      Type.String({
        description: 'Tenant of a bot that belongs to one only; empty = none.',
        pattern: '^[^\\0]*$',
        patternErrorMessage: 'text without a NUL character',
      }),
    ),
    allowed_tenants: ids('Tenants to listen to; none = all.'),
    allowed_channels: ids('Conversations to listen to, their threads included; none = all.'),
    approval_allowed_users,
    bots,
    reactions: Type.Enum(['ignore', 'allow'], {
      description: 'Whether reactions to messages are handed to the agent.',
      default: 'ignore',
    }),
    verify_tokens: Type.Boolean({
      description: 'Check the token of each request; false is not accepted.',
      default: true,
    }),
    openid_metadata_url: address(
      "Address of the identity provider's metadata, by which its keys are found.",
      teamChatMetadata,
    ),
    token_url: Type.Optional(
      Type.String({
        description:
          'Address that gives tokens. Without it, or empty, the one of tenant_id, or of bots that belong to several, at login.microsoftonline.com.',
        pattern: '^(?:https?://[^\\s]+)?$',
        patternErrorMessage: 'an address that begins with https:// or http://',
      }),
    ),
    service_url_allow: ids(
      'Hosts of services beyond the known ones, with a port or without; http://HOST:PORT for an emulator on this machine.',
    ),
    path: webhookPath('Path of the webhook.', '/webhook/teamchat'),
  },
  { description: 'A team chat.' },
);

/** Filled; ids of tenants are in small letters. */
export type TeamChatConfig = Omit<Filled<Type.Static<typeof teamChatConfigSchema>>, 'token_url'> & {
  readonly token_url: string;
};

/** Of bots that belong to several tenants. */
const MANY_TENANTS = 'botframework.com';
const PROVIDER = 'login.microsoftonline.com';
/** The vendor's clouds for governments and for China: issuer and scope of their tokens are others. */
const OTHER_CLOUDS = /(?:^|\.)(?:azure|microsoft|microsoftonline|botframework)\.(?:us|cn)$/i;
const OTHER_CLOUD = 'is of a cloud for governments, or for China: bots there are not supported';
const HOST = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;

/** Its domain is what people know of a tenant. */
const TENANT = { pattern: /^[^.@\s]+$/, what: 'a tenant, such as 72f988bf-86f1-41af-91ab-2d7cd011db47' };

export const teamChatType: TriggerType<TeamChatConfig> = {
  config: teamChatConfigSchema,
  isChat: true,
  welcome: 'always',
  mentions: 'none',
  webhook: {},
  isAmbiguous: (a, b) =>
    a.config.app_id === b.config.app_id &&
    doChannelsMeet(a, b) &&
    doListsMeet(a.config.allowed_tenants, b.config.allowed_tenants, (one, other) => one === other) &&
    commandsInCommon(a, b).length > 0,
  checkAll(all) {
    warnOfTwoCredentials(all, 'app_password', ({ app_id }) => app_id);
  },
  complete(config, fields) {
    const { allowed_tenants, service_url_allow } = config;
    // As a reference to a variable that is not set makes them.
    const tenant_id = config.tenant_id || undefined;
    const token_url = config.token_url || undefined;
    checkProvider(fields, 'openid_metadata_url', config.openid_metadata_url);
    checkProvider(fields, 'token_url', token_url);
    const named = tenantAt(token_url);
    if (tenant_id !== undefined && named !== undefined && named !== tenant_id.toLowerCase())
      fields.report('token_url', 'names another tenant than tenant_id, and decides; leave it out', 'warning');
    if (!config.verify_tokens)
      fields.report('verify_tokens', 'must be true: without the token anybody could send activities');
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

/** Where one has no list the other is the more specific one for all that it names. */
function doChannelsMeet(a: Chats, b: Chats): boolean {
  const as = a.config.allowed_channels;
  const bs = b.config.allowed_channels;
  if ((as.length === 0) !== (bs.length === 0)) return false;
  return doListsMeet(as, bs, (one, other) => one === other);
}

/** Whoever answers in a provider's place decides who is let in, or gets the secret. */
function checkProvider(fields: Fields, key: string, text: string | undefined): void {
  checkAddress(fields, key, text);
  if (text === undefined || !URL.canParse(text)) return;
  const { protocol, hostname } = new URL(text);
  if (protocol === 'http:' && !isLoopback(hostname))
    fields.report(key, 'must be https, unless it is on this machine');
  if (OTHER_CLOUDS.test(hostname)) fields.report(key, OTHER_CLOUD);
}

/** Of the vendor's addresses. */
function tenantAt(tokenUrl: string | undefined): string | undefined {
  if (tokenUrl === undefined || !URL.canParse(tokenUrl)) return undefined;
  const { hostname, pathname } = new URL(tokenUrl);
  return hostname === PROVIDER ? pathname.split('/')[1]?.toLowerCase() : undefined;
}

function hostFault(item: string): string | undefined {
  const [, local] = /^http:\/\/([^/]*)$/i.exec(item) ?? [];
  if (!HOST.test(local ?? item) || !URL.canParse(`https://${local ?? item}`))
    return 'is no host, such as chat.example.com or chat.example.com:8443';
  if (local === undefined)
    return OTHER_CLOUDS.test(new URL(`https://${item}`).hostname) ? OTHER_CLOUD : undefined;
  return isLoopback(new URL(`http://${local}`).hostname)
    ? undefined
    : 'is http beyond this machine: services there are asked over https only';
}
