// One attempt at the run of a flow: begins the nodes that its plan names, keeps what came of each, until there is an end, or nothing left to
// do but wait.
//
// FWR1  a node that is begun has its row first, and what follows from its end is begun when that is kept: conditions are worked out once.
// FWR2  a node that fails for a reason that may pass is tried again as its `retry` says; the pauses hold no place.
// FWR3  whatever waits (people, a time, a pause) is one wait of the run, until the first of them is over.
// FWR4  a flow that has failed at a node and is worked again goes on there: the failure is taken back, and what has ended well stays. So it is
//       too where the process ended before anybody was told of the failure.
// FWR5  from its first row on a flow takes `timeout_seconds` at most, waits and restarts included.
// FWR6  what a Response says is said once, whatever attempt says it.

import { setMaxListeners } from 'node:events';
import { textOf } from '../../../config/expressions/template.ts';
import type { AskingWork, Flow, FlowBody, FlowNode, NodeType } from '../../../config/resources/flows/flow.ts';
import type { FlowEnd, FlowState } from '../../../machines/flow-run/flow-state.ts';
import type { FlowRow } from '../../../machines/flow-run/rows.ts';
import { approvalWake } from '../approvals/run-approvals.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import { messageOf } from '../parts/message-of.ts';
import { PartContext } from '../parts/part-context.ts';
import type { PartsJournal } from '../parts/parts-journal.ts';
import { RunningParts, type Settled } from '../parts/running-parts.ts';
import { takenOf } from './flow-graph.ts';
import { FlowProgress, flowRows } from './flow-progress.ts';
import { FlowResponses } from './flow-responses.ts';
import { hasTurn, itemsOf, MAX_OUTPUT, resultsFit } from './loop-turns.ts';
import type { NodeReply, Values } from './node-host.ts';
import { workOf } from './node-work.ts';

/** First of the journal of a flow. */
export interface BegunFlow {
  readonly kind: 'flow';
  readonly name: string;
  /** By chance: keys of this run are no other's, of the same event neither. */
  readonly nonce: string;
  /** `Flow.definition`. */
  readonly definition: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly input: string;
}

export interface FlowRunOptions {
  /** As the run began with it. */
  readonly flow: Flow;
  readonly begun: BegunFlow;
  readonly job: Job;
  readonly context: HandlerContext;
  readonly journal: PartsJournal;
  handlerOf(work: AskingWork): Handler | undefined;
}

/** What the others do is done at once, and a loop by its nodes. */
const takesTime: ReadonlySet<NodeType> = new Set(['Agent', 'Fleet', 'Tool', 'HTTP', 'Approval', 'Wait']);
/** One whose time is just over is not looked at again and again. */
const SHORTEST_WAIT_MS = 250;
const NAMED_WHERE = 5;

export class FlowRun {
  readonly #options: FlowRunOptions;
  readonly #progress: FlowProgress;
  readonly #parts: RunningParts<NodeReply>;
  readonly #overtime = new AbortController();
  readonly #responses: FlowResponses;

