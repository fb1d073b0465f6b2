// Full-screen terminal window, as in `less`: alternate screen, no cursor, keys without Enter. The terminal is
// restored exactly once, by `close` or when the process exits.

import { writeSync } from 'node:fs';
import { columnsOf } from '../../terminal/paint.ts';
import { forTerminal } from '../../terminal/terminal-text.ts';

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const END_OF_LINE = '\u001b[K';
const REST_OF_SCREEN = '\u001b[J';

const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

export interface ScreenEvents {
  onKey(key: string): void;
  /** The size has changed, or the process was resumed. */
  onRedraw(): void;
  /** The process received a signal or Ctrl-C, or the terminal was closed. */
  onEnd(): void;
}

export class Screen {
  readonly #events: ScreenEvents;
  #isOpen = false;

  constructor(events: ScreenEvents) {
    this.#events = events;
    process.on('exit', this.#restore);
    process.on('SIGCONT', this.#resume);
    for (const signal of endSignals) process.on(signal, events.onEnd);
    process.stdout.on('resize', events.onRedraw);
    process.stdout.on('error', events.onEnd);
    process.stdin.on('error', events.onEnd);
    process.stdin.on('data', this.#read);
    if (process.stdin.isTTY) process.stdin.on('end', events.onEnd);
    this.#enter();
  }

  get height(): number {
    return process.stdout.rows || 24;
  }

  /** One less than the width of the terminal: terminals differ in the cursor position behind a full line. */
  get width(): number {
    return Math.max(1, columnsOf(process.stdout) - 1);
  }

  /** Replaces the content of the screen. The lines must fit. */
  draw(lines: readonly string[]): void {
    if (this.#isOpen)
      process.stdout.write(
        `${HOME}${lines.map(forTerminal).join(`${END_OF_LINE}\n`)}${END_OF_LINE}${REST_OF_SCREEN}`,
      );
  }

  close(): void {
    this.#restore();
    process.off('exit', this.#restore);
    process.off('SIGCONT', this.#resume);
    for (const signal of endSignals) process.off(signal, this.#events.onEnd);
    process.stdout.off('resize', this.#events.onRedraw);
    process.stdin.off('data', this.#read);
    process.stdin.pause();
  }

  #enter(): void {
    this.#isOpen = true;
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
    process.stdout.write(ENTER);
  }

  readonly #restore = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    try {
      if (process.stdin.isTTY) process.stdin.setRawMode(false);
      // The process may be exiting, so the write must be synchronous.
      writeSync(process.stdout.fd, LEAVE);
    } catch {
      // The terminal is closed.
    }
  };

  readonly #resume = (): void => {
    this.#restore();
    this.#enter();
    this.#events.onRedraw();
  };

  readonly #read = (bytes: Buffer): void => {
    for (const key of bytes.toString('latin1')) {
      if (key === '\u0003' || key === '\u001c') this.#events.onEnd();
      else if (key === '\u001a') this.#suspend();
      else this.#events.onKey(key);
    }
  };

  /** Handles Ctrl-Z, which the terminal does not handle in raw mode. */
  #suspend(): void {
    if (process.platform === 'win32') return;
    this.#restore();
    process.kill(process.pid, 'SIGSTOP');
  }
}
