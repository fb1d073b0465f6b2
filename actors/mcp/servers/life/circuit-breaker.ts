// The circuit breaker of a server: refuses calls while the server is switched off, or parked because it has failed too
// often lately, and says why. The supervisor parks it; when the time is over the next call, or an operator, starts it
// again.

import { UnavailableError } from '../../../base/errors/errors.ts';
import { steadyNow } from '../../../base/time/steady-clock.ts';

/** A park that is over by the time somebody has read of it needs no advice on how to end it. */
const SOON_MS = 5000;

export class CircuitBreaker {
  /** By the steady clock, until when the server is parked, or was; undefined where it is not. */
  until: number | undefined;
  /** False while no call is refused: the server is enabled and not parked. */
  mayRefuse: boolean;
  readonly #id: string;
  readonly #isEnabled: boolean;
  #because = '';

  constructor(id: string, isEnabled: boolean) {
    this.#id = id;
    this.#isEnabled = isEnabled;
    this.mayRefuse = !isEnabled;
  }

  /** The server has failed too often lately, and the time for which it is parked is not over. */
  get isOpen(): boolean {
    return this.until !== undefined && this.until > steadyNow();
  }

  /** Of an agent alone, whose ids have a slash: no address reaches it. */
  get #isOfAgent(): boolean {
    return this.#id.includes('/');
  }

  /** `until` is by the steady clock; `because` is shown to clients. */
  open(until: number, because: string): void {
    this.until = until;
    this.mayRefuse = true;
    this.#because = because;
  }

  close(): void {
    this.until = undefined;
    this.mayRefuse = !this.#isEnabled;
  }

  /** The error for a call that comes now; undefined where it is let through. */
  refusal(): UnavailableError | undefined {
    if (!this.#isEnabled) {
      return new UnavailableError(`server ${this.#id} is switched off (its entry says enabled: false)`, 60);
    }
    if (this.until === undefined) return undefined;
    const leftMs = this.until - steadyNow();
    if (leftMs <= 0) return undefined;
    const hint =
      leftMs > SOON_MS && !this.#isOfAgent ? ` (POST /servers/${this.#id}/start tries at once)` : '';
    return new UnavailableError(
      `server ${this.#id} is parked after too many failures and is tried again in ${Math.ceil(leftMs / 1000)} s` +
        `${hint}: ${this.#because}`,
      leftMs / 1000,
    );
  }
}
