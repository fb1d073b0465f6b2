// Circuit breaker: rejects calls to disabled servers and to parked servers. The supervisor parks a server
// after too many failures: it does not start the server during the park time. After that, the next call
// starts the server again; an operator can start it earlier.

import { UnavailableError } from '../../../base/errors/errors.ts';
import { monotonicNow } from '../../../base/time/monotonic-clock.ts';

/** With less remaining time the error contains no advice, because the park time is almost over. */
const SOON_MS = 5000;

export class CircuitBreaker {
  /** End of the park time by the monotonic clock; undefined if the server is not parked. */
  until: number | undefined;
  /** False if the server is enabled and not parked, so no call is rejected. */
  mayRefuse: boolean;
  readonly #id: string;
  readonly #isEnabled: boolean;
  #because = '';

  constructor(id: string, isEnabled: boolean) {
    this.#id = id;
    this.#isEnabled = isEnabled;
    this.mayRefuse = !isEnabled;
  }

  /** True during the park time. */
  get isOpen(): boolean {
    return this.until !== undefined && this.until > monotonicNow();
  }

  /** True for a private server of an agent: the id contains a slash. The HTTP API cannot start it. */
  get #isOfAgent(): boolean {
    return this.#id.includes('/');
  }

  /** `until` is by the monotonic clock; `because` is visible to clients. */
  open(until: number, because: string): void {
    this.until = until;
    this.mayRefuse = true;
    this.#because = because;
  }

  close(): void {
    this.until = undefined;
    this.mayRefuse = !this.#isEnabled;
  }

  /** Returns the error for a call at this moment; undefined if the call may pass. */
  refusal(): UnavailableError | undefined {
    if (!this.#isEnabled) {
      return new UnavailableError(`server ${this.#id} is disabled (enabled: false in its entry)`, 60);
    }
    if (this.until === undefined) return undefined;
    const remainingMs = this.until - monotonicNow();
    if (remainingMs <= 0) return undefined;
    const hint =
      remainingMs > SOON_MS && !this.#isOfAgent ? ` (POST /servers/${this.#id}/start retries now)` : '';
    return new UnavailableError(
      `server ${this.#id} is parked after too many failures and is retried in ${Math.ceil(remainingMs / 1000)} s` +
        `${hint}: ${this.#because}`,
      remainingMs / 1000,
    );
  }
}
