// Name, at the platform, of the account that a credential writes as. Adapters need it to ignore events that
// the gateway itself caused. The name is requested in the background, because events are not delayed for it.
// Responses to other requests may also contain the name (`note`).
//
// After transient failures, the next event repeats the request, at the earliest after `retryMs`. A final
// failure is not retried: app tokens, for example, cannot read their account.

import { DeliveryError } from '../../events/outbox/delivery-error.ts';

export class OwnAccount {
  readonly #request: () => Promise<string | undefined>;
  readonly #retryMs: number;
  #name: string | undefined;
  /** Earliest time of the next request, by `performance.now`. */
  #nextRequestAt = 0;
  /** Last request. Never rejects. */
  #requesting: Promise<void> = Promise.resolve();

  /**
   * `request` returns the name; it rejects with a DeliveryError. `retryMs` is the minimum pause, after
   * failures, between requests.
   */
  constructor(request: () => Promise<string | undefined>, retryMs: number) {
    this.#request = request;
    this.#retryMs = retryMs;
  }

  /** Requests the name in the background, unless it is known. */
  learn(): void {
    void this.whenLearned();
  }

  /** Like `learn`, and resolves when the request has completed; immediately if no request is due. */
  whenLearned(): Promise<void> {
    if (this.#name !== undefined || performance.now() < this.#nextRequestAt) return this.#requesting;
    this.#nextRequestAt = Number.POSITIVE_INFINITY;
    this.#requesting = this.#request().then(
      (name) => this.note(name),
      (error: unknown) => {
        const { isFinal = false, retryAfterMs = 0 } = error instanceof DeliveryError ? error : {};
        if (!isFinal) this.#nextRequestAt = performance.now() + Math.max(retryAfterMs, this.#retryMs);
      },
    );
    return this.#requesting;
  }

  /** Stores a name from a response to another request. */
  note(name: string | undefined): void {
    this.#name ??= name;
  }

  get isKnown(): boolean {
    return this.#name !== undefined;
  }

  /** Compares with the name, case-insensitively; false if the name is unknown. */
  isName(name: string | undefined): boolean {
    return this.#name !== undefined && this.#name.toLowerCase() === name?.toLowerCase();
  }
}
