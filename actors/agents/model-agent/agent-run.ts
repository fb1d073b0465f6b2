// One attempt of an agent run: executes the planned steps (machines/agent-run/plan.ts) until the run has an
// answer, fails or parks (parked.ts). `timeout_seconds` of the agent limits the working time.

import { setMaxListeners } from 'node:events';
import type { ModelRuntime } from '../../../config/resources/agents/model-runtime.ts';
import { compilePattern, type Pattern } from '../../../config/resources/fields/patterns.ts';
import { checkValue } from '../../../config/value-schema/check-value.ts';
import type { JournalRow, ModelAnswerRow } from '../../../machines/agent-run/journal.ts';
import { messagesOf } from '../../../machines/agent-run/messages.ts';
import {
  type NextStep,
  nextStep,
  type PlannedCall,
  type ReadAnswer,
} from '../../../machines/agent-run/plan.ts';
import { isNestedTooDeeply, MAX_LEVELS } from '../../../machines/agent-run/tool-arguments.ts';
import type { ReleaseSlot } from '../../base/bounds/slot-queue.ts';
import { type AgentReply, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import { acquireSlot, type RunSlots } from '../handlers/run-slots.ts';
import { MAX_CALLS, type ModelAnswer, type Models } from '../models/model.ts';
import { createBegunRow } from './begun-row.ts';
import { makeCalls } from './make-calls.ts';
import { parkForApprovals, parkUndecided } from './park-for-approvals.ts';
import { ProgressText } from './progress-text.ts';
import { MAX_ROW_LENGTH, type RunJournal } from './run-journal.ts';
import type { AgentTool, AllTools } from './tool-box.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Returns a parser for answers that also validates the schema, because providers do not guarantee it. */
export function answerReader(schema: Schema | undefined): ReadAnswer {
  const patterns = new Map<string, Pattern>();
  const matches = (source: string, text: string) => {
    const pattern = patterns.get(source) ?? compileOrIgnore(source);
    patterns.set(source, pattern);
    return pattern(text);
  };
  return (text) => {
    const json = stripFence(text);
    if (isNestedTooDeeply(json)) return { misfit: `it is nested more than ${MAX_LEVELS} levels deep` };
    let data: unknown;
    try {
      data = JSON.parse(json);
    } catch (error) {
      return { misfit: `it is not JSON: ${(error as Error).message}` };
    }
    const [finding] = schema === undefined ? [] : checkValue(schema, data, matches).findings;
    if (finding === undefined) return { data };
    const at = finding.path.join('.').slice(0, 200);
    return { misfit: `${at === '' ? 'it' : at} ${finding.text}` };
  };
}

/** Compiles a pattern. Unsupported patterns match nothing; loading the agent has rejected them already. */
function compileOrIgnore(source: string): Pattern {
  const pattern = compilePattern(source);
  return typeof pattern === 'function' ? pattern : () => false;
}

/** Models often enclose JSON in code fences. */
function stripFence(text: string): string {
  const [, inner] = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text) ?? [];
  return inner ?? text;
}

export interface AgentRunOptions {
  /** Agent as defined when the run started. */
  readonly runtime: ModelRuntime;
  readonly job: Job;
  readonly context: HandlerContext;
  readonly journal: RunJournal;
  readonly models: Models;
  readonly slots: RunSlots;
  readonly tools: AllTools;
  /** Called with the tools of the agent's servers when the run starts. */
  readonly onTools?: (tools: readonly AgentTool[]) => void;
}

type BegunRow = Extract<JournalRow, { readonly kind: 'begun' }>;