  constructor(options: FlowRunOptions) {
    this.#options = options;
    const { journal, context, job, flow } = options;
    setMaxListeners(0, context.signal);
    const signal = AbortSignal.any([context.signal, this.#overtime.signal]);
    setMaxListeners(0, signal);
    this.#parts = new RunningParts({ journal, signal, wakeName: approvalWake(job.event.id) });
    const rows = () => flowRows(journal.rows);
    this.#progress = new FlowProgress(flow);
    this.#responses = new FlowResponses(journal, context.says, (path) => this.#progress.placeOf(path).node);
    this.#progress.readBack(rows());
    const fatal = this.#progress.fatalIn(rows());
    if (fatal.length === 0) return;
    journal.add(...fatal.map((path): FlowRow => ({ kind: 'retried', in: path })));
    this.#progress.readBack(rows());
  }

  get #state(): FlowState {
    return this.#progress.state;
  }

  async work(): Promise<AgentReply | Parked> {
    const { journal, flow, context } = this.#options;
    const timer = setTimeout(() => this.#overtime.abort(this.#tooLong()), this.#leftMs());
    try {
      if (this.#leftMs() === 0 && this.#state.next().end === undefined) throw this.#tooLong();
      for (;;) {
        const end = this.#plan();
        if (end !== undefined) return await this.#end(end);
        if (this.#isAtWork) await this.#responses.say();
        const settled = await this.#parts.next();
        if (settled === undefined) return this.#park();
        this.#settle(settled);
        await journal.flush();
      }
    } catch (error) {
      await journal.flush().catch(() => {});
      if (this.#overtime.signal.aborted && !context.signal.aborted) throw this.#overtime.signal.reason;
      throw error;
    } finally {
      clearTimeout(timer);
      this.#parts.dropAll(new HandlerError(`flow ${flow.name} has ended`));
    }
  }

  /** Something is under way that may take its time. */
  get #isAtWork(): boolean {
    return this.#state.working.some((path) => takesTime.has(this.#progress.placeOf(path).node.work.type));
  }

  #leftMs(): number {
    const { flow, journal } = this.#options;
    return Math.max(0, flow.timeout_seconds * 1000 - journal.time.passedMs);
  }

  #tooLong(): HandlerError {
    const { name, timeout_seconds } = this.#options.flow;
    return new HandlerError(
      `flow ${name} has not come to its end within timeout_seconds (${timeout_seconds}), waits included: it was at ${this.#where()}; give it more, and replay its event`,
      { isFinal: true },
    );
  }

  #where(): string {
    const { working } = this.#state;
    const named = working.slice(0, NAMED_WHERE).join(', ');
    const rest = working.length - NAMED_WHERE;
    return (named || 'its beginning') + (rest > 0 ? ` and ${rest} more` : '');
  }

  #plan(): FlowEnd | undefined {
    this.#options.journal.checkRoom();
    for (;;) {
      const { starts, turns, rows, end } = this.#state.next();
      if (end !== undefined) return end;
      if (rows.length + starts.length + turns.length === 0) break;
      for (const row of rows) this.#add(row);
      for (const path of starts) this.#enter(path);
      for (const { path, n } of turns) this.#turn(path, n);
    }
    for (const path of this.#state.working) if (!this.#parts.has(path)) this.#begin(path);
    return undefined;
  }

  /** Its row first, and with it what a loop is about. */
  #enter(path: string): void {
    const { node } = this.#progress.placeOf(path);
    const { work } = node;
    const items =
      work.type === 'Loop' ? this.#tried(path, () => itemsOf(work, node, this.#valuesAt(path))) : undefined;
    if (this.#progress.hasEnded(path)) return;
    this.#add({ kind: 'entered', in: path, ...(items === undefined ? {} : { items }) });
  }

  #turn(path: string, n: number): void {
    const { node, body } = this.#progress.placeOf(path);
    const { work } = node;
    if (work.type !== 'Loop') return;
    if (n > 1) this.#progress.keepResult(path, n);
    const results = this.#progress.resultsOf(path);
    const last = results.values.at(-1) ?? null;
    const values = { ...this.#valuesAt(path), index: BigInt(n - 1), last };
    const goesOn = this.#tried(path, () => {
      resultsFit(node, results);
      return hasTurn(work, node, n, this.#progress.itemsOf(path), values);
    });
    if (goesOn === undefined) return;
    if (goesOn) this.#add({ kind: 'turn', in: path, n });
    else this.#leave(path, node, body, { count: n - 1, results: results.values });
  }

