// `agents chat` on a terminal: sends typed lines to an agent, streams the answers, requests approvals and
// handles Ctrl-C. Lines typed during an answer are queued.

import { agentTarget } from '../../../config/resources/triggers/target.ts';
import type { ApprovalEvent } from '../../http/api/run-events.ts';
import { type Paint, paintFor } from '../../terminal/paint.ts';
import { jsonForTerminal, printable } from '../../terminal/terminal-text.ts';
import { type ApiClient, ApiProblem } from '../api/client.ts';
import { CommandLineError } from '../api/target-options.ts';
import { print, printMessage } from '../views/output.ts';
import { delayLine, detachedLine } from '../views/runs.ts';
import { ApprovalQuestions } from './approval-questions.ts';
import { CancellableRun, handleSignals } from './cancellable-run.ts';
import { followRun, type RunToStart } from './follow-run.ts';
import { approvalWaitLine } from './run-notices.ts';
import { RunPrinter } from './run-printer.ts';
import { type TypedLine, TypedLines } from './typed-lines.ts';

export interface ConversationOptions extends Pick<RunToStart, 'session' | 'user'> {
  readonly agent: string;
  readonly session: string;
  /** Files for a local gateway, which stops with the chat. */
  readonly file?: readonly string[];
}

const DECISION_TIMEOUT_MS = 10_000;
const APPROVE = 'Approve? [y/N] ';
const MAX_QUEUED = 16;

export class TerminalChat {
  readonly #client: ApiClient;
  readonly #options: ConversationOptions;
  readonly #paint: Paint = paintFor(process.stdout, process.env);
  readonly #lines: TypedLines;
  readonly #printer: RunPrinter;
  readonly #questions = new ApprovalQuestions(() => performance.now());
  /** Run that answers the last line; undefined between runs. */
  #run: CancellableRun | undefined;
  /** Lines typed during a run, sent when the run completes. */
  readonly #queuedLines: string[] = [];
  #isClosed = false;
  #resolveClosed: () => void = () => {};

