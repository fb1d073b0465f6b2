// One page that shows a run: it is told how the run stands, the steps of its journal, what a flow or a fleet draws of them, and the text
// that is being written, and then what becomes of them. The journal and the record are read when the feed says that there is something new, and every PULSE_MS besides.
//
// RVW1  nothing is read or kept for a viewer that does not take what it was told; it goes on with what is newest then.
// RVW2  of a journal the last MAX_STEPS are told, and of nodes and members how they stand by all of it. A text that is being written is told ten times a second at most, and its beginning only.

import type { RunFeed, RunNews } from '../../../actors/agents/runs/run-feed.ts';
import { hasEnded } from '../../../actors/agents/runs/run-state.ts';
import type { Runs } from '../../../actors/agents/runs/runs.ts';
import { rowOf, SHOWN_TEXT, ShownSteps } from '../../../actors/agents/runs/shown-step.ts';
import type { Redactor } from '../../../actors/base/errors/redact.ts';
import type { Store } from '../../../actors/store/store.ts';
import { RecordView } from '../../http/api/record-view.ts';
import { runDetails, stepRecord } from '../../http/api/run-records.ts';
import type { HttpStream } from '../../http/listener/seam.ts';
import type { RunMessage } from '../wire/run-wire.ts';
import { RunPicture } from './run-picture.ts';

export const MAX_STEPS = 500;
const BEAT_MS = 100;
const PULSE_MS = 2_000;
const HEARTBEAT_PULSES = 7;
const NO_STEPS = { steps: [], nextAfter: undefined };
/** Whose places those who watch from here take in the feed: together they have a share. */
const SHARE = 'inspector';

export interface RunViewerHost {
  readonly runs: Pick<Runs, 'run'>;
  readonly store: Pick<Store, 'steps'>;
  readonly feed: Pick<RunFeed, 'watch' | 'textOf'>;
  readonly redactor: Redactor;
  /** Nothing is told any more. */
  onEnd(): void;
}

export class RunViewer {
  readonly #host: RunViewerHost;
  readonly #id: string;
  readonly #view: RecordView;
  readonly #stream: HttpStream;
  readonly #unwatch: () => void;
  readonly #pulse: NodeJS.Timeout;
  #beat: NodeJS.Timeout | undefined;
  #pulses = 0;
  #isLooking = false;
  #isFull = false;
  #isOver = false;
  #isClosed = false;
  /** The record or the journal may have changed. */
  #isStale = true;
  #isAnew = false;
  #steps: ShownSteps;
  #picture: RunPicture;
  #seen = 0;
  #run = '';
  #text = '';
  #toldText = '';

