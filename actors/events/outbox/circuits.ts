// Circuit breakers for sending: per account, or per account and service on platforms with several services.
// Without them, an outage of the platform would use up the attempts of all messages.
//
// After OPEN_AFTER consecutive failures the circuit opens: sending is suspended. After a pause single
// messages are sent as probes. A failed probe doubles the pause; any response of the platform closes the
// circuit. Only an unreachable platform counts as a failure: no connection, no response, or an internal
// error.
//
// A message that an open circuit defers counts no attempt. Neither does a probe that certainly failed to
// arrive; otherwise the waiting messages would use up their attempts as probes. A probe that possibly arrived
// counts as an attempt, because the next attempt must search for it. Closed circuits without failures are not
// stored, and the number of others is limited to MAX_CIRCUITS.

import { deleteOldest } from '../../base/bounds/delete-oldest.ts';
import type { Log } from '../../base/errors/log.ts';
import { monotonicNow } from '../../base/time/monotonic-clock.ts';
import { DeliveryError } from './delivery-error.ts';

/** Status of an open circuit, for GET /triggers, the inspector and `top`. Times are epoch ms. */
export interface CircuitStatus {
  /** `halfOpen`: the pause has passed, and the next or current message is the probe. */
  readonly state: 'open' | 'halfOpen';
  readonly since: number;
  readonly lastError: string;
  /** End of the pause; undefined after it. */
  readonly retryAt: number | undefined;
}

export interface CircuitsOptions {
  readonly log: Log;
  /** Monotonic epoch ms. */
  readonly now?: () => number;
  /** Returns a number in 0…1. */
  readonly random?: () => number;
}

interface Circuit {
  readonly account: string;
  /** Consecutive failures. */
  failures: number;
  lastError: string;
  /** Undefined while the circuit is closed. */
  openedAt: number | undefined;
  /** Last pause without its random part. */
  pauseMs: number;
  /** End of the pause. */
  until: number;
  /** Deadline of the current probe, or 0. The next probe may be sent then. */
  probeUntil: number;
}

/** Number of consecutive failures that open a circuit. */
const OPEN_AFTER = 5;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Fraction of the pause that is added at random, so that the waiting messages do not all retry together. */
const JITTER = 0.2;
/** Maximum probe duration; longer than the timeout of any request. */
const PROBE_MS = 90_000;
/** Maximum retry delay of other messages until the probe completes. */
const RETRY_DURING_PROBE_MS = 2_000;
const MAX_CIRCUITS = 1_000;

export class Circuits {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #random: () => number;
  /** Ordered by the last failure, most recent last. */
  readonly #circuits = new Map<string, Circuit>();

  constructor({ log, now = monotonicNow, random = Math.random }: CircuitsOptions) {
    this.#log = log;
    this.#now = now;
    this.#random = random;
  }

