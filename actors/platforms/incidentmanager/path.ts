// Webhook endpoint: receives the events of the incident manager, one per request. Events that concern no
// incident are ignored.
//
// Every verified request gets a 2xx response: after a few other responses the platform disables the hook for
// a day and drops its events.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import { acceptanceReply, ignored, malformed } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathHandler, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { incidentEvent, incidentEventId } from './event.ts';
import { idOf, incidentIn, platformEventIn } from './facts.ts';
import type { OwnChanges } from './own-changes.ts';

export type IncidentSubscriber = WebhookSubscriber<IncidentManagerTrigger>;

/** Maximum request size; the platform drops larger events itself. */
const MAX_EVENT_BYTES = 262_144;

export function incidentManagerPath(maxBodyBytes: number, own: OwnChanges): PathHandler<IncidentSubscriber> {
  return {
    maxBodyBytes: Math.min(maxBodyBytes, MAX_EVENT_BYTES),
    unauthorisedText: 'X-PagerDuty-Signature is missing or does not match a secret of this path',
    async receive({ subscribers, principal }, { traceparent: trace }, body) {
      const [{ host, trigger }] = subscribers;
      const payload = jsonObjectIn(body);
      const parsed = platformEventIn(payload);
      if (parsed === undefined) return malformed('the body is not an event of the platform');
      if (parsed.type === 'pagey.ping') return { status: 200, body: { status: 'pong' } };
      const id = incidentEventId(trigger.name, parsed.id);
      const incident = idOf(incidentIn(payload, parsed.type));
      if (incident === undefined) return ignored(id);
      if (await own.has(payload, parsed.type)) return ignored(id);
      const event = incidentEvent(namesOf(subscribers), { ...parsed, incident }, { principal, trace }, body);
      return acceptanceReply(await host.accept(event));
    },
  };
}
