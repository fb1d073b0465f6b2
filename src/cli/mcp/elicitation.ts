// Asks the user the questions that a server sends during a call (elicitation): a form, field by field, or an
// address to open. Questions appear on stderr, one at a time. If stdin is no terminal, they are declined with
// a notice.
//
// The answers to a form are shown, and sent only after the user has confirmed them. An address is printed but
// never opened; only the consent is sent.

import { createInterface } from 'node:readline/promises';
import { isTerminal } from '../../terminal/paint.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import { printMessage } from '../views/output.ts';
import { type FormField, type FormValue, formFields } from './form-fields.ts';
import type { QuestionAnswer, ServerQuestion } from './session.ts';

/** The user has closed the input, or the server has withdrawn the question. */
class QuestionAborted extends Error {}

const DECLINE = '/decline';
const CANCEL = '/cancel';
const CHOICES = `${DECLINE} declines the question, ${CANCEL} or Ctrl-D cancels it`;

export interface ElicitationOptions {
  /** Name of the server, for the question. */
  readonly server: string;
  /** Called for Ctrl-C during a question. */
  onInterrupt(): void;
}

export class Elicitation {
  readonly #options: ElicitationOptions;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ElicitationOptions) {
    this.#options = options;
  }

  /** Asks a question after all earlier questions. `signal` withdraws it. */
  ask(question: ServerQuestion, signal: AbortSignal): Promise<QuestionAnswer> {
    const answer = this.#last.then(() => this.#ask(question, signal));
    this.#last = answer.catch(() => {});
    return answer;
  }

  async #ask(question: ServerQuestion, signal: AbortSignal): Promise<QuestionAnswer> {
    const { server } = this.#options;
    const canAnswer = process.stdin.isTTY === true && isTerminal(process.stderr, process.env);
    printMessage(`${printable(server)} asks: ${printableLines(question.message)}`);
    if (question.url !== undefined) printMessage(`  ${printable(question.url)}`);
    if (!canAnswer) {
      printMessage('  declined: answers need a terminal');
      return { action: 'decline' };
    }
    const lines = new LinePrompt(signal, this.#options.onInterrupt);
    try {
      return question.url === undefined
        ? await askForm(formFields(question.form ?? {}), lines)
        : await askUrl(question.url, lines);
    } catch (error) {
      if (!(error instanceof QuestionAborted)) throw error;
      printMessage('\n  cancelled');
      return { action: 'cancel' };
    } finally {
      lines.close();
    }
  }
}

/** Reads lines from the terminal. */
class LinePrompt {
  readonly #terminal = createInterface({ input: process.stdin, output: process.stderr });
  readonly #aborted = new AbortController();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal, onInterrupt: () => void) {
    this.#signal = AbortSignal.any([signal, this.#aborted.signal]);
    this.#terminal.on('SIGINT', () => {
      onInterrupt();
      this.#aborted.abort();
    });
    this.#terminal.on('close', () => this.#aborted.abort());
  }

  /** Prints the prompt and reads a line. Throws QuestionAborted. */
  async ask(prompt: string): Promise<string> {
    try {
      return await this.#terminal.question(prompt, { signal: this.#signal });
    } catch {
      throw new QuestionAborted();
    }
  }

  close(): void {
    this.#terminal.close();
  }
}

async function askUrl(url: string, lines: LinePrompt): Promise<QuestionAnswer> {
  const { host } = URL.canParse(url) ? new URL(url) : { host: '' };
  printMessage(`  Its host is ${printable(host) || 'no host'}; open it in a browser if you trust this host.`);
  for (;;) {
    const line = (await lines.ask('Enter continues, n declines, c cancels: ')).trim().toLowerCase();
    if (['', 'y', 'yes'].includes(line)) return { action: 'accept' };
    if (['n', 'no', DECLINE].includes(line)) return { action: 'decline' };
    if (['c', CANCEL].includes(line)) return { action: 'cancel' };
  }
}

async function askForm(fields: readonly FormField[], lines: LinePrompt): Promise<QuestionAnswer> {
  printMessage(`  (${CHOICES})`);
  const content: Record<string, FormValue> = {};
  for (const field of fields) {
    for (const line of field.intro) printMessage(line);
    const value = await askField(field, lines);
    if (typeof value === 'object' && 'action' in value) return value;
    if (value !== undefined)
      Object.defineProperty(content, field.name, { value, enumerable: true, configurable: true });
  }
  for (const [name, value] of Object.entries(content))
    printMessage(printable(`  ${name} = ${JSON.stringify(value)}`));
  for (;;) {
    const line = (await lines.ask('Send this? [y]es, [n]o declines, [c]ancel: ')).trim().toLowerCase();
    if (['y', 'yes'].includes(line)) return { action: 'accept', content };
    if (['n', 'no', DECLINE].includes(line)) return { action: 'decline' };
    if (['c', CANCEL].includes(line)) return { action: 'cancel' };
  }
}

async function askField(
  field: FormField,
  lines: LinePrompt,
): Promise<FormValue | QuestionAnswer | undefined> {
  for (;;) {
    const line = await lines.ask(field.prompt);
    if (line.trim() === DECLINE) return { action: 'decline' };
    if (line.trim() === CANCEL) return { action: 'cancel' };
    const read = field.parse(line);
    if (read.kind === 'value') return read.value;
    if (read.kind === 'nothing') return undefined;
    printMessage(`  ${printable(read.text)}`);
  }
}
