// A conversation with an agent on a terminal.

import { agentTarget } from '../../../config/resources/triggers/target.ts';
import type { ApprovalEvent } from '../../http/api/run-events.ts';
import { type Paint, paintFor } from '../../terminal/paint.ts';
import { jsonForTerminal, printable } from '../../terminal/terminal-text.ts';
import { type ApiClient, ApiProblem } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { complain, print } from '../views/output.ts';
import { leftLine, putOffLine } from '../views/run-views.ts';
import { ApprovalQuestions } from './approval-questions.ts';
import { AskedRun, heedSignals } from './asked-run.ts';
import { followRun, type Question } from './followed-run.ts';
import { RunPrinter } from './run-printer.ts';
import { waitingLine } from './troubles.ts';
import { type TypedLine, TypedLines } from './typed-lines.ts';

export interface Conversation extends Pick<Question, 'session' | 'user'> {
  readonly agent: string;
  readonly session: string;
  /** The gateway ends with the conversation. */
  readonly file?: readonly string[];
}

const CHANGE_MS = 10_000;
const APPROVE = 'Approve? [y/N] ';
const MAX_TYPED = 16;

export class TerminalChat {
  readonly #client: ApiClient;
  readonly #options: Conversation;
  readonly #paint: Paint = paintFor(process.stdout, process.env);
  readonly #lines: TypedLines;
  readonly #printer: RunPrinter;
  readonly #questions = new ApprovalQuestions(() => performance.now());
  /** What is being answered; undefined while a line is waited for. */
  #run: AskedRun | undefined;
  /** While an answer was on its way: asked after it. */
  readonly #typed: string[] = [];
  #isLeft = false;
  #whenLeft: () => void = () => {};

