// Monitors the browser's memory and processor time. Reports each excess once; the caller then closes pages or
// the browser.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { BrowserOptions } from '../options.ts';
import type { ProcessInfo } from './running-browser.ts';

const SAMPLE_MS = 500;
/** Pause after an excess, in which terminated processes release their memory. */
const GRACE_MS = 2_000;
/** If the browser does not list its processes within this time, it hangs. */
const RESPONSE_MS = 10_000;

type Limits = Pick<BrowserOptions, 'maxMemoryMb' | 'maxCpuPercent' | 'maxCpuSeconds'>;

interface CpuSample {
  readonly atMs: number;
  /** Processor time since the previous sample. */
  readonly cpuSeconds: number;
}

export interface Excess {
  readonly reason: string;
  /** The browser does not respond, so closing a page does not help. */
  readonly isHanging: boolean;
}

/** Samples every SAMPLE_MS until `stop` is aborted. Awaits `onExcess` after each excess. */
export async function watchResources(
  processes: () => Promise<readonly ProcessInfo[]>,
  limits: Limits,
  stop: AbortSignal,
  onExcess: (excess: Excess) => Promise<void>,
): Promise<void> {
  const meter = new CpuMeter(limits);
  while (!stop.aborted) {
    await delay(SAMPLE_MS, undefined, { signal: stop, ref: false }).catch(() => {});
    if (stop.aborted) return;
    const processList = await Promise.race([
      processes().catch(() => undefined),
      delay(RESPONSE_MS, 'late' as const, { ref: false }),
    ]);
    if (stop.aborted || processList === undefined) return;
    if (processList === 'late') {
      await onExcess({ reason: 'the browser stopped responding', isHanging: true });
      return;
    }
    const memoryMb = await memoryOf(processList.map(({ pid }) => pid));
    const reason =
      memoryReason(memoryMb, limits) ?? cpuReason(meter.sample(processList, performance.now()), limits);
    if (reason === undefined || stop.aborted) continue;
    await onExcess({ reason, isHanging: false });
    meter.reset();
    await delay(GRACE_MS, undefined, { signal: stop, ref: false }).catch(() => {});
  }
}

function memoryReason(memoryMb: number, { maxMemoryMb }: Limits): string | undefined {
  if (memoryMb <= maxMemoryMb) return undefined;
  return `the browser used ${Math.round(memoryMb)} MB of memory (limit: ${maxMemoryMb} MB, --max-memory-mb)`;
}

function cpuReason(cpuPercent: number | undefined, limits: Limits): string | undefined {
  const { maxCpuPercent, maxCpuSeconds } = limits;
  if (cpuPercent === undefined || cpuPercent <= maxCpuPercent) return undefined;
  return (
    `the browser used ${Math.round(cpuPercent)} % of a processor core for ${maxCpuSeconds} s ` +
    `(limit: ${maxCpuPercent} %, --max-cpu-percent)`
  );
}

/**
 * Processor time over a sliding window. Only the increase per process counts, because processes start and
 * exit.
 */
export class CpuMeter {
  readonly #limits: Limits;
  #samples: CpuSample[] = [];
  /** Processor time by pid, at the last sample. */
  #lastTotals = new Map<number, number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * Adds a sample. Returns the percentage of one core over the window; undefined if the window is not
   * complete yet or the limit is disabled.
   */
  sample(processes: readonly ProcessInfo[], atMs: number): number | undefined {
    if (this.#limits.maxCpuPercent === 0) return undefined;
    let cpuSeconds = 0;
    const totals = new Map<number, number>();
    // Processes in the first sample count from now on, later processes from their start.
    const isFirst = this.#samples.length === 0;
    for (const { pid, cpuSeconds: total } of processes) {
      const previousTotal = this.#lastTotals.get(pid) ?? (isFirst ? total : 0);
      cpuSeconds += Math.max(0, total - previousTotal);
      totals.set(pid, total);
    }
    this.#lastTotals = totals;
    this.#samples.push({ atMs, cpuSeconds });
    const windowMs = this.#limits.maxCpuSeconds * 1000;
    // The first remaining sample starts the window; its own usage does not count.
    while ((this.#samples[1]?.atMs ?? Number.POSITIVE_INFINITY) <= atMs - windowMs) this.#samples.shift();
    const [first, ...rest] = this.#samples;
    const elapsedMs = atMs - (first?.atMs ?? atMs);
    if (elapsedMs < windowMs) return undefined;
    return (rest.reduce((sum, sample) => sum + sample.cpuSeconds, 0) / (elapsedMs / 1000)) * 100;
  }

  reset(): void {
    this.#samples = [];
    this.#lastTotals = new Map();
  }
}

/**
 * Returns the memory of all processes in megabytes. On Linux the shared program file does not count; the
 * resident memory of other systems includes it for each process.
 */
async function memoryOf(pids: readonly number[]): Promise<number> {
  const readings = process.platform === 'linux' ? pids.map(ownMemoryKb) : [residentKb(pids)];
  const sizes = await Promise.all(readings);
  return sizes.reduce((sum, size) => sum + size, 0) / 1024;
}

async function ownMemoryKb(pid: number): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'latin1');
    const kbOf = (field: string) => Number(new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
    return kbOf('RssAnon') + kbOf('RssShmem');
  } catch {
    return 0;
  }
}

async function residentKb(pids: readonly number[]): Promise<number> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', pids.join(',')], {
      timeout: RESPONSE_MS,
    });
    return stdout.split('\n').reduce((sum, line) => sum + Number(line), 0);
  } catch {
    return 0;
  }
}
