// Streams one run to a reader (an API client): first the journal, then live events. A slow reader gets only
// the newest text, and rows are read from the store when the reader accepts them. Each journal row is sent
// once, in order. A text that extends the previous text is sent as a delta, any other text completely. Calls
// of different parts are distinguished even if their ids are equal. Answers of parts are sent with the part's
// name and are not text of the run.

import type { JournalRow, ModelAnswerRow } from '../../../machines/agent-run/journal.ts';
import { StoppedError } from '../../base/errors/errors.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import { redactJson } from '../../base/errors/redacted-json.ts';
import { gatherApprovals } from '../../store/list-parts.ts';
import type { Store } from '../../store/store.ts';
import type { ApprovalRequest } from '../approvals/run-approvals.ts';
import {
  isExtension,
  type LiveReply,
  type LiveText,
  type RunFeed,
  type RunNews,
  type WatchHolders,
} from './feed.ts';
import type { RunAnswer, RunView } from './run-view.ts';
import { hasEnded, runStateOf, waitsFor } from './state.ts';
import type { StepView } from './step-shape.ts';
import { callKey, rowOf, StepViews } from './step-view.ts';

export type RunEvent =
  | { readonly event: 'run'; readonly run: RunView }
  /** Text added to the previous text. */
  | { readonly event: 'text'; readonly delta: string }
  /** A new text; with `part` the answer from a flow node or fleet member. */
  | { readonly event: 'text'; readonly text: string; readonly part?: string | undefined }
  | { readonly event: 'tool'; readonly step: StepView }
  /** A flow node or fleet member has started, parked or finished. */
  | { readonly event: 'part'; readonly step: StepView }
  | {
      readonly event: 'approval';
      readonly id: string;
      readonly state: string;
      readonly by?: string | undefined;
      /** Subject of the approval; undefined if it was already sent. */
      readonly asked?: ApprovalSummary | undefined;
    }
  | { readonly event: 'state'; readonly run: RunView }
  /** A request of the attempt failed and is repeated. */
  | { readonly event: 'retry'; readonly reason: string; readonly inMs: number }
  | { readonly event: 'end'; readonly answer: RunAnswer };

type RetryNews = Extract<RunNews, { readonly kind: 'retrying' }>;

type ApprovalSummary = Pick<ApprovalRequest, 'kind' | 'title'> &
  Partial<Pick<ApprovalRequest, 'command' | 'tool'>>;

export interface RunReader {
  /**
   * Sends an event. Resolves when the reader accepts the next event, or is closed; must not be called again
   * earlier.
   */
  send(event: RunEvent): Promise<void> | undefined;
  /** Stops the stream. `error` is set if the stop is premature. */
  end(error?: unknown): void;
}

interface RunWatchHost {
  readonly store: Pick<Store, 'delivery' | 'steps' | 'approvals'>;
  readonly feed: RunFeed;
  readonly redactor: Redactor;
  answer(id: string): Promise<RunAnswer>;
}

const MAX_APPROVALS = 100;
/** Size of a row that takes milliseconds to parse and send, in UTF-16 units. */
const LARGE_TEXT = 16_384;

export class RunWatch {
  readonly #host: RunWatchHost;
  readonly #id: string;
  readonly #stop: () => void;
  readonly #steps: StepViews;
  readonly #sentApprovals = new Set<string>();
  #reader: RunReader | undefined;
  #isOver = false;
  #isSending = false;
  /** True if news has arrived since the start of the last `#sendAll`. */
  #hasNews = true;
  /** True if the store may contain unsent rows. */
  #mayHaveRows = true;
  /** True if the state of the run may have changed. */
  #mayHaveSettled = true;
  /** Number of the last row that was read from the store. */
  #lastRead = 0;
  /** Number of the last row that the feed has announced. */
  #lastAnnounced = 0;
  /** Last text that was sent; '' if the next text must be sent completely. */
  #text = '';
  /** Edition of the last text, if it was streamed. */
  #edition: number | undefined;
  /** Newest streamed text; undefined if a row contains it. */
  #newText: LiveText | undefined;
  /** Text of the last model answer. */
  #rowText = '';
  /** Newest unsent retry. */
  #retry: RetryNews | undefined;
  /** Unfinished calls of the run. Calls of parts are not included, because they do not delay texts. */
  #openCalls = new Set<string>();
  #state: string | undefined;
  #reply: LiveReply | undefined;
  #isClosed = false;

