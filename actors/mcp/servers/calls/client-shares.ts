// Shares of one client in the limits of calls and streams. A share is the part of a budget that its holder
// uses (base/bounds/budget.ts). The client is a principal (identity) with its own credential, otherwise a
// session. All sessions and stateless requests of a principal use the same shares, so a client gains nothing
// by more sessions (A6, ARCHITECTURE.md).

import { Share } from '../../../base/bounds/budget.ts';
import { WeakValues } from '../../../base/bounds/weak-values.ts';
import { isIndividual, type Principal, principalText } from '../../../identity/principal.ts';

export class ClientShares {
  /** Slots for requests in flight. */
  readonly slots = new Share();
  /** Slots for requests that wait for a server description. */
  readonly introductions = new Share();
  /** Bytes of large requests in flight. */
  readonly largeBytes = new Share();
  /** Bytes of large client descriptions. */
  readonly descriptions = new Share();
  /** Streams and watches, such as GET /logs. */
  readonly streams = new Share();
}

/** The shares of all principals. The shares of a principal exist while a session or call refers to them. */
export class PrincipalShares {
  readonly #shares = new WeakValues<ClientShares>();

  /** Returns the shares of the principal; undefined if the principal does not identify one client. */
  of(principal: Principal | undefined): ClientShares | undefined {
    if (principal === undefined || !isIndividual(principal)) return undefined;
    return this.#shares.getOrCreate(principalText(principal), () => new ClientShares());
  }
}
