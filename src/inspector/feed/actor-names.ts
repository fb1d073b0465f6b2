// Actors by the names that are shown. The actor of a mailbox is called by its key, and so are the events that tell of its
// end: a key may hold what somebody has sent. Such names have a slash, and no others have one.
//
// AN1 (A9)  a key is shown redacted, and cut. Where that has taken something away a number keeps two of them apart.

import type { Redactor } from '../../../actors/base/errors/redact.ts';

const MAX_KEY = 120;

export class ActorNames {
  readonly #redactor: Redactor;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** The name of the actor of that id, such as `conversation/http/orders#12`. */
  nameOf(id: string): string {
    if (!id.includes('/')) return id;
    const [, key = id, number] = /^(.*)#(\d+)$/s.exec(id) ?? [];
    const shown = this.#redactor.excerpt(key, MAX_KEY);
    if (shown === key) return id;
    return number === undefined ? shown : `${shown} (${number})#${number}`;
  }

  /** The type of an event; XState puts the id of a child that has ended into it. */
  eventOf(type: string): string {
    if (!type.includes('/')) return type;
    const [, prefix = '', rest = type] = /^(xstate\.\w+\.actor\.)(.*)$/s.exec(type) ?? [];
    return prefix + this.nameOf(rest);
  }
}
