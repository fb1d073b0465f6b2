// The event that a webhook of the incident manager becomes, and how that event reads later. One incident is one conversation.

import { ANY_INCIDENT } from '../../../config/resources/fields/incident-events.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { knownContext, storedPayload } from '../payloads/payload-member.ts';
import { agentContext, type EventSaid, eventSaid, incidentContext, incidentIn, wordsOf } from './facts.ts';

interface IncidentMeta {
  readonly triggers: readonly string[];
  readonly principal: string;
}

/**
 * `id` is the platform's, which it keeps when it sends again. Before it stands the first by name of the triggers that it was
 * verified for: one team must not silence another.
 */
export function incidentEventId(verifiedFor: string, id: string): string {
  return `incidentmanager:${verifiedFor}/${id}`;
}

/** `triggers` are those that it was verified for, at least one; `incident` is the id of its incident. */
export function incidentEvent(
  triggers: readonly string[],
  { id, incident }: EventSaid & { readonly incident: string },
  { principal, trace }: { readonly principal: Principal; readonly trace: string },
  body: Buffer,
): NewEvent {
  const meta: IncidentMeta = { triggers, principal: principalText(principal) };
  return {
    id: incidentEventId(triggers[0] ?? '', id),
    key: `conversation/incidentmanager/${incident}`,
    meta: JSON.stringify(meta),
    body,
    trace,
  };
}

/** Throws for an event that is none of these. */
export function readIncidentEvent(stored: StoredEvent): InboundEvent {
  const { triggers } = JSON.parse(stored.meta) as IncidentMeta;
  const payload = storedPayload(stored);
  const type = eventSaid(payload)?.type ?? '';
  const incident = incidentIn(payload, type);
  if (incident === undefined) throw new Error('the payload is no event of an incident');
  const context = knownContext({
    'incident.event': type,
    ...incidentContext(incident),
    ...agentContext(payload),
  });
  return {
    platform: 'incidentmanager',
    triggers,
    names: [type, ANY_INCIDENT],
    text: wordsOf(payload, type),
    channel: contextText({ context }, 'incident.service.id'),
    user: contextText({ context }, 'incident.sender.id'),
    context,
    payload,
    parameters: {},
  };
}

export function contextText({ context }: Pick<InboundEvent, 'context'>, name: string): string | undefined {
  const value = context[name];
  return typeof value === 'string' ? value : undefined;
}
