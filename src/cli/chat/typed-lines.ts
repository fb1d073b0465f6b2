// The lines that are typed on a terminal, each with when its first key was pressed, behind a prompt that changes.
//
// TYL1  what was typed when a question takes the place of the prompt is no part of the answer: it comes back behind the prompt, until a
//       line is taken there.
// TYL2  what is shown while an answer is waited for stands above the question, which is there with what was typed of the answer.

import { createInterface, type Interface } from 'node:readline';

export interface TypedLine {
  readonly text: string;
  /** The same without what came back behind the prompt. */
  readonly added: string;
  /** When the first key of that was pressed, in performance.now() milliseconds. */
  readonly begunAt: number;
}

export interface TypedLinesListener {
  onLine(line: TypedLine): void;
  /** Ctrl-C. */
  onInterrupt(): void;
  /** Ctrl-D, or the terminal is gone. */
  onEnd(): void;
}

const PROMPT = '> ';

export class TypedLines {
  readonly #terminal: Interface;
  #begunAt = 0;
  /** What an answer is waited for. */
  #question = '';
  /** What was being typed when a question came. */
  #setAside = '';
  /** It is behind the prompt again, and no key was pressed since. */
  #isBack = false;

  constructor(listener: TypedLinesListener) {
    const { stdin: input, stdout: output } = process;
    this.#terminal = createInterface({ input, output, prompt: PROMPT });
    // Before the terminal itself hears of the key.
    input.prependListener('keypress', () => {
      if (this.#terminal.line === '' || this.#isBack) this.#begunAt = performance.now();
      this.#isBack = false;
    });
    this.#terminal.on('line', (text) => listener.onLine(this.#lineOf(text)));
    this.#terminal.on('SIGINT', () => listener.onInterrupt());
    this.#terminal.on('close', () => listener.onEnd());
  }

  /** Whether there is a line that has begun. */
  get isTyping(): boolean {
    return this.#terminal.line !== '';
  }

  /** Waits for a line, as whatever was typed meanwhile goes on. */
  prompt(): void {
    this.#terminal.setPrompt(PROMPT);
    this.#terminal.prompt();
    if (this.#setAside === '') return;
    this.#terminal.write(this.#setAside);
    this.#isBack = true;
  }

  #lineOf(text: string): TypedLine {
    const before = this.#setAside;
    return {
      text,
      added: text.startsWith(before) ? text.slice(before.length) : text,
      begunAt: this.#begunAt,
    };
  }

  /** What was typed behind the prompt is what was meant. */
  taken(): void {
    this.#setAside = '';
  }

  /** Waits for an answer. */
  ask(question: string): void {
    this.#question = question;
    this.#terminal.setPrompt(question);
    this.#terminal.prompt();
  }

  /** While an answer is waited for: what `show` prints stands above the question. */
  above(show: () => void): void {
    const { line } = this.#terminal;
    this.forget();
    show();
    this.ask(this.#question);
    this.#terminal.write(line);
  }

  /** Keeps what is being typed for the next prompt. */
  setAside(): void {
    this.#setAside += this.#terminal.line;
    this.forget();
  }

  /** Takes prompt and line from the screen, and forgets what is being typed. */
  forget(): void {
    this.#terminal.setPrompt('');
    this.#terminal.write(null, { ctrl: true, name: 'e' });
    this.#terminal.write(null, { ctrl: true, name: 'u' });
    this.#terminal.prompt();
  }

  close(): void {
    this.#terminal.close();
  }
}
