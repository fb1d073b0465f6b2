// Stores the recent calls in files of the state folder, every WRITE_MS: all calls in one line log, failed
// and slow calls in another. If the gateway is killed, the calls of the last WRITE_MS are lost.
//
// - A burst is stored up to the length of the ring, a lasting load up to SUSTAINED calls per second, the
//   newest first. Otherwise thousands of calls per second would keep the disk busy for a list of seconds.
// - If a write fails, for example on a full disk, an alarm is raised, and the gateway continues. After
//   RETRY_MS the calls that are still in memory are written.

import { join } from 'node:path';
import type { Alarms } from '../base/alarms/alarms.ts';
import type { Log } from '../base/errors/log.ts';
import type { Redactor } from '../base/errors/redact.ts';
import { callRedactor, lineOf, parseLine, type RecordedCall } from './call-record.ts';
import { LineFiles } from './line-files.ts';
import type { RecentCalls } from './recent-calls.ts';

export const WRITE_MS = 250;
export const RETRY_MS = 10_000;
/** Stored calls per second under a lasting load. */
const SUSTAINED = 512;
/** Maximum size per write; limits the delay that converting a burst causes to other calls. */
const WRITE_CHARS = 65_536;
/** Size of a line log that holds the rings with the longest usual lines. */
const LOG_BYTES = 4 * 1024 * 1024;
const FORMAT = JSON.stringify({ format: 'actor-gateway calls', version: 1 });

export interface StoredCallsOptions {
  /** Folder `history` of the state folder. */
  readonly folder: string;
  /** Maximum size of the history. The calls use at most a quarter. */
  readonly maxBytes: number;
  readonly recent: RecentCalls;
  readonly redactor: Pick<Redactor, 'redact'>;
  readonly alarms: Pick<Alarms, 'raise' | 'clear'>;
  readonly log: Log;
}

/** One log of lines, and the position up to which it is written. */
interface CallLog {
  readonly files: LineFiles;
  readonly capacity: number;
  written: number;
  /** Number of calls that may be written now. */
  allowance: number;
}

export class StoredCalls {
  readonly #options: StoredCallsOptions;
  readonly #all: CallLog;
  readonly #noteworthy: CallLog;
  readonly #timer: NodeJS.Timeout;
  #lastWrite: Promise<void> = Promise.resolve();
  #isWriting = false;
  #allowanceAt = performance.now();
  /** After a failed write, time of the next one, in performance.now() milliseconds. */
  #retryAt: number | undefined;

  /** Reads the calls of earlier processes. */
  static async open(options: StoredCallsOptions): Promise<StoredCalls> {
    const stored = new StoredCalls(options);
    await stored.#restore();
    return stored;
  }

  private constructor(options: StoredCallsOptions) {
    const { folder, maxBytes, recent } = options;
    this.#options = options;
    const logOf = (name: string, capacity: number): CallLog => ({
      files: new LineFiles({
        folder: join(folder, name),
        format: FORMAT,
        maxBytes: Math.min(LOG_BYTES, maxBytes / 8),
      }),
      capacity,
      written: 0,
      allowance: capacity,
    });
    this.#all = logOf('calls', recent.all.capacity);
    this.#noteworthy = logOf('failed-calls', recent.noteworthyCapacity);
    this.#timer = setInterval(() => this.#writeIfDue(), WRITE_MS).unref();
  }

  async #restore(): Promise<void> {
    const { recent, log } = this.#options;
    const read = async ({ files, capacity }: CallLog): Promise<readonly RecordedCall[]> => {
      const calls = (await files.readLast(capacity)).flatMap((line) => parseLine(line) ?? []);
      // A write that failed in the middle was repeated.
      const byNumber = new Map(calls.map((call) => [call.n, call]));
      return [...byNumber.values()].sort((a, b) => a.n - b.n);
    };
    try {
      recent.restore(await read(this.#all), await read(this.#noteworthy));
    } catch (error) {
      log.warn({ reason: (error as Error).message }, 'could not read the recent calls of an earlier process');
    }
    this.#all.written = recent.all.next;
    this.#noteworthy.written = recent.noteworthyCount;
  }

  /** Writes the remaining calls. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#lastWrite;
    await this.#write();
  }

  #writeIfDue(): void {
    const { recent } = this.#options;
    // A failed call is in each ring.
    if (this.#isWriting || recent.all.next === this.#all.written) return;
    if (this.#retryAt !== undefined && performance.now() < this.#retryAt) return;
    this.#isWriting = true;
    this.#lastWrite = this.#write().finally(() => {
      this.#isWriting = false;
    });
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const { recent, alarms, folder } = this.#options;
    const now = performance.now();
    const earned = ((now - this.#allowanceAt) * SUSTAINED) / 1000;
    this.#allowanceAt = now;
    // Both are read now: a call that ends during the write is due with the next one, in both logs.
    const counts = { all: recent.all.next, noteworthy: recent.noteworthyCount };
    try {
      await this.#append(this.#noteworthy, counts.noteworthy, earned, (from, to) =>
        recent.noteworthyBetween(from, to),
      );
      await this.#append(this.#all, counts.all, earned, (from, to) => recent.allBetween(from, to));
      if (this.#retryAt !== undefined) alarms.clear('history_not_stored');
      this.#retryAt = undefined;
    } catch (error) {
      if (this.#retryAt === undefined)
        alarms.raise(
          'history_not_stored',
          `recent calls are not stored in ${folder}: ${(error as Error).message}; free disk space or repair the folder, or set history.enabled: false`,
        );
      this.#retryAt = now + RETRY_MS;
    }
  }

  async #append(
    log: CallLog,
    next: number,
    earned: number,
    read: (from: number, to: number) => readonly RecordedCall[],
  ): Promise<void> {
    log.allowance = Math.min(log.capacity, log.allowance + earned);
    const first = Math.max(log.written, next - Math.floor(log.allowance));
    const calls = read(first, next);
    log.allowance -= calls.length;
    for (const text of this.#texts(calls, Math.min(WRITE_CHARS, log.files.fileBytes)))
      await log.files.append(text);
    log.written = next;
  }

  /** Returns the lines in texts of up to `maxChars`, if no single line is longer. */
  *#texts(calls: readonly RecordedCall[], maxChars: number): Generator<string> {
    const redacted = callRedactor(this.#options.redactor);
    let text = '';
    for (const call of calls) {
      const line = `${lineOf(redacted(call))}\n`;
      if (text !== '' && text.length + line.length > maxChars) {
        yield text;
        text = '';
      }
      text += line;
    }
    if (text !== '') yield text;
  }
}
