// A run for one who watches it: what its journal has, and then what happens, as events in words of the API. Whoever reads slowly is
// waited for: of the text the newest is told, and rows are read from the store when there is room for them.
//
// RUW1  each row of the journal is told once, in order; what was told before the watcher came is told first.
// RUW2  a text that begins as the one before is told as what is added to it, any other one whole.
// RUW3  calls of parts are told apart, whatever their ids; what a part has answered is told with its name, and is no text of the run.

import type { JournalRow, ModelAnswerRow } from '../../../machines/agent-run/journal.ts';
import { StoppedError } from '../../base/errors/errors.ts';
import type { Redactor } from '../../base/errors/redact.ts';
import { redactedJson } from '../../base/errors/redacted-json.ts';
import type { Store } from '../../store/store.ts';
import type { ApprovalRequest } from '../approvals/run-approvals.ts';
import type { LiveReply, RunFeed, RunNews } from './run-feed.ts';
import { hasEnded, runStateOf, waitsFor } from './run-state.ts';
import type { RunAnswer, ShownRun } from './shown-run.ts';
import { callKey, rowOf, ShownSteps } from './shown-step.ts';
import type { ShownStep } from './step-for-people.ts';

export type RunEvent =
  | { readonly event: 'run'; readonly run: ShownRun }
  /** What is added to the text. */
  | { readonly event: 'text'; readonly delta: string }
  /** A text that begins anew; with `part` what an agent within the run has answered. */
  | { readonly event: 'text'; readonly text: string; readonly part?: string | undefined }
  | { readonly event: 'tool'; readonly step: ShownStep }
  /** A node of a flow, or a member of a fleet, has begun, waits, or has ended. */
  | { readonly event: 'part'; readonly step: ShownStep }
  | {
      readonly event: 'approval';
      readonly id: string;
      readonly state: string;
      readonly by?: string | undefined;
      /** What it is about; undefined where it was told before. */
      readonly asked?: AskedFor | undefined;
    }
  | { readonly event: 'state'; readonly run: ShownRun }
  /** Why the answer takes its time: something has failed within the attempt, and is asked again. */
  | { readonly event: 'retry'; readonly reason: string; readonly inMs: number }
  | { readonly event: 'end'; readonly answer: RunAnswer };

type RetryNews = Extract<RunNews, { readonly kind: 'retrying' }>;

type AskedFor = Pick<ApprovalRequest, 'kind' | 'title'> & Partial<Pick<ApprovalRequest, 'command' | 'tool'>>;

export interface RunReader {
  /** Resolves when there is room for more, and at once when the reader is gone. Not to be called before that. */
  tell(event: RunEvent): Promise<void> | undefined;
  /** Nothing more comes. `error` is why, where it is not the end of the run. */
  end(error?: unknown): void;
}

interface RunWatchHost {
  readonly store: Pick<Store, 'delivery' | 'steps' | 'approvals'>;
  readonly feed: RunFeed;
  readonly redactor: Redactor;
  answer(id: string): Promise<RunAnswer>;
}

const MAX_APPROVALS = 100;

export class RunWatch {
  readonly #host: RunWatchHost;
  readonly #id: string;
  readonly #stop: () => void;
  readonly #steps: ShownSteps;
  readonly #askedOf = new Set<string>();
  #reader: RunReader | undefined;
  #isOver = false;
  #isTelling = false;
  #hasNews = true;
  #mayHaveRows = true;
  #mayHaveSettled = true;
  #seen = 0;
  /** The last row that the feed has told of. */
  #heardOf = 0;
  /** As it was told. */
  #text = '';
  /** The newest; undefined when a row has it. */
  #newText: string | undefined;
  /** Of the last answer of a model. */
  #rowText = '';
  /** The newest that has not been told. */
  #retry: RetryNews | undefined;
  /** Its calls that have no result yet; those of agents within it are told of, and hold nothing up. */
  #open = new Set<string>();
  #state: string | undefined;
  #reply: LiveReply | undefined;
  #isClosed = false;

