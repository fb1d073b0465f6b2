// Rate limits of outbound messages: one message a second per conversation, and fifty a second per bot. The
// bot's limit here is lower, because messages may arrive closer together than sent. Edits and typing
// indicators count as messages.

import { type DestinationLimit, Pacing } from '../../events/outbox/pacing.ts';

const CONVERSATION: DestinationLimit = { everyMs: 1_000 };

/** Limits with names, for operators. */
export const limitsByName = { conversation: CONVERSATION };

export const teamPacing = (now?: () => number): Pacing =>
  new Pacing({ accountEveryMs: 25, accountBurst: 5, destination: CONVERSATION, ...(now && { now }) });

/** Interval between edits, in milliseconds. Leaves a third of the conversation's rate to other messages. */
export const EDITS_EVERY_MS = 1.5 * CONVERSATION.everyMs;
