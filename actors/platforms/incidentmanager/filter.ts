// Which triggers take an event: by the service, the urgency and the state of its incident.
//
// IMF1  what a filter asks for and nobody knows is no match: it passes nothing that it was written to keep out, and says so.
// IMF2  what this gateway wrote itself is never taken, or its answers would be answered.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { contextText } from './event.ts';
import { ANNOTATED } from './facts.ts';
import { isMarkedNote } from './note-mark.ts';

interface Filter {
  readonly field: string;
  readonly name: string;
  readonly wanted: readonly string[];
}

function filtersOf({ config }: IncidentManagerTrigger): readonly Filter[] {
  const all = [
    { field: 'service_ids', name: 'incident.service.id', wanted: config.service_ids },
    { field: 'urgencies', name: 'incident.urgency', wanted: config.urgencies },
    { field: 'statuses', name: 'incident.status', wanted: config.statuses },
  ];
  return all.filter(({ wanted }) => wanted.length > 0);
}

/** Whether the trigger's filters take an event, or why not where its file does not show it. */
export function takesIncidentEvent(trigger: IncidentManagerTrigger, inbound: InboundEvent): boolean | string {
  if (inbound.names[0] === ANNOTATED && isMarkedNote(inbound.text ?? ''))
    return 'the note is one of a gateway itself';
  for (const { field, name, wanted } of filtersOf(trigger)) {
    const value = contextText(inbound, name);
    if (value === undefined) return `${field} cannot be told: the event does not say ${name}`;
    if (!wanted.includes(value)) return false;
  }
  return true;
}

/** Whether its filters ask for what the event does not say. */
export function lacksFacts(trigger: IncidentManagerTrigger, inbound: InboundEvent): boolean {
  return filtersOf(trigger).some(({ name }) => contextText(inbound, name) === undefined);
}
