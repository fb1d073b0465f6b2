// Converts webhooks of the incident manager into events to store, and stored events into inbound events. Each
// incident is a conversation.

import { ANY_INCIDENT } from '../../../config/resources/fields/incident-events.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Principal, principalText } from '../../identity/principal.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import { definedContext, storedPayload } from '../payloads/payload-member.ts';
import {
  agentContext,
  incidentContext,
  incidentIn,
  type PlatformEvent,
  platformEventIn,
  textOf,
} from './facts.ts';

interface IncidentMeta {
  readonly triggers: readonly string[];
  readonly principal: string;
}

/**
 * Returns the event id. `id` is the platform's event id, equal for redeliveries. `verifiedFor` is the first
 * trigger by name that the event was verified for. The trigger name is part of the id. Otherwise a sender
 * with the secret of one trigger could reuse an event id and thereby suppress an event of another trigger.
 */
export function incidentEventId(verifiedFor: string, id: string): string {
  return `incidentmanager:${verifiedFor}/${id}`;
}

/**
 * Creates an event from a webhook. `triggers` are the names of the triggers that may accept it, at least one.
 * `incident` is the incident's id.
 */
export function incidentEvent(
  triggers: readonly string[],
  { id, incident }: PlatformEvent & { readonly incident: string },
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

/** Parses a stored event. Throws if the payload does not match. */
export function readIncidentEvent(stored: StoredEvent): InboundEvent {
  const { triggers } = JSON.parse(stored.meta) as IncidentMeta;
  const payload = storedPayload(stored);
  const type = platformEventIn(payload)?.type ?? '';
  const incident = incidentIn(payload, type);
  if (incident === undefined) throw new Error('the payload is not an incident event');
  const context = definedContext({
    'incident.event': type,
    ...incidentContext(incident),
    ...agentContext(payload),
  });
  return {
    platform: 'incidentmanager',
    triggers,
    names: [type, ANY_INCIDENT],
    text: textOf(payload, type),
    channel: contextText({ context }, 'incident.service.id'),
    user: contextText({ context }, 'incident.sender.id'),
    senderName: contextText({ context }, 'incident.sender.name'),
    channelName: contextText({ context }, 'incident.service.name'),
    context,
    payload,
    parameters: {},
  };
}

export function contextText({ context }: Pick<InboundEvent, 'context'>, name: string): string | undefined {
  const value = context[name];
  return typeof value === 'string' ? value : undefined;
}
