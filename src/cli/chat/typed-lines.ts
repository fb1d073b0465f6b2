// Reads lines typed on a terminal, and records when their first key was pressed. A question can replace the
// prompt while the user types: the unfinished line (draft) is saved, and restored with the next prompt.
// Output during a question is printed above it.

import { createInterface, type Interface } from 'node:readline';

export interface TypedLine {
  readonly text: string;
  /** Text typed behind the restored draft. */
  readonly newText: string;
  /** Time of the first key of `newText`, by performance.now(). */
  readonly startedAt: number;
}

export interface TypedLinesListener {
  onLine(line: TypedLine): void;
  /** Ctrl-C. */
  onInterrupt(): void;
  /** Ctrl-D, or a closed terminal. */
  onEnd(): void;
}

const PROMPT = '> ';

export class TypedLines {
  readonly #terminal: Interface;
  #startedAt = 0;
  /** Question in place of the prompt. */
  #question = '';
  /** Line that was unfinished when a question appeared. */
  #draft = '';
  /** True until the first key after the draft was restored. */
  #isDraftRestored = false;

  constructor(listener: TypedLinesListener) {
    const { stdin: input, stdout: output } = process;
    this.#terminal = createInterface({ input, output, prompt: PROMPT });
    // Prepended, to run before readline changes the line.
    input.prependListener('keypress', () => {
      if (this.#terminal.line === '' || this.#isDraftRestored) this.#startedAt = performance.now();
      this.#isDraftRestored = false;
    });
    this.#terminal.on('line', (text) => listener.onLine(this.#lineOf(text)));
    this.#terminal.on('SIGINT', () => listener.onInterrupt());
    this.#terminal.on('close', () => listener.onEnd());
  }

  /** True if the current line is not empty. */
  get isTyping(): boolean {
    return this.#terminal.line !== '';
  }

  /** Shows the prompt with the saved draft. */
  prompt(): void {
    this.#terminal.setPrompt(PROMPT);
    this.#terminal.prompt();
    if (this.#draft === '') return;
    this.#terminal.write(this.#draft);
    this.#isDraftRestored = true;
  }

  #lineOf(text: string): TypedLine {
    const before = this.#draft;
    return {
      text,
      newText: text.startsWith(before) ? text.slice(before.length) : text,
      startedAt: this.#startedAt,
    };
  }

  /** Discards the draft. Called when its line is accepted. */
  clearDraft(): void {
    this.#draft = '';
  }

  /** Shows a question as the prompt. */
  ask(question: string): void {
    this.#question = question;
    this.#terminal.setPrompt(question);
    this.#terminal.prompt();
  }

  /** Calls `show`, which prints above the question. */
  printAbove(show: () => void): void {
    const { line } = this.#terminal;
    this.clearLine();
    show();
    this.ask(this.#question);
    this.#terminal.write(line);
  }

  /**
   * Saves the unfinished line as the draft for the next prompt, and clears it. Appends it to a draft whose
   * line the user has not entered yet.
   */
  saveDraft(): void {
    this.#draft += this.#terminal.line;
    this.clearLine();
  }

  /** Clears the prompt and the typed line. */
  clearLine(): void {
    this.#terminal.setPrompt('');
    this.#terminal.write(null, { ctrl: true, name: 'e' });
    this.#terminal.write(null, { ctrl: true, name: 'u' });
    this.#terminal.prompt();
  }

  close(): void {
    this.#terminal.close();
  }
}
