// Display names of actors. The id of a mailbox's actor contains the key of the mailbox (the queue of one
// conversation), which can contain text of senders. The key is redacted and truncated (A9, ARCHITECTURE.md),
// and a number makes such names unique. Only these ids contain a slash.

import type { Redactor } from '../../../actors/base/errors/redact.ts';

/** Maximum length of a key, in characters. */
const MAX_KEY = 120;

export class ActorNames {
  readonly #redactor: Redactor;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  /** Returns the display name, such as `conversation/http/orders#12`. */
  nameOf(id: string): string {
    if (!id.includes('/')) return id;
    const [, key = id, number] = /^(.*)#(\d+)$/s.exec(id) ?? [];
    const excerpt = this.#redactor.excerpt(key, MAX_KEY);
    if (excerpt === key) return id;
    return number === undefined ? excerpt : `${excerpt} (${number})#${number}`;
  }

  /** Returns the event type with display names: XState includes the id of a completed child in its event. */
  eventOf(type: string): string {
    if (!type.includes('/')) return type;
    const [, prefix = '', rest = type] = /^(xstate\.\w+\.actor\.)(.*)$/s.exec(type) ?? [];
    return prefix + this.nameOf(rest);
  }
}
