// The way back for one request over stdio. Clients built on the public SDKs lose the progress that they read together
// with the answer (both in one read of the pipe), so an answer waits until the client has read its last progress.
// A client with a session is asked (read-receipts.ts). For the others there is only time, and no time is safe, since it
// is the client that has to get its turn: measured on two cores, 2 ms lose every 25th burst and 20 ms none. On a busy
// machine, which shows in our own timers being late, the time grows, up to MAX_TICKS, the bound for both.

import type { Outlet } from '../../actors/mcp/clients/outlet.ts';
import { holds, type Message, whole } from '../../actors/mcp/jsonrpc/span.ts';
import type { LineOutput } from './line-output.ts';
import type { ReadReceipts } from './read-receipts.ts';

const TICK_MS = 4;

/** So many ticks that were on time lie between the last progress and the answer, or MAX_TICKS in any case. */
const TICKS = 8;
const MAX_TICKS = 64;
const LATE_MS = 3;

const PROGRESS = 'notifications/progress';

export class LineOutlet implements Outlet {
  /** What gives the request up, where it is not a session that knows. */
  running: { cancel(reason?: string): void } | undefined;
  readonly #lines: LineOutput;
  readonly #receipts: ReadReceipts | undefined;
  readonly #onDone: (outlet: LineOutlet) => void;
  /** Where in the output the last progress ends, and when it was written. */
  #progressEnd = 0;
  #progressAt = Number.NEGATIVE_INFINITY;
  #held: Buffer | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endReceipt: (() => void) | undefined;

  constructor(lines: LineOutput, receipts: ReadReceipts | undefined, onDone: (outlet: LineOutlet) => void) {
    this.#lines = lines;
    this.#receipts = receipts;
    this.#onDone = onDone;
  }

  send(message: Message): void {
    this.#lines.write(whole(message));
    // The words may stand elsewhere in a message; then the answer comes a moment later than it could.
    if (!holds(message, PROGRESS)) return;
    this.#progressEnd = this.#lines.accepted;
    this.#progressAt = performance.now();
  }

  finish(message: Buffer): void {
    this.#held = message;
    const isFar = performance.now() - this.#progressAt > MAX_TICKS * TICK_MS;
    if (isFar && this.#hasProgressLeft) {
      this.release();
      return;
    }
    this.#endReceipt = this.#receipts?.ask(() => this.release());
    this.#tick(this.#receipts === undefined ? TICKS : Number.POSITIVE_INFINITY, MAX_TICKS);
  }

  drop(): void {
    this.#onDone(this);
  }

  /** Holds nothing back any longer. */
  release(): void {
    clearTimeout(this.#timer);
    this.#endReceipt?.();
    if (this.#held === undefined) return;
    this.#lines.write(this.#held);
    this.#held = undefined;
    this.#onDone(this);
  }

  /** Until then the client cannot even have begun to read it. */
  get #hasProgressLeft(): boolean {
    return this.#lines.left >= this.#progressEnd;
  }

  #tick(ticks: number, most: number): void {
    const due = performance.now() + TICK_MS;
    this.#timer = setTimeout(() => {
      const hasLeft = this.#hasProgressLeft;
      const isOnTime = hasLeft && performance.now() - due < LATE_MS;
      const left = isOnTime ? ticks - 1 : ticks;
      if (hasLeft && (left === 0 || most === 1)) this.release();
      else this.#tick(left, hasLeft ? most - 1 : most);
    }, TICK_MS);
  }
}
