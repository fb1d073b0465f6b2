// A whole terminal window that is drawn again and again, as `top` and `less` use it: its own screen, no cursor, keys
// without Enter. Whatever ends the program, the terminal is given back as it was.
//
// SCR1  what was switched is switched back exactly once: at `leave`, or when the process exits by whatever way.

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
  /** Draw again: the size has changed, or the program was continued. */
  onRedraw(): void;
  /** A signal, Ctrl-C, or the terminal is gone. */
  onEnd(): void;
}

export class Screen {
  readonly #events: ScreenEvents;
  #isOn = false;

  constructor(events: ScreenEvents) {
    this.#events = events;
    process.on('exit', this.#off);
    process.on('SIGCONT', this.#continued);
    for (const signal of endSignals) process.on(signal, events.onEnd);
    process.stdout.on('resize', events.onRedraw);
    process.stdout.on('error', events.onEnd);
    process.stdin.on('error', events.onEnd);
    process.stdin.on('data', this.#read);
    if (process.stdin.isTTY) process.stdin.on('end', events.onEnd);
    this.#on();
  }

  get height(): number {
    return process.stdout.rows || 24;
  }

  /** One less than there are, if there are more: after a full line terminals disagree about where the cursor is. */
  get width(): number {
    return Math.max(1, columnsOf(process.stdout) - 1);
  }

  /** Shows these lines and nothing else. They must fit. */
  draw(lines: readonly string[]): void {
    if (this.#isOn)
      process.stdout.write(
        `${HOME}${lines.map(forTerminal).join(`${END_OF_LINE}\n`)}${END_OF_LINE}${REST_OF_SCREEN}`,
      );
  }

  leave(): void {
    this.#off();
    process.off('exit', this.#off);
    process.off('SIGCONT', this.#continued);
    for (const signal of endSignals) process.off(signal, this.#events.onEnd);
    process.stdout.off('resize', this.#events.onRedraw);
    process.stdin.off('data', this.#read);
    process.stdin.pause();
  }

  #on(): void {
    this.#isOn = true;
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
    process.stdout.write(ENTER);
  }

  readonly #off = (): void => {
    if (!this.#isOn) return;
    this.#isOn = false;
    try {
      if (process.stdin.isTTY) process.stdin.setRawMode(false);
      // At the exit of a process only what is written at once is written at all.
      writeSync(process.stdout.fd, LEAVE);
    } catch {
      // The terminal itself is gone.
    }
  };

  readonly #continued = (): void => {
    this.#off();
    this.#on();
    this.#events.onRedraw();
  };

  readonly #read = (bytes: Buffer): void => {
    for (const key of bytes.toString('latin1')) {
      if (key === '\u0003' || key === '\u001c') this.#events.onEnd();
      else if (key === '\u001a') this.#suspend();
      else this.#events.onKey(key);
    }
  };

  /** Ctrl-Z: without raw mode the terminal itself would do it. */
  #suspend(): void {
    if (process.platform === 'win32') return;
    this.#off();
    process.kill(process.pid, 'SIGSTOP');
  }
}