  /** Hears of the run from now on. Throws OverloadedError. */
  constructor(host: RunWatchHost, id: string, agent: string) {
    this.#host = host;
    this.#id = id;
    this.#steps = new ShownSteps((text, most) => host.redactor.excerpt(text, most));
    this.#stop = host.feed.watch(id, agent, (news) => this.#onNews(news));
    this.#newText = host.feed.textOf(id) || undefined;
  }

  /** To be called once: `begin` gives who is told. Rejects with StoppedError when the gateway stops. */
  async begin(run: ShownRun, begin: () => RunReader): Promise<void> {
    if (this.#isClosed) throw new StoppedError('the gateway is stopping');
    const reader = begin();
    // Of one that waits, for whatever, that is told once more: after what it waits for.
    const { waitingFor, retryAt } = run.delivery;
    if (waitingFor === undefined && retryAt === undefined) this.#state = stateKey(run);
    await reader.tell({ event: 'run', run });
    // Not before it has room: a reader waits for one thing at a time.
    this.#reader = reader;
    void this.#pump();
  }

  /** The reader has gone. */
  close(): void {
    this.#isOver = true;
    this.#stop();
  }

  #onNews(news: RunNews): void {
    if (news.kind === 'text') this.#newText = news.text;
    else if (news.kind === 'retrying') {
      this.#retry = news;
      this.#dropText();
    } else if (news.kind === 'rows') {
      this.#mayHaveRows = true;
      this.#heardOf = news.first + news.rows.length - 1;
      // What was streamed of it is there whole, or was shown of calls that are over.
      if (news.rows.some(endsText)) this.#newText = undefined;
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

  async #pump(): Promise<void> {
    if (this.#isTelling || this.#reader === undefined) return;
    this.#isTelling = true;
    try {
      while (this.#hasNews && !this.#isOver) {
        this.#hasNews = false;
        await this.#tellAll();
      }
    } catch (error) {
      this.#end(error);
    } finally {
      this.#isTelling = false;
    }
  }

  async #tellAll(): Promise<void> {
    // Before anything is read: what comes meanwhile is looked at once more.
    const mayHaveSettled = this.#mayHaveSettled;
    this.#mayHaveSettled = false;
    if (this.#mayHaveRows) await this.#tellRows();
    if (this.#retry !== undefined) await this.#tellRetry(this.#retry);
    const text = this.#newText;
    // One that the last row has all of is older than that; and while tools are at work it tells of them, as events do here.
    const isNews = text !== undefined && this.#open.size === 0 && !this.#rowText.startsWith(text);
    if (isNews) await this.#tellText(text);
    if (mayHaveSettled) await this.#tellState();
    if (this.#isClosed) this.#end();
  }

  async #tellRows(): Promise<void> {
    this.#mayHaveRows = false;
    for (;;) {
      const page = await this.#host.store.steps(this.#id, this.#seen);
      if (page.length === 0) return;
      for (const step of page) {
        if (this.#isOver) return;
        this.#seen = step.n;
        const shown = this.#steps.next(step);
        await this.#tellRow(rowOf(step), shown);
      }
    }
  }

  async #tellRow(row: JournalRow | undefined, shown: ShownStep): Promise<void> {
    const { part } = shown;
    if (row?.kind === 'answer') await this.#tellAnswer(row, part);
    else if (row?.kind === 'called' || row?.kind === 'result') {
      const isOver = row.kind === 'result' && this.#open.delete(callKey(part, row.id));
      // Read before its news has come: the text is older.
      if (isOver && shown.n > this.#heardOf) this.#newText = undefined;
      await this.#tell({ event: 'tool', step: shown });
    } else if (row?.kind === 'decided')
      await this.#tell({ event: 'approval', id: row.approval, state: row.state, by: row.by });
    else if (part !== undefined && partKinds.has(shown.kind))
      await this.#tell({ event: 'part', step: shown });
  }

  /** What there is of it was thrown away: what comes is told whole. */
  #dropText(): void {
    this.#text = '';
    this.#newText = undefined;
  }

  async #tellRetry({ reason, inMs }: RetryNews): Promise<void> {
    this.#retry = undefined;
    await this.#tell({ event: 'retry', reason, inMs });
  }

  async #tellAnswer({ text, calls }: ModelAnswerRow, part: string | undefined): Promise<void> {
    if (part !== undefined) {
      if (text !== '') await this.#tell({ event: 'text', text, part });
      this.#text = '';
      return;
    }
    await this.#tellText(text);
    this.#rowText = text;
    this.#open = new Set(calls.map(({ id }) => callKey(part, id)));
    // What it says after its calls is another text.
    if (calls.length > 0) this.#text = '';
  }

  async #tellText(text: string): Promise<void> {
    const before = this.#text;
    if (text === '' || text === before) return;
    this.#text = text;
    const isMore = before !== '' && text.startsWith(before);
    await this.#tell(isMore ? { event: 'text', delta: text.slice(before.length) } : { event: 'text', text });
  }

