// Prints a run on a terminal: streams the text, and prints a faint line for each tool call.

import { escapeHiddenLine } from '../../../actors/base/errors/hidden-characters.ts';
import type { ApprovalEvent, RetryEvent, ToolEvent } from '../../http/api/run-events.ts';
import type { RunRecord, RunResultRecord } from '../../http/api/run-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import { latency } from '../views/figures.ts';
import { delayLine, RECONNECT_LINE, retryLine } from '../views/runs.ts';
import type { RunListener } from './follow-run.ts';

const MAX_ARGUMENTS = 120;

export class RunPrinter implements RunListener {
  readonly #write: (text: string) => void;
  readonly #paint: Paint;
  /** Text printed so far. */
  #text = '';
  #isMidLine = false;

  /** `write` receives text without control characters, except the gateway's own colours. */
  constructor(write: (text: string) => void, paint: Paint) {
    this.#write = write;
    this.#paint = paint;
  }

  onText(text: string): void {
    this.endLine();
    this.#text = '';
    this.onDelta(text);
  }

  onDelta(delta: string): void {
    this.#text += delta;
    const printableText = printableLines(delta);
    if (printableText === '') return;
    this.#write(printableText);
    this.#isMidLine = !printableText.endsWith('\n');
  }

  onTool({ name = 'a tool', arguments: argumentText = '', state, took_ms }: ToolEvent): void {
    if (state === 'called') this.#line(`${name} ${shorten(argumentText)}`, 'faint');
    else if (state === 'done') this.#line(`  ${name}: done in ${latency(took_ms ?? null)}`, 'faint');
    else this.#line(`  ${name}: ${state}`, 'busy');
  }

  /** Prints an approval request. `request` must already be free of control characters. */
  printApprovalRequest(title: string, request: string): void {
    this.#line(`Approval required: ${escapeHiddenLine(title)}`, 'busy');
    this.#write(`${request}\n`);
  }

  /** Prints a decision. `title` is the title of the approval request. */
  printDecision({ state, id, by }: ApprovalEvent, title = id): void {
    const decided = `${title} is ${state}${by === undefined ? '' : ` by ${by}`}`;
    this.#line(escapeHiddenLine(decided), 'faint');
  }

  onState(run: RunRecord): void {
    const line = delayLine(run, Date.now());
    if (line !== undefined) this.#line(line, 'busy');
  }

  /** Prints a line that was queued during the previous run, when it is sent. */
  printQueuedLine(line: string): void {
    this.#line(`> ${line}`, 'faint');
  }

  /** Prints a note of the chat itself. */
  note(text: string): void {
    this.#line(text, 'faint');
  }

  onRetry(retry: RetryEvent): void {
    this.#line(retryLine(retry), 'busy');
  }

  onReconnect(): void {
    this.#line(RECONNECT_LINE, 'busy');
  }

  /** Prints the rest of the answer, and the state if the run did not succeed. */
  printEnd({ state, answer, note, id }: RunResultRecord): void {
    if (state === 'done' && answer !== null && answer !== this.#text) {
      if (answer.startsWith(this.#text)) this.onDelta(answer.slice(this.#text.length));
      else this.onText(answer);
    }
    this.endLine();
    if (state === 'done') return;
    this.#line(`${id} is ${state}${note === null ? '' : `: ${note}`}`, state === 'failed' ? 'bad' : 'busy');
  }

  #line(text: string, style: 'faint' | 'busy' | 'bad'): void {
    this.endLine();
    this.#write(`${this.#paint(style, printable(text))}\n`);
  }

  /** Writes a line break if the cursor is in the middle of a line. */
  endLine(): void {
    if (this.#isMidLine) this.#write('\n');
    this.#isMidLine = false;
  }
}

const shorten = (text: string) => (text.length <= MAX_ARGUMENTS ? text : `${text.slice(0, MAX_ARGUMENTS)}…`);
