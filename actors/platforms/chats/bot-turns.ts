// How often programs may speak in a row in one conversation before a person does: two bots that answer each other would go on for
// ever.
//
// What is remembered is bounded, and is gone with the process: then they have that many more.
//
// BT1  of messages of bots no more than MAX_IN_A_ROW are taken until a person has written there; nothing a person does is counted.
// BT2  what comes again is counted once, also when others came between, and is judged as before.
// BT3  the first that is not taken is told to the log, and none of those after it in the row.

import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import type { Log } from '../../base/errors/log.ts';

const MAX_IN_A_ROW = 10;
const MAX_CONVERSATIONS = 10_000;
/** Enough for all that can be taken, and for some that is not. */
const RECENT_IDS = 16;

export interface SpokenTurn {
  readonly conversation: string;
  /** A program wrote it. */
  readonly isByBot: boolean;
  /** Of the message, where it may come again. */
  readonly id?: string | undefined;
}

interface Turns {
  readonly count: number;
  /** Of those counted last, no more than RECENT_IDS. */
  readonly ids: readonly string[];
}

const NONE: Turns = { count: 0, ids: [] };

export class BotTurns {
  /** The one that was heard of last is the last. */
  readonly #turns = new Map<string, Turns>();

  /** Whether the message is to be taken. `about`: what the log says of the conversation. */
  take(
    { conversation, isByBot, id }: SpokenTurn,
    log: Log,
    about: Readonly<Record<string, unknown>>,
  ): boolean {
    const before = this.#turns.get(conversation) ?? NONE;
    this.#turns.delete(conversation);
    if (!isByBot) return true;
    const isAgain = id !== undefined && before.ids.includes(id);
    const turns = isAgain ? before : { count: before.count + 1, ids: withLast(before.ids, id) };
    this.#turns.set(conversation, turns);
    forgetOldest(this.#turns, MAX_CONVERSATIONS);
    if (!isAgain && turns.count === MAX_IN_A_ROW + 1)
      log.warn(
        about,
        'bots answer each other in a conversation; they are not taken until a person writes there',
      );
    return turns.count <= MAX_IN_A_ROW;
  }
}

function withLast(ids: readonly string[], id: string | undefined): readonly string[] {
  return id === undefined ? ids : [...ids.slice(1 - RECENT_IDS), id];
}
