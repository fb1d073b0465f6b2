// Known events of IncidentManager triggers. Their names are the keys in `spec.commands` of such a trigger,
// where each selects the handler of its event. The key `incident` matches all events.

import { suggest } from '../../reader/suggest.ts';

export const ANY_INCIDENT = 'incident';

export const incidentEvents: readonly string[] = [
  'incident.triggered',
  'incident.acknowledged',
  'incident.unacknowledged',
  'incident.resolved',
  'incident.reopened',
  'incident.annotated',
  'incident.escalated',
  'incident.delegated',
  'incident.reassigned',
  'incident.priority_updated',
  'incident.service_updated',
  'incident.incident_type.changed',
  'incident.custom_field_values.updated',
  'incident.conference_bridge.updated',
  'incident.status_update_published',
  'incident.responder.added',
  'incident.responder.replied',
  'incident.role.assigned',
  'incident.task.created',
  'incident.task.updated',
  'incident.task.completed',
  'incident.workflow.started',
  'incident.workflow.completed',
  'incident.action_invocation.created',
  'incident.action_invocation.updated',
  'incident.action_invocation.terminated',
];

/** Returns the error message if the event is unknown. */
export function incidentEventFault(name: string): string | undefined {
  if (name === ANY_INCIDENT || incidentEvents.includes(name)) return undefined;
  // The vendor's test event and events of services are known, but not handled.
  if (name === 'pagey.ping' || /^service(\.|$)/.test(name))
    return `${name} is not supported: only events of incidents are, and ${ANY_INCIDENT} matches all of them`;
  const near = suggest(name, [ANY_INCIDENT, ...incidentEvents]);
  if (near !== undefined) return `there is no event ${name}; did you mean ${near}?`;
  return `there is no event ${name}; events are ${[ANY_INCIDENT, ...incidentEvents].join(', ')}`;
}
