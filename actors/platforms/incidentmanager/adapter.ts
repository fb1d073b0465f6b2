// Triggers of type IncidentManager: webhooks of a manager of incidents, and as answers notes on the incident, its states, or events
// for its alert. The platform sends an event again under its id until it is taken; so the store knows what to do with it.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import type { Adapter, AdapterServices, OpenTrigger, SourceHost } from '../adapter.ts';
import { Remarks } from '../remarks.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { EVENTS_PACE, IncidentManagerApi, REST_PACE } from './api.ts';
import { readIncidentEvent } from './event.ts';
import { takesIncidentEvent } from './filter.ts';
import { completedIncident } from './lookup.ts';
import { incidentManagerOutbound } from './outbound.ts';
import { OwnDeeds } from './own-deeds.ts';
import { type IncidentSubscriber, incidentManagerPath } from './path.ts';
import { incidentVerifier } from './signature.ts';
import { watchHooks } from './switched-off-hooks.ts';

/** What is switched on again sends within seconds, and the listener opens after the triggers. */
const FIRST_LOOK_MS = 10_000;
const LOOK_EVERY_MS = 3_600_000;

export interface IncidentManagerOptions extends AdapterServices {
  /** When hooks that were switched off are looked for, counted from `open`. */
  readonly firstLookMs?: number;
  readonly lookEveryMs?: number;
}

export function incidentManagerAdapter({
  maxBodyBytes,
  store,
  firstLookMs = FIRST_LOOK_MS,
  lookEveryMs = LOOK_EVERY_MS,
}: IncidentManagerOptions): Adapter<IncidentManagerTrigger> {
  const own = new OwnDeeds(store);
  const remarks = new Remarks();
  const table = new WebhookTable<IncidentSubscriber>(incidentManagerPath(maxBodyBytes, own));
  const { of: restOf } = new ClientsByCredential<IncidentManagerTrigger, IncidentManagerApi>(
    ({ config: { api_key, api_url, email = '' } }) =>
      api_key === undefined ? undefined : [api_url, api_key, email],
    ({ config: { api_key = '', api_url: baseUrl, email } }) => {
      const headers = {
        accept: 'application/vnd.pagerduty+json;version=2',
        authorization: `Token token=${api_key}`,
        ...(email === undefined ? {} : { from: email }),
      };
      return new IncidentManagerApi({ baseUrl, headers, secrets: [api_key] }, REST_PACE);
    },
  );
  const { of: eventsOf } = new ClientsByCredential<IncidentManagerTrigger, IncidentManagerApi>(
    ({ config: { routing_key, events_url } }) =>
      routing_key === undefined ? undefined : [events_url, routing_key],
    ({ config: { routing_key = '', events_url: baseUrl } }) =>
      new IncidentManagerApi({ baseUrl, secrets: [routing_key] }, EVENTS_PACE),
  );
  const { digestOf } = new ClientsByCredential<IncidentManagerTrigger, IncidentManagerApi>(
    ({ config: { api_key = '', routing_key = '', email = '' } }) => [api_key, routing_key, email],
    (trigger) => restOf(trigger) as IncidentManagerApi,
  );

  return {
    type: 'IncidentManager',
    account: ({ config: { api_key, api_url, events_url } }) =>
      new URL(api_key === undefined ? events_url : api_url).host,
    async open(trigger: IncidentManagerTrigger, host: SourceHost): Promise<OpenTrigger> {
      const { webhook_secret, webhook_secrets, insecure_allow_unverified, path } = trigger.config;
      const secrets = webhook_secret === undefined ? webhook_secrets : [webhook_secret, ...webhook_secrets];
      const verifier = incidentVerifier({ secrets, allowsUnverified: insecure_allow_unverified });
      const leave = await table.add({ trigger, host, methods: ['POST'], verifier }, path);
      const api = restOf(trigger);
      const stop =
        api === undefined ? () => {} : watchHooks({ api, trigger, host, remarks, firstLookMs, lookEveryMs });
      return {
        close: async () => {
          stop();
          await leave();
        },
      };
    },
    read: readIncidentEvent,
    complete: (event, triggers) => completedIncident(event, triggers, restOf),
    takes: takesIncidentEvent,
    outbound: incidentManagerOutbound({ restOf, eventsOf, senderOf: digestOf }, own),
    remarks: ({ name }) => remarks.of(name),
  };
}
