// How often programs may speak in a row in one chat before a person does: two bots that answer each other would go on for ever.
//
// What is remembered is bounded, and is gone with the process: then they have that many more.
//
// BT1  of messages of bots no more than MAX_IN_A_ROW are taken until a person has written there; nothing a person does is counted.

import type { BotMessage } from './bot-update.ts';

const MAX_IN_A_ROW = 10;
const MAX_CHATS = 10_000;

export class BotTurns {
  /** By chat and topic; the one that was heard of last is the last. */
  readonly #counts = new Map<string, number>();

  /** Whether the message is to be taken; `isFirst` for the first of those that are not. */
  take({ chat, topic = '', isByBot }: BotMessage): { readonly isTaken: boolean; readonly isFirst?: boolean } {
    const place = `${chat}/${topic}`;
    const count = this.#counts.get(place) ?? 0;
    this.#counts.delete(place);
    if (!isByBot) return { isTaken: true };
    this.#counts.set(place, count + 1);
    for (const [oldest] of this.#counts) {
      if (this.#counts.size <= MAX_CHATS) break;
      this.#counts.delete(oldest);
    }
    return { isTaken: count < MAX_IN_A_ROW, isFirst: count === MAX_IN_A_ROW };
  }
}
