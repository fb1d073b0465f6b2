// The last lines a local server wrote to stderr: what an operator needs when it fails. Bounded in lines and in
// length, whatever the server writes (A8); plain text without secrets (A9).
// Lines are cleaned when they are looked at, not when they come: a flood must not cost the others their time (A6).

import type { Redactor } from '../../../base/errors/redact.ts';
import type { ReadingTurn } from '../http/paced-reader.ts';
import { LineRate } from './line-rate.ts';
import { bytesToKeep, shownLine } from './shown-line.ts';

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
  /** The line that has not ended yet: its first bytes, and whether more came than are kept. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #isPendingCut = false;

  /** `onLine` gets each line for the log, at most a hundred a second, and a count of those left out. */
  constructor(redactor: Redactor, onLine: (line: string) => void = () => {}) {
    this.#redactor = redactor;
    this.#rate = new LineRate(LOGGED_PER_SECOND, onLine);
  }

  /** The last lines, oldest first, the unfinished one included. */
  get lines(): readonly string[] {
    return [...this.#lines, this.#unfinished()]
      .map((line) => this.#shown(line))
      .filter(isVisible)
      .slice(-MAX_LINES);
  }

  /** Gives how many bytes it has taken: all of them, unless `turn` is over before. */
  push(chunk: Buffer, turn?: ReadingTurn): number {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#keep(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
      if (turn?.isOver === true) return start;
    }
    this.#keep(chunk.subarray(start));
    return chunk.length;
  }

  /** The server will write no more. */
  end(): void {
    this.#endLine();
    this.#rate.end();
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    const room = bytesToKeep(MAX_CHARS, this.#redactor) - this.#pendingBytes;
    if (piece.length > room) this.#isPendingCut = true;
    if (room <= 0) return;
    // A copy, so that a few bytes do not hold on to the whole network buffer.
    const copy = Buffer.from(piece.subarray(0, room));
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
    this.#rate.offer(() => this.#shown(line));
  }

  #shown({ bytes, isCut }: RawLine): string {
    return shownLine(bytes, MAX_CHARS, this.#redactor, isCut);
  }
}

function isVisible(line: string): boolean {
  return line.trim() !== '';
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
