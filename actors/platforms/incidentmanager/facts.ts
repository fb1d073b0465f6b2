// What an event of the incident manager says of its incident. Some events bring the incident itself, others what belongs to it (a
// note, a task, a responder) with no more than a reference to the incident; what the reference does not say is not known here
// (lookup.ts asks for it where somebody needs it).

import { memberOf, numberMember, textMember } from '../payloads/payload-member.ts';

export const TRIGGERED = 'incident.triggered';
export const ANNOTATED = 'incident.annotated';

/** What every event of the platform has. */
export interface EventSaid {
  readonly id: string;
  readonly type: string;
}

/** Undefined for what is no event of the platform. */
export function eventSaid(payload: unknown): EventSaid | undefined {
  const id = textMember(payload, 'event.id') ?? '';
  const type = textMember(payload, 'event.event_type') ?? '';
  return /^[\w.:-]{1,128}$/.test(id) && /^\w{1,64}(\.\w{1,64}){0,4}$/.test(type) ? { id, type } : undefined;
}

/** Undefined where the event is about no incident. */
export function incidentIn(payload: unknown, type: string): unknown {
  if (!type.startsWith('incident.')) return undefined;
  const data = memberOf(payload, 'event.data');
  const isWhole = memberOf(data, 'type') === 'incident';
  const incident = isWhole
    ? data
    : (memberOf(data, 'incident') ?? memberOf(data, 'incident_role_assignments.0.incident'));
  return idOf(incident) === undefined ? undefined : incident;
}

/** It becomes a part of addresses and keys. */
export function idOf(incident: unknown): string | undefined {
  const id = textMember(incident, 'id') ?? '';
  return /^\w{1,64}$/.test(id) ? id : undefined;
}

/** Of an incident, or of a reference to one: by names of the context, undefined for what it does not say. */
export function incidentContext(incident: unknown): Readonly<Record<string, unknown>> {
  return {
    'incident.id': idOf(incident),
    'incident.number': numberMember(incident, 'number') ?? numberMember(incident, 'incident_number'),
    'incident.title': textMember(incident, 'title', 'summary'),
    'incident.status': textMember(incident, 'status'),
    'incident.urgency': textMember(incident, 'urgency'),
    'incident.priority': textMember(incident, 'priority.summary', 'priority.name'),
    'incident.service.id': textMember(incident, 'service.id'),
    'incident.service.name': textMember(incident, 'service.summary', 'service.name'),
    'incident.key': textMember(incident, 'incident_key'),
    'incident.created_at': textMember(incident, 'created_at'),
    'incident.url': textMember(incident, 'html_url'),
  };
}

/** Who did it: a person, or whatever else acts there. */
export function agentContext(payload: unknown): Readonly<Record<string, unknown>> {
  return {
    'incident.sender.id': textMember(payload, 'event.agent.id'),
    'incident.sender.name': textMember(payload, 'event.agent.summary', 'event.client.name'),
  };
}

/** What a person wrote; of an incident that has just been opened its title. */
export function wordsOf(payload: unknown, type: string): string | undefined {
  const path = type === TRIGGERED ? 'event.data.title' : wordsAt[type];
  const words = path === undefined ? undefined : textMember(payload, path)?.trim();
  return words === '' ? undefined : words;
}

const wordsAt: Readonly<Record<string, string>> = {
  [ANNOTATED]: 'event.data.content',
  'incident.status_update_published': 'event.data.message',
  'incident.responder.added': 'event.data.message',
  'incident.responder.replied': 'event.data.message',
  'incident.task.created': 'event.data.name',
};

/** Of a note: its id, and whether its words are there in full. */
export function noteOf(payload: unknown): { readonly id: string | undefined; readonly isTrimmed: boolean } {
  return {
    id: textMember(payload, 'event.data.id'),
    isTrimmed: memberOf(payload, 'event.data.trimmed') === true,
  };
}
