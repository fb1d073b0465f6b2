// Sends answers to the incident manager: notes and states by the REST API, events by the events API.
//
// If an earlier attempt began, the note is searched for before the post: that attempt may have posted the
// note and stopped before the receipt was stored. This includes attempts that do not count, such as deferred
// attempts. Before a state is set, the current state is read, because acknowledging a resolved incident would
// reopen it. Events can be repeated safely: an event with the key of an open alert joins that alert.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { path } from '../../../libs/rest/path.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Outbound, SendContext, SendReceipt } from '../../events/outbox/outbound.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { EVENTS_PACE, type IncidentManagerApi, REST_PACE } from './api.ts';
import { ALREADY_ACKNOWLEDGED, ALREADY_RESOLVED, NOT_FOUND } from './errors.ts';
import { noteMark } from './note-mark.ts';
import type { OwnChanges } from './own-changes.ts';
import {
  type IncidentRequest,
  incidentRequests,
  incidentTarget,
  MAX_NOTE,
  noteContent,
} from './render-answer.ts';

export interface IncidentApis {
  /** Returns the REST client; undefined if the trigger has no api_key. */
  restOf(trigger: IncidentManagerTrigger): IncidentManagerApi | undefined;
  /** Returns the events client; undefined if the trigger has no routing_key. */
  eventsOf(trigger: IncidentManagerTrigger): IncidentManagerApi | undefined;
  credentialNameOf(trigger: IncidentManagerTrigger): string | undefined;
}

/** Status of a response without an error code of the platform. */
const HTTP_NOT_FOUND = 404;

type Of<Do extends IncidentRequest['do']> = Extract<IncidentRequest, { readonly do: Do }>;

export function incidentManagerOutbound(
  { restOf, eventsOf, credentialNameOf }: IncidentApis,
  own: OwnChanges,
): Outbound<IncidentManagerTrigger, IncidentRequest> {
  const rest = (trigger: IncidentManagerTrigger) => restOf(trigger) ?? throwMissingKey(trigger, 'api_key');
  return {
    target: incidentTarget,
    async destination({ config }, conversation) {
      const incident = /^incidentmanager\/(\w{1,64})$/.exec(conversation)?.[1];
      return incident === undefined || config.api_key === undefined ? undefined : { place: incident };
    },
    rendersFormats: true,
    render: incidentRequests,
    limits: (trigger) => {
      const heldMs = Math.max(
        restOf(trigger)?.remainingPauseMs ?? 0,
        eventsOf(trigger)?.remainingPauseMs ?? 0,
      );
      const { everyMs: perMs, burst: atOnce } =
        trigger.config.api_key === undefined ? EVENTS_PACE : REST_PACE;
      return {
        text: { most: MAX_NOTE, unit: 'utf16' },
        rates: [{ of: 'account', most: 1, perMs, atOnce }],
        held: heldMs > 0 ? [{ of: 'account', forMs: heldMs }] : [],
      };
    },
    addressOf: ({ config }) => (config.api_key === undefined ? config.events_url : config.api_url),
    credentialNameOf,
    hostOf: ({ host }) => host,
    send(trigger, request, context) {
      switch (request.do) {
        case 'note':
          return writeNote(rest(trigger), trigger, request, context, own);
        case 'state':
          return setState(rest(trigger), trigger, request, context, own);
        case 'event':
          return sendEvent(
            eventsOf(trigger) ?? throwMissingKey(trigger, 'routing_key'),
            trigger,
            request,
            context,
            own,
          );
      }
    },
  };
}

function throwMissingKey({ name }: IncidentManagerTrigger, key: string): never {
  throw new DeliveryError(`trigger ${name} no longer has ${key}`, { isFinal: true });
}

