// Kinds of work (conversations, outbox per platform): implementation and concurrency. A new kind is one entry
// here; queues, slots, claims, metrics and the inspector follow from it. The mailbox keys of a kind have a
// common prefix, `conversation/` or `outbox/PLATFORM/`. The first word of a prefix must not be a platform
// name: operators may write a key without `conversation/`, which then begins with the platform name
// (operator/delivery-query.ts).

import type { Work } from '../../events/inbox/work.ts';
import type { MakeGate } from '../../events/inbox/work-gate.ts';
import type { WorkSlots } from '../../events/inbox/work-slots.ts';
import type { Circuits } from '../../events/outbox/circuits.ts';
import type { Routing } from '../conversations/routing.ts';
import { type ConversationRecords, ConversationWork } from '../conversations/work.ts';
import { type OutboxRouting, OutboxWork } from './outbox-work.ts';

export interface WorkKind {
  /** Queue name: `conversations`, `outbox/repohost`. */
  readonly name: string;
  /** Parent actor of the mailboxes, shared by several kinds. @default its name */
  readonly parent?: string;
  /** Limit of concurrent events. */
  readonly slots: number;
  readonly makeGate?: MakeGate | undefined;
  make(slots: WorkSlots): Work;
}

export interface WorkKindsOptions {
  readonly store: ConversationRecords;
  /** Platforms that receive messages. */
  readonly platforms: readonly string[];
  readonly routing: Routing & OutboxRouting;
  /** Circuit breakers of the sending accounts. */
  readonly circuits: Circuits;
  /** Limit of concurrent conversations. */
  readonly concurrency: number;
  /** In a cluster: selects the node that sends to the platform. */
  gateOf?(platform: string): MakeGate;
}

/** Parent actor of all outbox mailboxes. */
const OUTBOX = 'outbox';
/** Per platform. */
const OUTBOX_SLOTS = 64;

/** Returns the kinds: conversations, and one per platform, because platforms must not share slots. */
export function workKinds(options: WorkKindsOptions): readonly WorkKind[] {
  const { store, platforms, routing, circuits, concurrency } = options;
  const conversations: WorkKind = {
    name: 'conversations',
    slots: concurrency,
    make: (slots) => new ConversationWork(routing, slots, store),
  };
  const outbox = platforms.map(
    (platform): WorkKind => ({
      name: `${OUTBOX}/${platform}`,
      parent: OUTBOX,
      slots: OUTBOX_SLOTS,
      makeGate: options.gateOf?.(platform),
      make: (slots) => new OutboxWork({ platform, routing, slots, store, circuits }),
    }),
  );
  return [conversations, ...outbox];
}
