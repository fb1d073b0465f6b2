// Recent stderr lines, for operators after a failure: limited in number and length (A8, ARCHITECTURE.md), as
// plain text without secrets (A9). Lines are cleaned only when they are read, so that a flood of lines does
// not slow down other servers (A6). Two kinds of output are reduced. A line that carriage returns overwrite
// (a progress bar) is shown in its last state, and lines for health pings are shown once (ping-lines.ts).

import type { Redactor } from '../../../base/errors/redact.ts';
import type { ReadingTurn } from '../http/paced-reader.ts';
import { bytesToKeep, displayLine } from './display-line.ts';
import { LineRate } from './line-rate.ts';
import { PingLines } from './ping-lines.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const MAX_LINES = 50;
const MAX_CHARS = 500;
const LOGGED_PER_SECOND = 100;
/** Interval at which a progress bar's state is logged. */
const PROGRESS_MS = 5_000;

interface RawLine {
  readonly bytes: Buffer;
  readonly isCut: boolean;
}

/** Marks that no carriage return has overwritten a state; compared by identity. */
const noLine: RawLine = { bytes: Buffer.alloc(0), isCut: false };

export class StderrTail {
  readonly #redactor: Redactor;
  readonly #rate: LineRate;
  readonly #now: () => number;
  readonly #pingLines = new PingLines();
  readonly #lines: RawLine[] = [];
  /** The unfinished line: its first bytes, and if it was truncated. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #isPendingCut = false;
  /** State of the unfinished line before its last carriage return. */
  #overwritten = noLine;
  #progressLoggedAt = Number.NEGATIVE_INFINITY;

  /** `onLine` receives lines for the log, up to LOGGED_PER_SECOND, and the number of omitted lines. */
  constructor(
    redactor: Redactor,
    onLine: (line: string) => void = () => {},
    now: () => number = () => performance.now(),
  ) {
    this.#redactor = redactor;
    this.#rate = new LineRate(LOGGED_PER_SECOND, onLine, now);
    this.#now = now;
  }

  /** Last lines, oldest first, including the unfinished line. */
  get lines(): readonly string[] {
    return [...this.#lines, this.#unfinished()]
      .map((line) => this.#display(line))
      .filter(isVisible)
      .slice(-MAX_LINES);
  }

  /** Call it when a health ping was sent. */
  notePing(): void {
    this.#pingLines.begin(this.#now());
  }

  /** Call it before any message is sent: the server may log the message, and these lines are all shown. */
  noteMessage(): void {
    this.#pingLines.end();
  }

  /** Returns the number of accepted bytes; fewer if `turn`, the time slice, expires. */
  push(chunk: Buffer, turn?: ReadingTurn): number {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.#appendStates(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
      if (turn?.isOver === true) return start;
    }
    this.#appendStates(chunk.subarray(start));
    return chunk.length;
  }

  /** Call it when the process will write no more. */
  end(): void {
    this.#endLine();
    this.#rate.end();
  }

  /** Appends a piece of a line. A carriage return ends a state of the line, such as of a progress bar. */
  #appendStates(piece: Buffer): void {
    const lastReturn = piece.lastIndexOf(CR);
    if (lastReturn === -1) {
      this.#append(piece);
      return;
    }
    // Only the last state matters, which may have begun in an earlier piece. A blank state erases a progress
    // bar and does not count.
    let end = lastReturn;
    let start = stateStart(piece, end);
    while (start > 0 && isBlank(piece.subarray(start, end))) {
      end = start - 1;
      start = stateStart(piece, end);
    }
    if (start > 0) this.#takePending();
    this.#append(piece.subarray(start, end));
    const state = this.#takePending();
    const hadState = this.#overwritten !== noLine;
    if (!isBlank(state.bytes)) this.#overwritten = state;
    this.#append(piece.subarray(lastReturn + 1));
    // A single state before the carriage return may be a line that ends with CRLF.
    if (hadState || this.#pendingBytes > 0) this.#logProgress();
  }

  /** Logs a progress bar's state, at intervals. */
  #logProgress(): void {
    if (this.#now() - this.#progressLoggedAt < PROGRESS_MS) return;
    const state = this.#unfinished();
    if (isBlank(state.bytes)) return;
    this.#progressLoggedAt = this.#now();
    this.#rate.offer(() => this.#display(state));
  }

  #append(piece: Buffer): void {
    if (piece.length === 0) return;
    const remaining = bytesToKeep(MAX_CHARS, this.#redactor) - this.#pendingBytes;
    if (piece.length > remaining) this.#isPendingCut = true;
    if (remaining <= 0) return;
    // The piece is copied, so that small pieces do not retain the whole buffer of the pipe.
    const copy = Buffer.from(piece.subarray(0, remaining));
    this.#pending.push(copy);
    this.#pendingBytes += copy.length;
  }

  #pendingLine(): RawLine {
    return { bytes: Buffer.concat(this.#pending), isCut: this.#isPendingCut };
  }

  #takePending(): RawLine {
    const line = this.#pendingLine();
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#isPendingCut = false;
    return line;
  }

  /** Returns the unfinished line, or its state before the last carriage return if the rest is blank. */
  #unfinished(pending = this.#pendingLine()): RawLine {
    return isBlank(pending.bytes) ? this.#overwritten : pending;
  }

  #endLine(): void {
    const line = this.#unfinished(this.#takePending());
    this.#overwritten = noLine;
    this.#progressLoggedAt = Number.NEGATIVE_INFINITY;
    if (isBlank(line.bytes) || this.#pingLines.isRepeated(line.bytes, this.#now())) return;
    this.#lines.push(line);
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
    this.#rate.offer(() => this.#display(line));
  }

  #display({ bytes, isCut }: RawLine): string {
    return displayLine(bytes, MAX_CHARS, this.#redactor, isCut);
  }
}

/** Returns the index after the last carriage return before `end`. */
function stateStart(piece: Buffer, end: number): number {
  return end === 0 ? 0 : piece.lastIndexOf(CR, end - 1) + 1;
}

function isVisible(line: string): boolean {
  return line.trim() !== '';
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === SPACE || byte === TAB || byte === CR);
}
