// Renews the claims of long turns well before they expire, and tells the mailboxes whose claim the store no longer
// knows. A claim that ran out while this process stood still is renewed too: the store gave it to nobody else meanwhile,
// so the work under it may go on.
//
// CK1  one call at a time; one that failed is repeated soon, since there is room for several within a lease.
// CK2  a claim is lost by what the store says, or when the store could not be asked about one that had run out by then. A
//      standstill that begins while a renewal is under way is not outlasted: events come again, as after a crash.

import type { Log } from '../../base/errors/log.ts';
import type { Store } from '../../store/store.ts';
import type { Mailbox } from './mailbox.ts';

export interface ClaimTimes {
  readonly leaseMs: number;
  readonly renewMs: number;
}

const AGAIN_MS = 1_000;

export class ClaimKeeper {
  readonly #store: Pick<Store, 'renew'>;
  readonly #times: ClaimTimes;
  readonly #log: Log;
  #dueAt: number;
  #isRenewing = false;
  #isFailing = false;

  /** `now` in performance.now() milliseconds, here and below. */
  constructor(store: Pick<Store, 'renew'>, times: ClaimTimes, log: Log, now: number) {
    this.#store = store;
    this.#times = times;
    this.#log = log;
    this.#dueAt = now + times.renewMs;
  }

  /** Renews the claims of these mailboxes, when it is time to; the call is made before this returns. */
  tick(now: number, mailboxes: () => readonly Mailbox[]): void {
    if (now < this.#dueAt || this.#isRenewing) return;
    this.#dueAt = now + this.#times.renewMs;
    void this.#renew(now, mailboxes());
  }

  async #renew(now: number, mailboxes: readonly Mailbox[]): Promise<void> {
    const sent = mailboxes.flatMap((mailbox) => {
      const claim = mailbox.claim();
      return claim === undefined ? [] : [{ mailbox, claim }];
    });
    if (sent.length === 0) return;
    this.#isRenewing = true;
    const { leaseMs } = this.#times;
    try {
      const kept = await this.#store.renew(
        sent.map(({ claim }) => claim),
        leaseMs,
      );
      const fences = new Map(kept.map(({ key, fence }) => [key, fence]));
      for (const { mailbox, claim } of sent) {
        if (fences.get(claim.key) === claim.fence) mailbox.onRenewed(claim.fence, now + leaseMs);
        else mailbox.onMissed(claim.fence);
      }
      this.#isFailing = false;
    } catch (error) {
      this.#dueAt = Math.min(this.#dueAt, now + AGAIN_MS);
      for (const { mailbox } of sent) mailbox.onNotRenewed(now);
      if (!this.#isFailing) {
        const reason = error instanceof Error ? error.message : String(error);
        this.#log.warn({ reason }, 'claims on conversations cannot be renewed; it is tried again');
      }
      this.#isFailing = true;
    } finally {
      this.#isRenewing = false;
    }
  }
}
