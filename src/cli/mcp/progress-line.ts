// Shows a call's progress on stderr, as a line that is redrawn; only on a terminal. Log messages of the
// server are printed above it. Control characters from servers are removed.

import { columnsOf, isTerminal } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { printMessage } from '../views/output.ts';
import type { Progress } from './session.ts';

export interface ProgressStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const CLEAR = '\r\u001b[K';

export class ProgressLine {
  readonly #screen: ProgressStream;
  readonly #isEnabled: boolean;
  #line = '';
  #isQuiet = false;

  constructor(screen: ProgressStream = process.stderr, env: NodeJS.ProcessEnv = process.env) {
    this.#screen = screen;
    this.#isEnabled = isTerminal(screen, env);
  }

  /** Shows a new state of the progress. */
  show(progress: Progress): void {
    this.#line = progressText(progress);
    this.#draw();
  }

  /** Calls `print`, which prints complete lines above the progress. */
  printAbove(print: () => void): void {
    this.#clear();
    print();
    this.#draw();
  }

  /** Calls `ask`, and hides the progress until its promise is settled. */
  async hideDuring<T>(ask: () => Promise<T>): Promise<T> {
    this.#clear();
    this.#isQuiet = true;
    try {
      return await ask();
    } finally {
      this.#isQuiet = false;
    }
  }

  close(): void {
    this.#clear();
    this.#line = '';
  }

  #draw(): void {
    if (!this.#isEnabled || this.#isQuiet || this.#line === '') return;
    this.#screen.write(`${CLEAR}${this.#line.slice(0, columnsOf(this.#screen) - 1)}`);
  }

  #clear(): void {
    if (this.#isEnabled && !this.#isQuiet && this.#line !== '') this.#screen.write(CLEAR);
  }
}

/** Returns `40 %  2 of 5  copying`; if the total is unknown, `7  copying`. */
export function progressText({ progress, total, message }: Progress): string {
  const text = message === undefined ? '' : `  ${printable(message)}`;
  if (total === undefined || total <= 0) return `${progress}${text}`;
  const share = Math.min(100, Math.max(0, Math.floor((progress / total) * 100)));
  return `${String(share).padStart(3)} %  ${progress} of ${total}${text}`;
}

/** Prints a server's log message as a line on stderr. */
export function printServerMessage(level: string, logger: string | undefined, data: unknown): void {
  const from = logger === undefined ? '' : ` ${logger}`;
  printMessage(printable(`${level}${from}: ${typeof data === 'string' ? data : JSON.stringify(data)}`));
}