async function writeNote(
  api: IncidentManagerApi,
  { retry }: IncidentManagerTrigger,
  { incident, text, of: editedRowId }: Of<'note'>,
  { rowId, wasTried, receiptOf, signal }: SendContext,
  own: OwnChanges,
): Promise<SendReceipt> {
  const notes = path`/incidents/${incident}/notes`;
  const what = `a note on ${incident}`;
  const json = { note: { content: noteContent(text, rowId) } };
  const posted = editedRowId === undefined ? undefined : await receiptOf(editedRowId);
  if (posted !== undefined) {
    const at = path`/incidents/${incident}/notes/${posted.id}`;
    await api
      .request({ method: 'PUT', path: at, json, signal }, what, retry)
      .catch((error: DeliveryError) => {
        const isMissing = error.platformCode === HTTP_NOT_FOUND || error.platformCode === NOT_FOUND;
        throw isMissing ? error.with({ isFinal: true, isTargetMissing: true }) : error;
      });
    return posted;
  }
  if (wasTried) {
    const { json: list } = await api.request({ path: notes, signal }, `the notes on ${incident}`, retry);
    const all = memberOf(list, 'notes');
    if (!Array.isArray(all))
      throw new DeliveryError(`the platform returned no list for the notes on ${incident}`);
    const mark = noteMark(rowId);
    const existing: unknown = all.find((each) => textMember(each, 'content')?.includes(mark));
    if (existing !== undefined) return recordNote(existing, own);
  }
  const { json: created } = await api.request({ method: 'POST', path: notes, json, signal }, what, retry);
  const note = memberOf(created, 'note');
  api.ownUser = textMember(note, 'user.id') ?? api.ownUser;
  return recordNote(note, own);
}

async function recordNote(note: unknown, own: OwnChanges): Promise<SendReceipt> {
  const id = textMember(note, 'id') ?? '';
  if (id !== '') await own.addNote(id);
  return { id };
}

async function setState(
  api: IncidentManagerApi,
  { retry }: IncidentManagerTrigger,
  { incident, status }: Of<'state'>,
  { signal }: SendContext,
  own: OwnChanges,
): Promise<SendReceipt> {
  const at = path`/incidents/${incident}`;
  const { json: current } = await api.request({ path: at, signal }, `the state of ${incident}`, retry);
  const currentStatus = textMember(current, 'incident.status');
  if (currentStatus === status) return { id: incident };
  if (currentStatus === 'resolved') return { id: incident, note: NOT_REOPENED };
  const eventType = `incident.${status}`;
  // The API key acts as a user, so the platform reports the change as made by a person.
  const { ownUser } = api;
  await own.addState(incident, eventType, { isPerson: true, id: ownUser });
  const json = { incident: { type: 'incident_reference', status } };
  const what = `the state ${status} of ${incident}`;
  const request = { method: 'PUT', path: at, json, signal };
  const response = await api.request(request, what, retry).catch((error: DeliveryError) => {
    if (error.platformCode !== ALREADY_RESOLVED && error.platformCode !== ALREADY_ACKNOWLEDGED) throw error;
    return undefined;
  });
  api.ownUser = textMember(response?.json, 'incident.last_status_change_by.id') ?? ownUser;
  if (api.ownUser !== ownUser) await own.addState(incident, eventType, { isPerson: true, id: api.ownUser });
  return { id: incident };
}

const NOT_REOPENED = 'the incident was resolved meanwhile; acknowledging it would reopen it';

async function sendEvent(
  api: IncidentManagerApi,
  { retry, config: { routing_key } }: IncidentManagerTrigger,
  { incident, action, key, payload }: Of<'event'>,
  { signal }: SendContext,
  own: OwnChanges,
): Promise<SendReceipt> {
  const eventType = eventTypes[action];
  if (eventType !== undefined) await own.addState(incident, eventType, { isPerson: false });
  const json = {
    routing_key,
    event_action: action,
    dedup_key: key,
    payload,
    client: payload && 'actor-gateway',
  };
  const request = { method: 'POST', path: '/v2/enqueue', json, signal };
  const { json: response } = await api.request(request, `an event for ${incident}`, retry);
  return { id: textMember(response, 'dedup_key') ?? key };
}

/** Types of the webhook events that the actions cause. */
const eventTypes = {
  trigger: undefined,
  acknowledge: 'incident.acknowledged',
  resolve: 'incident.resolved',
} as const;
