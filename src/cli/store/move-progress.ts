// How far a move has come, on stderr: one line that is drawn anew on a terminal, and elsewhere a line every few seconds.

import type { Progress } from '../../../actors/store/moved/moved-store.ts';
import { type TableName, tableNames } from '../../../actors/store/moved/moved-tables.ts';
import type { Counts } from '../../../actors/store/moved/record-file.ts';
import { isTerminal } from '../../terminal/paint.ts';
import { ProgressLine, progressText, type Screen } from '../mcp/progress-line.ts';
import { counted } from '../views/figures.ts';
import { complain } from '../views/output.ts';

/** Drawn so often, and told so often where nothing is drawn. */
const DRAWN_EVERY_MS = 100;
const TOLD_EVERY_MS = 5_000;

/** What people call what is in the tables. */
const words: Readonly<Record<TableName, string>> = {
  delivery: 'events',
  body: 'bodies',
  progress: 'kept states',
  run: 'runs',
  step: 'journal rows',
  approval: 'approvals',
  snapshot: 'conversations',
  timer: 'timers',
  tick: 'ticks',
  kv: 'values',
};

export class MoveProgress {
  readonly #line: ProgressLine;
  readonly #everyMs: number;
  readonly #isDrawn: boolean;
  #shownAt = performance.now();

  constructor(screen: Screen = process.stderr, env: NodeJS.ProcessEnv = process.env) {
    this.#isDrawn = isTerminal(screen, env);
    this.#line = new ProgressLine(screen, env);
    this.#everyMs = this.#isDrawn ? DRAWN_EVERY_MS : TOLD_EVERY_MS;
  }

  show({ table, unit, done, total }: Progress): void {
    const now = performance.now();
    if (now - this.#shownAt < this.#everyMs) return;
    this.#shownAt = now;
    const [size, message] = unit === 'rows' ? [1, words[table]] : [1_000_000, `MB: ${words[table]}`];
    const whole = total === undefined ? {} : { total: Math.ceil(total / size) };
    const progress = { progress: Math.floor(done / size), ...whole, message };
    if (this.#isDrawn) this.#line.show(progress);
    else complain(progressText(progress).trimStart());
  }

  end(): void {
    this.#line.end();
  }
}

/** `12 events, 3 runs`, of what there is any of. */
export function countsInWords(counts: Counts): string {
  const some = tableNames.filter((name) => name !== 'body' && counts[name] > 0);
  const texts = some.map((name) => counted(counts[name], words[name].replace(/s$/, '')));
  return texts.length === 0 ? 'nothing' : texts.join(', ');
}
