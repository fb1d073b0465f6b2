// Buffers lines and writes them: FLUSH_MS after the first, or earlier if they are large. If a write fails, or
// the disk is slower than the calls, lines wait up to MAX_BUFFERED bytes. Beyond it they are dropped and
// counted, and a line with the numbers follows as soon as writing works.

import type { Alarms } from '../base/alarms/alarms.ts';
import type { Log } from '../base/errors/log.ts';
import type { AuditEntry, LineFormat } from './audit-line.ts';
import { LINK_BYTES } from './chain.ts';
import type { ChainFile } from './chain-file.ts';
import { LineQueue } from './line-queue.ts';

export const FLUSH_MS = 100;
const FLUSH_BYTES = 65_536;
export const RETRY_MS = 1_000;
const MAX_BUFFERED = 4 * 1024 * 1024;
/** Maximum size of one write; limits the time for which hashing blocks the process. */
const MAX_WRITE = 262_144;

export interface AuditLogOptions {
  readonly file: ChainFile;
  readonly path: string;
  readonly maxBytes: number;
  readonly format: LineFormat;
  readonly alarms: Pick<Alarms, 'raise' | 'clear'>;
  readonly log: Log;
  /** True if each line is also written to the log. */
  readonly isLogged: boolean;
}

export class AuditLog {
  readonly #options: AuditLogOptions;
  /** Lines without links. */
  readonly #lines = new LineQueue();
  /** Number of written lines. */
  #written = 0;
  #dropped = 0;
  #refused = 0;
  #timer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #isWriting = false;
  #lastWrite: Promise<void> = Promise.resolve();

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** True if lines cannot be written now. */
  get isBlocked(): boolean {
    return this.#isFailing || this.#lines.bytes > MAX_BUFFERED / 2;
  }

  add(entry: AuditEntry): void {
    if (this.#lines.bytes > MAX_BUFFERED) {
      this.#dropped += 1;
      if (this.#dropped === 1 && !this.#isFailing) this.#alarm('the disk is too slow');
      return;
    }
    const { format, isLogged, log } = this.#options;
    const body = format.body(entry);
    if (isLogged) log.info(JSON.parse(`${body}}`), 'audit');
    this.#lines.add(body);
    if (!this.#isFailing && !this.#isWriting) this.#schedule();
  }

  /** Counts a request that was refused because lines cannot be written. */
  countRefused(): void {
    this.#refused += 1;
  }

  /** Writes the lines that wait now. Never rejects. */
  async flush(): Promise<void> {
    const end = this.#written + this.#lines.count;
    do await this.#flush();
    while (this.#written < end && !this.#isFailing);
  }

  /** Opens the file again before the next write. */
  async reopen(): Promise<void> {
    this.#options.file.reopen();
    await this.flush();
  }

  /** Writes the last lines, and closes the file. */
  async close(): Promise<void> {
    do await this.flush();
    while (this.#lines.count > 0 && !this.#isFailing);
    clearTimeout(this.#timer);
    const lost = this.#lines.count + this.#dropped;
    if (lost > 0) this.#options.log.error({ lines: lost }, 'audit lines are lost');
    await this.#options.file.close();
  }

  #schedule(): void {
    if (this.#lines.bytes >= FLUSH_BYTES) void this.#flush();
    else this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS).unref();
  }

  #flush(): Promise<void> {
    if (this.#isWriting) return this.#lastWrite;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isWriting = true;
    this.#lastWrite = this.#write().finally(() => {
      this.#isWriting = false;
      if (this.#lines.count > 0 && !this.#isFailing) this.#schedule();
    });
    return this.#lastWrite;
  }

  /** Writes until few lines wait: a write of each line by itself would cost more than its call. */
  async #write(): Promise<void> {
    const { file, alarms, maxBytes } = this.#options;
    try {
      do {
        const lines = this.#lines.peek(Math.min(MAX_WRITE, maxBytes), LINK_BYTES);
        if (lines.length === 0) break;
        await file.append(lines);
        this.#lines.remove(lines);
        this.#written += lines.length;
        this.#addNotices();
      } while (this.#lines.bytes >= FLUSH_BYTES);
      this.#isFailing = false;
      alarms.clear('audit_not_written');
    } catch (error) {
      this.#isFailing = true;
      this.#alarm((error as Error).message);
      this.#timer = setTimeout(() => void this.#flush(), RETRY_MS).unref();
    }
  }

  /** Adds lines about the files, and about lines and requests that were omitted before the last write. */
  #addNotices(): void {
    for (const { kind, count } of this.#options.file.takeNotices())
      this.#addOwn(`audit/${kind}`, 'found', count);
    if (this.#dropped > 0) this.#addOwn('audit/dropped-lines', 'dropped', this.#dropped);
    if (this.#refused > 0) this.#addOwn('audit/refused-requests', 'refused', this.#refused);
    this.#dropped = 0;
    this.#refused = 0;
  }

  #addOwn(action: string, outcome: string, count: number): void {
    this.#lines.add(this.#options.format.body({ principal: 'gateway', action, outcome, count }));
  }

  #alarm(reason: string): void {
    const { alarms, path } = this.#options;
    alarms.raise(
      'audit_not_written',
      `the audit cannot be written to ${path}: ${reason}; free disk space or repair the file`,
    );
  }
}
