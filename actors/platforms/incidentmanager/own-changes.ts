// Recognises the gateway's own changes: its notes, and the states that it set. Both return as events, and
// answering them would cause a loop.
//
// - A note is recognised by its id; if the gateway stopped before it received the id, by the mark in the text
//   (note-mark.ts).
// - A state change is stored first and requested second. For STATE_KEPT_MS a matching event counts as the
//   gateway's, unless it names a person who is not known to be the key's user: two people may acknowledge the
//   same incident, and both events must be handled.
// - While the key's user is unknown, an own event may be answered once. It is not answered repeatedly,
//   because a state that already applies is not set again.

import type { Store } from '../../store/store.ts';
import { textMember } from '../payloads/payload-member.ts';
import { ANNOTATED, idOf, incidentIn, noteOf } from './facts.ts';

const SPACE = 'incidentmanager-own';
/** Lifetime of stored notes. The platform redelivers events for this time. */
const NOTE_KEPT_MS = 3 * 86_400_000;
const STATE_KEPT_MS = 600_000;

/** Origin of a change: a user, whose id may be unknown, or an integration with a routing key. */
export interface ChangeOrigin {
  readonly isPerson: boolean;
  readonly id?: string | undefined;
}

export class OwnChanges {
  readonly #store: Pick<Store, 'get' | 'put'>;

  constructor(store: Pick<Store, 'get' | 'put'>) {
    this.#store = store;
  }

  /** Stores a new note's id. Ignores failures, because the mark also identifies the note. */
  async addNote(note: string): Promise<void> {
    await this.#store.put(SPACE, noteKey(note), '{}', { ttlMs: NOTE_KEPT_MS }).catch(() => {});
  }

  /** Stores a pending state change; `type` is the event that it causes. Rejects if the store fails. */
  async addState(incident: string, type: string, origin: ChangeOrigin): Promise<void> {
    await this.#store.put(SPACE, stateKey(incident, type), JSON.stringify(origin), { ttlMs: STATE_KEPT_MS });
  }

  /** Returns true if an event reports a change of the gateway. Rejects if the store fails. */
  async has(payload: unknown, type: string): Promise<boolean> {
    if (type === ANNOTATED) {
      const { id } = noteOf(payload);
      return id !== undefined && (await this.#store.get(SPACE, noteKey(id))) !== undefined;
    }
    const incident = idOf(incidentIn(payload, type)) ?? '';
    const row = reportedStates.has(type) ? await this.#store.get(SPACE, stateKey(incident, type)) : undefined;
    if (row === undefined) return false;
    const { isPerson, id } = JSON.parse(row.value) as ChangeOrigin;
    if (textMember(payload, 'event.agent.type') !== 'user_reference') return true;
    return isPerson && id !== undefined && id === textMember(payload, 'event.agent.id');
  }
}

/** Events that report a state which the gateway may set. */
const reportedStates: ReadonlySet<string> = new Set(['incident.acknowledged', 'incident.resolved']);

const noteKey = (note: string) => `note/${note}`;
const stateKey = (incident: string, type: string) => `${type}/${incident}`;
