// Filters of incident triggers: service, urgency and status of the incident.
//
// If the event lacks a filter's value, the trigger does not accept it, and the reason is recorded. Notes that
// a gateway wrote are never accepted, to prevent loops.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { contextText } from './event.ts';
import { ANNOTATED } from './facts.ts';
import { isMarkedNote } from './note-mark.ts';

interface Filter {
  readonly field: string;
  readonly name: string;
  readonly values: readonly string[];
}

function filtersOf({ config }: IncidentManagerTrigger): readonly Filter[] {
  const all = [
    { field: 'service_ids', name: 'incident.service.id', values: config.service_ids },
    { field: 'urgencies', name: 'incident.urgency', values: config.urgencies },
    { field: 'statuses', name: 'incident.status', values: config.statuses },
  ];
  return all.filter(({ values }) => values.length > 0);
}

/**
 * Returns true if the trigger accepts the event. Otherwise false, or the reason if the trigger's file does
 * not show it.
 */
export function acceptsIncidentEvent(
  trigger: IncidentManagerTrigger,
  inbound: InboundEvent,
): boolean | string {
  if (inbound.names[0] === ANNOTATED && isMarkedNote(inbound.text ?? ''))
    return 'the note was written by a gateway';
  for (const { field, name, values } of filtersOf(trigger)) {
    const value = contextText(inbound, name);
    if (value === undefined) return `${field} cannot be checked: the event contains no ${name}`;
    if (!values.includes(value)) return false;
  }
  return true;
}

/** Returns true if the filters need values that the event lacks. */
export function lacksFacts(trigger: IncidentManagerTrigger, inbound: InboundEvent): boolean {
  return filtersOf(trigger).some(({ name }) => contextText(inbound, name) === undefined);
}
