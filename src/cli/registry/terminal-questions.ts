// Questions in a terminal, one after the other. What is secret is not shown while it is typed. They stand on stderr: stdout is
// for the result.

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { forTerminal } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import { describe, faultOf, type Question } from './questions.ts';

/** Whether somebody is there to be asked. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

export class TerminalQuestions {
  readonly #gone = new AbortController();
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
    this.#lines.on('SIGINT', () => this.#gone.abort());
    this.#lines.on('close', () => this.#gone.abort());
  }

  /** The answers to one question, of which the last one is good; undefined for its default. Throws UsageError at Ctrl-C and Ctrl-D. */
  async ask(question: Question): Promise<readonly string[] | undefined> {
    const answers: string[] = [];
    process.stderr.write(`${forTerminal(describe(question))}\n`);
    for (;;) {
      const more = answers.length > 0 ? ' (another one, or Enter)' : '';
      const text = (await this.#line(`  ${question.name}${more}> `, question.isSecret)).trim();
      if (text === '' && answers.length > 0) return answers;
      // A default is a text of the registry's, and no answer of the user's (RGP1).
      if (text === '' && question.default !== undefined) return undefined;
      const fault = faultOf(question, text);
      if (fault !== undefined) {
        process.stderr.write(forTerminal(`  ${fault}\n`));
        continue;
      }
      answers.push(text);
      if (!question.isRepeated || text === '') return answers;
    }
  }

  /** No, unless it is said. */
  async agrees(question: string): Promise<boolean> {
    return /^y(?:es)?$/i.test((await this.#line(`${question} [y/N] `, false)).trim());
  }

  close(): void {
    this.#lines.close();
  }

  async #line(prompt: string, isHidden: boolean): Promise<string> {
    try {
      if (!isHidden) return await this.#lines.question(forTerminal(prompt), { signal: this.#gone.signal });
      process.stderr.write(forTerminal(prompt));
      this.#isHidden = true;
      const line = await this.#lines.question('', { signal: this.#gone.signal });
      process.stderr.write('\n');
      return line;
    } catch {
      process.stderr.write('\n');
      throw new UsageError('given up; nothing was written');
    } finally {
      this.#isHidden = false;
    }
  }
}
