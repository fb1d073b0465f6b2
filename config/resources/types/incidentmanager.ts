// What a trigger of type IncidentManager may say in spec.config: webhooks of a manager of incidents.

import * as Type from 'typebox';
import { secret } from '../../text-schema.ts';
import { address, checkAddress } from '../fields/address.ts';
import type { Filled } from '../fields/filled.ts';
import type { TriggerType } from '../triggers/trigger-type.ts';
import { insecureAllowUnverified } from '../triggers/unverified.ts';
import { webhookPath } from '../triggers/webhook-path.ts';

const incidentManagerConfigSchema = Type.Object(
  {
    api_key: Type.Optional(secret('Key of the REST API; this or routing_key.')),
    routing_key: Type.Optional(secret('Routing key of the events API, version 2; this or api_key.')),
    webhook_secret: Type.Optional(secret('Secret of the signature (HMAC-SHA256).')),
    webhook_secrets: Type.Array(Type.String({ minLength: 1, writeOnly: true }), {
      description: 'Several secrets, any of which may have signed.',
      default: [],
      maxItems: 16,
    }),
    service_ids: Type.Array(Type.String({ minLength: 1 }), {
      description: 'Services to handle; none = all.',
      default: [],
      maxItems: 1000,
    }),
    urgencies: Type.Array(Type.Enum(['high', 'low']), {
      description: 'Urgencies to handle; none = all.',
      default: [],
    }),
    statuses: Type.Array(Type.Enum(['triggered', 'acknowledged', 'resolved']), {
      description: 'States of incidents to handle; none = all.',
      default: [],
    }),
    api_url: Type.Optional(address('Base of the REST API.')),
    events_url: Type.Optional(address('Base of the events API.')),
    path: webhookPath('Path of the webhook.', '/webhook/incidentmanager'),
    insecure_allow_unverified: insecureAllowUnverified,
  },
  { description: 'Webhooks of an incident manager.' },
);

type IncidentManagerConfig = Filled<Type.Static<typeof incidentManagerConfigSchema>>;

export const incidentManagerType: TriggerType<IncidentManagerConfig, false> = {
  config: incidentManagerConfigSchema,
  isBuilt: false,
  webhook: {},
  proof: {
    what: 'a webhook_secret',
    isGiven: (_, fields) => fields.has('webhook_secret') || fields.has('webhook_secrets'),
  },
  complete(config, fields) {
    checkAddress(fields, 'api_url', config.api_url);
    checkAddress(fields, 'events_url', config.events_url);
    if (!fields.has('api_key') && !fields.has('routing_key'))
      fields.report('', 'needs an api_key or a routing_key');
    return config;
  },
};
