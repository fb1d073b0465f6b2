// Detects replays of signed requests. If the signature does not cover the event id, a recorded request could
// be sent again under a new id. Within the trigger's window such a request counts as a duplicate of the first
// event.
//
// The signatures of accepted bodies are in memory only, for the window and up to MAX_BODIES. The store
// detects repeated ids independently, also after restarts. A body is remembered only once it is accepted,
// because senders retry after failures; concurrent replays wait for that outcome.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';

const MAX_BODIES = 20_000;

interface SeenBody {
  readonly id: string;
  /** Time of the request, by `performance.now`. */
  readonly at: number;
  /** Set until the event is stored. Resolves with true if accepted. Never rejects. */
  accepting: Promise<boolean> | undefined;
}

export interface SignedRequest {
  /** Path of the request, because its triggers may depend on unsigned parts. */
  readonly path: string;
  /** Verified signature, as received. */
  readonly signature: string;
  /** Event id. */
  readonly id: string;
  /** True if the sender supplied the id. A request with a generated id is not remembered, only compared. */
  readonly isNamed: boolean;
  readonly windowMs: number;
}

/** Id of the first event (`knownAs`), or the result of accepting a new event. */
export type Acceptance<T> = { readonly knownAs: string } | { readonly accepted: T };

export class SeenBodies {
  readonly #seen = new Map<string, SeenBody>();

  get size(): number {
    return this.#seen.size;
  }

  /**
   * Returns the id of an earlier event with the same signature, if any. Otherwise runs `accept`, which
   * persists the event.
   */
  async acceptOnce<T>(request: SignedRequest, accept: () => Promise<T>): Promise<Acceptance<T>> {
    const { path, id, isNamed, windowMs } = request;
    if (!(windowMs > 0)) return { accepted: await accept() };
    const name = `${path} ${request.signature.toLowerCase()}`;
    const now = performance.now();
    const earlier = this.#seen.get(name);
    const isFresh = earlier !== undefined && now - earlier.at < windowMs;
    if (isFresh && earlier.id !== id) {
      const isAccepted = earlier.accepting === undefined || (await earlier.accepting);
      return isAccepted ? { knownAs: earlier.id } : this.acceptOnce(request, accept);
    }
    const accepting = accept();
    if (isNamed && !isFresh) {
      const seen: SeenBody = { id, at: now, accepting: undefined };
      this.#add(name, seen);
      seen.accepting = this.#awaitAcceptance(name, seen, accepting);
    }
    return { accepted: await accepting };
  }

  async #awaitAcceptance(name: string, seen: SeenBody, accepting: Promise<unknown>): Promise<boolean> {
    try {
      await accepting;
      seen.accepting = undefined;
      return true;
    } catch {
      if (this.#seen.get(name) === seen) this.#seen.delete(name);
      return false;
    }
  }

  #add(name: string, seen: SeenBody): void {
    this.#seen.delete(name);
    this.#seen.set(name, seen);
    deleteOldest(this.#seen, MAX_BODIES);
  }
}