  /** Starts to watch the run. Throws OverloadedError. */
  constructor(host: RunWatchHost, id: string, holders: WatchHolders) {
    this.#host = host;
    this.#id = id;
    this.#steps = new StepViews((text, most) => host.redactor.excerpt(text, most));
    this.#stop = host.feed.watch(id, holders, (news) => this.#onNews(news));
    this.#newText = host.feed.textOf(id);
  }

  /**
   * Starts the stream; must be called once. `begin` creates the reader. Rejects with StoppedError when the
   * gateway stops.
   */
  async begin(run: RunView, begin: () => RunReader): Promise<void> {
    if (this.#isClosed) throw new StoppedError('the gateway is stopping');
    const reader = begin();
    // A waiting run's state is repeated after the approvals.
    const { waitingFor, retryAt } = run.delivery;
    if (waitingFor === undefined && retryAt === undefined) this.#state = stateKey(run);
    await reader.send({ event: 'run', run });
    // Set only when the reader has room: it accepts one event at a time.
    this.#reader = reader;
    void this.#pump();
  }

  /** The reader has closed its connection. */
  close(): void {
    this.#isOver = true;
    this.#stop();
  }

  #onNews(news: RunNews): void {
    if (news.kind === 'text') this.#newText = news;
    else if (news.kind === 'retrying') {
      this.#retry = news;
      this.#dropText();
    } else if (news.kind === 'rows') {
      this.#mayHaveRows = true;
      this.#lastAnnounced = news.first + news.rowKinds.length - 1;
      // An answer row contains the complete streamed text; a result row completes a call that it describes.
      if (news.rowKinds.some((kind) => kind === 'answer' || kind === 'result')) this.#newText = undefined;
    } else if (news.kind === 'settled') {
      this.#reply = news.reply;
      this.#mayHaveRows = true;
      this.#mayHaveSettled = true;
    } else if (news.kind === 'closed') this.#isClosed = true;
    else {
      if (news.kind === 'begun') this.#dropText();
      this.#mayHaveSettled = true;
    }
    this.#hasNews = true;
    void this.#pump();
  }

  /** Sends all news to the reader, one event at a time. Does nothing while another call sends. */
  async #pump(): Promise<void> {
    if (this.#isSending || this.#reader === undefined) return;
    this.#isSending = true;
    try {
      while (this.#hasNews && !this.#isOver) {
        this.#hasNews = false;
        await this.#sendAll();
      }
    } catch (error) {
      this.#end(error);
    } finally {
      this.#isSending = false;
    }
  }

  async #sendAll(): Promise<void> {
    // Reset before reading, so that events during the reads cause another check.
    const mayHaveSettled = this.#mayHaveSettled;
    this.#mayHaveSettled = false;
    if (this.#mayHaveRows) await this.#sendRows();
    if (this.#retry !== undefined) await this.#sendRetry(this.#retry);
    const live = this.#newText;
    // A text that the last row contains is outdated. During calls the text only describes the calls, which
    // this stream reports as tool events.
    const isNews = live !== undefined && this.#openCalls.size === 0 && !isExtension(this.#rowText, live.text);
    if (isNews) await this.#sendText(live.text, live.edition);
    if (mayHaveSettled) await this.#sendState();
    if (this.#isClosed) this.#end();
  }

  /** Reads the unsent rows from the store and sends their events. */
  async #sendRows(): Promise<void> {
    this.#mayHaveRows = false;
    for (;;) {
      const page = await this.#host.feed.turns.run(() => this.#host.store.steps(this.#id, this.#lastRead));
      if (page.length === 0) return;
      for (const step of page) {
        if (this.#isOver) return;
        this.#lastRead = step.n;
        const views = () => [rowOf(step), this.#steps.next(step)] as const;
        const isLarge = step.text.length > LARGE_TEXT;
        const [row, stepView] = isLarge ? await this.#host.feed.turns.run(views) : views();
        await this.#sendRow(row, stepView);
      }
    }
  }

  async #sendRow(row: JournalRow | undefined, stepView: StepView): Promise<void> {
    const { part } = stepView;
    if (row?.kind === 'answer') await this.#sendAnswer(row, part);
    else if (row?.kind === 'called' || row?.kind === 'result') {
      const isOver = row.kind === 'result' && this.#openCalls.delete(callKey(part, row.id));
      // The feed has not announced the row, so it is newer than the text.
      if (isOver && stepView.n > this.#lastAnnounced) this.#newText = undefined;
      await this.#send({ event: 'tool', step: stepView });
    } else if (row?.kind === 'decided')
      await this.#send({ event: 'approval', id: row.approval, state: row.state, by: row.by });
    else if (part !== undefined && partKinds.has(stepView.kind))
      await this.#send({ event: 'part', step: stepView });
  }

  /** Discards the text; the next one is sent completely. */
  #dropText(): void {
    this.#text = '';
    this.#newText = undefined;
  }

  async #sendRetry({ reason, inMs }: RetryNews): Promise<void> {
    this.#retry = undefined;
    await this.#send({ event: 'retry', reason, inMs });
  }

  async #sendAnswer({ text, calls }: ModelAnswerRow, part: string | undefined): Promise<void> {
    if (part !== undefined) {
      if (text !== '') await this.#send({ event: 'text', text, part });
      this.#text = '';
      return;
    }
    await this.#sendText(text);
    this.#rowText = text;
    this.#openCalls = new Set(calls.map(({ id }) => callKey(part, id)));
    // Text after the calls is a new text.
    if (calls.length > 0) this.#text = '';
  }