  constructor(client: ApiClient, options: ConversationOptions) {
    this.#client = client;
    this.#options = options;
    this.#printer = new RunPrinter((text) => void print(text), this.#paint);
    this.#lines = new TypedLines({
      onLine: (line) => this.#onLine(line),
      onInterrupt: () => this.#onInterrupt(),
      onEnd: () => this.#close(),
    });
  }

  async run(): Promise<number> {
    const { agent, session } = this.#options;
    this.#printer.note(
      `${agent}, session ${session}; /exit or Ctrl-D closes the chat, Ctrl-C cancels an answer`,
    );
    const whenClosed = new Promise<void>((resolve) => {
      this.#resolveClosed = resolve;
    });
    const stopHandling = handleSignals({
      onInterrupt: () => this.#onInterrupt(),
      onTerminate: () => this.#close(),
    });
    this.#lines.prompt();
    await whenClosed;
    stopHandling();
    return 0;
  }

  #onLine(typedLine: TypedLine): void {
    const { text: line } = typedLine;
    if (this.#questions.isLate(typedLine)) {
      // An empty line at the normal prompt has no effect anyway.
      const needsNote = line !== '' || this.#questions.current !== undefined;
      if (needsNote) this.#printer.note('ignored: you started this line before the question appeared');
      this.#promptAgain();
    } else if (this.#questions.current !== undefined) this.#onAnswer(line);
    else if (this.#run !== undefined) this.#queue(line);
    else {
      this.#lines.clearDraft();
      this.#processLine(line);
    }
  }

  #queue(line: string): void {
    if (this.#queuedLines.length < MAX_QUEUED) this.#queuedLines.push(line);
    else this.#printer.note(`ignored: ${MAX_QUEUED} lines are already waiting`);
  }

  #promptAgain(): void {
    if (this.#questions.current !== undefined) this.#lines.ask(APPROVE);
    else if (this.#run === undefined) this.#lines.prompt();
  }

  #processLine(line: string): void {
    if (line.trim() === '/exit') this.#close({ isOnPrompt: false });
    else if (line.trim() === '') this.#lines.prompt();
    else void this.#askAgent(line);
  }

  async #askAgent(input: string): Promise<void> {
    const run = new CancellableRun(this.#client, (error) => this.#printError(error));
    this.#run = run;
    const printer = this.#printer;
    try {
      const end = await followRun(
        this.#client,
        { ...this.#options, target: agentTarget(this.#options.agent), input },
        {
          onStart: ({ id }) => run.setId(id),
          onText: (text) => printer.onText(text),
          onDelta: (delta) => printer.onDelta(delta),
          onTool: (tool) => this.#showNotice(() => printer.onTool(tool)),
          onState: (state) => {
            if (delayLine(state, Date.now()) !== undefined) this.#showNotice(() => printer.onState(state));
          },
          onRetry: (retry) => this.#showNotice(() => printer.onRetry(retry)),
          onReconnect: () => this.#showNotice(() => printer.onReconnect()),
          onApproval: (approval) => this.#onApproval(approval),
        },
        run.detachSignal,
      );
      if (this.#questions.clear(run.isCancelled)) this.#lines.clearLine();
      printer.printEnd(end);
    } catch (error) {
      if (run.detachSignal.aborted) return;
      if (this.#questions.clear(run.isCancelled)) this.#lines.clearLine();
      this.#printError(error);
    }
    this.#run = undefined;
    const next = this.#queuedLines.shift();
    if (next === undefined) this.#lines.prompt();
    else {
      printer.printQueuedLine(next);
      this.#processLine(next);
    }
  }

  /** Prints complete lines, above an open question. */
  #showNotice(show: () => void): void {
    if (this.#questions.current === undefined || this.#isClosed) show();
    else this.#lines.printAbove(show);
  }

  #onApproval(approval: ApprovalEvent): void {
    const { id, state } = approval;
    if (state === 'pending') {
      const isTyping = this.#questions.current === undefined && this.#lines.isTyping;
      if (isTyping) this.#lines.saveDraft();
      const isShownNow = this.#questions.add(approval, isTyping);
      if (isShownNow) this.#showQuestion(approval);
      return;
    }
    const title = this.#questions.titleOf(id);
    const wasOpen = this.#questions.withdraw(id);
    const printDecision = () => this.#printer.printDecision(approval, title);
    if (wasOpen) {
      this.#lines.clearLine();
      printDecision();
      this.#showNextQuestion();
    } else this.#showNotice(printDecision);
  }

  #showQuestion({ title = '', tool, command }: ApprovalEvent): void {
    const json = JSON.stringify(tool?.arguments ?? command?.parameters ?? {}, undefined, 2);
    this.#printer.printApprovalRequest(title, jsonForTerminal(json));
    this.#lines.ask(APPROVE);
  }

  #showNextQuestion(): void {
    const { current } = this.#questions;
    if (current !== undefined) this.#showQuestion(current);
  }

  #onAnswer(line: string): void {
    const answer = this.#questions.answer(line);
    if (answer === undefined) {
      this.#printer.note('type y or yes to approve, n, no or Enter to deny');
      this.#lines.ask(APPROVE);
      return;
    }
    const { question, decision } = answer;
    this.#client
      .request('POST', `approvals/${encodeURIComponent(question.id)}/${decision}`, DECISION_TIMEOUT_MS)
      .catch((error: unknown) => {
        this.#printError(error);
        const isUndecided = error instanceof ApiProblem && error.isTransient;
        if (isUndecided && this.#questions.requeue(question)) this.#showQuestion(question);
      });
    this.#showNextQuestion();
  }

  #onInterrupt(): void {
    if (this.#run?.interrupt() !== true) this.#close();
  }

  #close({ isOnPrompt = true } = {}): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const run = this.#run;
    run?.detach();
    this.#lines.close();
    if (isOnPrompt) void print('\n');
    if (run?.isDetached === true && this.#options.file === undefined) this.#printDetached(run);
    this.#resolveClosed();
  }

  #printDetached({ id = '' }: CancellableRun): void {
    const { current } = this.#questions;
    if (current !== undefined)
      this.#printer.note(
        approvalWaitLine(current, agentTarget(this.#options.agent), { isLocalGateway: false }),
      );
    this.#printer.note(detachedLine(id));
  }

  #printError(error: unknown): void {
    if (!(error instanceof ApiProblem || error instanceof CommandLineError)) throw error;
    this.#showNotice(() => {
      this.#printer.endLine();
      printMessage(this.#paint('bad', printable(error.message)));
    });
  }
}
