// The circuits of the accounts that messages are sent under, of each service of theirs where a platform has several. A platform that is down would otherwise use up the attempts of
// every message for it, each on its own; so after a few failures in a row nothing is sent to it for a while, and
// then one message, which finds out whether that is over.
//
// CIR1  after OPEN_AFTER failures in a row nothing leaves for a pause, which grows with each probe that fails; then one probe at
//       a time, until one has been answered.
// CIR2  whoever is held back was not sent, and comes again; it is no attempt, within the bounds of all that is put off.
// CIR3  only that the platform is down counts as a failure: no connection, no answer, a fault of its own. Any other answer, a
//       refusal too, closes the circuit. What says nothing of the platform changes nothing.
// CIR4  nothing is kept of those under which the last message was answered, and no more than MAX_CIRCUITS of others.
// CIR5  what becomes of one service says nothing of another.
// CIR6  a probe that finds the platform still down, and has surely not arrived, is no attempt either: all that wait would be used up
//       by finding that out, one after the other. One that may have arrived is one, since the next has to look for it.

import { forgetOldest } from '../../base/bounds/forget-oldest.ts';
import type { Log } from '../../base/errors/log.ts';
import { steadyNow } from '../../base/time/steady-clock.ts';
import { DeliveryError } from './delivery-error.ts';

/** What GET /triggers, the inspector and `top` show. Times are epoch ms. */
export interface CircuitStatus {
  /** `halfOpen`: the pause is over, and the next message, or the one under way, is the probe. */
  readonly state: 'open' | 'halfOpen';
  readonly since: number;
  readonly lastError: string;
  /** When the pause is over; undefined once it is: whether anything is sent then nobody knows. */
  readonly retryAt: number | undefined;
}

export interface CircuitsOptions {
  readonly log: Log;
  /** Epoch ms that only grow. */
  readonly now?: () => number;
  /** 0…1. */
  readonly random?: () => number;
}

interface Circuit {
  readonly account: string;
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
const MAX_CIRCUITS = 1_000;

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

  /** Undefined while it is closed. Of an account with several services that of the one that failed first. */
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

  /** Has a message sent, or rejects with a DeliveryError that says when to come again. Account and service stand in the log. */
  async run<T>(account: string, send: () => Promise<T>, service?: string): Promise<T> {
    const to = destinationOf(account, service);
    const circuit = this.#circuits.get(to.name);
    const isProbe = circuit?.openedAt !== undefined;
    if (isProbe) this.#begin(to.name, circuit);
    try {
      const answer = await send();
      this.#close(to);
      return answer;
    } catch (error) {
      if (isProbe) circuit.probeUntil = 0;
      this.#judge(to, error, isProbe);
      throw isProbe ? this.#putOff(error, circuit) : error;
    }
  }

  #putOff(error: unknown, { until }: Circuit): unknown {
    if (!(error instanceof DeliveryError) || !error.isPlatformDown) return error;
    if (error.isFinal || error.isOutcomeUnknown) return error;
    const retryAfterMs = Math.max(error.retryAfterMs ?? 0, until - this.#now());
    return new DeliveryError(error.message, { isTooSoon: true, retryAfterMs, cause: error });
  }

  #begin(name: string, circuit: Circuit): void {
    const { until, probeUntil, pauseMs, failures, lastError } = circuit;
    const now = this.#now();
    const leftMs = now < until ? until - now : now < probeUntil ? Math.min(pauseMs, PROBED_AGAIN_MS) : 0;
    if (leftMs === 0) {
      circuit.probeUntil = now + PROBE_MS;
      return;
    }
    throw new DeliveryError(
      `nothing is sent under ${name} for now: ${failures} times in a row it has failed, at last with: ${lastError}`,
      { isTooSoon: true, retryAfterMs: Math.ceil(leftMs + JITTER * pauseMs * this.#random()) },
    );
  }

  #judge(to: Destination, error: unknown, isProbe: boolean): void {
    if (!(error instanceof DeliveryError)) return;
    if (error.isPlatformDown) this.#fail(to, error.message, isProbe);
    else if (error.platformCode !== undefined) this.#close(to);
  }

  #fail({ name, ...to }: Destination, lastError: string, isProbe: boolean): void {
    const circuit = this.#circuits.get(name) ?? newCircuit(to.account);
    circuit.failures += 1;
    circuit.lastError = lastError;
    this.#circuits.delete(name);
    this.#circuits.set(name, circuit);
    forgetOldest(this.#circuits, MAX_CIRCUITS);
    const { openedAt, failures, pauseMs } = circuit;
    // What had left before it opened says nothing new.
    if (openedAt === undefined ? failures < OPEN_AFTER : !isProbe) return;
    const now = this.#now();
    circuit.openedAt ??= now;
    circuit.pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs === 0 ? FIRST_PAUSE_MS : 2 * pauseMs);
    circuit.until = now + Math.round(circuit.pauseMs * (1 + JITTER * this.#random()));
    const fields = { ...to, reason: lastError, in_ms: circuit.until - now };
    if (openedAt === undefined)
      this.#log.warn(fields, 'a platform does not answer; nothing is sent to it for now');
  }

  #close({ name, ...to }: Destination): void {
    const circuit = this.#circuits.get(name);
    if (circuit === undefined) return;
    this.#circuits.delete(name);
    if (circuit.openedAt !== undefined) this.#log.info(to, 'a platform answers again');
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

interface Destination {
  readonly account: string;
  readonly service?: string;
  /** By which its circuit is known. */
  readonly name: string;
}

const destinationOf = (account: string, service: string | undefined): Destination =>
  service === undefined ? { account, name: account } : { account, service, name: `${account} at ${service}` };
