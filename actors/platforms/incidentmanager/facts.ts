// Facts of incident events. Some events contain the incident; others contain a note, a task or a responder,
// and only a reference to the incident. lookup.ts requests missing facts if a filter needs them.

import { memberOf, numberMember, textMember } from '../payloads/payload-member.ts';

export const TRIGGERED = 'incident.triggered';
export const ANNOTATED = 'incident.annotated';

/** Members that all events have. */
export interface PlatformEvent {
  readonly id: string;
  readonly type: string;
}

/** Returns the event's common members; undefined for other payloads. */
export function platformEventIn(payload: unknown): PlatformEvent | undefined {
  const id = textMember(payload, 'event.id') ?? '';
  const type = textMember(payload, 'event.event_type') ?? '';
  return /^[\w.:-]{1,128}$/.test(id) && /^\w{1,64}(\.\w{1,64}){0,4}$/.test(type) ? { id, type } : undefined;
}

/** Returns the incident, or the reference to it; undefined for events that concern no incident. */
export function incidentIn(payload: unknown, type: string): unknown {
  if (!type.startsWith('incident.')) return undefined;
  const data = memberOf(payload, 'event.data');
  const isWhole = memberOf(data, 'type') === 'incident';
  const incident = isWhole
    ? data
    : (memberOf(data, 'incident') ?? memberOf(data, 'incident_role_assignments.0.incident'));
  return idOf(incident) === undefined ? undefined : incident;
}

/** Returns the id; undefined if invalid. Ids are part of API paths and keys. */
export function idOf(incident: unknown): string | undefined {
  const id = textMember(incident, 'id') ?? '';
  return /^\w{1,64}$/.test(id) ? id : undefined;
}

/** Returns the context of the incident or reference; missing values are undefined. */
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

/** Returns the user or integration that caused the event. */
export function agentContext(payload: unknown): Readonly<Record<string, unknown>> {
  return {
    'incident.sender.id': textMember(payload, 'event.agent.id'),
    'incident.sender.name': textMember(payload, 'event.agent.summary', 'event.client.name'),
  };
}

/** Returns text that a person wrote, or a new incident's title. */
export function textOf(payload: unknown, type: string): string | undefined {
  const path = type === TRIGGERED ? 'event.data.title' : textPaths[type];
  const text = path === undefined ? undefined : textMember(payload, path)?.trim();
  return text === '' ? undefined : text;
}

const textPaths: Readonly<Record<string, string>> = {
  [ANNOTATED]: 'event.data.content',
  'incident.status_update_published': 'event.data.message',
  'incident.responder.added': 'event.data.message',
  'incident.responder.replied': 'event.data.message',
  'incident.task.created': 'event.data.name',
};

/** Returns the note's id, and true if the platform truncated the text. */
export function noteOf(payload: unknown): { readonly id: string | undefined; readonly isTrimmed: boolean } {
  return {
    id: textMember(payload, 'event.data.id'),
    isTrimmed: memberOf(payload, 'event.data.trimmed') === true,
  };
}
