// One attempt of a flow run: starts the planned nodes and stores their results until the run finishes or
// parks (parked.ts). A node starts after its row is stored, and its successors after its result is stored, so
// each condition is evaluated once. A node that fails temporarily is repeated according to its `retry`. When
// all nodes wait, the run parks until the first wake-up and uses no slot. A retried flow resumes at the
// failed nodes and does not repeat finished nodes, also if the process stopped before it reported the
// failure. `timeout_seconds` limits the whole flow, including waiting time and restarts. Each Response text
// is sent once across attempts.

import { setMaxListeners } from 'node:events';
import { celValue } from '../../../config/expressions/cel-value.ts';
import { EvaluationBudget } from '../../../config/expressions/evaluation-budget.ts';
import { textOf } from '../../../config/expressions/template.ts';
import type {
  Flow,
  FlowBody,
  FlowNode,
  HandlerWork,
  NodeType,
} from '../../../config/resources/flows/flow.ts';
import type { FlowEnd, FlowState } from '../../../machines/flow-run/flow-state.ts';
import type { FlowRow } from '../../../machines/flow-run/rows.ts';
import type { ReleaseSlot } from '../../base/bounds/slot-queue.ts';
import { approvalWake } from '../approvals/run-approvals.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import { acquireSlot, NoSlotError, parkForSlot, type RunSlots } from '../handlers/run-slots.ts';
import { PartContext } from '../parts/context.ts';
import { messageOf } from '../parts/failure-reason.ts';
import type { PartsJournal } from '../parts/journal.ts';
import { type PartResult, RunningParts } from '../parts/running-parts.ts';
import { takenConnections } from './graph.ts';
import { checkResults, hasTurn, itemsOf } from './loop-turns.ts';
import type { NodeResult, Values } from './node-host.ts';
import { runNode } from './node-work.ts';
import { outputFault } from './output-limit.ts';
import { FlowProgress, flowRows } from './progress.ts';
import { FlowResponses } from './responses.ts';

/** First row of flow journals. */
export interface FlowFirstRow {
  readonly kind: 'flow';
  readonly name: string;
  /** Random, so that keys of this run are unique, also among runs of the same event. */
  readonly nonce: string;
  /** `Flow.definition`. */
  readonly definition: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly input: string;
}

export interface FlowRunOptions {
  /** Flow as defined when the run started. */
  readonly flow: Flow;
  readonly firstRow: FlowFirstRow;
  readonly job: Job;
  readonly context: HandlerContext;
  readonly journal: PartsJournal;
  readonly slots: RunSlots;
  handlerOf(work: HandlerWork): Handler | undefined;
}

/** Types of slow nodes; a loop is slow if it contains slow nodes. */
const slowTypes: ReadonlySet<NodeType> = new Set(['Agent', 'Fleet', 'Tool', 'HTTP', 'Approval', 'Wait']);
/** Types of nodes that need a slot: they use other programs. */
const slotTypes: ReadonlySet<NodeType> = new Set(['Agent', 'Fleet', 'Tool', 'HTTP']);
/** Minimum parking time: prevents repeated wake-ups shortly before timers fire. */
const SHORTEST_WAIT_MS = 250;
/** Limit of nodes that a note or an error names. */
const MAX_NAMED_NODES = 5;

export class FlowRun {
  readonly #options: FlowRunOptions;
  readonly #progress: FlowProgress;
  readonly #parts: RunningParts<NodeResult>;
  readonly #timeout = new AbortController();
  readonly #responses: FlowResponses;

  constructor(options: FlowRunOptions) {
    this.#options = options;
    const { journal, context, job, flow } = options;
    // All working nodes listen to these signals.
    setMaxListeners(0, context.signal);
    const signal = AbortSignal.any([context.signal, this.#timeout.signal]);
    setMaxListeners(0, signal);
    const { clock } = context;
    this.#parts = new RunningParts({ journal, signal, clock, wakeName: approvalWake(job.event.id) });
    const rows = () => flowRows(journal.rows);
    this.#progress = new FlowProgress(flow);
    this.#responses = new FlowResponses(
      journal,
      context.messages,
      (path) => this.#progress.placeOf(path).node,
    );
    this.#progress.recompute(rows());
    const fatal = this.#progress.fatalNodes(rows());
    if (fatal.length === 0) return;
    // An earlier attempt failed at these nodes, so this attempt is a retry.
    journal.add(...fatal.map((path): FlowRow => ({ kind: 'retried', in: path })));
    this.#progress.recompute(rows());
  }

  get #state(): FlowState {
    return this.#progress.state;
  }