  async #tellState(): Promise<void> {
    const delivery = await this.#host.store.delivery(this.#id);
    if (delivery === undefined) {
      this.#end();
      return;
    }
    const state = runStateOf(delivery.state);
    if (hasEnded(state)) {
      await this.#tellEnd();
      return;
    }
    const { answer: _, data: __, ...run } = await this.#host.answer(this.#id);
    if (waitsFor(run.delivery) === 'approval') await this.#tellApprovals();
    const key = stateKey(run);
    if (key === this.#state || hasEnded(run.state)) return;
    this.#state = key;
    await this.#tell({ event: 'state', run });
  }

  async #tellEnd(): Promise<void> {
    const now = await this.#host.answer(this.#id);
    const reply = now.state === 'done' ? this.#reply : undefined;
    const answer = reply === undefined ? now : { ...now, answer: reply.text, data: reply.data ?? now.data };
    await this.#tell({ event: 'end', answer });
    this.#end();
  }

  /** Those that nobody has decided. */
  async #tellApprovals(): Promise<void> {
    const pending = await this.#host.store.approvals({
      run: this.#id,
      states: ['pending'],
      limit: MAX_APPROVALS,
    });
    for (const { id, state, body } of [...pending].reverse()) {
      if (this.#askedOf.has(id)) continue;
      this.#askedOf.add(id);
      await this.#tell({ event: 'approval', id, state, asked: this.#askedFor(body) });
    }
  }

  /** Of the record of an approval no more: who may decide stands there. */
  #askedFor(body: string): AskedFor {
    const { kind, title, command, tool } = JSON.parse(body) as AskedFor;
    const asked = {
      ...{ kind, title },
      ...(command === undefined ? {} : { command }),
      ...(tool === undefined ? {} : { tool }),
    };
    return redactedJson(asked, (text) => this.#host.redactor.redact(text));
  }

  async #tell(event: RunEvent): Promise<void> {
    if (!this.#isOver) await this.#reader?.tell(event);
  }

  #end(error?: unknown): void {
    if (this.#isOver) return;
    this.close();
    this.#reader?.end(error);
  }
}

/** Of what runs within the run. */
const partKinds: ReadonlySet<string> = new Set(
  'entered again waits parked turn left failed ended dropped retried'.split(' '),
);

const endsText = (text: string) => ['answer', 'result'].includes(rowOf({ text })?.kind ?? '');

/** Another state is told, another wait of one that waits, and another pause of one that is tried again. */
const stateKey = ({ delivery: { state, waitingFor, retryAt } }: ShownRun) =>
  [state, waitingFor, retryAt].join(' ');
