// Renews the claims of long runs before they expire, and notifies mailboxes about lost claims. Claims that
// expired during process suspension are renewed too: the run may continue unless another node has taken over.
//
// Renewal calls do not overlap; a failed call is retried after RETRY_MS. A claim is lost if the store no
// longer has it, or if it expired and the store was unreachable. A process suspension during the call can
// lose claims; the store then redelivers their events, as after a crash.

import type { Log } from '../../base/errors/log.ts';
import type { Store } from '../../store/store.ts';
import type { Mailbox } from './mailbox.ts';

export interface ClaimTimes {
  readonly leaseMs: number;
  readonly renewMs: number;
}

const RETRY_MS = 1_000;

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

  /** Renews the claims of the mailboxes if due; the call starts synchronously. */
  tick(now: number, mailboxes: () => readonly Mailbox[]): void {
    if (now < this.#dueAt || this.#isRenewing) return;
    this.#dueAt = now + this.#times.renewMs;
    void this.#renew(now, mailboxes());
  }

  async #renew(now: number, mailboxes: readonly Mailbox[]): Promise<void> {
    const requests = mailboxes.flatMap((mailbox) => {
      const claim = mailbox.claimToRenew();
      return claim === undefined ? [] : [{ mailbox, claim }];
    });
    if (requests.length === 0) return;
    this.#isRenewing = true;
    const { leaseMs } = this.#times;
    try {
      const renewedClaims = await this.#store.renew(
        requests.map(({ claim }) => claim),
        leaseMs,
      );
      const fences = new Map(renewedClaims.map(({ key, fence }) => [key, fence]));
      for (const { mailbox, claim } of requests) {
        if (fences.get(claim.key) === claim.fence) mailbox.onRenewed(claim.fence, now + leaseMs);
        else mailbox.onClaimGone(claim.fence);
      }
      this.#isFailing = false;
    } catch (error) {
      this.#dueAt = Math.min(this.#dueAt, now + RETRY_MS);
      for (const { mailbox } of requests) mailbox.onNotRenewed(now);
      if (!this.#isFailing) {
        const reason = error instanceof Error ? error.message : String(error);
        this.#log.warn({ reason }, 'could not renew claims on conversations; retrying');
      }
      this.#isFailing = true;
    } finally {
      this.#isRenewing = false;
    }
  }
}
