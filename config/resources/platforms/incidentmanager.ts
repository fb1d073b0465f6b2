// Schema and checks of triggers for IncidentManager (PagerDuty), which sends webhooks about incidents.

import * as Type from 'typebox';
import { secret } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import { incidentEventFault } from '../fields/incident-events.ts';
import { warnOfNames } from '../fields/platform-ids.ts';
import type { Filled } from '../fields/with-defaults.ts';
import { commandsInCommon, doListsOverlap } from '../triggers/ambiguous-triggers.ts';
import type { TriggerOf } from '../triggers/trigger-of.ts';
import type { Fields, TriggerType } from '../triggers/trigger-type.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const incidentManagerConfigSchema = Type.Object(
  {
    api_key: Type.Optional(
      secret('Key of the REST API, for answers as notes; api_key or routing_key is required.'),
    ),
    email: Type.Optional(
      Type.String({
        description: 'Email address of the user who writes the notes; used with api_key.',
        pattern: '^[!-?A-~]+@[!-?A-~]+$',
        patternErrorMessage: 'an email address',
      }),
    ),
    routing_key: Type.Optional(
      secret(
        'Routing key of the events API (version 2), for answers as events; api_key or routing_key is required.',
      ),
    ),
    webhook_secret: Type.Optional(
      secret('Secret for the signature (HMAC-SHA256); required unless insecure_allow_unverified.'),
    ),
    webhook_secrets: Type.Array(Type.String({ minLength: 1, writeOnly: true }), {
      description: 'Further accepted secrets.',
      default: [],
      maxItems: 16,
    }),
    service_ids: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Ids of services to handle; empty = all.',
      default: [],
      maxItems: 1000,
    }),
    urgencies: Type.Array(Type.Enum(['high', 'low']), {
      description: 'Urgencies to handle; empty = all.',
      default: [],
    }),
    statuses: Type.Array(Type.Enum(['triggered', 'acknowledged', 'resolved']), {
      description: 'Incident statuses to handle; empty = all.',
      default: [],
    }),
    api_url: address('Base URL of the REST API.', 'https://api.pagerduty.com'),
    events_url: address('Base URL of the events API.', 'https://events.pagerduty.com'),
    path: webhookPath('Path of the webhook.', '/webhook/incidentmanager'),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'Webhooks of an incident manager.' },
);

export type IncidentManagerConfig = Filled<Type.Static<typeof incidentManagerConfigSchema>>;

export const incidentManagerType: TriggerType<IncidentManagerConfig> = {
  config: incidentManagerConfigSchema,
  hasEventNames: true,
  webhook: {},
  // The secret verifies the requests.
  proof: {
    setting: 'a webhook_secret',
    isGiven: ({ webhook_secrets }, fields) =>
      fields.has('webhook_secret') || webhook_secrets.length > 0 || fields.isFaulty('webhook_secrets'),
  },
  isAmbiguous: doIncidentsOverlap,
  complete(config, fields) {
    checkBase(fields, 'api_url', config.api_url);
    checkBase(fields, 'events_url', config.events_url);
    if (!fields.has('api_key') && !fields.has('routing_key'))
      fields.report('', 'needs an api_key or a routing_key');
    if (fields.has('api_key') && !fields.has('email'))
      fields.report(
        'api_key',
        'requires an email: the platform refuses notes without a user; set the address of a user',
        'warning',
      );
    if (fields.has('email') && !fields.has('api_key'))
      fields.reportKey('email', 'has no effect without an api_key', 'warning');
    warnOfNames(fields, 'service_ids', config.service_ids, {
      pattern: /^[A-Z0-9]{2,32}$/,
      description: 'a service, such as PF9KMXH',
    });
    return {
      ...config,
      api_url: config.api_url.replace(/\/+$/, ''),
      events_url: config.events_url.replace(/\/+$/, ''),
    };
  },
  // The keys in `spec.commands` are event names here.
  commandFault: incidentEventFault,
};

/** Reports a base URL with the path of an API call, which the gateway appends. Other paths are allowed. */
function checkBase(fields: Fields, key: 'api_url' | 'events_url', text: string): void {
  checkAddress(fields, key, text);
  if (fields.isFaulty(key) || !URL.canParse(text)) return;
  const { pathname, search, hash } = new URL(text);
  if (search !== '' || hash !== '') fields.report(key, 'must have neither a query nor a fragment');
  else if (/\/(v2|enqueue|incidents)(\/|$)/.test(pathname))
    fields.report(key, `must be the base URL: remove ${pathname}`);
}

type IncidentTrigger = TriggerOf<string, IncidentManagerConfig>;

/** Returns true if an event may match both triggers. */
function doIncidentsOverlap(a: IncidentTrigger, b: IncidentTrigger): boolean {
  const isSame = (one: string, other: string) => one === other;
  const [as, bs] = [secretsOf(a.config), secretsOf(b.config)];
  if (!as.some((secret) => bs.includes(secret))) return false;
  if (!doListsOverlap(a.config.service_ids, b.config.service_ids, isSame)) return false;
  if (!doListsOverlap(a.config.urgencies, b.config.urgencies, isSame)) return false;
  if (!doListsOverlap(a.config.statuses, b.config.statuses, isSame)) return false;
  return commandsInCommon(a, b).length > 0;
}

/** Returns the accepted secrets; without secrets, `['']` represents unsigned events. */
function secretsOf({ webhook_secret, webhook_secrets }: IncidentManagerConfig): readonly string[] {
  const all = webhook_secret === undefined ? webhook_secrets : [webhook_secret, ...webhook_secrets];
  return all.length === 0 ? [''] : all;
}
