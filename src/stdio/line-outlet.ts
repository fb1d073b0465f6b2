// Writes the messages of one request to stdout: progress notifications, then the response. Clients built on
// the public SDKs lose a progress notification if they read it together with the response, in one read of the
// pipe. The response is therefore delayed: the client must read the last notification first.
//
// For clients with a session, a ping confirms the read (read-receipts.ts). Otherwise the response is delayed
// by TICKS timer ticks. No delay is certain to suffice, but longer delays lose less: on two cores, the
// progress of every 25th request was lost with 2 ms, and none with 20 ms. Late ticks, on a busy machine, do
// not count. MAX_TICKS limits the ticks after the progress is in the pipe, late ones included.

import type { Outlet } from '../../actors/mcp/clients/outlet.ts';
import { containsText, type Message, toBuffer } from '../../actors/mcp/jsonrpc/span.ts';
import type { LineOutput } from './line-output.ts';
import type { ReadReceipts } from './read-receipts.ts';

const TICK_MS = 4;

/** Required number of punctual ticks between the last progress and the response. */
const TICKS = 8;
const MAX_TICKS = 64;
/** A tick that fires this much later than planned is late. */
const LATE_MS = 3;

const PROGRESS = 'notifications/progress';

export class LineOutlet implements Outlet {
  /** Running request from a client without session, to cancel it. */
  running: { cancel(reason?: string): void } | undefined;
  readonly #lines: LineOutput;
  readonly #receipts: ReadReceipts | undefined;
  readonly #onEnd: (outlet: LineOutlet) => void;
  /** Output position after the last progress, and the write time. */
  #progressEnd = 0;
  #progressAt = Number.NEGATIVE_INFINITY;
  #response: Buffer | undefined;
  #timer: NodeJS.Timeout | undefined;
  #endReceipt: (() => void) | undefined;

  constructor(lines: LineOutput, receipts: ReadReceipts | undefined, onEnd: (outlet: LineOutlet) => void) {
    this.#lines = lines;
    this.#receipts = receipts;
    this.#onEnd = onEnd;
  }

  send(message: Message): void {
    this.#lines.write(toBuffer(message));
    // If another message contains the text, the response is delayed too, without further effect.
    if (!containsText(message, PROGRESS)) return;
    this.#progressEnd = this.#lines.acceptedBytes;
    this.#progressAt = performance.now();
  }

  finish(message: Buffer): void {
    this.#response = message;
    const isProgressOld = performance.now() - this.#progressAt > MAX_TICKS * TICK_MS;
    if (isProgressOld && this.#isProgressSent) {
      this.release();
      return;
    }
    this.#endReceipt = this.#receipts?.request(() => this.release());
    this.#tick(this.#receipts === undefined ? TICKS : Number.POSITIVE_INFINITY, MAX_TICKS);
  }

  drop(): void {
    this.#onEnd(this);
  }

  /** Writes a held-back response immediately. */
  release(): void {
    clearTimeout(this.#timer);
    this.#endReceipt?.();
    if (this.#response === undefined) return;
    this.#lines.write(this.#response);
    this.#response = undefined;
    this.#onEnd(this);
  }

  /** True if the last progress was written to the pipe. */
  get #isProgressSent(): boolean {
    return this.#lines.sentBytes >= this.#progressEnd;
  }

  #tick(ticks: number, maxTicks: number): void {
    const due = performance.now() + TICK_MS;
    this.#timer = setTimeout(() => {
      const isSent = this.#isProgressSent;
      const isOnTime = isSent && performance.now() - due < LATE_MS;
      const remaining = isOnTime ? ticks - 1 : ticks;
      if (isSent && (remaining === 0 || maxTicks === 1)) this.release();
      else this.#tick(remaining, isSent ? maxTicks - 1 : maxTicks);
    }, TICK_MS);
  }
}
