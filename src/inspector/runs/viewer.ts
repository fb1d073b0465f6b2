// Streams one run to a page: state, stored steps (the journal), nodes or members, and the answer text in
// progress. The viewer reads the record and the journal when the feed of the runs announces a change, and
// every POLL_MS.
//
// - While a page does not read the stream, the viewer reads nothing from the store and queues nothing.
// - A page receives the last MAX_STEPS steps; states of nodes and members consider all steps. The answer text
//   is truncated, and sent up to ten times per second.

import type { RunFeed, RunNews } from '../../../actors/agents/runs/feed.ts';
import type { Runs } from '../../../actors/agents/runs/runs.ts';
import { hasEnded } from '../../../actors/agents/runs/state.ts';
import { MAX_STEP_TEXT, StepViews } from '../../../actors/agents/runs/step-view.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Step } from '../../../actors/store/run.ts';
import type { Store } from '../../../actors/store/store.ts';
import { RecordView } from '../../http/api/record-view.ts';
import { runDetails, stepRecord } from '../../http/api/run-records.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { RunMessage } from '../wire/run.ts';
import { PlanMessages } from './plan-messages.ts';

export const MAX_STEPS = 500;
/** Delay of an update, so that later changes are sent with it. */
const SEND_MS = 100;
const POLL_MS = 2_000;
/** Size of the steps that are prepared in one turn of the event loop: a few milliseconds. */
const SLICE_CHARS = 262_144;
/** Polls between two heartbeats: 14 s. */
const HEARTBEAT_POLLS = 7;
const NO_STEPS = { steps: [], nextAfter: undefined };
/** The feed limits the number of watchers per holder. All viewers of runs together are one holder. */
const FEED_HOLDER = { trigger: 'inspector' };

export interface RunViewerHost {
  readonly runs: Pick<Runs, 'run'>;
  readonly store: Pick<Store, 'steps'>;
  readonly feed: Pick<RunFeed, 'watch' | 'textOf' | 'turns'>;
  readonly redactor: Redactor;
  /** Called when the viewer is closed. */
  onEnd(): void;
}

export class RunViewer {
  readonly #host: RunViewerHost;
  readonly #id: string;
  readonly #view: RecordView;
  readonly #stream: HttpStream;
  readonly #unwatch: () => void;
  readonly #poll: NodeJS.Timeout;
  #timer: NodeJS.Timeout | undefined;
  #polls = 0;
  #isUpdating = false;
  /** True until the page has read the sent data. */
  #isFull = false;
  #isClosed = false;
  /** True if the gateway is stopping. */
  #isFeedClosed = false;
  /** True if record or journal must be read again. */
  #isStale = true;
  /** True if a new run started under the same id, and the page is not informed yet. */
  #isRestarted = false;
  #steps: StepViews;
  #plan: PlanMessages;
  #sentSteps = 0;
  /** Last sent record of the run, as JSON. */
  #run = '';
  /** Answer text in progress. */
  #text = '';
  #sentText = '';

