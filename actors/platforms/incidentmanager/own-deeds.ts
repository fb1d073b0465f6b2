// What this gateway did at the platform itself: its notes, and the states that it gave to incidents. Both come back as events,
// and whoever answered them would talk to itself for ever.
//
// OD1  a note is known by the id that the platform gave it, and by the mark in its words (note-mark.ts), which is there even
//      where the gateway ended before it heard of an id.
// OD2  a state is written down before it is asked for. For a while an event that tells of it is ours, unless it names a person
//      of whom nobody knows that we are that one: two people may acknowledge one incident, and neither is to be unheard. What is
//      answered for want of that knowledge is answered once: a state that is there already is not given again.

import type { Store } from '../../store/store.ts';
import { textMember } from '../payloads/payload-member.ts';
import { ANNOTATED, idOf, incidentIn, noteOf } from './facts.ts';

const SPACE = 'incidentmanager-own';
/** The platform sends for so long again what it could not deliver. */
const NOTE_KEPT_MS = 3 * 86_400_000;
const STATE_KEPT_MS = 600_000;

/** Who did it: a person, whose id may not be known yet, or no person, as events of a routing key. */
export interface Doer {
  readonly isPerson: boolean;
  readonly id?: string | undefined;
}

export class OwnDeeds {
  readonly #store: Pick<Store, 'get' | 'put'>;

  constructor(store: Pick<Store, 'get' | 'put'>) {
    this.#store = store;
  }

  /** A note was written. What cannot be kept is known by its mark. */
  async noteWritten(note: string): Promise<void> {
    await this.#store.put(SPACE, noteKey(note), '{}', { ttlMs: NOTE_KEPT_MS }).catch(() => {});
  }

  /** The incident is about to be given a state, of which an event of that type will tell. Rejects as the store does. */
  async stating(incident: string, type: string, doer: Doer): Promise<void> {
    await this.#store.put(SPACE, stateKey(incident, type), JSON.stringify(doer), { ttlMs: STATE_KEPT_MS });
  }

  /** Whether an event tells of one of these. Rejects as the store does. */
  async has(payload: unknown, type: string): Promise<boolean> {
    if (type === ANNOTATED) {
      const { id } = noteOf(payload);
      return id !== undefined && (await this.#store.get(SPACE, noteKey(id))) !== undefined;
    }
    const incident = idOf(incidentIn(payload, type)) ?? '';
    const kept = statesToldBy.has(type) ? await this.#store.get(SPACE, stateKey(incident, type)) : undefined;
    if (kept === undefined) return false;
    const { isPerson, id } = JSON.parse(kept.value) as Doer;
    if (textMember(payload, 'event.agent.type') !== 'user_reference') return true;
    return isPerson && id !== undefined && id === textMember(payload, 'event.agent.id');
  }
}

/** Types of the events that tell of a state we may give. */
const statesToldBy: ReadonlySet<string> = new Set(['incident.acknowledged', 'incident.resolved']);

const noteKey = (note: string) => `note/${note}`;
const stateKey = (incident: string, type: string) => `${type}/${incident}`;
