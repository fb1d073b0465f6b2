// Shows the progress of `store export` and `store import` on stderr: on a terminal as a line that is redrawn,
// otherwise as a new line every few seconds.

import type { RowCounts } from '../../../actors/store/export/file-format.ts';
import { type TableName, tableNames } from '../../../actors/store/export/tables.ts';
import type { TransferProgress } from '../../../actors/store/export/transfer.ts';
import { isTerminal } from '../../terminal/paint.ts';
import { ProgressLine, type ProgressStream, progressText } from '../mcp/progress-line.ts';
import { counted } from '../views/figures.ts';
import { printMessage } from '../views/output.ts';

/** Interval on a terminal. */
const DRAW_INTERVAL_MS = 100;
/** Interval if stderr is not a terminal. */
const PRINT_INTERVAL_MS = 5_000;

/** Name of the rows in each table, for messages. */
const tableNouns: Readonly<Record<TableName, string>> = {
  delivery: 'events',
  body: 'bodies',
  progress: 'retained states',
  run: 'runs',
  step: 'journal rows',
  approval: 'approvals',
  snapshot: 'conversations',
  timer: 'timers',
  tick: 'ticks',
  kv: 'values',
};

export class ProgressReporter {
  readonly #line: ProgressLine;
  readonly #everyMs: number;
  readonly #isOnTerminal: boolean;
  #lastShownAt = performance.now();

  constructor(screen: ProgressStream = process.stderr, env: NodeJS.ProcessEnv = process.env) {
    this.#isOnTerminal = isTerminal(screen, env);
    this.#line = new ProgressLine(screen, env);
    this.#everyMs = this.#isOnTerminal ? DRAW_INTERVAL_MS : PRINT_INTERVAL_MS;
  }

  show({ table, unit, done, total }: TransferProgress): void {
    const now = performance.now();
    if (now - this.#lastShownAt < this.#everyMs) return;
    this.#lastShownAt = now;
    const [size, message] =
      unit === 'rows' ? [1, tableNouns[table]] : [1_000_000, `MB: ${tableNouns[table]}`];
    const totalMember = total === undefined ? {} : { total: Math.ceil(total / size) };
    const progress = { progress: Math.floor(done / size), ...totalMember, message };
    if (this.#isOnTerminal) this.#line.show(progress);
    else printMessage(progressText(progress).trimStart());
  }

  close(): void {
    this.#line.close();
  }
}

/** Returns `12 events, 3 runs`. Omits empty tables. */
export function countsText(counts: RowCounts): string {
  const some = tableNames.filter((name) => name !== 'body' && counts[name] > 0);
  const texts = some.map((name) => counted(counts[name], tableNouns[name].replace(/s$/, '')));
  return texts.length === 0 ? 'nothing' : texts.join(', ');
}
