// The kinds of keys that events come to: how each is worked through, and how many of it at a time. A further kind, beside
// conversations and the outbox, is an entry here; queues, places, claims, figures and the inspector follow from it. The first
// word of its keys is none of a platform.

import type { Work } from '../../events/inbox/work.ts';
import type { MakeGate } from '../../events/inbox/work-gate.ts';
import type { WorkPlaces } from '../../events/inbox/work-places.ts';
import type { Circuits } from '../../events/outbox/circuits.ts';
import { type ConversationRecords, ConversationWork } from '../conversations/conversation-work.ts';
import type { Routing } from '../conversations/routing.ts';
import { type OutboxRouting, OutboxWork } from './outbox-work.ts';

export interface WorkKind {
  /** Of its queue: `conversations`, `outbox/repohost`. */
  readonly name: string;
  /** The actor under which its mailboxes stand; several kinds may have one. @default its name */
  readonly parent?: string;
  /** Events at work at the same time. */
  readonly places: number;
  readonly makeGate?: MakeGate | undefined;
  make(places: WorkPlaces): Work;
}

export interface WorkKindsOptions {
  readonly store: ConversationRecords;
  /** Words of those that messages are sent to. */
  readonly platforms: readonly string[];
  readonly routing: Routing & OutboxRouting;
  /** Of the accounts that messages are sent under. */
  readonly circuits: Circuits;
  /** Conversations that are worked at the same time. */
  readonly concurrency: number;
  /** Of a cluster: which node sends to that platform. */
  gateOf?(platform: string): MakeGate;
}

/** Of the actor under which all destinations stand. */
const OUTBOX = 'outbox';
/** Of each platform. */
const OUTBOX_PLACES = 64;

/** Conversations, and for each platform a kind of its own: one that hangs takes no place from another. */
export function workKinds(options: WorkKindsOptions): readonly WorkKind[] {
  const { store, platforms, routing, circuits, concurrency } = options;
  const conversations: WorkKind = {
    name: 'conversations',
    places: concurrency,
    make: (places) => new ConversationWork(routing, places, store),
  };
  const outbox = platforms.map(
    (platform): WorkKind => ({
      name: `${OUTBOX}/${platform}`,
      parent: OUTBOX,
      places: OUTBOX_PLACES,
      makeGate: options.gateOf?.(platform),
      make: (places) => new OutboxWork({ platform, routing, places, store, circuits }),
    }),
  );
  return [conversations, ...outbox];
}