  async #sendText(text: string, edition?: number): Promise<void> {
    const before = this.#text;
    const isSameEdition = edition !== undefined && edition === this.#edition;
    const isMore = before !== '' && (isSameEdition || isExtension(text, before));
    if (text === '' || (isMore && text.length === before.length)) return;
    this.#text = text;
    this.#edition = edition;
    const added = isMore ? text.slice(before.length) : text;
    const event = isMore ? ({ event: 'text', delta: added } as const) : ({ event: 'text', text } as const);
    await (added.length > LARGE_TEXT ? this.#sendLarge(event) : this.#send(event));
  }

  /** Sends the state of the run, if it has changed, and its open approvals. Stops after the result. */
  async #sendState(): Promise<void> {
    const delivery = await this.#host.store.delivery(this.#id);
    if (delivery === undefined) {
      this.#end();
      return;
    }
    const state = runStateOf(delivery.state);
    if (hasEnded(state)) {
      await this.#sendEnd();
      return;
    }
    const { answer: _, data: __, ...run } = await this.#host.answer(this.#id);
    if (waitsFor(run.delivery) === 'approval') await this.#sendApprovals();
    const key = stateKey(run);
    if (key === this.#state || hasEnded(run.state)) return;
    this.#state = key;
    await this.#send({ event: 'state', run });
  }

  async #sendEnd(): Promise<void> {
    const current = await this.#host.feed.turns.run(() => this.#host.answer(this.#id));
    const reply = current.state === 'done' ? this.#reply : undefined;
    const answer =
      reply === undefined ? current : { ...current, answer: reply.text, data: reply.data ?? current.data };
    await this.#sendLarge({ event: 'end', answer });
    this.#end();
  }

  /** Sends the undecided approvals. */
  async #sendApprovals(): Promise<void> {
    const filter = { run: this.#id, states: ['pending'], limit: MAX_APPROVALS } as const;
    const pending = await gatherApprovals(filter, (each) => this.#host.store.approvals(each));
    for (const { id, state, body } of [...pending].reverse()) {
      if (this.#sentApprovals.has(id)) continue;
      this.#sentApprovals.add(id);
      await this.#send({ event: 'approval', id, state, asked: this.#summaryOf(body) });
    }
  }

  /** Returns selected members: approval records also contain access rights. */
  #summaryOf(body: string): ApprovalSummary {
    const { kind, title, command, tool } = JSON.parse(body) as ApprovalSummary;
    const summary = {
      kind,
      title,
      ...(command === undefined ? {} : { command }),
      ...(tool === undefined ? {} : { tool }),
    };
    return redactJson(summary, (text) => this.#host.redactor.redact(text));
  }

  async #send(event: RunEvent): Promise<void> {
    if (!this.#isOver) await this.#reader?.send(event);
  }

  /** Waits for its turn, but not within the turn for the reader. */
  async #sendLarge(event: RunEvent): Promise<void> {
    let sending: Promise<void> | undefined;
    await this.#host.feed.turns.run(() => {
      sending = this.#send(event);
    });
    await sending;
  }

  #end(error?: unknown): void {
    if (this.#isOver) return;
    this.close();
    this.#reader?.end(error);
  }
}

/** Row kinds of parts within the run. */
const partKinds: ReadonlySet<string> = new Set(
  'entered again waits parked turn left failed ended dropped retried'.split(' '),
);

/** Returns a text that changes with the state, the wake-up cause and the next attempt. */
const stateKey = ({ delivery: { state, waitingFor, retryAt } }: RunView) =>
  [state, waitingFor, retryAt].join(' ');
