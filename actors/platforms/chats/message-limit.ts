// Limits how many messages bots may send in a row in one conversation. Otherwise two bots that answer each
// other would continue forever.
//
// After MAX_IN_A_ROW messages of bots, further messages of bots are ignored until a person writes. A
// redelivered message is counted once and gets the same decision. The first ignored message of a row is
// logged. The counts are in memory only, bounded, and restart at zero with the process.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { Log } from '../../base/errors/log.ts';

const MAX_IN_A_ROW = 10;
const MAX_CONVERSATIONS = 10_000;
/** Number of message ids kept per conversation: every accepted message, and a few ignored messages. */
const RECENT_IDS = 16;

export interface CountedMessage {
  readonly conversation: string;
  /** True if a program wrote the message. */
  readonly isByBot: boolean;
  /** Message id, for platforms that redeliver. */
  readonly id?: string | undefined;
}

interface Streak {
  readonly count: number;
  /** Ids of the last RECENT_IDS counted messages. */
  readonly ids: readonly string[];
}

const NONE: Streak = { count: 0, ids: [] };

export class BotMessageLimit {
  /** By conversation, the least recently used first. */
  readonly #streaks = new Map<string, Streak>();

  /** Returns true if the message may be accepted. `about` holds the log fields of the conversation. */
  admit(
    { conversation, isByBot, id }: CountedMessage,
    log: Log,
    about: Readonly<Record<string, unknown>>,
  ): boolean {
    const streakBefore = this.#streaks.get(conversation) ?? NONE;
    this.#streaks.delete(conversation);
    if (!isByBot) return true;
    const isRedelivered = id !== undefined && streakBefore.ids.includes(id);
    const streak = isRedelivered
      ? streakBefore
      : { count: streakBefore.count + 1, ids: withLast(streakBefore.ids, id) };
    this.#streaks.set(conversation, streak);
    deleteOldest(this.#streaks, MAX_CONVERSATIONS);
    if (!isRedelivered && streak.count === MAX_IN_A_ROW + 1)
      log.warn(
        about,
        'bots answer each other in a conversation; ignoring their messages until a person writes',
      );
    return streak.count <= MAX_IN_A_ROW;
  }
}

function withLast(ids: readonly string[], id: string | undefined): readonly string[] {
  return id === undefined ? ids : [...ids.slice(1 - RECENT_IDS), id];
}
