// Live events of runs, for watchers: the newest text of the answer, journal rows once they are durable, and
// the result. The feed is in the memory of this process; durable data is in the store. Agents without a
// journal have events too. If unwatched, only the newest text is stored, and only during an attempt. The
// number of watchers is limited, and neither a single trigger nor a single principal can use all slots.

import type { Target } from '../../../config/resources/triggers/target.ts';
import { Budget, Share } from '../../base/bounds/budget.ts';
import { WeakValues } from '../../base/bounds/weak-values.ts';
import { OverloadedError } from '../../base/errors/errors.ts';
import { WorkTurns } from '../../base/time/work-turns.ts';
import type { DeliveryOutcome } from '../../events/inbox/delivery-outcome.ts';
import type { DeliveryListener } from '../../events/inbox/delivery-waits.ts';
import { isIndividual, type Principal, principalText } from '../../identity/principal.ts';
import type { AgentReply } from '../handlers/handler.ts';
import { AgentCounters } from './agent-counters.ts';
import { rowOf } from './step-view.ts';

export type RunNews =
  /** An attempt starts and replaces the text of the previous one. */
  | { readonly kind: 'begun' }
  | ({ readonly kind: 'text' } & LiveText)
  /**
   * Rows of the journal: the number of the first one, and the kind of each. Rows in the final commit are not
   * reported.
   */
  | { readonly kind: 'rows'; readonly first: number; readonly rowKinds: readonly string[] }
  /** A request of the attempt failed and is repeated in `inMs` milliseconds. The text so far is discarded. */
  | { readonly kind: 'retrying'; readonly reason: string; readonly inMs: number }
  /** The attempt has failed and will be repeated; the delivery record has the time and the reason. */
  | { readonly kind: 'deferred' }
  /** The run has finished or is parked. `reply` is defined if an attempt in this process produced it. */
  | { readonly kind: 'settled'; readonly settled: DeliveryOutcome; readonly reply: LiveReply | undefined }
  /** The gateway stops; no more events follow. */
  | { readonly kind: 'closed' };

/** The complete newest text. */
export interface LiveText {
  readonly text: string;
  /** Number that changes unless the text extends the previous one: watchers compare no texts. */
  readonly edition: number;
}

export type LiveReply = Pick<AgentReply, 'text' | 'data'>;

type Watcher = (news: RunNews) => void;

/** Holders of a watcher's slot. */
export interface WatchHolders {
  /** Trigger or target of the run. */
  readonly trigger: string;
  /** Undefined for watchers of the gateway itself. */
  readonly principal?: Principal | undefined;
}

interface LiveRun {
  readonly watchers: Set<Watcher>;
  /** Number of attempts in progress. */
  attempts: number;
  text: string;
  edition: number;
  reply: LiveReply | undefined;
}

/** Reports an attempt's events. */
export interface LiveAttempt {
  reportText(text: string): void;
  reportRetry(reason: string, inMs: number): void;
  reportRows(first: number, rows: readonly string[]): void;
  /** Reports the answer, before it is durable. */
  reportReply(reply: LiveReply & Pick<AgentReply, 'effects'>): void;
  /** Counts the rows of an attempt that parks. */
  reportPark(effects: AgentReply['effects']): void;
  reportFailure(): void;
  /** Must be called once. */
  end(): void;
}

const MAX_WATCHERS = 1_024;

interface RunFeedOptions {
  /** Limit of watchers. @default 1024 */
  readonly max?: number;
  readonly counters?: AgentCounters;
}

export class RunFeed implements DeliveryListener {
  readonly counters: AgentCounters;
  /** Turns of the watchers for work with large texts. */
  readonly turns = new WorkTurns();
  readonly #runs = new Map<string, LiveRun>();
  readonly #slots: Budget;
  readonly #shares = new WeakValues<Share>();
  #isClosed = false;

  constructor({ max = MAX_WATCHERS, counters = new AgentCounters() }: RunFeedOptions = {}) {
    this.counters = counters;
    this.#slots = new Budget(max);
  }

  get watchers(): number {
    return this.#slots.used;
  }

