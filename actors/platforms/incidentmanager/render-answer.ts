// Renders an answer as requests to the incident manager, in sending order: the note (an event if there is no
// api_key), then the actions of the answer on the incident.
//
// With an api_key the text is sent only as a note. No event is triggered for an incident that is resolved or
// has no key, because it would open a new incident, which would call the agent again. All values respect the
// platform's limits, because it refuses larger values.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { withCardText } from '../../events/outbox/card-text.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { CardAction, OutboundMessage, OutboundTarget } from '../../events/outbox/message.ts';
import { shorten } from '../../events/outbox/shorten.ts';
import { truncateWithNote } from '../../events/outbox/truncate.ts';
import { contextText } from './event.ts';
import { noteMark, withoutNoteMarks } from './note-mark.ts';

/**
 * Maximum length of a note with its mark (note-mark.ts), in UTF-16 units. The platform documents no limit; it
 * accepts this length.
 */
export const MAX_NOTE = 20_000;
/** Limits of the platform, in characters. */
const MAX_SUMMARY = 1024;
const MAX_DEDUP_KEY = 255;
/** Maximum size of the details; the whole event can be 512 KB. */
const MAX_DETAILS_BYTES = 500_000;

export type EventAction = 'trigger' | 'acknowledge' | 'resolve';
const eventActions: ReadonlySet<string> = new Set(['trigger', 'acknowledge', 'resolve']);

interface AnswerTarget {
  readonly incident: string;
  /** Host of the API. The two APIs are separate services: an outage of one does not affect the other. */
  readonly host: string;
}

/** A request in an outbox row. `of` is the row of the note to edit. */
export type IncidentRequest =
  | (AnswerTarget & { readonly do: 'note'; readonly text: string; readonly of?: string })
  | (AnswerTarget & { readonly do: 'state'; readonly status: 'acknowledged' | 'resolved' })
  | (AnswerTarget & {
      readonly do: 'event';
      readonly action: EventAction;
      readonly key: string;
      readonly payload?: Readonly<Record<string, unknown>> | undefined;
    });

/** Targets the incident; undefined if the trigger cannot write to it. */
export function incidentTarget(
  { config: { api_key, routing_key } }: IncidentManagerTrigger,
  inbound: InboundEvent,
): OutboundTarget | undefined {
  const place = contextText(inbound, 'incident.id');
  const alert = routing_key === undefined ? undefined : openAlert(inbound);
  if (place === undefined || (api_key === undefined && alert === undefined)) return undefined;
  return { place, thread: alert };
}

/**
 * Returns urgency and key of an open incident, separated by a blank. The key identifies the incident in the
 * events API.
 */
function openAlert(inbound: InboundEvent): string | undefined {
  const key = contextText(inbound, 'incident.key') ?? '';
  const isResolved =
    contextText(inbound, 'incident.status') === 'resolved' || inbound.names[0] === 'incident.resolved';
  if (isResolved || key === '' || key.length > MAX_DEDUP_KEY) return undefined;
  return `${contextText(inbound, 'incident.urgency') === 'high' ? 'high' : 'low'} ${key}`;
}

/** Returns the requests. Throws an UnrenderableError for a reaction. */
export function incidentRequests(
  { config }: IncidentManagerTrigger,
  { target: { place: incident, thread: alert }, action, text, card }: OutboundMessage,
): readonly IncidentRequest[] {
  if (action.do === 'react') throw new UnrenderableError('a note can be posted and edited, not reacted to');
  const hasNotes = config.api_key !== undefined;
  const canSendEvent = alert !== undefined;
  const isSupported = (each: CardAction) =>
    each.url === undefined &&
    eventActions.has(each.id) &&
    (canSendEvent || (hasNotes && each.id !== 'trigger'));
  const actions = card?.actions ?? [];
  const others = actions.filter((each) => !isSupported(each));
  const fullText = withCardText(text, card && { ...card, actions: others }).trimEnd();
  const restTarget = { incident, host: new URL(config.api_url).host };
  const eventsTarget = { incident, host: new URL(config.events_url).host };
  const requests: IncidentRequest[] = [];
  if (hasNotes && fullText !== '') {
    const of = action.do === 'edit' ? { of: action.of } : {};
    requests.push({ do: 'note', ...restTarget, text: noteText(fullText), ...of });
  }
  const isTriggered = !hasNotes && canSendEvent && fullText !== '';
  if (isTriggered && alert !== undefined) requests.push(eventOf(eventsTarget, alert, 'trigger', fullText));
  for (const each of actions.filter(isSupported)) {
    const id = each.id as EventAction;
    if (alert === undefined)
      requests.push({ do: 'state', ...restTarget, status: id === 'resolve' ? 'resolved' : 'acknowledged' });
    else if (id !== 'trigger' || !isTriggered)
      requests.push(eventOf(eventsTarget, alert, id, id === 'trigger' ? fullText || each.title : ''));
  }
  return requests;
}

/** Renders the text of a note. Removes marks of other rows, and cuts the text to leave space for its mark. */
export function noteText(answer: string): string {
  const text = withoutNoteMarks(answer).trimEnd();
  return truncateWithNote(text, {
    limit: MAX_NOTE - noteContent('', '').length,
    unit: 'utf16',
    note: `(cut: the answer has ${text.length} characters, more than a note can hold)`,
  });
}

/** Appends the mark by which the note of an outbox row is recognised. */
export const noteContent = (text: string, rowId: string): string => `${text}\n\n${noteMark(rowId)}`;

function eventOf(target: AnswerTarget, alert: string, action: EventAction, text: string): IncidentRequest {
  const [urgency = ''] = alert.split(' ', 1);
  const key = alert.slice(urgency.length + 1);
  if (action !== 'trigger') return { do: 'event', ...target, action, key };
  const summary = shorten(text, MAX_SUMMARY);
  const details = truncateWithNote(text, {
    limit: MAX_DETAILS_BYTES,
    unit: 'json',
    note: `(cut: the answer has ${text.length} characters, more than an event can hold)`,
  });
  return {
    do: 'event',
    ...target,
    action,
    key,
    payload: {
      summary,
      source: 'actor-gateway',
      // These severities keep the incident's urgency.
      severity: urgency === 'high' ? 'error' : 'warning',
      custom_details: { incident: target.incident, ...(summary === text ? {} : { text: details }) },
    },
  };
}
