// How often programs may speak in a row in one conversation before a person does: two bots that answer each other would go on for
// ever.
//
// What is remembered is bounded, and is gone with the process: then they have that many more.
//
// BT1  of messages of bots no more than MAX_IN_A_ROW are taken until a person has written there; nothing a person does is counted.
// BT2  what comes again at once is counted once, and is judged as before.

const MAX_IN_A_ROW = 10;
const MAX_CONVERSATIONS = 10_000;

export interface SpokenTurn {
  readonly conversation: string;
  /** A program wrote it. */
  readonly isByBot: boolean;
  /** Of the message, where it may come again. */
  readonly id?: string | undefined;
}

interface Turns {
  readonly count: number;
  readonly lastId: string | undefined;
}

const NONE: Turns = { count: 0, lastId: undefined };

export class BotTurns {
  /** The one that was heard of last is the last. */
  readonly #turns = new Map<string, Turns>();

  /** Whether the message is to be taken; `isFirst` for the first of those that are not. */
  take({ conversation, isByBot, id }: SpokenTurn): { readonly isTaken: boolean; readonly isFirst?: boolean } {
    const before = this.#turns.get(conversation) ?? NONE;
    this.#turns.delete(conversation);
    if (!isByBot) return { isTaken: true };
    const isAgain = id !== undefined && id === before.lastId;
    const turns = isAgain ? before : { count: before.count + 1, lastId: id };
    this.#turns.set(conversation, turns);
    for (const [oldest] of this.#turns) {
      if (this.#turns.size <= MAX_CONVERSATIONS) break;
      this.#turns.delete(oldest);
    }
    return { isTaken: turns.count <= MAX_IN_A_ROW, isFirst: !isAgain && turns.count === MAX_IN_A_ROW + 1 };
  }
}
