// Recent stderr lines, for operators after a failure: limited in number and length (A8, ARCHITECTURE.md), as
// plain text without secrets (A9). Lines are cleaned only when they are read, so that a flood of lines does
// not slow down others (A6).

import type { Redactor } from '../../../base/errors/redact.ts';
import type { ReadingTurn } from '../http/paced-reader.ts';
import { bytesToKeep, displayLine } from './display-line.ts';
import { LineRate } from './line-rate.ts';

const LF = 0x0a;
const MAX_LINES = 50;
const MAX_CHARS = 500;
const LOGGED_PER_SECOND = 100;

interface RawLine {
  readonly bytes: Buffer;
  readonly isCut: boolean;
}

export class StderrTail {
  readonly #redactor: Redactor;
  readonly #rate: LineRate;
  readonly #lines: RawLine[] = [];
  /** The unfinished line: its first bytes, and if it was truncated. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #isPendingCut = false;

  /** `onLine` receives lines for the log, up to LOGGED_PER_SECOND, and the number of omitted lines. */
  constructor(redactor: Redactor, onLine: (line: string) => void = () => {}) {
    this.#redactor = redactor;
    this.#rate = new LineRate(LOGGED_PER_SECOND, onLine);
  }

  /** Last lines, oldest first, including the unfinished line. */
  get lines(): readonly string[] {
    return [...this.#lines, this.#unfinished()]
      .map((line) => this.#display(line))
      .filter(isVisible)
      .slice(-MAX_LINES);
  }

  /** Accepts a chunk. Returns the number of accepted bytes; fewer if `turn` expires. */
  push(chunk: Buffer, turn?: ReadingTurn): number {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#append(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
      if (turn?.isOver === true) return start;
    }
    this.#append(chunk.subarray(start));
    return chunk.length;
  }

  /** Call it when the process will write no more. */
  end(): void {
    this.#endLine();
    this.#rate.end();
  }

  #append(piece: Buffer): void {
    if (piece.length === 0) return;
    const remaining = bytesToKeep(MAX_CHARS, this.#redactor) - this.#pendingBytes;
    if (piece.length > remaining) this.#isPendingCut = true;
    if (remaining <= 0) return;
    // Copied, so that small pieces do not retain the whole network buffer.
    const copy = Buffer.from(piece.subarray(0, remaining));
    this.#pending.push(copy);
    this.#pendingBytes += copy.length;
  }

  #unfinished(): RawLine {
    return { bytes: Buffer.concat(this.#pending), isCut: this.#isPendingCut };
  }

  #endLine(): void {
    if (this.#pendingBytes === 0) return;
    const line = this.#unfinished();
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#isPendingCut = false;
    if (isBlank(line.bytes)) return;
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
    this.#rate.offer(() => this.#display(line));
  }

  #display({ bytes, isCut }: RawLine): string {
    return displayLine(bytes, MAX_CHARS, this.#redactor, isCut);
  }
}

function isVisible(line: string): boolean {
  return line.trim() !== '';
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
