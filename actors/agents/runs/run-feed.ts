// What happens in runs while it happens, for whoever looks: the newest text of the answer, rows of the journal once they are
// durable, how it ends. In memory, of this process; what must last stands in the store. Events of agents without a journal are in
// it like those that have one.
//
// RUF1  of a run that nobody watches only the newest text is kept, as long as an attempt lasts.
// RUF2  at most `max` watch at a time, and no trigger has all of these places (A8, A6).

import type { Target } from '../../../config/resources/triggers/target.ts';
import { Budget, Share } from '../../base/bounds/budget.ts';
import { OverloadedError } from '../../base/errors/errors.ts';
import type { DeliveryListener } from '../../events/inbox/delivery-waits.ts';
import type { Settled } from '../../events/inbox/settled.ts';
import type { AgentReply } from '../handlers/handler.ts';
import { AgentCounters } from './agent-counters.ts';

export type RunNews =
  /** An attempt begins: what the text was before counts no more. */
  | { readonly kind: 'begun' }
  /** All of the newest text. */
  | { readonly kind: 'text'; readonly text: string }
  /** Rows of its journal, the first of which has that number. Those that are committed with an end are not told of. */
  | { readonly kind: 'rows'; readonly first: number; readonly rows: readonly string[] }
  /** What the attempt needs has failed, and is asked again after so many milliseconds: what there is of its text is thrown away. */
  | { readonly kind: 'retrying'; readonly reason: string; readonly inMs: number }
  /** The attempt is over, and there will be another one; the record says when, and why. */
  | { readonly kind: 'putOff' }
  /** It has ended, or parks; with the reply, where an attempt of this process gave one. */
  | { readonly kind: 'settled'; readonly settled: Settled; readonly reply: LiveReply | undefined }
  /** The gateway stops: nothing more is told. */
  | { readonly kind: 'closed' };

export type LiveReply = Pick<AgentReply, 'text' | 'data'>;

type Watcher = (news: RunNews) => void;

interface LiveRun {
  readonly watchers: Set<Watcher>;
  attempts: number;
  text: string;
  reply: LiveReply | undefined;
}

/** What tells of one attempt at a run. */
export interface LiveAttempt {
  text(text: string): void;
  retrying(reason: string, inMs: number): void;
  rows(first: number, rows: readonly string[]): void;
  /** What it has come to, before that is durable; of a park nothing but what is to be written with it. */
  replied(reply: LiveReply & Pick<AgentReply, 'effects'>): void;
  parked(effects: AgentReply['effects']): void;
  failed(): void;
  /** To be called once. */
  end(): void;
}

const MAX_WATCHERS = 1_024;

export class RunFeed implements DeliveryListener {
  readonly counters: AgentCounters;
  readonly #runs = new Map<string, LiveRun>();
  readonly #places: Budget;
  readonly #shares = new Map<string, Share>();
  #isClosed = false;

  constructor(max = MAX_WATCHERS, counters = new AgentCounters()) {
    this.counters = counters;
    this.#places = new Budget(max);
  }

  get watchers(): number {
    return this.#places.taken;
  }

  /** An attempt at the event of that id begins, by whoever is to answer it. */
  begin(id: string, target: Target): LiveAttempt {
    const counted = this.counters.begin(target);
    const run = this.#kept(id);
    run.attempts += 1;
    run.text = '';
    run.reply = undefined;
    tell(run, { kind: 'begun' });
    return {
      text: (text) => {
        run.text = text;
        tell(run, { kind: 'text', text });
      },
      retrying: (reason, inMs) => {
        run.text = '';
        tell(run, { kind: 'retrying', reason, inMs });
      },
      rows: (first, rows) => {
        counted.rows(rows);
        tell(run, { kind: 'rows', first, rows });
      },
      replied: ({ text, data, effects }) => {
        counted.rows(effects?.steps ?? []);
        counted.replied();
        if (run.watchers.size > 0) run.reply = { text, data };
      },
      parked: (effects) => counted.rows(effects?.steps ?? []),
      failed: counted.failed,
      end: () => {
        counted.end();
        run.attempts -= 1;
        this.#forgetUnused(id, run);
      },
    };
  }

  /** The newest text of an attempt that is under way; '' where there is none. */
  textOf(id: string): string {
    return this.#runs.get(id)?.text ?? '';
  }

  /**
   * Tells `watcher` of what happens in a run from now on, whether there is anything of it yet or not. Gives the way to stop that.
   * Throws OverloadedError when too many watch.
   */
  watch(id: string, trigger: string, watcher: Watcher): () => void {
    if (this.#isClosed) {
      watcher({ kind: 'closed' });
      return () => {};
    }
    const share = this.#shares.get(trigger) ?? new Share();
    if (!this.#places.take(1, share)) {
      const { taken, total } = this.#places;
      throw new OverloadedError(`${taken} of ${total} runs that may be watched at a time are; try again`);
    }
    this.#shares.set(trigger, share);
    const run = this.#kept(id);
    // The same function may watch twice.
    const own: Watcher = (news) => watcher(news);
    run.watchers.add(own);
    return () => {
      if (!run.watchers.delete(own)) return;
      this.#places.give(1, share);
      if (share.held === 0) this.#shares.delete(trigger);
      this.#forgetUnused(id, run);
    };
  }

  /** That event has ended, or parks, and that is durable. */
  onSettled(id: string, settled: Settled): void {
    const run = this.#runs.get(id);
    if (run !== undefined) tell(run, { kind: 'settled', settled, reply: run.reply });
  }

  /** Its attempt is over, and it comes again; that is durable. */
  onPutOff(id: string): void {
    const run = this.#runs.get(id);
    if (run !== undefined) tell(run, { kind: 'putOff' });
  }

  *watched(): Iterable<string> {
    for (const [id, { watchers, attempts }] of this.#runs) if (watchers.size > 0 && attempts === 0) yield id;
  }

  onBegunElsewhere(id: string): void {
    const run = this.#runs.get(id);
    if (run !== undefined && run.attempts === 0) tell(run, { kind: 'begun' });
  }

  /** Whoever watches reads them. */
  onRowsElsewhere(id: string, count: number): void {
    const run = this.#runs.get(id);
    if (run !== undefined && run.attempts === 0) tell(run, { kind: 'rows', first: count + 1, rows: [] });
  }

  /** Tells all who watch, and whoever comes, that the gateway stops. */
  close(): void {
    this.#isClosed = true;
    for (const run of [...this.#runs.values()]) tell(run, { kind: 'closed' });
  }

  #kept(id: string): LiveRun {
    let run = this.#runs.get(id);
    if (run === undefined) {
      run = { watchers: new Set(), attempts: 0, text: '', reply: undefined };
      this.#runs.set(id, run);
    }
    return run;
  }

  #forgetUnused(id: string, run: LiveRun): void {
    if (run.attempts === 0 && run.watchers.size === 0 && this.#runs.get(id) === run) this.#runs.delete(id);
  }
}

function tell({ watchers }: LiveRun, news: RunNews): void {
  for (const watcher of [...watchers]) watcher(news);
}
