// What an event does not say and somebody needs to know: of an incident that it only refers to, what filters ask for; of a note that
// the platform has cut, its words in full, at the end of which stands whether it is one of our own.
//
// IL1  while that cannot be had the event waits, and is tried again; it is never taken unfiltered. Where the platform says that
//      it cannot be had at all, what is unknown stays so, and the filters decide.

import type { IncidentManagerTrigger } from '../../../config/resources/triggers/trigger.ts';
import { path } from '../../../libs/rest/path.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import { knownContext, memberOf, textMember } from '../payloads/payload-member.ts';
import type { IncidentManagerApi } from './api.ts';
import { contextText } from './event.ts';
import { ANNOTATED, incidentContext, noteOf } from './facts.ts';
import { lacksFacts } from './filter.ts';

/** What one of the triggers asks with. */
interface Asker {
  readonly trigger: IncidentManagerTrigger;
  readonly api: IncidentManagerApi;
}

/** Undefined where nothing is lacking, or nobody has a key to ask with. The promise rejects with a DeliveryError. */
export function completedIncident(
  inbound: InboundEvent,
  triggers: readonly IncidentManagerTrigger[],
  restOf: (trigger: IncidentManagerTrigger) => IncidentManagerApi | undefined,
): Promise<InboundEvent> | undefined {
  const incident = contextText(inbound, 'incident.id');
  const askers = triggers.flatMap((trigger) => {
    const api = restOf(trigger);
    return api === undefined ? [] : [{ trigger, api }];
  });
  const [first] = askers;
  if (incident === undefined || first === undefined) return undefined;
  const lacking = triggers.some((trigger) => lacksFacts(trigger, inbound));
  const isCut = inbound.names[0] === ANNOTATED && noteOf(inbound.payload).isTrimmed;
  if (!lacking && !isCut) return undefined;
  return (async () => {
    let event = inbound;
    if (lacking) event = await withIncident(event, incident, askers);
    if (isCut) event = await withNote(event, incident, askers);
    return event;
  })();
}

async function withIncident(
  inbound: InboundEvent,
  incident: string,
  askers: readonly Asker[],
): Promise<InboundEvent> {
  const said = await asked(askers, path`/incidents/${incident}`, incident);
  const found = knownContext(incidentContext(memberOf(said, 'incident')));
  if (found['incident.id'] !== incident) return inbound;
  // What the event says was so when it happened.
  const context = { ...found, ...inbound.context };
  return { ...inbound, context, channel: contextText({ context }, 'incident.service.id') };
}

async function withNote(
  inbound: InboundEvent,
  incident: string,
  askers: readonly Asker[],
): Promise<InboundEvent> {
  const { id } = noteOf(inbound.payload);
  const notes = memberOf(await asked(askers, path`/incidents/${incident}/notes`, incident), 'notes');
  const note: unknown = Array.isArray(notes)
    ? notes.find((each) => textMember(each, 'id') === id)
    : undefined;
  const text = textMember(note, 'content')?.trim();
  return text === undefined || text === '' ? inbound : { ...inbound, text };
}

/** By the first key that may; undefined where none may. */
async function asked(askers: readonly Asker[], at: string, incident: string): Promise<unknown> {
  const tried = new Set<IncidentManagerApi>();
  for (const { trigger, api } of askers) {
    if (tried.has(api)) continue;
    tried.add(api);
    try {
      const { json } = await api.request({ path: at }, `what is known of ${incident}`, trigger.retry);
      return json;
    } catch (error) {
      if (!(error instanceof DeliveryError) || !error.isFinal) throw error;
    }
  }
  return undefined;
}
