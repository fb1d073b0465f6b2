// Knows which eras of the protocol a server speaks: by the catalog, or, under `era: auto`, by probing it once. The
// probes have connections (over stdio: processes) of their own, because some servers stay in the era of the first
// request they get, and some exit on one they do not know (2026-07-28, "Backward Compatibility" of both transports).
//
// ER1  only an answer is a verdict that is kept: a server that has answered nothing at all is taken for legacy until
//     its next start has failed.
// ER2  nothing of a probe outlives `kill` (A5).
// ER3  a server that has failed is asked when it may be started again, and not before.
// ER4  a process that ends at `server/discover` without a word has told nothing: it may be a legacy server that exits on
//     what it does not know, or be broken. Only a second process can tell, and that is the start itself, as a legacy
//     server: its answer is the verdict, its end the one failure of this start. One that takes longer than SILENCE_MS to
//     end has been asked to `initialize` by then, in a process more.

import type { Era, Eras } from '../../jsonrpc/modern-meta.ts';
import type { ServerCache } from '../cache/server-cache.ts';
import { EraProbe, type EraProbeOptions, type Verdict } from './era-probe.ts';

export interface ErasOptions extends Omit<EraProbeOptions, 'onDescription'> {
  readonly setting: Era | 'auto';
  readonly cache: ServerCache;
  readonly startTimeoutMs: number;
  /** Settles once the server may be started (ER3). */
  untilStartable(): Promise<void>;
  /** The server has answered. */
  onVerdict(eras: Eras): void;
}

/** A server that says nothing to `server/discover` for so long is asked to `initialize` beside that. */
const SILENCE_MS = 2_000;
/** It may say nothing at all for so long: the start that follows has a time limit of its own, and tells why it failed. */
const MAX_PROBE_MS = 10_000;

const only: Readonly<Record<Era, Eras>> = {
  legacy: { legacy: true, modern: false },
  modern: { legacy: false, modern: true },
};

/** certain: by an answer. pending: until it has answered as that (ER4). guess: until its next start has failed (ER1). */
interface Finding {
  readonly eras: Eras;
  readonly standing: 'certain' | 'pending' | 'guess';
}

/** One round of asking; over when it has a verdict, or when it was killed. */
interface Asking {
  readonly done: Promise<void>;
  readonly end: () => void;
  /** How many were told to wait for it. */
  waiting: number;
}

export class ServerEras {
  readonly #options: ErasOptions;
  readonly #probes = new Set<EraProbe>();
  #asking: Asking | undefined;
  /** ER1, ER4: good until the next start has failed. */
  #assumed: Finding | undefined;
  /** The verdict that was forgotten: connections that are open live by it until there is another. */
  #former: Eras | undefined;

  constructor(options: ErasOptions) {
    this.#options = options;
  }

  /** What the server speaks, if that is known without asking. */
  get known(): Eras | undefined {
    const { setting, cache } = this.#options;
    return setting === 'auto' ? (cache.eras ?? this.#assumed?.eras) : only[setting];
  }

  /** Somebody waits for the verdict. */
  get isAsking(): boolean {
    return this.#asking !== undefined;
  }

  /** How many wait for the verdict. */
  get waiting(): number {
    return this.#asking?.waiting ?? 0;
  }

  /** The era to use for a client of `era`: its own where the server speaks it. */
  for(era: Era): Era | undefined {
    const eras = this.known ?? this.#former;
    if (eras === undefined) return undefined;
    return eras[era] ? era : other(era);
  }

  /** Asks the server if need be. Never rejects; nothing is known afterwards where `kill` came first. */
  settle(): Promise<void> {
    if (this.known !== undefined) return Promise.resolve();
    this.#asking ??= this.#begin();
    this.#asking.waiting += 1;
    return this.#asking.done;
  }

  /** A connection was introduced in `era`. */
  confirm(era: Era): void {
    const assumed = this.#assumed;
    if (assumed?.standing === 'pending' && assumed.eras[era]) this.#keep(assumed.eras);
  }

  /** The server did not keep to the verdict; it is asked anew before its next start. */
  forget(): void {
    if (this.#options.setting !== 'auto') return;
    this.#former = this.known ?? this.#former;
    this.#assumed = undefined;
    const { cache } = this.#options;
    if (cache.eras !== undefined) cache.setEras(undefined);
  }

  /** Ends every probe; whoever waits for a verdict gets none. */
  kill(): void {
    for (const probe of this.#probes) probe.kill();
    this.#asking?.end();
    this.#asking = undefined;
  }

  #begin(): Asking {
    let end = () => {};
    const done = new Promise<void>((resolve) => {
      end = resolve;
    });
    const asking = { done, end, waiting: 0 };
    // Once this round is known as the one under way.
    queueMicrotask(() => void this.#ask(asking));
    return asking;
  }

  async #ask(asking: Asking): Promise<void> {
    const isOver = () => this.#asking !== asking;
    await this.#options.untilStartable();
    if (isOver()) return;
    const finding = await this.#find(isOver);
    if (finding === undefined || isOver()) return;
    if (finding.standing === 'certain') this.#keep(finding.eras);
    else this.#assumed = finding;
    this.#asking = undefined;
    asking.end();
  }

  #keep(eras: Eras): void {
    this.#assumed = undefined;
    this.#options.cache.setEras(eras);
    this.#options.onVerdict(eras);
  }

  async #find(isOver: () => boolean): Promise<Finding | undefined> {
    const probeMs = Math.min(this.#options.startTimeoutMs, MAX_PROBE_MS);
    const modern = this.#probe('modern', Math.max(SILENCE_MS, probeMs));
    const first = await within(SILENCE_MS, modern.verdict);
    if (isOver()) return undefined;
    if (first === 'no') return { eras: only.legacy, standing: 'certain' };
    if (first === 'ended') return { eras: only.legacy, standing: 'pending' };
    if (first === 'unclear') return { eras: only.legacy, standing: 'guess' };
    const legacy = await this.#probe('legacy', probeMs).verdict;
    // A server that is slow to start has answered both by now; one that is still silent has had longer than it took
    // to answer `initialize`.
    const last = await within(0, modern.verdict);
    void modern.close();
    if (last === 'yes') {
      const isCertain = legacy === 'yes' || legacy === 'no';
      return { eras: { modern: true, legacy: legacy === 'yes' }, standing: isCertain ? 'certain' : 'guess' };
    }
    const isSpeechless = last === 'silent' || last === 'ended';
    const isCertain = last === 'no' || (isSpeechless && legacy === 'yes');
    return { eras: only.legacy, standing: isCertain ? 'certain' : 'guess' };
  }

  #probe(era: Era, timeoutMs: number): EraProbe {
    const { cache } = this.#options;
    const onDescription: EraProbeOptions['onDescription'] = (spoken, description) =>
      cache.note(spoken, description);
    const probe = new EraProbe(era, timeoutMs, { ...this.#options, onDescription });
    this.#probes.add(probe);
    void probe.gone.then(() => this.#probes.delete(probe));
    return probe;
  }
}

/** The verdict, or `silent` when it is not there in time. */
async function within(ms: number, verdict: Promise<Verdict>): Promise<Verdict> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<Verdict>((resolve) => {
    timer = setTimeout(() => resolve('silent'), ms);
  });
  try {
    return await Promise.race([verdict, silence]);
  } finally {
    clearTimeout(timer);
  }
}

function other(era: Era): Era {
  return era === 'legacy' ? 'modern' : 'legacy';
}
