// Detects event-loop stalls and steps of the system clock, with one timer. A timer that fires late reveals a
// stall: the gateway's own work blocked the event loop, or the process was suspended or starved. The used
// processor time distinguishes these causes. A step is a difference between the system clock and the
// monotonic clock.

import type { Alarms } from '../base/alarms/alarms.ts';
import type { Part } from '../base/supervision/part.ts';

const TICK_MS = 500;
/** Shorter stalls occur on any loaded machine. */
const STALL_MS = 2_000;
/** Smaller steps come from time synchronisation, and change no schedule noticeably. */
const STEP_MS = 5_000;

interface Reading {
  /** Monotonic milliseconds. */
  readonly steadyMs: number;
  /** Epoch milliseconds. */
  readonly clockMs: number;
  /** Processor time of the process. */
  readonly usedMs: number;
}

export class ProcessWatch implements Part {
  readonly #alarms: Pick<Alarms, 'record'>;
  readonly #timer: NodeJS.Timeout;
  #last: Reading = readClocks();

  constructor(alarms: Pick<Alarms, 'record'>) {
    this.#alarms = alarms;
    this.#timer = setInterval(() => this.#check(), TICK_MS).unref();
  }

  async drain(): Promise<void> {
    clearInterval(this.#timer);
  }

  #check(): void {
    const last = this.#last;
    const now = readClocks();
    this.#last = now;
    const passedMs = now.steadyMs - last.steadyMs;
    const stallMs = passedMs - TICK_MS;
    if (stallMs >= STALL_MS)
      this.#alarms.record('event_loop_stalled', stallText(stallMs, now.usedMs - last.usedMs));
    const stepMs = now.clockMs - last.clockMs - passedMs;
    if (Math.abs(stepMs) >= STEP_MS) this.#alarms.record('clock_changed', stepText(stepMs));
  }
}

function readClocks(): Reading {
  const { user, system } = process.cpuUsage();
  return { steadyMs: performance.now(), clockMs: Date.now(), usedMs: (user + system) / 1000 };
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

function stallText(stallMs: number, usedMs: number): string {
  return usedMs >= stallMs / 2
    ? `the gateway handled nothing for ${seconds(stallMs)}, because its own work blocked the event loop; lower limits.message_bytes, or run several gateways`
    : `the gateway handled nothing for ${seconds(stallMs)}, because its process was suspended, or got too little processor time (${seconds(usedMs)}); check the load and the memory of the machine`;
}

function stepText(stepMs: number): string {
  const direction = stepMs > 0 ? 'forward' : 'back';
  return `the system clock was set ${direction} by ${seconds(Math.abs(stepMs))}, or the machine was suspended; check the time synchronisation of the machine`;
}
