// Asks the questions of `servers install` on the terminal. Secret answers are not echoed. Questions are
// printed on stderr, because stdout is for the result.

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { forTerminal } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import { answerError, describe, type EntryQuestion } from './questions.ts';

/** Returns true if a person can answer on a terminal. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

export class TerminalPrompt {
  readonly #closed = new AbortController();
  readonly #lines;
  #isHidden = false;

  constructor() {
    const output = new Writable({
      write: (chunk, _, done) => {
        if (!this.#isHidden) process.stderr.write(chunk);
        done();
      },
    });
    this.#lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
    this.#lines.on('SIGINT', () => this.#closed.abort());
    this.#lines.on('close', () => this.#closed.abort());
  }

  /**
   * Returns the answers to a question; the last one is valid. Undefined for the default. Throws
   * CommandLineError on Ctrl-C and Ctrl-D.
   */
  async ask(question: EntryQuestion): Promise<readonly string[] | undefined> {
    const answers: string[] = [];
    process.stderr.write(`${forTerminal(describe(question))}\n`);
    for (;;) {
      const more = answers.length > 0 ? ' (another one, or Enter)' : '';
      const text = (await this.#line(`  ${question.name}${more}> `, { isHidden: question.isSecret })).trim();
      if (text === '' && answers.length > 0) return answers;
      // The default must stay text from the registry; it is not an answer of the user (RGP1).
      if (text === '' && question.default !== undefined) return undefined;
      const fault = answerError(question, text);
      if (fault !== undefined) {
        process.stderr.write(forTerminal(`  ${fault}\n`));
        continue;
      }
      answers.push(text);
      if (!question.isRepeated || text === '') return answers;
    }
  }

  /** Asks a yes/no question; the default is no. */
  async confirm(question: string): Promise<boolean> {
    return /^y(?:es)?$/i.test((await this.#line(`${question} [y/N] `)).trim());
  }

  close(): void {
    this.#lines.close();
  }

  async #line(prompt: string, { isHidden = false } = {}): Promise<string> {
    try {
      if (!isHidden) return await this.#lines.question(forTerminal(prompt), { signal: this.#closed.signal });
      process.stderr.write(forTerminal(prompt));
      this.#isHidden = true;
      const line = await this.#lines.question('', { signal: this.#closed.signal });
      process.stderr.write('\n');
      return line;
    } catch {
      process.stderr.write('\n');
      throw new CommandLineError('cancelled; nothing was written');
    } finally {
      this.#isHidden = false;
    }
  }
}
