// What a server asks a person while a call runs, asked in the terminal: a form field by field, or an address to be opened. Asked on
// stderr, so that stdout has the result alone. Where nobody can answer a question is declined, and that is said.
//
// TQ1  one question at a time; the answers to a form are sent after they were shown and confirmed, and not before.
// TQ2  an address is shown, and never opened; nothing but consent is sent for it.

import { createInterface } from 'node:readline/promises';
import { isTerminal } from '../../terminal/paint.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import { complain } from '../views/output.ts';
import { type FormField, type FormValue, formFields } from './answer-form.ts';
import type { Question, QuestionAnswer } from './mcp-session.ts';

/** Ctrl-D, or the server asks no more. */
class Ended extends Error {}

const DECLINE = '/decline';
const CANCEL = '/cancel';
const CHOICES = `${DECLINE} refuses to answer, ${CANCEL} or Ctrl-D takes no decision`;

export interface QuestionsOptions {
  /** Of whom the questions are. */
  readonly server: string;
  /** Ctrl-C in the middle of a question. */
  onInterrupt(): void;
}

export class TerminalQuestions {
  readonly #options: QuestionsOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  /** Resolves when it is answered; `signal`: whoever asks wants no answer any more. */
  ask(question: Question, signal: AbortSignal): Promise<QuestionAnswer> {
    const asked = this.#last.then(() => this.#ask(question, signal));
    this.#last = asked.catch(() => {});
    return asked;
  }

  async #ask(question: Question, signal: AbortSignal): Promise<QuestionAnswer> {
    const { server } = this.#options;
    const canAnswer = process.stdin.isTTY === true && isTerminal(process.stderr, process.env);
    complain(`${printable(server)} asks: ${printableLines(question.message)}`);
    if (question.url !== undefined) complain(`  ${printable(question.url)}`);
    if (!canAnswer) {
      complain('  declined: there is no terminal to answer it on');
      return { action: 'decline' };
    }
    const lines = new AskedLines(signal, this.#options.onInterrupt);
    try {
      return question.url === undefined
        ? await fillIn(formFields(question.form ?? {}), lines)
        : await open(question.url, lines);
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      complain('\n  cancelled');
      return { action: 'cancel' };
    } finally {
      lines.close();
    }
  }
}

/** Lines of a terminal, one for each prompt. */
class AskedLines {
  readonly #terminal = createInterface({ input: process.stdin, output: process.stderr });
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal, onInterrupt: () => void) {
    this.#signal = AbortSignal.any([signal, this.#ended.signal]);
    this.#terminal.on('SIGINT', () => {
      onInterrupt();
      this.#ended.abort();
    });
    this.#terminal.on('close', () => this.#ended.abort());
  }

  /** Throws Ended. */
  async ask(prompt: string): Promise<string> {
    try {
      return await this.#terminal.question(prompt, { signal: this.#signal });
    } catch {
      throw new Ended();
    }
  }

  close(): void {
    this.#terminal.close();
  }
}

async function open(url: string, lines: AskedLines): Promise<QuestionAnswer> {
  const { host } = URL.canParse(url) ? new URL(url) : { host: '' };
  complain(`  It leads to ${printable(host) || 'no host'}; open it in a browser if you trust that.`);
  for (;;) {
    const line = (await lines.ask('Enter goes on, n declines, c cancels: ')).trim().toLowerCase();
    if (['', 'y', 'yes'].includes(line)) return { action: 'accept' };
    if (['n', 'no', DECLINE].includes(line)) return { action: 'decline' };
    if (['c', CANCEL].includes(line)) return { action: 'cancel' };
  }
}

async function fillIn(fields: readonly FormField[], lines: AskedLines): Promise<QuestionAnswer> {
  complain(`  (${CHOICES})`);
  const content: Record<string, FormValue> = {};
  for (const field of fields) {
    for (const line of field.intro) complain(line);
    const value = await answerTo(field, lines);
    if (typeof value === 'object' && 'action' in value) return value;
    if (value !== undefined)
      Object.defineProperty(content, field.name, { value, enumerable: true, configurable: true });
  }
  for (const [name, value] of Object.entries(content))
    complain(printable(`  ${name} = ${JSON.stringify(value)}`));
  for (;;) {
    const line = (await lines.ask('Send this? [y]es, [n]o declines, [c]ancel: ')).trim().toLowerCase();
    if (['y', 'yes'].includes(line)) return { action: 'accept', content };
    if (['n', 'no', DECLINE].includes(line)) return { action: 'decline' };
    if (['c', CANCEL].includes(line)) return { action: 'cancel' };
  }
}

async function answerTo(
  field: FormField,
  lines: AskedLines,
): Promise<FormValue | QuestionAnswer | undefined> {
  for (;;) {
    const line = await lines.ask(field.prompt);
    if (line.trim() === DECLINE) return { action: 'decline' };
    if (line.trim() === CANCEL) return { action: 'cancel' };
    const read = field.read(line);
    if (read.kind === 'value') return read.value;
    if (read.kind === 'nothing') return undefined;
    complain(`  ${printable(read.text)}`);
  }
}