  /** Throws OverloadedError when too many watch, and then `begin` was not called. */
  constructor(host: RunViewerHost, id: string, begin: () => HttpStream) {
    this.#host = host;
    this.#id = id;
    this.#view = new RecordView(host.redactor);
    this.#steps = this.#shownSteps();
    this.#picture = new RunPicture(host.redactor);
    this.#unwatch = host.feed.watch(id, SHARE, (news) => this.#onNews(news));
    this.#text = host.feed.textOf(id);
    this.#stream = begin();
    this.#stream.onDrain(() => {
      this.#isFull = false;
      this.#soon();
    });
    this.#pulse = setInterval(() => this.#onPulse(), PULSE_MS).unref();
    // Of a gateway that stops there is nothing to tell: the next beat ends it, when whoever makes it has it.
    if (!this.#isClosed) void this.#look();
  }

  /** The viewer has gone. */
  close(): void {
    this.#isOver = true;
    this.#unwatch();
    clearInterval(this.#pulse);
    clearTimeout(this.#beat);
    this.#host.onEnd();
  }

  #end(): void {
    if (this.#isOver) return;
    this.close();
    this.#stream.end();
  }

  #onNews(news: RunNews): void {
    // The gateway stops; the viewer comes back to the next one.
    if (news.kind === 'closed') this.#isClosed = true;
    else if (news.kind === 'text') this.#text = news.text;
    else {
      this.#isStale = true;
      const hasText = news.kind !== 'rows' || news.rows.some((text) => rowOf({ text })?.kind === 'answer');
      // What was being written is a step now, or was thrown away.
      if (hasText) this.#text = '';
      if (news.kind === 'rows' && news.first === 1 && this.#seen > 0) this.#beginAnew();
    }
    this.#soon();
  }

  #onPulse(): void {
    this.#isStale = true;
    this.#pulses += 1;
    if (this.#pulses % HEARTBEAT_PULSES === 0 && !this.#isFull) this.#stream.write(': \n\n');
    this.#soon();
  }

  #soon(): void {
    if (!this.#isOver) this.#beat ??= setTimeout(() => void this.#look(), BEAT_MS).unref();
  }

  async #look(): Promise<void> {
    this.#beat = undefined;
    if (this.#isClosed) this.#end();
    if (this.#isLooking || this.#isFull || this.#isOver) return;
    this.#isLooking = true;
    try {
      if (this.#isStale) await this.#tellRun();
      if (!this.#isFull) this.#tellText();
    } catch {
      // It is no run any more, or the store does not answer: who asks again is told which.
      this.#end();
    } finally {
      this.#isLooking = false;
    }
    const hasMore = this.#isStale || this.#textShown() !== this.#toldText;
    if (hasMore && !this.#isFull) this.#soon();
  }

  async #tellRun(): Promise<void> {
    this.#isStale = false;
    const shown = await this.#host.runs.run(this.#id);
    if (shown.stepCount < this.#seen) this.#beginAnew();
    const { answer } = shown.delivery;
    const run = runDetails({ ...shown, answer, data: undefined }, NO_STEPS, {}, this.#view);
    const text = JSON.stringify(run);
    if (text !== this.#run || this.#isAnew) {
      this.#run = text;
      this.#tell({ kind: 'run', data: { run, is_anew: this.#isAnew } });
      this.#isAnew = false;
    }
    await this.#tellSteps(shown.stepCount);
    this.#tellPicture(hasEnded(shown.state));
  }

  /** Those up to that number; where the viewer is full, the rest later. */
  async #tellSteps(count: number): Promise<void> {
    while (this.#seen < count && !this.#isOver) {
      if (this.#isFull) {
        this.#isStale = true;
        return;
      }
      const page = await this.#host.store.steps(this.#id, this.#seen);
      if (page.length === 0) return;
      const shown = page.map((step) => {
        this.#picture.take(step);
        return stepRecord(this.#steps.next(step));
      });
      this.#seen = page.at(-1)?.n ?? count;
      const steps = shown.filter(({ n }) => n > count - MAX_STEPS);
      if (steps.length > 0) this.#tell({ kind: 'steps', data: { steps } });
    }
  }

  /** Where the viewer is full it is told later. */
  #tellPicture(isOver: boolean): void {
    if (this.#isFull) this.#isStale = true;
    else for (const message of this.#picture.changes(isOver)) this.#tell(message);
  }

  #tellText(): void {
    const text = this.#textShown();
    if (text === this.#toldText) return;
    this.#toldText = text;
    this.#tell({ kind: 'text', data: { text } });
  }

  #textShown(): string {
    return this.#host.redactor.excerpt(this.#text, SHOWN_TEXT);
  }

  /** Another run has begun under the same id. */
  #beginAnew(): void {
    this.#isAnew = true;
    this.#seen = 0;
    this.#steps = this.#shownSteps();
    this.#picture = new RunPicture(this.#host.redactor);
  }

  #shownSteps(): ShownSteps {
    return new ShownSteps((text, most) => this.#host.redactor.excerpt(text, most));
  }

  #tell({ kind, data }: RunMessage): void {
    if (this.#isOver) return;
    this.#isFull = !this.#stream.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`);
  }
}
