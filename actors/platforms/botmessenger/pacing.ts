// How fast a bot may send: to one chat one message a second, of which a few may come early; to a group besides 20 a minute;
// altogether 30 a second, of which some are spared, since on their way messages may come closer together.

import { Pacing, type PlaceLimit } from '../../events/outbox/pacing.ts';

const PERSON: PlaceLimit = { everyMs: 1_000, burst: 5 };
const GROUP: PlaceLimit = { ...PERSON, window: { most: 20, ms: 60_000 } };

export const botPacing = (now?: () => number): Pacing =>
  new Pacing({ accountEveryMs: 40, accountBurst: 3, place: PERSON, ...(now && { now }) });

/** The same as words for an operator. */
export const kindsOfChats = { person: PERSON, group: GROUP };

/** An edit counts as a message. So a message that changes leaves a third of what the chat takes to others. */
export function editsEveryMs(chat: string): number {
  const { everyMs, window } = limitOf(chat);
  return 1.5 * Math.max(everyMs, window === undefined ? 0 : window.ms / window.most);
}

/** Ids of groups are negative. */
export const limitOf = (chat: string): PlaceLimit => (chat.startsWith('-') ? GROUP : PERSON);
