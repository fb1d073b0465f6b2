// Adapter for triggers of type IncidentManager: webhooks, and answers as notes, states or alert events. The
// platform redelivers an event under the same id until it is accepted, and the store recognises the
// duplicates.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { ClientsByCredential } from '../accounts/clients-by-credential.ts';
import type { Adapter, AdapterServices, OpenTrigger, TriggerHost } from '../adapter.ts';
import { Diagnostics } from '../diagnostics.ts';
import { WebhookTable } from '../webhooks/webhook-table.ts';
import { EVENTS_PACE, IncidentManagerApi, REST_PACE } from './api.ts';
import { watchHooks } from './disabled-hooks.ts';
import { readIncidentEvent } from './event.ts';
import { acceptsIncidentEvent } from './filter.ts';
import { addIncidentFacts } from './lookup.ts';
import { incidentManagerOutbound } from './outbound.ts';
import { OwnChanges } from './own-changes.ts';
import { type IncidentSubscriber, incidentManagerPath } from './path.ts';
import { incidentVerifier } from './verifier.ts';

/**
 * Default of `firstCheckMs`: a re-enabled hook sends within seconds, and the listener opens after the
 * triggers.
 */
const FIRST_CHECK_MS = 10_000;
const CHECK_EVERY_MS = 3_600_000;

export interface IncidentManagerOptions extends AdapterServices {
  /** Delay between `open` and the first check for disabled hooks. */
  readonly firstCheckMs?: number;
  readonly checkEveryMs?: number;
}

export function incidentManagerAdapter({
  maxBodyBytes,
  store,
  firstCheckMs = FIRST_CHECK_MS,
  checkEveryMs = CHECK_EVERY_MS,
}: IncidentManagerOptions): Adapter<IncidentManagerTrigger> {
  const own = new OwnChanges(store);
  const diagnostics = new Diagnostics();
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
    async open(trigger: IncidentManagerTrigger, host: TriggerHost): Promise<OpenTrigger> {
      const { webhook_secret, webhook_secrets, insecure_allow_unverified, path } = trigger.config;
      const secrets = webhook_secret === undefined ? webhook_secrets : [webhook_secret, ...webhook_secrets];
      const verifier = incidentVerifier({ secrets, allowsUnverified: insecure_allow_unverified });
      const leave = await table.add({ trigger, host, methods: ['POST'], verifier }, path);
      const api = restOf(trigger);
      const stop =
        api === undefined
          ? () => {}
          : watchHooks({ api, trigger, host, diagnostics, firstCheckMs, checkEveryMs });
      return {
        close: async () => {
          stop();
          await leave();
        },
      };
    },
    read: readIncidentEvent,
    addLookups: (event, triggers) => addIncidentFacts(event, triggers, restOf),
    accepts: acceptsIncidentEvent,
    outbound: incidentManagerOutbound({ restOf, eventsOf, credentialNameOf: digestOf }, own),
    diagnostics: ({ name }) => diagnostics.of(name),
  };
}
