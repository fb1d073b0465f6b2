// Detects replays of signed requests. If the signature does not cover the event id, a recorded request could
// be sent again under a new id. Within the trigger's window such a request gets the id of the first event.
// The store then refuses the duplicate, or requeues the first event if it is dead.
//
// The signatures are in memory only, for the window and up to MAX_BODIES. The store detects repeated ids
// independently, also after restarts.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';

const MAX_BODIES = 20_000;

interface SeenBody {
  readonly id: string;
  /** Time of the request, by `performance.now`. */
  readonly at: number;
}

export interface SignedRequest {
  /** Path of the request, because its triggers may depend on unsigned parts. */
  readonly path: string;
  /** Verified signature, in one form for all its spellings. */
  readonly signature: string;
  /** Event id. */
  readonly id: string;
  /** True if the sender supplied the id. A request with a generated id is not remembered, only compared. */
  readonly isNamed: boolean;
  /** 0 disables the detection. */
  readonly windowMs: number;
}

export class SeenBodies {
  readonly #seen = new Map<string, SeenBody>();

  get size(): number {
    return this.#seen.size;
  }

  /** Returns the event id of an earlier request with the same signature, else the id of the request. */
  eventIdOf({ path, signature, id, isNamed, windowMs }: SignedRequest): string {
    if (!(windowMs > 0)) return id;
    const name = `${path} ${signature}`;
    const now = performance.now();
    const earlier = this.#seen.get(name);
    if (earlier !== undefined && now - earlier.at < windowMs) return earlier.id;
    if (isNamed) this.#add(name, { id, at: now });
    return id;
  }

  #add(name: string, seen: SeenBody): void {
    this.#seen.delete(name);
    this.#seen.set(name, seen);
    deleteOldest(this.#seen, MAX_BODIES);
  }
}
