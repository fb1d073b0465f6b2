// Determines if a server supports sessions (legacy era), stateless requests (modern era, 2026-07-28) or both:
// from the catalog, or with `era: auto` by probes. Each probe uses its own connection (over stdio: its own
// process), because some servers stay in the era of their first request or exit on an unknown request. Only a
// response gives a permanent result. A server that does not respond counts as legacy until its next start
// fails. A failed server is probed only after its backoff (delay). `kill` ends all probes (A5,
// ARCHITECTURE.md).
//
// A process that exits at `server/discover` is a legacy server or broken. If it exits within SILENCE_MS, the
// next start, in the legacy era, confirms the era or reports the failure. If it exits later, a second probe
// with `initialize` has already begun, and its result counts.

import { within } from '../../../base/time/within.ts';
import type { Era, Eras } from '../../jsonrpc/modern-meta.ts';
import type { ServerCache } from '../cache/cache.ts';
import { EraProbe, type EraProbeOptions } from './probe.ts';

export interface ErasOptions extends Omit<EraProbeOptions, 'onDescription'> {
  readonly setting: Era | 'auto';
  readonly cache: ServerCache;
  readonly startTimeoutMs: number;
  /** Resolves when the server may start; for a failed server after the backoff. */
  untilStartable(): Promise<void>;
  /** Called when a response has shown the eras of the server. */
  onProbed(eras: Eras): void;
}

/** Silence after `server/discover` before the server is also probed with `initialize`. */
const SILENCE_MS = 2_000;
/** Probe time limit. The start that follows has its own limit and reports failures. */
const MAX_PROBE_MS = 10_000;

/** Support of a single era. */
const only: Readonly<Record<Era, Eras>> = {
  legacy: { legacy: true, modern: false },
  modern: { legacy: false, modern: true },
};

/**
 * `certain`: from a response. `pending`: until the server responds in that era. `guess`: until the next start
 * fails.
 */
interface EraFinding {
  readonly eras: Eras;
  readonly certainty: 'certain' | 'pending' | 'guess';
}

/** One round of probes, completed by a result or by `kill`. */
interface ProbeRound {
  readonly whenDone: Promise<void>;
  readonly end: () => void;
  /** Number of waiters. */
  waiting: number;
}

export class ServerEras {
  readonly #options: ErasOptions;
  readonly #probes = new Set<EraProbe>();
  #round: ProbeRound | undefined;
  /** Uncertain result of the last probes, valid until the next start fails. */
  #assumed: EraFinding | undefined;
  /** Discarded result, still used by open connections until there is a new result. */
  #previous: Eras | undefined;

  constructor(options: ErasOptions) {
    this.#options = options;
  }

  /** Eras of the server; undefined if it must be probed first. */
  get knownEras(): Eras | undefined {
    const { setting, cache } = this.#options;
    return setting === 'auto' ? (cache.eras ?? this.#assumed?.eras) : only[setting];
  }

  /** True while probes are running. */
  get isProbing(): boolean {
    return this.#round !== undefined;
  }

  /** Number of waiting callers. */
  get waiting(): number {
    return this.#round?.waiting ?? 0;
  }

  /**
   * Returns the era that the gateway uses at the server for a client of `era`: the same era if the server
   * supports it. Undefined if the server was never probed.
   */
  serverEraFor(era: Era): Era | undefined {
    const eras = this.knownEras ?? this.#previous;
    if (eras === undefined) return undefined;
    return eras[era] ? era : other(era);
  }

  /** Probes the server if its eras are unknown. Never rejects; after `kill` they may still be unknown. */
  ensureKnown(): Promise<void> {
    if (this.knownEras !== undefined) return Promise.resolve();
    this.#round ??= this.#begin();
    this.#round.waiting += 1;
    return this.#round.whenDone;
  }

  /** Makes a pending result permanent, because the handshake in `era` has succeeded. */
  confirm(era: Era): void {
    const assumed = this.#assumed;
    if (assumed?.certainty === 'pending' && assumed.eras[era]) this.#store(assumed.eras);
  }

  /** Discards a result that the server contradicted, so the server is probed before the next start. */
  forget(): void {
    if (this.#options.setting !== 'auto') return;
    this.#previous = this.knownEras ?? this.#previous;
    this.#assumed = undefined;
    const { cache } = this.#options;
    if (cache.eras !== undefined) cache.setEras(undefined);
  }

  /** Kills all probes; waiting callers continue without a result. */
  kill(): void {
    for (const probe of this.#probes) probe.kill();
    this.#round?.end();
    this.#round = undefined;
  }

  #begin(): ProbeRound {
    let end = () => {};
    const whenDone = new Promise<void>((resolve) => {
      end = resolve;
    });
    const round = { whenDone, end, waiting: 0 };
    // The round starts later, when `#round` refers to it: the round compares itself with `#round`.
    queueMicrotask(() => void this.#runRound(round));
    return round;
  }

  async #runRound(round: ProbeRound): Promise<void> {
    const isOver = () => this.#round !== round;
    await this.#options.untilStartable();
    if (isOver()) return;
    const finding = await this.#probeEras(isOver);
    if (finding === undefined || isOver()) return;
    if (finding.certainty === 'certain') this.#store(finding.eras);
    else this.#assumed = finding;
    this.#round = undefined;
    round.end();
  }

  #store(eras: Eras): void {
    this.#assumed = undefined;
    this.#options.cache.setEras(eras);
    this.#options.onProbed(eras);
  }

  async #probeEras(isOver: () => boolean): Promise<EraFinding | undefined> {
    const probeMs = Math.min(this.#options.startTimeoutMs, MAX_PROBE_MS);
    const modern = this.#probe('modern', Math.max(SILENCE_MS, probeMs));
    const first = await within(SILENCE_MS, modern.result, () => 'silent' as const);
    if (isOver()) return undefined;
    if (first === 'no') return { eras: only.legacy, certainty: 'certain' };
    if (first === 'ended') return { eras: only.legacy, certainty: 'pending' };
    if (first === 'unclear') return { eras: only.legacy, certainty: 'guess' };
    const legacy = await this.#probe('legacy', probeMs).result;
    // A slow server has responded to both probes by now. A server that still has not responded to
    // `server/discover` had more time for it than for `initialize`.
    const last = await within(0, modern.result, () => 'silent' as const);
    void modern.close();
    if (last === 'yes') {
      const isCertain = legacy === 'yes' || legacy === 'no';
      return { eras: { modern: true, legacy: legacy === 'yes' }, certainty: isCertain ? 'certain' : 'guess' };
    }
    const hasNoResponse = last === 'silent' || last === 'ended';
    // Without a response to the modern probe, only a legacy response proves that the server is legacy.
    const isCertain = last === 'no' || (hasNoResponse && legacy === 'yes');
    return { eras: only.legacy, certainty: isCertain ? 'certain' : 'guess' };
  }

  #probe(era: Era, timeoutMs: number): EraProbe {
    const { cache } = this.#options;
    const onDescription: EraProbeOptions['onDescription'] = (found, description) =>
      cache.setDescription(found, description);
    const probe = new EraProbe(era, timeoutMs, { ...this.#options, onDescription });
    this.#probes.add(probe);
    void probe.whenClosed.then(() => this.#probes.delete(probe));
    return probe;
  }
}

function other(era: Era): Era {
  return era === 'legacy' ? 'modern' : 'legacy';
}
