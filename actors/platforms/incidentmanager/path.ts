// What a path of the incident manager takes: one event in each request, not all of which are about an incident.
//
// IP1  what is authentic is answered 2xx, whatever it is about: after a few other answers the platform switches the hook off for
//      a day, and what happens meanwhile is lost.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { jsonObjectIn } from '../payloads/json-object.ts';
import { ignored, malformed, takenReply } from '../webhooks/webhook-replies.ts';
import { namesOf, type PathUse, type WebhookSubscriber } from '../webhooks/webhook-table.ts';
import { incidentEvent, incidentEventId } from './event.ts';
import { eventSaid, idOf, incidentIn } from './facts.ts';
import type { OwnDeeds } from './own-deeds.ts';

export type IncidentSubscriber = WebhookSubscriber<IncidentManagerTrigger>;

/** The platform sends nothing larger: what would be is dropped there. */
const MAX_EVENT_BYTES = 262_144;

export function incidentManagerPath(maxBodyBytes: number, own: OwnDeeds): PathUse<IncidentSubscriber> {
  return {
    maxBodyBytes: Math.min(maxBodyBytes, MAX_EVENT_BYTES),
    unauthorised: 'X-PagerDuty-Signature is missing, or fits no secret of this path',
    async receive({ subscribers, principal }, { traceparent: trace }, body) {
      const [{ host, trigger }] = subscribers;
      const payload = jsonObjectIn(body);
      const said = eventSaid(payload);
      if (said === undefined) return malformed('the body is no event of the platform');
      if (said.type === 'pagey.ping') return { status: 200, body: { status: 'pong' } };
      const id = incidentEventId(trigger.name, said.id);
      const incident = idOf(incidentIn(payload, said.type));
      if (incident === undefined) return ignored(id);
      if (await own.has(payload, said.type)) return ignored(id);
      const event = incidentEvent(namesOf(subscribers), { ...said, incident }, { principal, trace }, body);
      return takenReply(event.id, { accepted: await host.accept(event) });
    },
  };
}
