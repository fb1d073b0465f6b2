// How fast a bot may send: to one conversation one message a second, altogether fifty, of which some are spared, since on their way
// messages may come closer together. An edit, and a sign that somebody writes, count as messages.

import { Pacing, type PlaceLimit } from '../../events/outbox/pacing.ts';

const CONVERSATION: PlaceLimit = { everyMs: 1_000 };

/** As words for an operator. */
export const kindsOfPlaces = { conversation: CONVERSATION };

export const teamPacing = (now?: () => number): Pacing =>
  new Pacing({ accountEveryMs: 25, accountBurst: 5, place: CONVERSATION, ...(now && { now }) });

/** So that a message that changes leaves a third of what the conversation takes to others. */
export const EDITS_EVERY_MS = 1.5 * CONVERSATION.everyMs;