  #begin(path: string): void {
    const { node } = this.#progress.placeOf(path);
    if (node.work.type === 'Loop') return;
    const { flow, context, journal, job, begun } = this.#options;
    this.#parts.begin(path, async (signal, hasWaited) => {
      // A pause is over.
      if (this.#state.stateOf(path)?.state === 'waiting') this.#add({ kind: 'entered', in: path });
      await journal.flush();
      const onProgress = (text: string) => context.progress(`**${node.id}**\n${text}`);
      const part = new PartContext({ path, run: context, journal, signal, hasWaited, onProgress });
      try {
        return await workOf({
          ...{ flow: flow.name, node, job, context: part, values: this.#valuesAt(path), hasWaited },
          key: `${job.idempotencyKey}/${begun.nonce}/${path}`,
          handlerOf: this.#options.handlerOf,
          said: async (text, channel) => context.says?.rows(text, path, channel),
        });
      } catch (error) {
        signal.throwIfAborted();
        const pauseMs = this.#pauseMs(path, node, error);
        if (pauseMs === undefined) throw error;
        this.#add({ kind: 'again', in: path, reason: messageOf(error), until: Date.now() + pauseMs });
        return { parkedOn: 'a pause', wakeInMs: pauseMs };
      }
    });
  }

  /** Undefined where it has failed for good. */
  #pauseMs(path: string, { retry }: FlowNode, error: unknown): number | undefined {
    const { isFinal, retryAfterMs = 0 } = error instanceof HandlerError ? error : { isFinal: false };
    const attempts = this.#state.progressOf(path)?.attempts ?? 1;
    if (isFinal || attempts >= retry.attempts) return undefined;
    const grown = retry.min_backoff_seconds * retry.factor ** (attempts - 1);
    return Math.max(retryAfterMs, Math.min(grown, retry.max_backoff_seconds) * 1000);
  }

  #settle(settled: Settled<NodeReply>): void {
    const { path } = settled;
    if (this.#progress.hasEnded(path)) return;
    if (settled.how === 'failed') {
      this.#add({ kind: 'failed', in: path, reason: messageOf(settled.error) });
      return;
    }
    const { output, effects } = settled.reply;
    const { node, body } = this.#progress.placeOf(path);
    if (effects !== undefined) this.#options.journal.addOfPart(path, undefined, effects);
    this.#leave(path, node, body, output);
  }

  #leave(path: string, node: FlowNode, body: FlowBody, output: unknown): void {
    const size = JSON.stringify(output ?? null).length;
    if (size > MAX_OUTPUT) {
      const reason = `its output has ${size} characters, and at most ${MAX_OUTPUT} are kept`;
      this.#add({ kind: 'failed', in: path, reason });
      return;
    }
    const taken = this.#tried(path, () => takenOf(body, node, output, () => this.#valuesAt(path, output)));
    if (taken === undefined) return;
    const isEnd = node.work.type === 'End';
    this.#add({ kind: 'left', in: path, output: output ?? null, taken, ...(isEnd ? { isEnd } : {}) });
    if (node.work.type === 'Response') this.#responses.add(path, node.work, output);
  }

  /** What cannot be worked out fails the node, and gives undefined. */
  #tried<T>(path: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof HandlerError)) throw error;
      if (this.#state.stateOf(path)?.state === 'idle') this.#add({ kind: 'entered', in: path });
      this.#add({ kind: 'failed', in: path, reason: error.message });
      return undefined;
    }
  }

  async #end(end: FlowEnd): Promise<AgentReply> {
    const { flow, journal } = this.#options;
    const at = end.at === undefined ? undefined : this.#progress.placeOf(end.at).node;
    const output = end.at === undefined ? undefined : this.#state.outputOf(end.at);
    const isFailed = end.how === 'failed' || (at?.work.type === 'End' && at.work.status === 'failed');
    if (isFailed) await this.#responses.say();
    await journal.flush();
    if (isFailed) {
      const reason = end.how === 'failed' ? end.reason : textOf(output);
      throw new HandlerError(`flow ${flow.name}: ${end.at === undefined ? '' : `${end.at}: `}${reason}`, {
        isFinal: true,
      });
    }
    const data = output ?? null;
    const said = this.#responses.unsaid.map((each) => each.text);
    const text = said.length > 0 || this.#responses.wasSaid ? said.join('\n\n') : textOf(output);
    journal.add({ kind: 'ended', text, data });
    return { text, data, effects: journal.take() };
  }

  #park(): Parked {
    const { journal, job } = this.#options;
    return {
      parkedOn: this.#parts.waitsForPeople ? approvalWake(job.event.id) : `time ${job.event.id}`,
      wakeInMs: Math.max(
        SHORTEST_WAIT_MS,
        Math.min(this.#leftMs(), this.#parts.firstDueMs ?? this.#leftMs()),
      ),
      state: journal.state,
      effects: journal.take(),
      note: `it waits at ${this.#where()}`,
    };
  }

  #add(row: FlowRow): void {
    this.#options.journal.add(row);
    this.#progress.apply(row);
    // What has ended otherwise than by itself is told to.
    if (row.kind === 'failed' || row.kind === 'left') this.#dropInside(row.in);
  }

  #dropInside(path: string): void {
    const working = new Set(this.#state.working);
    for (const each of this.#parts.paths)
      if (each !== path && !working.has(each)) this.#parts.drop(each, new HandlerError(`${path} has ended`));
  }

  #valuesAt(path: string, output?: unknown): Values {
    return this.#progress.valuesAt(path, this.#options.job, this.#options.begun, output);
  }
}
