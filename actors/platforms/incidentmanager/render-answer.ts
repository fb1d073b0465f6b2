// An answer as requests to the incident manager, in the order in which they are sent: the note, or without an api_key the event that
// stands for one, and then what the answer's actions have done to the incident.
//
// IMR1  one answer is said once: with an api_key its words are a note and no event.
// IMR2  no event is triggered for an incident that is resolved, or that has no key: it would open a new one, whose webhook asks
//       the agent again.
// IMR3  nothing is beyond the platform's limits: it would refuse the whole.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { withCardText } from '../../events/outbox/card-text.ts';
import { cutText } from '../../events/outbox/cut-text.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { CardAction, OutboundMessage, OutboundTarget } from '../../events/outbox/outbound-message.ts';
import { shortened } from '../../events/outbox/shortened-text.ts';
import { contextText } from './event.ts';
import { noteMark, withoutNoteMarks } from './note-mark.ts';

/** Of the note's words and its mark, in UTF-16 units. The platform names no limit; this it has always taken. */
export const MAX_NOTE = 20_000;
/** Of the platform, in characters. */
const MAX_SUMMARY = 1024;
const MAX_DEDUP_KEY = 255;
/** Of the platform's 512 KB for an event there is room left for all else that is in it. */
const MAX_DETAILS_BYTES = 500_000;

export type EventAction = 'trigger' | 'acknowledge' | 'resolve';
const eventActions: ReadonlySet<string> = new Set(['trigger', 'acknowledge', 'resolve']);

interface Place {
  readonly incident: string;
  /** What is down at one of the two APIs says nothing of the other. */
  readonly host: string;
}

/** Of a note: `of` is the row whose note it is to stand in, if that has one. */
export type IncidentRequest =
  | (Place & { readonly do: 'note'; readonly text: string; readonly of?: string })
  | (Place & { readonly do: 'state'; readonly status: 'acknowledged' | 'resolved' })
  | (Place & {
      readonly do: 'event';
      readonly action: EventAction;
      readonly key: string;
      readonly payload?: Readonly<Record<string, unknown>> | undefined;
    });

/** None where nothing can be written. */
export function incidentTarget(
  { config: { api_key, routing_key } }: IncidentManagerTrigger,
  inbound: InboundEvent,
): OutboundTarget | undefined {
  const place = contextText(inbound, 'incident.id');
  const alert = routing_key === undefined ? undefined : openAlert(inbound);
  if (place === undefined || (api_key === undefined && alert === undefined)) return undefined;
  return { place, thread: alert };
}

/** The urgency and the key of an incident that is open: by the key the events API knows it. */
function openAlert(inbound: InboundEvent): string | undefined {
  const key = contextText(inbound, 'incident.key') ?? '';
  const isResolved =
    contextText(inbound, 'incident.status') === 'resolved' || inbound.names[0] === 'incident.resolved';
  if (isResolved || key === '' || key.length > MAX_DEDUP_KEY) return undefined;
  return `${contextText(inbound, 'incident.urgency') === 'high' ? 'high' : 'low'} ${key}`;
}

/** Throws UnrenderableError. */
export function incidentRequests(
  { config }: IncidentManagerTrigger,
  { target: { place: incident, thread: alert }, action, text, card }: OutboundMessage,
): readonly IncidentRequest[] {
  if (action.do === 'react') throw new UnrenderableError('a note can be written and changed, not reacted to');
  const hasNotes = config.api_key !== undefined;
  const canEvent = alert !== undefined;
  const does = (each: CardAction) =>
    each.url === undefined && eventActions.has(each.id) && (canEvent || (hasNotes && each.id !== 'trigger'));
  const actions = card?.actions ?? [];
  const others = actions.filter((each) => !does(each));
  const words = withCardText(text, card && { ...card, actions: others }).trimEnd();
  const rest = { incident, host: new URL(config.api_url).host };
  const events = { incident, host: new URL(config.events_url).host };
  const said: IncidentRequest[] = [];
  if (hasNotes && words !== '') {
    const of = action.do === 'edit' ? { of: action.of } : {};
    said.push({ do: 'note', ...rest, text: noteText(words), ...of });
  }
  const isTriggered = !hasNotes && canEvent && words !== '';
  if (isTriggered && alert !== undefined) said.push(eventOf(events, alert, 'trigger', words));
  for (const each of actions.filter(does)) {
    const id = each.id as EventAction;
    if (alert === undefined)
      said.push({ do: 'state', ...rest, status: id === 'resolve' ? 'resolved' : 'acknowledged' });
    else if (id !== 'trigger' || !isTriggered)
      said.push(eventOf(events, alert, id, id === 'trigger' ? words || each.title : ''));
  }
  return said;
}

/** What would pass for the mark of another row is not in it. */
export function noteText(answer: string): string {
  const text = withoutNoteMarks(answer).trimEnd();
  return cutText(text, {
    limit: MAX_NOTE - noteContent('', '').length,
    unit: 'utf16',
    note: `(cut: the answer has ${text.length} characters, more than a note can hold)`,
  });
}

/** The words of a note as they are sent. */
export const noteContent = (text: string, rowId: string): string => `${text}\n\n${noteMark(rowId)}`;

function eventOf(place: Place, alert: string, action: EventAction, words: string): IncidentRequest {
  const [urgency = ''] = alert.split(' ', 1);
  const key = alert.slice(urgency.length + 1);
  if (action !== 'trigger') return { do: 'event', ...place, action, key };
  const summary = shortened(words, MAX_SUMMARY);
  const text = cutText(words, {
    limit: MAX_DETAILS_BYTES,
    unit: 'json',
    note: `(cut: the answer has ${words.length} characters, more than an event can hold)`,
  });
  return {
    do: 'event',
    ...place,
    action,
    key,
    payload: {
      summary,
      source: 'actor-gateway',
      // Those that leave the incident as urgent as it is.
      severity: urgency === 'high' ? 'error' : 'warning',
      custom_details: { incident: place.incident, ...(summary === words ? {} : { text }) },
    },
  };
}
