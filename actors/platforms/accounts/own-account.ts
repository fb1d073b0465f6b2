// Under which name a credential writes: what it wrote comes back as an event, and must not be answered. The platform is asked in
// the background, since no event waits for that, and may have said so before in an answer to something else.
//
// After a failure it is asked again, when an event comes and not sooner than the pause; not after one that is final: tokens
// of an app, say, have no name that one may ask for.

import { DeliveryError } from '../../events/outbox/delivery-error.ts';

export class OwnAccount {
  readonly #ask: () => Promise<string | undefined>;
  readonly #askEveryMs: number;
  #name: string | undefined;
  /** In terms of performance.now. */
  #askAt = 0;
  /** Never rejects. */
  #asking: Promise<void> = Promise.resolve();

  /** `ask` rejects with a DeliveryError. */
  constructor(ask: () => Promise<string | undefined>, askEveryMs: number) {
    this.#ask = ask;
    this.#askEveryMs = askEveryMs;
  }

  /** Asks for the name in the background, where it is not known. */
  learn(): void {
    void this.asked();
  }

  /** The same, for whoever waits for that: resolves when the platform has answered, whatever it says; at once where it is not asked. */
  asked(): Promise<void> {
    if (this.#name !== undefined || performance.now() < this.#askAt) return this.#asking;
    this.#askAt = Number.POSITIVE_INFINITY;
    this.#asking = this.#ask().then(
      (name) => this.note(name),
      (error: unknown) => {
        const { isFinal = false, retryAfterMs = 0 } = error instanceof DeliveryError ? error : {};
        if (!isFinal) this.#askAt = performance.now() + Math.max(retryAfterMs, this.#askEveryMs);
      },
    );
    return this.#asking;
  }

  /** The platform has said it. */
  note(name: string | undefined): void {
    this.#name ??= name;
  }

  get isKnown(): boolean {
    return this.#name !== undefined;
  }

  /** Whether it is the name, as far as that is known by now; upper and lower case are the same. */
  is(name: string | undefined): boolean {
    return this.#name !== undefined && this.#name.toLowerCase() === name?.toLowerCase();
  }
}
