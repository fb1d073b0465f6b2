// Watches what the browser takes of the machine while it runs: memory at every look, processor time over a window. Whoever
// takes too much is reported once; what becomes of it is not decided here.

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { BrowserOptions } from '../options.ts';
import type { ProcessInfo } from './running-browser.ts';

const LOOK_MS = 500;
/** How long processes that were ended may take to give back what they had. */
const GRACE_MS = 2_000;
/** A browser that does not even list its processes for this long hangs. */
const ANSWER_MS = 10_000;

type Limits = Pick<BrowserOptions, 'maxMemoryMb' | 'maxCpuPercent' | 'maxCpuSeconds'>;

interface Look {
  readonly atMs: number;
  /** Processor time that was used since the look before. */
  readonly cpuSeconds: number;
}

export interface Excess {
  readonly reason: string;
  /** The browser itself does not answer any more: closing a page cannot help. */
  readonly isHanging: boolean;
}

/** Looks every LOOK_MS until `stopped`; `onExcess` hears of a look that finds too much, and is given time. */
export async function watchResources(
  processes: () => Promise<readonly ProcessInfo[]>,
  limits: Limits,
  stopped: AbortSignal,
  onExcess: (excess: Excess) => Promise<void>,
): Promise<void> {
  const meter = new CpuMeter(limits);
  while (!stopped.aborted) {
    await delay(LOOK_MS, undefined, { signal: stopped, ref: false }).catch(() => {});
    if (stopped.aborted) return;
    const found = await Promise.race([
      processes().catch(() => undefined),
      delay(ANSWER_MS, 'late' as const, { ref: false }),
    ]);
    if (stopped.aborted || found === undefined) return;
    if (found === 'late') {
      await onExcess({ reason: 'the browser did not answer any more', isHanging: true });
      return;
    }
    const memoryMb = await memoryOf(found.map(({ pid }) => pid));
    const reason = memoryReason(memoryMb, limits) ?? cpuReason(meter.look(found, performance.now()), limits);
    if (reason === undefined || stopped.aborted) continue;
    await onExcess({ reason, isHanging: false });
    meter.reset();
    await delay(GRACE_MS, undefined, { signal: stopped, ref: false }).catch(() => {});
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

/** Processor time over a sliding window. Processes come and go, so that only what each one used since the last look counts. */
export class CpuMeter {
  readonly #limits: Limits;
  #looks: Look[] = [];
  #last = new Map<number, number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Percent of a core over the whole window; undefined while the window is not full, or nothing is watched. */
  look(processes: readonly ProcessInfo[], atMs: number): number | undefined {
    if (this.#limits.maxCpuPercent === 0) return undefined;
    let cpuSeconds = 0;
    const now = new Map<number, number>();
    for (const { pid, cpuSeconds: used } of processes) {
      cpuSeconds += Math.max(0, used - (this.#last.get(pid) ?? (this.#looks.length === 0 ? used : 0)));
      now.set(pid, used);
    }
    this.#last = now;
    this.#looks.push({ atMs, cpuSeconds });
    const windowMs = this.#limits.maxCpuSeconds * 1000;
    // The first look kept is where the window begins: what was used before it does not count.
    while ((this.#looks[1]?.atMs ?? Number.POSITIVE_INFINITY) <= atMs - windowMs) this.#looks.shift();
    const [first, ...rest] = this.#looks;
    const elapsedMs = atMs - (first?.atMs ?? atMs);
    if (elapsedMs < windowMs) return undefined;
    return (rest.reduce((sum, look) => sum + look.cpuSeconds, 0) / (elapsedMs / 1000)) * 100;
  }

  reset(): void {
    this.#looks = [];
    this.#last = new Map();
  }
}

/** Memory that is these processes' own, in megabytes: what they share with the program's file is not counted. */
async function memoryOf(pids: readonly number[]): Promise<number> {
  const each = process.platform === 'linux' ? pids.map(ownMemoryKb) : [residentKb(pids)];
  const sizes = await Promise.all(each);
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
      timeout: ANSWER_MS,
    });
    return stdout.split('\n').reduce((sum, line) => sum + Number(line), 0);
  } catch {
    return 0;
  }
}
