// Bodies that were signed and taken, by their signatures, for a while: where the id of a request is not signed with it, whoever
// has recorded one can send it again under another id. So what was signed counts as the same event, whatever id it comes under.
//
// SB1  kept in memory, for as long as the trigger says and up to MAX_KEPT of them; the oldest go first. By its id an event is
//      known for as long as its record is kept, and after a restart too.
// SB2  what was not accepted is not kept: its sender may come again.

const MAX_KEPT = 20_000;

interface Seen {
  readonly id: string;
  /** In terms of performance.now. */
  readonly at: number;
}

export interface SignedRequest {
  /** Of the trigger that takes it. */
  readonly trigger: string;
  /** The signature that was found to be right, as it came. */
  readonly signature: string;
  /** Of the event. */
  readonly id: string;
  /** Whether the sender has named it: of what nobody names every one is an event of its own, but for the named ones. */
  readonly isNamed: boolean;
  readonly windowMs: number;
}

export class SeenBodies {
  readonly #seen = new Map<string, Seen>();

  get size(): number {
    return this.#seen.size;
  }

  /** The id under which the same was taken before, if it was another one. Else what `accept` gives, which makes it durable. */
  async takeOnce<T>(
    request: SignedRequest,
    accept: () => Promise<T>,
  ): Promise<{ readonly knownAs: string } | { readonly accepted: T }> {
    const { trigger, id, isNamed, windowMs } = request;
    if (!(windowMs > 0)) return { accepted: await accept() };
    const name = `${trigger} ${request.signature.toLowerCase()}`;
    const now = performance.now();
    const before = this.#seen.get(name);
    const isFresh = before !== undefined && now - before.at < windowMs;
    if (isFresh && before.id !== id) return { knownAs: before.id };
    const isAdded = isNamed && !isFresh;
    if (isAdded) this.#add(name, { id, at: now });
    try {
      return { accepted: await accept() };
    } catch (error) {
      if (isAdded) this.#seen.delete(name);
      throw error;
    }
  }

  #add(name: string, seen: Seen): void {
    this.#seen.delete(name);
    for (const oldest of this.#seen.keys()) {
      if (this.#seen.size < MAX_KEPT) break;
      this.#seen.delete(oldest);
    }
    this.#seen.set(name, seen);
  }
}
