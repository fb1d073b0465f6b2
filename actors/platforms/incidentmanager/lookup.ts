// Looks up data that an event lacks: filter values of a referenced incident, and the full text of a truncated
// note, because the last line marks notes of a gateway.
//
// After temporary failures the event is retried, because it must not bypass its filters. After permanent
// failures the values stay unknown, and the filters decide.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { path } from '../../../libs/rest/path.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { definedContext, memberOf, textMember } from '../payloads/payload-member.ts';
import type { IncidentManagerApi } from './api.ts';
import { contextText } from './event.ts';
import { ANNOTATED, incidentContext, noteOf } from './facts.ts';
import { lacksFacts } from './filter.ts';

/** A trigger with an API key, and its client. */
interface KeyHolder {
  readonly trigger: IncidentManagerTrigger;
  readonly api: IncidentManagerApi;
}

/**
 * Adds the missing data; undefined if no data is missing, or no trigger has a key. Rejects with a
 * DeliveryError.
 */
export function addIncidentFacts(
  inbound: InboundEvent,
  triggers: readonly IncidentManagerTrigger[],
  restOf: (trigger: IncidentManagerTrigger) => IncidentManagerApi | undefined,
): Promise<InboundEvent> | undefined {
  const incident = contextText(inbound, 'incident.id');
  const holders = triggers.flatMap((trigger) => {
    const api = restOf(trigger);
    return api === undefined ? [] : [{ trigger, api }];
  });
  const [first] = holders;
  if (incident === undefined || first === undefined) return undefined;
  const isIncomplete = triggers.some((trigger) => lacksFacts(trigger, inbound));
  const isTruncated = inbound.names[0] === ANNOTATED && noteOf(inbound.payload).isTrimmed;
  if (!isIncomplete && !isTruncated) return undefined;
  return (async () => {
    let event = inbound;
    if (isIncomplete) event = await withIncident(event, incident, holders);
    if (isTruncated) event = await withNote(event, incident, holders);
    return event;
  })();
}

async function withIncident(
  inbound: InboundEvent,
  incident: string,
  holders: readonly KeyHolder[],
): Promise<InboundEvent> {
  const response = await requestFirst(holders, path`/incidents/${incident}`, incident);
  const current = definedContext(incidentContext(memberOf(response, 'incident')));
  if (current['incident.id'] !== incident) return inbound;
  // Values in the event take precedence, because they applied when it occurred.
  const context = { ...current, ...inbound.context };
  return { ...inbound, context, channel: contextText({ context }, 'incident.service.id') };
}

async function withNote(
  inbound: InboundEvent,
  incident: string,
  holders: readonly KeyHolder[],
): Promise<InboundEvent> {
  const { id } = noteOf(inbound.payload);
  const notes = memberOf(await requestFirst(holders, path`/incidents/${incident}/notes`, incident), 'notes');
  const note: unknown = Array.isArray(notes)
    ? notes.find((each) => textMember(each, 'id') === id)
    : undefined;
  const text = textMember(note, 'content')?.trim();
  return text === undefined || text === '' ? inbound : { ...inbound, text };
}

/** Requests data with the first key that has access; undefined if no key has. */
async function requestFirst(holders: readonly KeyHolder[], at: string, incident: string): Promise<unknown> {
  const tried = new Set<IncidentManagerApi>();
  for (const { trigger, api } of holders) {
    if (tried.has(api)) continue;
    tried.add(api);
    try {
      const { json } = await api.request({ path: at }, `the incident ${incident}`, trigger.retry);
      return json;
    } catch (error) {
      if (!(error instanceof DeliveryError) || !error.isFinal) throw error;
    }
  }
  return undefined;
}
