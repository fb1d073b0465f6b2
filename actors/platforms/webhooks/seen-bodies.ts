// Bodies that were signed and taken, by their signatures, for a while: where the id of a request is not signed with it, whoever
// has recorded one can send it again under another id. So what was signed counts as the same event, whatever id it comes under.
//
// SB1  kept in memory, for as long as the trigger says and up to MAX_KEPT of them; the oldest go first. By its id an event is
//      known for as long as its record is kept, and after a restart too.
// SB2  what was not accepted is not kept: its sender may come again. While that is not known, nothing counts as known by it.

import { forgetOldest } from '../../base/bounds/forget-oldest.ts';

const MAX_KEPT = 20_000;

interface Seen {
  readonly id: string;
  /** In terms of performance.now. */
  readonly at: number;
  /** While it is being accepted: whether it was. Never rejects. */
  accepting: Promise<boolean> | undefined;
}

export interface SignedRequest {
  /** Where it came: who takes it may depend on what is not signed. */
  readonly place: string;
  /** The signature that was found to be right, as it came. */
  readonly signature: string;
  /** Of the event. */
  readonly id: string;
  /** Whether the sender has named it: of what nobody names every one is an event of its own, but for the named ones. */
  readonly isNamed: boolean;
  readonly windowMs: number;
}

/** Known under another id, or what came of accepting it. */
export type Taken<T> = { readonly knownAs: string } | { readonly accepted: T };

export class SeenBodies {
  readonly #seen = new Map<string, Seen>();

  get size(): number {
    return this.#seen.size;
  }

  /** The id under which the same was taken before, if it was another one. Else what `accept` gives, which makes it durable. */
  async takeOnce<T>(request: SignedRequest, accept: () => Promise<T>): Promise<Taken<T>> {
    const { place, id, isNamed, windowMs } = request;
    if (!(windowMs > 0)) return { accepted: await accept() };
    const name = `${place} ${request.signature.toLowerCase()}`;
    const now = performance.now();
    const before = this.#seen.get(name);
    const isFresh = before !== undefined && now - before.at < windowMs;
    if (isFresh && before.id !== id) {
      const isTaken = before.accepting === undefined || (await before.accepting);
      return isTaken ? { knownAs: before.id } : this.takeOnce(request, accept);
    }
    const accepting = accept();
    if (isNamed && !isFresh) {
      const seen: Seen = { id, at: now, accepting: undefined };
      this.#add(name, seen);
      seen.accepting = this.#settled(name, seen, accepting);
    }
    return { accepted: await accepting };
  }

  async #settled(name: string, seen: Seen, accepting: Promise<unknown>): Promise<boolean> {
    try {
      await accepting;
      seen.accepting = undefined;
      return true;
    } catch {
      if (this.#seen.get(name) === seen) this.#seen.delete(name);
      return false;
    }
  }

  #add(name: string, seen: Seen): void {
    this.#seen.delete(name);
    this.#seen.set(name, seen);
    forgetOldest(this.#seen, MAX_KEPT);
  }
}