  constructor(client: ApiClient, options: Conversation) {
    this.#client = client;
    this.#options = options;
    this.#printer = new RunPrinter((text) => void print(text), this.#paint);
    this.#lines = new TypedLines({
      onLine: (line) => this.#onLine(line),
      onInterrupt: () => this.#onInterrupt(),
      onEnd: () => this.#leave(),
    });
  }

  async run(): Promise<number> {
    const { agent, session } = this.#options;
    this.#printer.note(`${agent}, session ${session}; /exit or Ctrl-D ends, Ctrl-C cancels an answer`);
    const left = new Promise<void>((resolve) => {
      this.#whenLeft = resolve;
    });
    const heedNoMore = heedSignals(
      () => this.#onInterrupt(),
      () => this.#leave(),
    );
    this.#lines.prompt();
    await left;
    heedNoMore();
    return 0;
  }

  #onLine(typed: TypedLine): void {
    const { text: line } = typed;
    if (this.#questions.isLate(typed)) {
      const isNothing = line === '' && this.#questions.open === undefined;
      if (!isNothing) this.#printer.note('not taken: you began it before you could see what is asked now');
      this.#promptAgain();
    } else if (this.#questions.open !== undefined) this.#onAnswer(line);
    else if (this.#run !== undefined) this.#keep(line);
    else {
      this.#lines.taken();
      this.#begin(line);
    }
  }

  #keep(line: string): void {
    if (this.#typed.length < MAX_TYPED) this.#typed.push(line);
    else this.#printer.note(`not taken: ${MAX_TYPED} lines wait already`);
  }

  #promptAgain(): void {
    if (this.#questions.open !== undefined) this.#lines.ask(APPROVE);
    else if (this.#run === undefined) this.#lines.prompt();
  }

  #begin(line: string): void {
    if (line.trim() === '/exit') this.#leave({ isOnPrompt: false });
    else if (line.trim() === '') this.#lines.prompt();
    else void this.#ask(line);
  }

  async #ask(input: string): Promise<void> {
    const run = new AskedRun(this.#client, (error) => this.#complain(error));
    this.#run = run;
    const printer = this.#printer;
    try {
      const end = await followRun(
        this.#client,
        { ...this.#options, target: agentTarget(this.#options.agent), input },
        {
          onBegun: ({ id }) => run.begun(id),
          onText: (text) => printer.onText(text),
          onMore: (delta) => printer.onMore(delta),
          onTool: (tool) => this.#tell(() => printer.onTool(tool)),
          onState: (state) => {
            if (putOffLine(state, Date.now()) !== undefined) this.#tell(() => printer.onState(state));
          },
          onRetry: (retry) => this.#tell(() => printer.onRetry(retry)),
          onCut: () => this.#tell(() => printer.onCut()),
          onApproval: (approval) => this.#onApproval(approval),
        },
        run.left,
      );
      if (this.#questions.end(run.isCancelled)) this.#lines.forget();
      printer.onEnd(end);
    } catch (error) {
      if (run.left.aborted) return;
      if (this.#questions.end(run.isCancelled)) this.#lines.forget();
      this.#complain(error);
    }
    this.#run = undefined;
    const next = this.#typed.shift();
    if (next === undefined) this.#lines.prompt();
    else {
      printer.onTakenUp(next);
      this.#begin(next);
    }
  }

  /** Prints whole lines, and not over a question. */
  #tell(show: () => void): void {
    if (this.#questions.open === undefined || this.#isLeft) show();
    else this.#lines.above(show);
  }

  #onApproval(approval: ApprovalEvent): void {
    const { id, state } = approval;
    if (state === 'pending') {
      const isTyping = this.#questions.open === undefined && this.#lines.isTyping;
      if (isTyping) this.#lines.setAside();
      if (this.#questions.add(approval, isTyping)) this.#show(approval);
      return;
    }
    const title = this.#questions.titleOf(id);
    const wasOpen = this.#questions.decided(id);
    const tell = () => this.#printer.onDecided(approval, title);
    if (wasOpen) {
      this.#lines.forget();
      tell();
      this.#showNext();
    } else this.#tell(tell);
  }

  #show({ title = '', tool, command }: ApprovalEvent): void {
    const what = JSON.stringify(tool?.arguments ?? command?.parameters ?? {}, undefined, 2);
    this.#printer.onAsked(title, jsonForTerminal(what));
    this.#lines.ask(APPROVE);
  }

  #showNext(): void {
    const { open } = this.#questions;
    if (open !== undefined) this.#show(open);
  }

  #onAnswer(line: string): void {
    const answer = this.#questions.answer(line);
    if (answer === undefined) {
      this.#printer.note('y or yes approves it; n, no or nothing at all denies it');
      this.#lines.ask(APPROVE);
      return;
    }
    const { question, verdict } = answer;
    this.#client
      .ask('POST', `approvals/${encodeURIComponent(question.id)}/${verdict}`, CHANGE_MS)
      .catch((error: unknown) => {
        this.#complain(error);
        const isUndecided = error instanceof ApiProblem && error.isPassing;
        if (isUndecided && this.#questions.again(question)) this.#show(question);
      });
    this.#showNext();
  }

  #onInterrupt(): void {
    if (this.#run?.interrupt() !== true) this.#leave();
  }

  #leave({ isOnPrompt = true } = {}): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    const run = this.#run;
    run?.leave();
    this.#lines.close();
    if (isOnPrompt) void print('\n');
    if (run?.goesOn === true && this.#options.file === undefined) this.#tellLeft(run);
    this.#whenLeft();
  }

  #tellLeft({ id = '' }: AskedRun): void {
    const { open } = this.#questions;
    if (open !== undefined) this.#printer.note(waitingLine(open, agentTarget(this.#options.agent), false));
    this.#printer.note(leftLine(id));
  }

  #complain(error: unknown): void {
    if (!(error instanceof ApiProblem || error instanceof UsageError)) throw error;
    this.#tell(() => {
      this.#printer.endLine();
      complain(this.#paint('bad', printable(error.message)));
    });
  }
}