  /** Reports the start of an attempt for event `id`, handled by `target`. */
  begin(id: string, target: Target): LiveAttempt {
    const counter = this.counters.begin(target);
    const run = this.#liveRun(id);
    run.attempts += 1;
    setText(run, '');
    run.reply = undefined;
    notify(run, { kind: 'begun' });
    return {
      reportText: (text) => {
        setText(run, text);
        notify(run, { kind: 'text', text, edition: run.edition });
      },
      reportRetry: (reason, inMs) => {
        setText(run, '');
        notify(run, { kind: 'retrying', reason, inMs });
      },
      reportRows: (first, rows) => {
        counter.addRows(rows);
        if (run.watchers.size === 0) return;
        const rowKinds = rows.map((text) => rowOf({ text })?.kind ?? '');
        notify(run, { kind: 'rows', first, rowKinds });
      },
      reportReply: ({ text, data, effects }) => {
        counter.addRows(effects?.steps ?? []);
        counter.addReply();
        if (run.watchers.size > 0) run.reply = { text, data };
      },
      reportPark: (effects) => counter.addRows(effects?.steps ?? []),
      reportFailure: counter.addFailure,
      end: () => {
        counter.end();
        run.attempts -= 1;
        this.#forgetUnused(id, run);
      },
    };
  }

  /** Returns the newest text of the running attempt; undefined without one. */
  textOf(id: string): LiveText | undefined {
    const { text = '', edition = 0 } = this.#runs.get(id) ?? {};
    return text === '' ? undefined : { text, edition };
  }

  /**
   * Calls `watcher` for later events of the run, which need not exist yet. Returns a function that stops the
   * watch. Throws OverloadedError above the limit of watchers.
   */
  watch(id: string, { trigger, principal }: WatchHolders, watcher: Watcher): () => void {
    if (this.#isClosed) {
      watcher({ kind: 'closed' });
      return () => {};
    }
    const share = this.#shareOf(`trigger ${trigger}`);
    const client =
      principal !== undefined && isIndividual(principal)
        ? this.#shareOf(`principal ${principalText(principal)}`)
        : undefined;
    if (!this.#slots.acquireFor(1, share, client)) {
      const { used, total } = this.#slots;
      throw new OverloadedError(`too many watched runs: ${used} of ${total}; try again`);
    }
    const run = this.#liveRun(id);
    // A separate function, so that the same watcher can be registered twice.
    const own: Watcher = (news) => watcher(news);
    run.watchers.add(own);
    return () => {
      if (!run.watchers.delete(own)) return;
      this.#slots.release(1, share, client);
      this.#forgetUnused(id, run);
    };
  }

  /** Called when the event has finished or parked durably. */
  onSettled(id: string, settled: DeliveryOutcome): void {
    const run = this.#runs.get(id);
    if (run !== undefined) notify(run, { kind: 'settled', settled, reply: run.reply });
  }

  /** Called when a retry of the event is durable. */
  onDeferred(id: string): void {
    const run = this.#runs.get(id);
    if (run !== undefined) notify(run, { kind: 'deferred' });
  }

  /** Yields the watched runs that this process does not handle. */
  *watchedIds(): Iterable<string> {
    for (const [id, { watchers, attempts }] of this.#runs) if (watchers.size > 0 && attempts === 0) yield id;
  }

  /** Called when a remote node has started an attempt. */
  onRemoteStart(id: string): void {
    const run = this.#runs.get(id);
    if (run !== undefined && run.attempts === 0) notify(run, { kind: 'begun' });
  }

  /** Called when a remote node has written rows; watchers read them from the store. */
  onRemoteRows(id: string, count: number): void {
    const run = this.#runs.get(id);
    if (run !== undefined && run.attempts === 0)
      notify(run, { kind: 'rows', first: count + 1, rowKinds: [] });
  }

  /** Notifies current and later watchers that the gateway stops. */
  close(): void {
    this.#isClosed = true;
    for (const run of [...this.#runs.values()]) notify(run, { kind: 'closed' });
  }

  #liveRun(id: string): LiveRun {
    let run = this.#runs.get(id);
    if (run === undefined) {
      run = { watchers: new Set(), attempts: 0, text: '', edition: 0, reply: undefined };
      this.#runs.set(id, run);
    }
    return run;
  }

  #shareOf(holder: string): Share {
    return this.#shares.getOrCreate(holder, () => new Share());
  }

  #forgetUnused(id: string, run: LiveRun): void {
    if (run.attempts === 0 && run.watchers.size === 0 && this.#runs.get(id) === run) this.#runs.delete(id);
  }
}

function setText(run: LiveRun, text: string): void {
  if (run.text === '' || !isExtension(text, run.text)) run.edition += 1;
  run.text = text;
}

/** Faster than `startsWith`, which compares single characters. */
export function isExtension(text: string, before: string): boolean {
  return text.length >= before.length && text.slice(0, before.length) === before;
}

function notify({ watchers }: LiveRun, news: RunNews): void {
  for (const watcher of [...watchers]) watcher(news);
}