  async work(): Promise<AgentReply | Parked> {
    const { journal, flow, context } = this.#options;
    const timer = setTimeout(() => this.#timeout.abort(this.#timeoutError()), this.#remainingMs());
    try {
      if (this.#remainingMs() === 0 && this.#state.next().end === undefined) throw this.#timeoutError();
      for (;;) {
        const end = this.#plan();
        if (end !== undefined) return await this.#end(end);
        if (this.#hasSlowNode) await this.#responses.sendPending();
        const partResult = await this.#parts.next();
        if (partResult === undefined) return this.#park();
        this.#settle(partResult);
        await journal.flush();
      }
    } catch (error) {
      await journal.flush().catch(() => {});
      if (this.#timeout.signal.aborted && !context.signal.aborted) throw this.#timeout.signal.reason;
      throw error;
    } finally {
      clearTimeout(timer);
      this.#parts.dropAll(new HandlerError(`flow ${flow.name} has ended`));
    }
  }

  /** True while a slow node works. */
  get #hasSlowNode(): boolean {
    return this.#state.working.some((path) => slowTypes.has(this.#progress.placeOf(path).node.work.type));
  }

  #remainingMs(): number {
    const { flow, journal } = this.#options;
    return Math.max(0, flow.timeout_seconds * 1000 - journal.time.passedMs);
  }

  #timeoutError(): HandlerError {
    const { name, timeout_seconds } = this.#options.flow;
    return new HandlerError(
      `flow ${name} has not ended within timeout_seconds (${timeout_seconds}), including waits; it was at ${this.#currentNodes()}; raise the limit and replay the event`,
      { isFinal: true },
    );
  }

  #currentNodes(): string {
    const { working } = this.#state;
    const names = working.slice(0, MAX_NAMED_NODES).join(', ');
    const rest = working.length - MAX_NAMED_NODES;
    return (names || 'its start') + (rest > 0 ? ` and ${rest} more` : '');
  }

  /** Starts all nodes and turns that may start. Returns the result if the flow has finished. */
  #plan(): FlowEnd | undefined {
    this.#options.journal.checkCapacity();
    for (;;) {
      const { starts, turns, rows, end } = this.#state.next();
      if (end !== undefined) return end;
      if (rows.length + starts.length + turns.length === 0) break;
      for (const row of rows) this.#add(row);
      for (const path of starts) this.#enter(path);
      for (const { path, n } of turns) this.#startTurn(path, n);
    }
    for (const path of this.#state.working) if (!this.#parts.has(path)) this.#begin(path);
    return undefined;
  }

  /** Writes the row `entered`; for a loop it contains the items. */
  #enter(path: string): void {
    const { node } = this.#progress.placeOf(path);
    const { work } = node;
    const items =
      work.type === 'Loop'
        ? this.#evaluate(path, () => itemsOf(work, node, this.#valuesAt(path)))
        : undefined;
    if (this.#progress.hasEnded(path)) return;
    this.#add({ kind: 'entered', in: path, ...(items === undefined ? {} : { items }) });
  }