  /** Throws OverloadedError, before it calls `openStream`, if the feed has too many watchers. */
  constructor(host: RunViewerHost, id: string, openStream: () => HttpStream) {
    this.#host = host;
    this.#id = id;
    this.#view = new RecordView(host.redactor);
    this.#steps = this.#createStepViews();
    this.#plan = new PlanMessages(host.redactor);
    this.#unwatch = host.feed.watch(id, FEED_HOLDER, (news) => this.#onNews(news));
    this.#text = host.feed.textOf(id)?.text ?? '';
    this.#stream = openStream();
    this.#stream.onDrain(() => {
      this.#isFull = false;
      this.#schedule();
    });
    this.#poll = setInterval(() => this.#onPoll(), POLL_MS).unref();
    // If the gateway is stopping, the scheduled update closes the stream, after the caller has received the
    // viewer.
    if (!this.#isFeedClosed) void this.#update();
  }

  /** Stops watching the run. Called when the page has disconnected. */
  close(): void {
    this.#isClosed = true;
    this.#unwatch();
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
    this.#host.onEnd();
  }

  #closeStream(): void {
    if (this.#isClosed) return;
    this.close();
    this.#stream.end();
  }

  #onNews(news: RunNews): void {
    // The gateway stops; the page reconnects to the next one.
    if (news.kind === 'closed') this.#isFeedClosed = true;
    else if (news.kind === 'text') this.#text = news.text;
    else {
      this.#isStale = true;
      const hasText = news.kind !== 'rows' || news.rowKinds.includes('answer');
      // The answer text has become a step, or was discarded.
      if (hasText) this.#text = '';
      if (news.kind === 'rows' && news.first === 1 && this.#sentSteps > 0) this.#restart();
    }
    this.#schedule();
  }

  #onPoll(): void {
    this.#isStale = true;
    this.#polls += 1;
    if (this.#polls % HEARTBEAT_POLLS === 0 && !this.#isFull) this.#stream.write(': \n\n');
    this.#schedule();
  }

  #schedule(): void {
    if (!this.#isClosed) this.#timer ??= setTimeout(() => void this.#update(), SEND_MS).unref();
  }

  async #update(): Promise<void> {
    this.#timer = undefined;
    if (this.#isFeedClosed) this.#closeStream();
    if (this.#isUpdating || this.#isFull || this.#isClosed) return;
    this.#isUpdating = true;
    try {
      if (this.#isStale) await this.#sendRun();
      if (!this.#isFull) this.#sendText();
    } catch {
      // The run was deleted, or the store does not respond. The page's next request returns the error.
      this.#closeStream();
    } finally {
      this.#isUpdating = false;
    }
    const hasMore = this.#isStale || this.#excerptOfText() !== this.#sentText;
    if (hasMore && !this.#isFull) this.#schedule();
  }

  async #sendRun(): Promise<void> {
    this.#isStale = false;
    const records = await this.#host.runs.run(this.#id);
    if (records.stepCount < this.#sentSteps) this.#restart();
    const { answer } = records.delivery;
    const run = runDetails({ ...records, answer, data: undefined }, NO_STEPS, {}, this.#view);
    const text = JSON.stringify(run);
    if (text !== this.#run || this.#isRestarted) {
      this.#run = text;
      this.#send({ kind: 'run', data: { run, is_anew: this.#isRestarted } });
      this.#isRestarted = false;
    }
    await this.#sendSteps(records.stepCount);
    this.#sendPlan(hasEnded(records.state));
  }

  /** Sends the steps up to `count`. If the stream is full, a later update sends the rest. */
  async #sendSteps(count: number): Promise<void> {
    while (this.#sentSteps < count && !this.#isClosed) {
      if (this.#isFull) {
        this.#isStale = true;
        return;
      }
      const { store, feed } = this.#host;
      const page = await store.steps(this.#id, this.#sentSteps);
      if (page.length === 0) return;
      const views = this.#steps;
      const [first = [], ...others] = slicesOf(page);
      this.#sendSlice(first, count);
      for (const slice of others)
        await feed.turns.run(() => {
          // After a restart, the journal is read again.
          if (!this.#isClosed && this.#steps === views) this.#sendSlice(slice, count);
        });
    }
  }

  #sendSlice(slice: readonly Step[], count: number): void {
    const records = slice.map((step) => {
      this.#plan.add(step);
      return stepRecord(this.#steps.next(step));
    });
    this.#sentSteps = slice.at(-1)?.n ?? count;
    const steps = records.filter(({ n }) => n > count - MAX_STEPS);
    if (steps.length > 0) this.#send({ kind: 'steps', data: { steps } });
  }

  /** Sends changed nodes and members. If the stream is full, a later update sends them. */
  #sendPlan(isOver: boolean): void {
    if (this.#isFull) this.#isStale = true;
    else for (const message of this.#plan.takeChanges(isOver)) this.#send(message);
  }

  #sendText(): void {
    const text = this.#excerptOfText();
    if (text === this.#sentText) return;
    this.#sentText = text;
    this.#send({ kind: 'text', data: { text } });
  }

  #excerptOfText(): string {
    return this.#host.redactor.excerpt(this.#text, MAX_STEP_TEXT);
  }

  /** Resets the viewer: a new run has started under the same id. */
  #restart(): void {
    this.#isRestarted = true;
    this.#sentSteps = 0;
    this.#steps = this.#createStepViews();
    this.#plan = new PlanMessages(this.#host.redactor);
  }

  #createStepViews(): StepViews {
    return new StepViews((text, maxChars) => this.#host.redactor.excerpt(text, maxChars));
  }

  #send({ kind, data }: RunMessage): void {
    if (this.#isClosed) return;
    this.#isFull = !this.#stream.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}

/** Divides a page into slices of SLICE_CHARS; the last step of a slice may exceed it. */
function* slicesOf(page: readonly Step[]): Generator<readonly Step[]> {
  let slice: Step[] = [];
  let chars = 0;
  for (const step of page) {
    slice.push(step);
    chars += step.text.length;
    if (chars < SLICE_CHARS) continue;
    yield slice;
    slice = [];
    chars = 0;
  }
  if (slice.length > 0) yield slice;
}
