// What a terminal shows of a run: the text as it grows, and between its parts a faint line for each call of a tool.

import type { ApprovalEvent, RetryEvent, ToolEvent } from '../../http/api/run-events.ts';
import type { RunAnswer, RunRecord } from '../../http/api/run-shapes.ts';
import type { Paint } from '../../terminal/paint.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import { latency } from '../views/figures.ts';
import { CUT_LINE, putOffLine, retryLine } from '../views/run-views.ts';
import type { RunListener } from './followed-run.ts';

const MAX_ARGUMENTS = 120;

export class RunPrinter implements RunListener {
  readonly #write: (text: string) => void;
  readonly #paint: Paint;
  /** All of the newest text. */
  #whole = '';
  #isLineBegun = false;

  /** `write` gets text of which a terminal obeys nothing but our own colours. */
  constructor(write: (text: string) => void, paint: Paint) {
    this.#write = write;
    this.#paint = paint;
  }

  onText(text: string): void {
    this.endLine();
    this.#whole = '';
    this.onMore(text);
  }

  onMore(delta: string): void {
    this.#whole += delta;
    const shown = printableLines(delta);
    if (shown === '') return;
    this.#write(shown);
    this.#isLineBegun = !shown.endsWith('\n');
  }

  onTool({ name = 'a tool', arguments: given = '', state, took_ms }: ToolEvent): void {
    if (state === 'called') this.#line(`${name} ${shortened(given)}`, 'faint');
    else if (state === 'done') this.#line(`  ${name}: done in ${latency(took_ms ?? null)}`, 'faint');
    else this.#line(`  ${name}: ${state}`, 'busy');
  }

  /** `what` is text that a terminal may show. */
  onAsked(title: string, what: string): void {
    this.#line(`It asks for approval: ${title}`, 'busy');
    this.#write(`${what}\n`);
  }

  /** `title` is what it was asked about. */
  onDecided({ state, id, by }: ApprovalEvent, title = id): void {
    this.#line(`${title} is ${state}${by === undefined ? '' : ` by ${by}`}`, 'faint');
  }

  onState(run: RunRecord): void {
    const line = putOffLine(run, Date.now());
    if (line !== undefined) this.#line(line, 'busy');
  }

  /** A line that was typed before its turn. */
  onTakenUp(line: string): void {
    this.#line(`> ${line}`, 'faint');
  }

  /** A line that is no part of the run. */
  note(text: string): void {
    this.#line(text, 'faint');
  }

  onRetry(retry: RetryEvent): void {
    this.#line(retryLine(retry), 'busy');
  }

  onCut(): void {
    this.#line(CUT_LINE, 'busy');
  }

  /** What has not been shown yet of how it has ended. */
  onEnd({ state, answer, note, id }: RunAnswer): void {
    if (state === 'done' && answer !== null && answer !== this.#whole) {
      if (answer.startsWith(this.#whole)) this.onMore(answer.slice(this.#whole.length));
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

  /** What comes next begins a line. */
  endLine(): void {
    if (this.#isLineBegun) this.#write('\n');
    this.#isLineBegun = false;
  }
}

const shortened = (text: string) =>
  text.length <= MAX_ARGUMENTS ? text : `${text.slice(0, MAX_ARGUMENTS)}…`;