  /** Starts turn `n` of the loop, or completes the loop if it has fewer turns. */
  #startTurn(path: string, n: number): void {
    const { node, body } = this.#progress.placeOf(path);
    const { work } = node;
    if (work.type !== 'Loop') return;
    if (n > 1) this.#progress.storeResult(path, n);
    const results = this.#progress.resultsOf(path);
    const last = celValue(results.values.at(-1)) ?? null;
    // The condition sees the index of the next turn, and the last result. Expressions represent integers as
    // BigInt.
    const values = { ...this.#valuesAt(path), index: BigInt(n - 1), last };
    const hasNext = this.#evaluate(path, () => {
      checkResults(node, results);
      return hasTurn(work, node, n, this.#progress.itemsOf(path), values);
    });
    if (hasNext === undefined) return;
    if (hasNext) this.#add({ kind: 'turn', in: path, n });
    else this.#leave(path, node, body, { count: n - 1, results: results.values });
  }

  /** Starts or resumes a node as a part of the run. */
  #begin(path: string): void {
    const { node } = this.#progress.placeOf(path);
    if (node.work.type === 'Loop') return;
    const { flow, context, journal, job, firstRow } = this.#options;
    this.#parts.begin(path, async (signal, hasWaited) => {
      // The node resumes after waiting.
      if (this.#state.stateOf(path)?.state === 'waiting') this.#add({ kind: 'entered', in: path });
      await journal.flush();
      const onProgress = (text: string) => context.progress(`**${node.id}**\n${text}`);
      const part = new PartContext({ path, run: context, journal, signal, hasWaited, onProgress });
      let releaseSlot: ReleaseSlot | undefined;
      try {
        if (slotTypes.has(node.work.type))
          releaseSlot = await acquireSlot(this.#options.slots, 'flowNodes', job, part);
        return await runNode({
          flow: flow.name,
          node,
          job,
          context: part,
          values: this.#valuesAt(path),
          budget: new EvaluationBudget(),
          hasWaited,
          key: `${job.idempotencyKey}/${firstRow.nonce}/${path}`,
          handlerOf: this.#options.handlerOf,
          messageRows: async (text, channel) => context.messages?.rows(text, path, channel),
        });
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof NoSlotError) return parkForSlot(error);
        const pauseMs = this.#pauseMs(path, node, error);
        if (pauseMs === undefined) throw error;
        const until = context.clock.now() + pauseMs;
        this.#add({ kind: 'again', in: path, reason: messageOf(error), until });
        return { parkedOn: 'a pause', wakeInMs: pauseMs };
      } finally {
        releaseSlot?.();
      }
    });
  }

  /** Returns the pause before the node is repeated; undefined if it must not be repeated. */
  #pauseMs(path: string, { retry }: FlowNode, error: unknown): number | undefined {
    const { isFinal, retryAfterMs = 0 } = error instanceof HandlerError ? error : { isFinal: false };
    const attempts = this.#state.progressOf(path)?.attempts ?? 1;
    if (isFinal || attempts >= retry.attempts) return undefined;
    const backoff = retry.min_backoff_seconds * retry.factor ** (attempts - 1);
    return Math.max(retryAfterMs, Math.min(backoff, retry.max_backoff_seconds) * 1000);
  }

  /** Stores a node's result, unless the node has finished meanwhile. */
  #settle(partResult: PartResult<NodeResult>): void {
    const { path } = partResult;
    if (this.#progress.hasEnded(path)) return;
    if (partResult.how === 'failed') {
      this.#add({ kind: 'failed', in: path, reason: messageOf(partResult.error) });
      return;
    }
    const { output, effects } = partResult.reply;
    const { node, body } = this.#progress.placeOf(path);
    if (effects !== undefined) this.#options.journal.addOfPart(path, undefined, effects);
    this.#leave(path, node, body, output);
  }

  /**
   * Completes a node with the row `left`: its output and its taken connections. An output that is too large
   * fails the node.
   */
  #leave(path: string, node: FlowNode, body: FlowBody, output: unknown): void {
    const fault = outputFault(output ?? null);
    if (fault !== undefined) {
      this.#add({ kind: 'failed', in: path, reason: `its output ${fault}` });
      return;
    }
    const taken = this.#evaluate(path, () =>
      takenConnections(body, node, output, () => this.#valuesAt(path, output)),
    );
    if (taken === undefined) return;
    const isEnd = node.work.type === 'End';
    this.#add({ kind: 'left', in: path, output: output ?? null, taken, ...(isEnd ? { isEnd } : {}) });
    if (node.work.type === 'Response') this.#responses.add(path, node.work, output);
  }

  /** Evaluates an expression; a failure fails the node and returns undefined. */
  #evaluate<T>(path: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof HandlerError)) throw error;
      if (this.#state.stateOf(path)?.state === 'idle') this.#add({ kind: 'entered', in: path });
      this.#add({ kind: 'failed', in: path, reason: error.message });
      return undefined;
    }
  }

  /** Returns a finished flow's answer. Throws a HandlerError if the flow has failed. */
  async #end(end: FlowEnd): Promise<AgentReply> {
    const { flow, journal } = this.#options;
    const at = end.at === undefined ? undefined : this.#progress.placeOf(end.at).node;
    const output = end.at === undefined ? undefined : this.#state.outputOf(end.at);
    const isFailed = end.how === 'failed' || (at?.work.type === 'End' && at.work.status === 'failed');
    if (isFailed) await this.#responses.sendPending();
    await journal.flush();
    if (isFailed) {
      const reason = end.how === 'failed' ? end.reason : textOf(output);
      throw new HandlerError(`flow ${flow.name}: ${end.at === undefined ? '' : `${end.at}: `}${reason}`, {
        isFinal: true,
      });
    }
    const data = output ?? null;
    const texts = this.#responses.pending.map((each) => each.text);
    const text = texts.length > 0 || this.#responses.hasSent ? texts.join('\n\n') : textOf(output);
    journal.add({ kind: 'ended', text, data });
    return { text, data, effects: journal.takeUnwritten() };
  }

  #park(): Parked {
    const { journal, job } = this.#options;
    return {
      parkedOn: this.#parts.waitsForPeople ? approvalWake(job.event.id) : `time ${job.event.id}`,
      wakeInMs: Math.max(
        SHORTEST_WAIT_MS,
        Math.min(this.#remainingMs(), this.#parts.firstDueMs ?? this.#remainingMs()),
      ),
      state: journal.state,
      effects: journal.takeUnwritten(),
      note: `waits at ${this.#currentNodes()}`,
    };
  }

  #add(row: FlowRow): void {
    this.#options.journal.add(row);
    this.#progress.apply(row);
    // Nodes inside a finished loop may still work, and so may all nodes when an End was reached.
    if (row.kind === 'failed' || row.kind === 'left') this.#dropOutdated(row.in);
  }

  /** Drops the parts whose nodes no longer work, except the part of the finished node itself. */
  #dropOutdated(path: string): void {
    const working = new Set(this.#state.working);
    for (const each of this.#parts.paths)
      if (each !== path && !working.has(each)) this.#parts.drop(each, new HandlerError(`${path} has ended`));
  }

  #valuesAt(path: string, output?: unknown): Values {
    return this.#progress.valuesAt(path, this.#options.job, this.#options.firstRow, output);
  }
}
