// The circuits of the accounts that messages are sent under. A platform that is down would otherwise use up the attempts of
// every message for it, each on its own; so after a few failures in a row nothing is sent under that account for a while, and
// then one message, which finds out whether that is over.
//
// CIR1  after OPEN_AFTER failures in a row nothing leaves for a pause, which grows with each probe that fails; then one probe at
//       a time, until one has been answered.
// CIR2  whoever is held back was not sent, and comes again; it is no attempt, within the bounds of all that is put off.
// CIR3  only that the platform is down counts as a failure: no connection, no answer, a fault of its own. Any other answer, a
//       refusal too, closes the circuit. What says nothing of the platform changes nothing.
// CIR4  nothing is kept of accounts under which the last message was answered, and no more than MAX_ACCOUNTS of others.

import type { Log } from '../log.ts';
import { steadyNow } from '../steady-clock.ts';
import { DeliveryError } from './delivery-error.ts';

/** What GET /triggers, the inspector and `top` show. Times are epoch ms. */
export interface CircuitStatus {
  /** `halfOpen`: the pause is over, and the next message, or the one under way, is the probe. */
  readonly state: 'open' | 'halfOpen';
  readonly since: number;
  readonly lastError: string;
  readonly retryAt: number;
}

export interface CircuitsOptions {
  readonly log: Log;
  /** Epoch ms that only grow. */
  readonly now?: () => number;
  /** 0…1. */
  readonly random?: () => number;
}

interface Circuit {
  /** In a row. */
  failures: number;
  lastError: string;
  /** Undefined while it is closed. */
  openedAt: number | undefined;
  pauseMs: number;
  until: number;
  /** A probe that has not come back by then is not waited for any more; 0: there is none. */
  probeUntil: number;
}

const OPEN_AFTER = 5;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Those that are held back should not all come at once. */
const JITTER = 0.2;
/** Longer than any sending may take. */
const PROBE_MS = 90_000;
const PROBED_AGAIN_MS = 2_000;
const MAX_ACCOUNTS = 1_000;

export class Circuits {
  readonly #log: Log;
  readonly #now: () => number;
  readonly #random: () => number;
  /** The one that failed last is the last. */
  readonly #circuits = new Map<string, Circuit>();

  constructor({ log, now = steadyNow, random = Math.random }: CircuitsOptions) {
    this.#log = log;
    this.#now = now;
    this.#random = random;
  }

  /** Undefined while it is closed. */
  status(account: string): CircuitStatus | undefined {
    const { openedAt, until, lastError } = this.#circuits.get(account) ?? {};
    if (openedAt === undefined || until === undefined || lastError === undefined) return undefined;
    return { state: this.#now() < until ? 'open' : 'halfOpen', since: openedAt, lastError, retryAt: until };
  }

  /** Has a message sent, or rejects with a DeliveryError that says when to come again. `account` stands in the log. */
  async run<T>(account: string, send: () => Promise<T>): Promise<T> {
    const circuit = this.#circuits.get(account);
    const isProbe = circuit?.openedAt !== undefined;
    if (isProbe) this.#begin(account, circuit);
    try {
      const answer = await send();
      this.#close(account);
      return answer;
    } catch (error) {
      if (isProbe) circuit.probeUntil = 0;
      this.#judge(account, error, isProbe);
      throw error;
    }
  }

  #begin(account: string, circuit: Circuit): void {
    const { until, probeUntil, pauseMs, failures, lastError } = circuit;
    const now = this.#now();
    const leftMs = now < until ? until - now : now < probeUntil ? Math.min(pauseMs, PROBED_AGAIN_MS) : 0;
    if (leftMs === 0) {
      circuit.probeUntil = now + PROBE_MS;
      return;
    }
    throw new DeliveryError(
      `nothing is sent under ${account} for now: ${failures} times in a row it has failed, at last with: ${lastError}`,
      { isTooSoon: true, retryAfterMs: Math.ceil(leftMs + JITTER * pauseMs * this.#random()) },
    );
  }

  #judge(account: string, error: unknown, isProbe: boolean): void {
    if (!(error instanceof DeliveryError)) return;
    if (error.isPlatformDown) this.#fail(account, error.message, isProbe);
    else if (error.platformCode !== undefined) this.#close(account);
  }

  #fail(account: string, lastError: string, isProbe: boolean): void {
    const circuit = this.#circuits.get(account) ?? newCircuit();
    circuit.failures += 1;
    circuit.lastError = lastError;
    this.#circuits.delete(account);
    this.#circuits.set(account, circuit);
    for (const [oldest] of this.#circuits) {
      if (this.#circuits.size <= MAX_ACCOUNTS) break;
      this.#circuits.delete(oldest);
    }
    const { openedAt, failures, pauseMs } = circuit;
    // What had left before it opened says nothing new.
    if (openedAt === undefined ? failures < OPEN_AFTER : !isProbe) return;
    const now = this.#now();
    circuit.openedAt ??= now;
    circuit.pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs === 0 ? FIRST_PAUSE_MS : 2 * pauseMs);
    circuit.until = now + Math.round(circuit.pauseMs * (1 + JITTER * this.#random()));
    const fields = { account, reason: lastError, in_ms: circuit.until - now };
    if (openedAt === undefined)
      this.#log.warn(fields, 'a platform does not answer; nothing is sent to it for now');
  }

  #close(account: string): void {
    const circuit = this.#circuits.get(account);
    if (circuit === undefined) return;
    this.#circuits.delete(account);
    if (circuit.openedAt !== undefined) this.#log.info({ account }, 'a platform answers again');
  }
}

const newCircuit = (): Circuit => ({
  failures: 0,
  lastError: '',
  openedAt: undefined,
  pauseMs: 0,
  until: 0,
  probeUntil: 0,
});