/** Timers may fire this early. */
const TIMER_PRECISION_MS = 2;
/** Minimum delay between two checks of the working time. */
const MIN_CHECK_MS = 100;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class AgentRun {
  readonly #options: AgentRunOptions;
  readonly #progress: ProgressText;
  readonly #timeout = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** Aborted with the attempt, or by the agent's time limit. */
  readonly #signal: AbortSignal;

  constructor(options: AgentRunOptions) {
    this.#options = options;
    const { context } = options;
    this.#progress = new ProgressText((text) => context.progress(text));
    this.#signal = AbortSignal.any([context.signal, this.#timeout.signal]);
    // All concurrent calls listen to this signal.
    setMaxListeners(0, this.#signal);
  }

  async work(): Promise<AgentReply | Parked> {
    const { runtime, context, journal } = this.#options;
    // The start of tool servers, before the first row, does not count as working time.
    if (this.#begun !== undefined) this.#watchTime();
    const readAnswer = answerReader(runtime.output_schema);
    try {
      for (;;) {
        this.#signal.throwIfAborted();
        const end = await this.#execute(nextStep(this.#rows, runtime, readAnswer));
        if (end !== undefined) return end;
      }
    } catch (error) {
      // Keeps the rows for the next attempt. If the write fails, the next attempt repeats more steps.
      await journal.flush().catch(() => {});
      // The timeout is the cause of other errors, such as a model request that used the remaining time.
      if (!context.signal.aborted) this.#checkTime();
      throw error;
    } finally {
      clearTimeout(this.#timer);
      this.#progress.end();
    }
  }

  /**
   * Stops the attempt when the working time is used up. The time is checked repeatedly, because disk writes
   * do not count as working time.
   */
  #watchTime(): void {
    const remainingMs = this.#ownRemainingMs();
    const inMs = Math.min(Math.max(remainingMs + 1, MIN_CHECK_MS), LONGEST_TIMER_MS);
    if (remainingMs === 0) this.#timeout.abort(this.#timeoutError());
    else this.#timer = setTimeout(() => this.#watchTime(), inMs);
  }

  get #rows(): readonly JournalRow[] {
    return this.#options.journal.rows;
  }

  get #begun(): BegunRow | undefined {
    return this.#rows.find((row): row is BegunRow => row.kind === 'begun');
  }

  /** Executes a planned step. Returns undefined if the run continues. */
  async #execute(next: NextStep): Promise<AgentReply | Parked | undefined> {
    const { job, journal } = this.#options;
    switch (next.do) {
      case 'begin':
        journal.add(await createBegunRow(this.#options, this.#signal, this.#remainingMs()));
        this.#watchTime();
        return undefined;
      case 'note':
        journal.add(...next.rows);
        return undefined;
      case 'ask':
        journal.checkCapacity();
        this.#checkSharedBudget(0);
        // A result with effects is durable before the request, which can take minutes.
        await journal.flush();
        this.#checkTime();
        journal.add(this.#answerRow(next.iteration, await this.#ask(next.hasTools)));
        return undefined;
      case 'call':
        this.#checkSharedBudget(next.calls.filter(({ isRepeated }) => !isRepeated).length);
        return this.#call(next.calls);
      case 'people':
        return this.#requestApprovals(next.calls);
      case 'wait':
        return this.#checkOrPark(next.approvals);
      case 'end':
        await journal.flush();
        if (!this.#rows.some(({ kind }) => kind === 'ended')) journal.add(endedRow(next));
        return { text: next.text, data: next.data, effects: journal.takeUnwritten() };
      case 'fail':
        await journal.flush();
        throw new HandlerError(`agent ${job.agent}: ${next.reason}`, { isFinal: true });
    }
  }

  async #ask(hasTools: boolean): Promise<ModelAnswer> {
    const releaseSlot = await this.#acquireSlot();
    try {
      return await this.#askModels(hasTools);
    } finally {
      releaseSlot();
    }
  }

  /** The time without a slot does not count as working time. */
  #acquireSlot(): Promise<ReleaseSlot> {
    const { slots, job, context, journal, runtime } = this.#options;
    const { trigger, agent } = job;
    const { provider } = runtime.models[0];
    return journal.untimed(() => {
      const reportRetry = (reason: string, inMs: number) => context.reportRetry(reason, inMs);
      const { remainingMs } = context;
      const holders = { trigger, agent, provider };
      return acquireSlot(slots, 'modelCalls', holders, { signal: this.#signal, remainingMs, reportRetry });
    });
  }

  #askModels(hasTools: boolean): Promise<ModelAnswer> {
    const { runtime, models, context } = this.#options;
    const { models: names, retries, system_prompt, temperature, max_tokens, output_schema } = runtime;
    return models.ask(
      {
        system: system_prompt,
        messages: messagesOf(this.#rows),
        tools: this.#begun?.tools ?? [],
        mayCall: hasTools,
        temperature,
        maxTokens: max_tokens,
        outputSchema: output_schema,
      },
      {
        models: names,
        retries,
        remainingMs: this.#remainingMs(),
        signal: this.#signal,
        onText: this.#progress.setText,
        onRetry: (reason, inMs) => context.reportRetry(reason, inMs),
      },
    );
  }

  /** Returns the row of an answer, with new ids for its calls: providers repeat or omit ids. */
  #answerRow(iteration: number, answer: ModelAnswer): ModelAnswerRow {
    const { length } = answer.calls;
    if (length > MAX_CALLS)
      throw new HandlerError(
        `agent ${this.#options.job.agent}: an answer of ${answer.model} calls ${length} tools, at most ${MAX_CALLS} are allowed`,
        { isFinal: true },
      );
    const calls = answer.calls.map((call, n) => ({ ...call, id: `call_${iteration}_${n}` }));
    const row: ModelAnswerRow = { kind: 'answer', iteration, ...answer, calls };
    // The raw answer is optional: without it the provider gets text and calls.
    return row.raw !== undefined && isTooLong(row) ? { ...row, raw: undefined } : row;
  }

  /** Throws a HandlerError if the budget of the surrounding run is exceeded. */
  #checkSharedBudget(moreCalls: number): void {
    const exceeded = this.#options.context.exceededLimit?.(moreCalls);
    if (exceeded !== undefined) throw new HandlerError(exceeded, { isFinal: true });
  }

  /**
   * Makes the calls. If any call has parked, returns the result that parks the run until the first wake-up.
   */
  async #call(calls: readonly PlannedCall[]): Promise<Parked | undefined> {
    const { journal, tools, job } = this.#options;
    const { nonce = '' } = this.#begun ?? {};
    const parkedCalls = await makeCalls(calls, {
      journal,
      tools,
      progress: this.#progress,
      signal: this.#signal,
      trace: job.trace,
      remainingMs: () => this.#remainingMs(),
      keyOf: (call) => `${job.event.id}/${nonce}/${call}`,
    });
    const [first] = parkedCalls;
    if (first === undefined) return undefined;
    const dues = parkedCalls.flatMap(({ wakeInMs }) => wakeInMs ?? []);
    const { parkedOn, note } = first;
    const wakeInMs = dues.length === 0 ? undefined : Math.min(...dues);
    return { parkedOn, wakeInMs, note, state: journal.state, effects: journal.takeUnwritten() };
  }

  /** Requests approvals and parks. If approvals are not available, the calls are refused. */
  async #requestApprovals(calls: readonly PlannedCall[]): Promise<Parked | undefined> {
    const { context, runtime, journal, job } = this.#options;
    const { approvals } = context;
    if (approvals !== undefined)
      return parkForApprovals(calls, approvals, runtime.policy, {
        agent: job.agent,
        event: job.event.id,
        journal,
      });
    const text = 'not called: approval is required, and approvals are not available here';
    for (const { id } of calls)
      journal.add({ kind: 'result', id, text, isError: true, how: 'refused', tookMs: 0 });
    return undefined;
  }

  /** Adds the decided approvals to the journal. If all are pending, returns the result that parks the run. */
  async #checkOrPark(ids: readonly string[]): Promise<Parked | undefined> {
    const { context, journal, job } = this.#options;
    if (context.approvals === undefined)
      throw new HandlerError(
        `agent ${job.agent} waits for an approval, and approvals are not available here`,
        {
          isFinal: true,
        },
      );
    return parkUndecided(ids, context.approvals, { agent: job.agent, event: job.event.id, journal });
  }

  #remainingMs(): number {
    return Math.max(0, Math.min(this.#options.context.remainingMs, this.#ownRemainingMs()));
  }

  /** Throws the error of the time limit if the working time is used up. */
  #checkTime(): void {
    if (this.#begun !== undefined && this.#ownRemainingMs() < TIMER_PRECISION_MS) throw this.#timeoutError();
  }

  /** Returns the remaining working time of the agent, which the attempt may limit further. */
  #ownRemainingMs(): number {
    const { runtime, journal } = this.#options;
    return Math.max(0, runtime.timeout_seconds * 1000 - journal.workedMs);
  }

  #timeoutError(): HandlerError {
    const { job, runtime } = this.#options;
    const { timeout_seconds } = runtime;
    return new HandlerError(
      `agent ${job.agent} has no answer after timeout_seconds (${timeout_seconds}); raise the limit and replay the event`,
      { isFinal: true },
    );
  }
}

const isTooLong = (row: JournalRow) => JSON.stringify(row).length > MAX_ROW_LENGTH;

/** Returns the last row. Data is omitted from a long row, because the text contains the same data. */
function endedRow({ text, data, cut }: Extract<NextStep, { readonly do: 'end' }>): JournalRow {
  const row: JournalRow = { kind: 'ended', text, data, cut };
  return data !== undefined && isTooLong(row) ? { kind: 'ended', text, cut } : row;
}
