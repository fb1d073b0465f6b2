// What a server says while a call runs, on stderr: its progress as one line that is drawn anew, on a terminal only, and its logging
// messages above that.
//
// Whatever a server says is made harmless first (TT1).

import { columnsOf, isTerminal } from '../../terminal/paint.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { complain } from '../views/output.ts';
import type { Progress } from './mcp-session.ts';

export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const CLEAR = '\r\u001b[K';

export class ProgressLine {
  readonly #screen: Screen;
  readonly #isShown: boolean;
  #line = '';
  #isQuiet = false;

  constructor(screen: Screen = process.stderr, env: NodeJS.ProcessEnv = process.env) {
    this.#screen = screen;
    this.#isShown = isTerminal(screen, env);
  }

  /** Takes the place of what was shown. */
  show(progress: Progress): void {
    this.#line = progressText(progress);
    this.#draw();
  }

  /** Prints whole lines on stderr; the progress stands below them again. */
  above(print: () => void): void {
    this.#clear();
    print();
    this.#draw();
  }

  /** Shows nothing until what `ask` gives has settled: a question stands there. */
  async during<T>(ask: () => Promise<T>): Promise<T> {
    this.#clear();
    this.#isQuiet = true;
    try {
      return await ask();
    } finally {
      this.#isQuiet = false;
    }
  }

  end(): void {
    this.#clear();
    this.#line = '';
  }

  #draw(): void {
    if (!this.#isShown || this.#isQuiet || this.#line === '') return;
    this.#screen.write(`${CLEAR}${this.#line.slice(0, columnsOf(this.#screen) - 1)}`);
  }

  #clear(): void {
    if (this.#isShown && !this.#isQuiet && this.#line !== '') this.#screen.write(CLEAR);
  }
}

/** `40 %  2 of 5  copying`; of what says no total `7  copying`. */
export function progressText({ progress, total, message }: Progress): string {
  const text = message === undefined ? '' : `  ${printable(message)}`;
  if (total === undefined || total <= 0) return `${progress}${text}`;
  const share = Math.min(100, Math.max(0, Math.floor((progress / total) * 100)));
  return `${String(share).padStart(3)} %  ${progress} of ${total}${text}`;
}

/** A logging message of a server, as one line on stderr. */
export function sayMessage(level: string, logger: string | undefined, data: unknown): void {
  const from = logger === undefined ? '' : ` ${logger}`;
  complain(printable(`${level}${from}: ${typeof data === 'string' ? data : JSON.stringify(data)}`));
}