  /**
   * Returns the status of the account's circuit; undefined while it is closed. With several services, returns
   * the circuit that opened first.
   */
  status(account: string): CircuitStatus | undefined {
    let first: Circuit | undefined;
    for (const circuit of this.#circuits.values()) {
      const { openedAt = Number.POSITIVE_INFINITY } = circuit;
      if (circuit.account === account && openedAt < (first?.openedAt ?? Number.POSITIVE_INFINITY))
        first = circuit;
    }
    if (first?.openedAt === undefined) return undefined;
    const { openedAt, until, lastError } = first;
    const since = openedAt;
    if (this.#now() < until) return { state: 'open', since, lastError, retryAt: until };
    return { state: 'halfOpen', since, lastError, retryAt: undefined };
  }

  /**
   * Calls `send` for a message. While the circuit is open, rejects with a DeliveryError (`isRateLimited`)
   * that contains the delay. `account` and `service` appear in logs.
   */
  async run<T>(account: string, send: () => Promise<T>, service?: string): Promise<T> {
    const to = destinationOf(account, service);
    const circuit = this.#circuits.get(to.name);
    const isProbe = circuit?.openedAt !== undefined;
    if (isProbe) this.#admit(to.name, circuit);
    try {
      const answer = await send();
      this.#close(to);
      return answer;
    } catch (error) {
      if (isProbe) circuit.probeUntil = 0;
      this.#record(to, error, isProbe);
      throw isProbe ? this.#asDeferred(error, circuit) : error;
    }
  }

  /** Converts the error of an undelivered probe to a rate-limit error, which counts no attempt. */
  #asDeferred(error: unknown, { until }: Circuit): unknown {
    if (!(error instanceof DeliveryError) || !error.isPlatformDown) return error;
    if (error.isFinal || error.isOutcomeUnknown) return error;
    const retryAfterMs = Math.max(error.retryAfterMs ?? 0, until - this.#now());
    return new DeliveryError(error.message, { isRateLimited: true, retryAfterMs, cause: error });
  }

  /** Starts a probe, or throws while the circuit is open or another probe is pending. */
  #admit(name: string, circuit: Circuit): void {
    const { until, probeUntil, pauseMs, failures, lastError } = circuit;
    const now = this.#now();
    let remainingMs = 0;
    if (now < until) remainingMs = until - now;
    else if (now < probeUntil) remainingMs = Math.min(pauseMs, RETRY_DURING_PROBE_MS);
    if (remainingMs === 0) {
      circuit.probeUntil = now + PROBE_MS;
      return;
    }
    throw new DeliveryError(
      `sending for ${name} is suspended after ${failures} consecutive failures; last error: ${lastError}`,
      { isRateLimited: true, retryAfterMs: Math.ceil(remainingMs + JITTER * pauseMs * this.#random()) },
    );
  }

  #record(to: CircuitKey, error: unknown, isProbe: boolean): void {
    if (!(error instanceof DeliveryError)) return;
    if (error.isPlatformDown) this.#fail(to, error.message, isProbe);
    else if (error.platformCode !== undefined) this.#close(to);
  }

  #fail({ name, ...to }: CircuitKey, lastError: string, isProbe: boolean): void {
    const circuit = this.#circuits.get(name) ?? newCircuit(to.account);
    circuit.failures += 1;
    circuit.lastError = lastError;
    this.#circuits.delete(name);
    this.#circuits.set(name, circuit);
    deleteOldest(this.#circuits, MAX_CIRCUITS);
    const { openedAt, failures, pauseMs } = circuit;
    // Only probes extend the pause, not messages that were sent before the circuit opened.
    if (openedAt === undefined ? failures < OPEN_AFTER : !isProbe) return;
    const now = this.#now();
    circuit.openedAt ??= now;
    circuit.pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs === 0 ? FIRST_PAUSE_MS : 2 * pauseMs);
    circuit.until = now + Math.round(circuit.pauseMs * (1 + JITTER * this.#random()));
    const fields = { ...to, reason: lastError, in_ms: circuit.until - now };
    if (openedAt === undefined)
      this.#log.warn(fields, 'a platform does not respond; sending to it is suspended');
  }

  #close({ name, ...to }: CircuitKey): void {
    const circuit = this.#circuits.get(name);
    if (circuit === undefined) return;
    this.#circuits.delete(name);
    if (circuit.openedAt !== undefined) this.#log.info(to, 'a platform responds again');
  }
}

const newCircuit = (account: string): Circuit => ({
  account,
  failures: 0,
  lastError: '',
  openedAt: undefined,
  pauseMs: 0,
  until: 0,
  probeUntil: 0,
});

/** Account and service of a circuit, and the key that consists of both. */
interface CircuitKey {
  readonly account: string;
  readonly service?: string;
  /** Key of the circuit. */
  readonly name: string;
}

const destinationOf = (account: string, service: string | undefined): CircuitKey =>
  service === undefined ? { account, name: account } : { account, service, name: `${account} at ${service}` };
