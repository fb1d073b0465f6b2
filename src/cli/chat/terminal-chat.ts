// A conversation with an agent on a terminal.

import { createInterface, type Interface } from 'node:readline';
import { type ApiClient, ApiProblem } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { complain, print } from '../views/output.ts';
import { type Paint, paintFor } from '../views/paint.ts';
import { printable, printableLines } from '../views/terminal-text.ts';
import { type ApprovalNews, followRun, type Question, runPath } from './followed-run.ts';
import { RunPrinter } from './run-printer.ts';

export interface Conversation extends Omit<Question, 'input'> {
  readonly session: string;
}

interface AskedRun {
  /** Undefined until the gateway has taken it. */
  id: string | undefined;
  readonly left: AbortController;
  isCancelled: boolean;
}

const CHANGE_MS = 10_000;
const PROMPT = '> ';
const MAX_TYPED = 16;

export class TerminalChat {
  readonly #client: ApiClient;
  readonly #options: Conversation;
  readonly #paint: Paint = paintFor(process.stdout, process.env);
  readonly #terminal: Interface;
  readonly #printer: RunPrinter;
  /** What is being answered; undefined while a question is waited for. */
  #run: AskedRun | undefined;
  /** While an answer was on its way: asked after it. */
  readonly #typed: string[] = [];
  #answering: ((line: string) => void) | undefined;
  /** Until the question before is answered. */
  #waiting: Promise<void> = Promise.resolve();
  #whenLeft: () => void = () => {};

  constructor(client: ApiClient, options: Conversation) {
    this.#client = client;
    this.#options = options;
    this.#terminal = createInterface({ input: process.stdin, output: process.stdout, prompt: PROMPT });
    this.#printer = new RunPrinter((text) => void print(text), this.#paint);
  }

  async run(): Promise<number> {
    const { agent, session } = this.#options;
    await print(
      `${this.#paint('faint', printable(`${agent}, session ${session}; /exit or Ctrl-D ends, Ctrl-C cancels an answer`))}\n`,
    );
    const left = new Promise<void>((resolve) => {
      this.#whenLeft = resolve;
    });
    this.#terminal.on('SIGINT', () => this.#onInterrupt());
    this.#terminal.on('close', () => this.#leave());
    this.#terminal.on('line', (line) => this.#onLine(line));
    this.#terminal.prompt();
    await left;
    return 0;
  }

  #onLine(line: string): void {
    const answering = this.#answering;
    if (answering !== undefined) {
      this.#answering = undefined;
      answering(line);
      return;
    }
    if (this.#run !== undefined) this.#typed.push(...(this.#typed.length < MAX_TYPED ? [line] : []));
    else this.#begin(line);
  }

  #begin(line: string): void {
    if (line.trim() === '/exit') this.#leave();
    else if (line.trim() === '') this.#terminal.prompt();
    else void this.#ask(line);
  }

  async #ask(input: string): Promise<void> {
    const left = new AbortController();
    const run: AskedRun = { id: undefined, left, isCancelled: false };
    this.#run = run;
    try {
      const end = await followRun(
        this.#client,
        { ...this.#options, input },
        {
          onBegun: ({ id }) => {
            run.id = id;
          },
          onText: (text) => this.#printer.onText(text),
          onMore: (delta) => this.#printer.onMore(delta),
          onTool: (tool) => this.#printer.onTool(tool),
          onApproval: (approval) => {
            this.#printer.onApproval(approval);
            if (approval.state === 'pending') void this.#decide(approval);
          },
        },
        left.signal,
      );
      this.#printer.onEnd(end);
    } catch (error) {
      if (!left.signal.aborted) this.#complain(error);
    }
    this.#run = undefined;
    this.#answering = undefined;
    this.#waiting = Promise.resolve();
    if (left.signal.aborted) return;
    const next = this.#typed.shift();
    if (next === undefined) this.#terminal.prompt();
    else this.#begin(next);
  }

  /** One after the other: each has an answer of its own. */
  async #decide(approval: ApprovalNews): Promise<void> {
    const { id, title = '', tool, command } = approval;
    const what = JSON.stringify(tool?.arguments ?? command?.parameters ?? {}, undefined, 2);
    await print(
      `${this.#paint('busy', `It asks for approval: ${printable(title)}`)}\n${printableLines(what)}\n`,
    );
    const said = await this.#question('Approve? [y/N] ');
    const verb = /^y(es)?$/i.test(said.trim()) ? 'approve' : 'deny';
    try {
      await this.#client.ask('POST', `approvals/${encodeURIComponent(id)}/${verb}`, CHANGE_MS);
    } catch (error) {
      this.#complain(error);
    }
  }

  #question(words: string): Promise<string> {
    const before = this.#waiting;
    const asked = before.then(
      () =>
        new Promise<string>((resolve) => {
          this.#answering = resolve;
          this.#terminal.setPrompt(words);
          this.#terminal.prompt();
          this.#terminal.setPrompt(PROMPT);
        }),
    );
    this.#waiting = asked.then(() => {});
    return asked;
  }

  #onInterrupt(): void {
    const run = this.#run;
    if (run === undefined || run.isCancelled || run.id === undefined) {
      this.#leave();
      return;
    }
    run.isCancelled = true;
    this.#client
      .ask('POST', runPath(run.id, 'cancel'), CHANGE_MS)
      .catch((error: unknown) => this.#complain(error));
  }

  #leave(): void {
    this.#run?.left.abort();
    this.#terminal.close();
    this.#whenLeft();
  }

  #complain(error: unknown): void {
    if (!(error instanceof ApiProblem || error instanceof UsageError)) throw error;
    complain(this.#paint('bad', printable(error.message)));
  }
}
