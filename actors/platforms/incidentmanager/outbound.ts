// How answers leave for the incident manager: notes and states by its REST API, events by the other.
//
// IO1  where an attempt was begun before, it is looked first whether the note is there already: that one may have written it and
//      have ended before it could say so, whether it counts as an attempt or not.
// IO2  before an incident is given a state it is asked for the one that it has: acknowledging a resolved one would open it again.
// IO3  an event may be sent twice: it joins the open alert of its key, and changes nothing the second time.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { path } from '../../../libs/rest/path.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { Outbound, Receipt, SendContext } from '../../events/outbox/outbound.ts';
import { memberOf, textMember } from '../payloads/payload-member.ts';
import { EVENTS_PACE, type IncidentManagerApi, REST_PACE } from './api.ts';
import { ALREADY_ACKNOWLEDGED, ALREADY_RESOLVED } from './errors.ts';
import { noteMark } from './note-mark.ts';
import type { OwnDeeds } from './own-deeds.ts';
import {
  type IncidentRequest,
  incidentRequests,
  incidentTarget,
  MAX_NOTE,
  noteContent,
} from './render-answer.ts';

export interface IncidentApis {
  /** Undefined for a trigger without an api_key. */
  restOf(trigger: IncidentManagerTrigger): IncidentManagerApi | undefined;
  /** Undefined for a trigger without a routing_key. */
  eventsOf(trigger: IncidentManagerTrigger): IncidentManagerApi | undefined;
  senderOf(trigger: IncidentManagerTrigger): string | undefined;
}

type Of<Do extends IncidentRequest['do']> = Extract<IncidentRequest, { readonly do: Do }>;

export function incidentManagerOutbound(
  { restOf, eventsOf, senderOf }: IncidentApis,
  own: OwnDeeds,
): Outbound<IncidentManagerTrigger, IncidentRequest> {
  const rest = (trigger: IncidentManagerTrigger) => restOf(trigger) ?? gone(trigger, 'api_key');
  return {
    target: incidentTarget,
    async destination({ config }, conversation) {
      const incident = /^incidentmanager\/(\w{1,64})$/.exec(conversation)?.[1];
      return incident === undefined || config.api_key === undefined ? undefined : { place: incident };
    },
    render: incidentRequests,
    limits: (trigger) => {
      const heldMs = Math.max(restOf(trigger)?.heldMs ?? 0, eventsOf(trigger)?.heldMs ?? 0);
      const { everyMs: perMs, burst: atOnce } =
        trigger.config.api_key === undefined ? EVENTS_PACE : REST_PACE;
      return {
        text: { most: MAX_NOTE, unit: 'utf16' },
        rates: [{ of: 'account', most: 1, perMs, atOnce }],
        held: heldMs > 0 ? [{ of: 'account', forMs: heldMs }] : [],
      };
    },
    sendsTo: ({ config }) => (config.api_key === undefined ? config.events_url : config.api_url),
    senderOf,
    serviceOf: ({ host }) => host,
    send(trigger, request, context) {
      switch (request.do) {
        case 'note':
          return writeNote(rest(trigger), trigger, request, context, own);
        case 'state':
          return giveState(rest(trigger), trigger, request, context, own);
        case 'event':
          return sendEvent(eventsOf(trigger) ?? gone(trigger, 'routing_key'), trigger, request, context, own);
      }
    },
  };
}

function gone({ name }: IncidentManagerTrigger, key: string): never {
  throw new DeliveryError(`trigger ${name} has no ${key} any more`, { isFinal: true });
}

async function writeNote(
  api: IncidentManagerApi,
  { retry }: IncidentManagerTrigger,
  { incident, text, of }: Of<'note'>,
  { rowId, wasTried, receiptOf, signal }: SendContext,
  own: OwnDeeds,
): Promise<Receipt> {
  const notes = path`/incidents/${incident}/notes`;
  const what = `a note on ${incident}`;
  const json = { note: { content: noteContent(text, rowId) } };
  const before = of === undefined ? undefined : await receiptOf(of);
  if (before !== undefined) {
    const at = path`/incidents/${incident}/notes/${before.id}`;
    await api
      .request({ method: 'PUT', path: at, json, signal }, what, retry)
      .catch((error: DeliveryError) => {
        const isGone = error.platformCode === 404 || error.platformCode === 2100;
        throw isGone ? error.with({ isFinal: true, isTargetGone: true }) : error;
      });
    return before;
  }
  if (wasTried) {
    const { json: said } = await api.request({ path: notes, signal }, `the notes on ${incident}`, retry);
    const all = memberOf(said, 'notes');
    if (!Array.isArray(all)) throw new DeliveryError(`the notes on ${incident} were answered with no list`);
    const mark = noteMark(rowId);
    const written: unknown = all.find((each) => textMember(each, 'content')?.includes(mark));
    if (written !== undefined) return noted(written, own);
  }
  const { json: said } = await api.request({ method: 'POST', path: notes, json, signal }, what, retry);
  const note = memberOf(said, 'note');
  api.ownUser = textMember(note, 'user.id') ?? api.ownUser;
  return noted(note, own);
}

async function noted(note: unknown, own: OwnDeeds): Promise<Receipt> {
  const id = textMember(note, 'id') ?? '';
  if (id !== '') await own.noteWritten(id);
  return { id };
}

async function giveState(
  api: IncidentManagerApi,
  { retry }: IncidentManagerTrigger,
  { incident, status }: Of<'state'>,
  { signal }: SendContext,
  own: OwnDeeds,
): Promise<Receipt> {
  const at = path`/incidents/${incident}`;
  const { json: said } = await api.request({ path: at, signal }, `the state of ${incident}`, retry);
  const before = textMember(said, 'incident.status');
  if (before === status) return { id: incident };
  if (before === 'resolved') return { id: incident, note: NOT_REOPENED };
  const told = `incident.${status}`;
  const { ownUser } = api;
  await own.stating(incident, told, { isPerson: true, id: ownUser });
  const json = { incident: { type: 'incident_reference', status } };
  const what = `the state ${status} of ${incident}`;
  const request = { method: 'PUT', path: at, json, signal };
  const done = await api.request(request, what, retry).catch((error: DeliveryError) => {
    if (error.platformCode !== ALREADY_RESOLVED && error.platformCode !== ALREADY_ACKNOWLEDGED) throw error;
    return undefined;
  });
  api.ownUser = textMember(done?.json, 'incident.last_status_change_by.id') ?? ownUser;
  if (api.ownUser !== ownUser) await own.stating(incident, told, { isPerson: true, id: api.ownUser });
  return { id: incident };
}

const NOT_REOPENED = 'the incident was resolved meanwhile; acknowledging it would have opened it again';

async function sendEvent(
  api: IncidentManagerApi,
  { retry, config: { routing_key } }: IncidentManagerTrigger,
  { incident, action, key, payload }: Of<'event'>,
  { signal }: SendContext,
  own: OwnDeeds,
): Promise<Receipt> {
  const told = tellsOf[action];
  if (told !== undefined) await own.stating(incident, told, { isPerson: false });
  const json = {
    routing_key,
    event_action: action,
    dedup_key: key,
    payload,
    client: payload && 'actor-gateway',
  };
  const request = { method: 'POST', path: '/v2/enqueue', json, signal };
  const { json: said } = await api.request(request, `an event for ${incident}`, retry);
  return { id: textMember(said, 'dedup_key') ?? key };
}

/** The event that comes back. */
const tellsOf = {
  trigger: undefined,
  acknowledge: 'incident.acknowledged',
  resolve: 'incident.resolved',
} as const;
