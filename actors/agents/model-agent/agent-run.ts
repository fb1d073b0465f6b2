// One attempt at the run of an agent: does what its plan says next, until there is an answer, nothing left to do but wait, or a
// failure.

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
import { type AgentReply, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import type { ModelAnswer, Models } from '../models/model.ts';
import { parkAsking, parkUndecided } from './ask-people.ts';
import { begunRow } from './begin-run.ts';
import { makeCalls } from './make-calls.ts';
import { MAX_ROW, type RunJournal } from './run-journal.ts';
import { ShownProgress } from './shown-progress.ts';
import type { AllTools, FoundTool } from './tool-box.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Returns the parser for schema answers. Validates them here, because providers do not guarantee the schema. */
export function answerReader(schema: Schema | undefined): ReadAnswer {
  const patterns = new Map<string, Pattern>();
  const finds = (source: string, text: string) => {
    const pattern = patterns.get(source) ?? compiled(source);
    patterns.set(source, pattern);
    return pattern(text);
  };
  return (text) => {
    let data: unknown;
    try {
      data = JSON.parse(unfenced(text));
    } catch (error) {
      return { misfit: `it is no JSON: ${(error as Error).message}` };
    }
    if (isNestedTooDeeply(data)) return { misfit: `it is nested more than ${MAX_LEVELS} levels deep` };
    const [wrong] = schema === undefined ? [] : checkValue(schema, data, finds).findings;
    if (wrong === undefined) return { data };
    const at = wrong.path.join('.').slice(0, 200);
    return { misfit: `${at === '' ? 'it' : at} ${wrong.text}` };
  };
}

/** Patterns that RE2 does not support are refused when the agent is loaded. */
function compiled(source: string): Pattern {
  const pattern = compilePattern(source);
  return typeof pattern === 'function' ? pattern : () => false;
}

/** Models often enclose JSON in code fences. */
function unfenced(text: string): string {
  const [, inner] = /^\s*```(?:json)?\s*\n([\s\S]*?)\n?```\s*$/.exec(text) ?? [];
  return inner ?? text;
}

export interface AgentRunOptions {
  /** As the run began with it. */
  readonly runtime: ModelRuntime;
  readonly job: Job;
  readonly context: HandlerContext;
  readonly journal: RunJournal;
  readonly models: Models;
  readonly tools: AllTools;
  /** Told what its servers offer, when the run begins. */
  readonly onTools?: (found: readonly FoundTool[]) => void;
}

type Begun = Extract<JournalRow, { readonly kind: 'begun' }>;

/** Of one answer: each has a result, and so a row. */
const MAX_CALLS = 1_024;
/** What a run has left does not change while it waits for the disk. */
const LOOKED_AT_AFTER_MS = 100;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class AgentRun {
  readonly #options: AgentRunOptions;
  readonly #shown: ShownProgress;
  readonly #overtime = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** Of the attempt, or of the time that the agent has. */
  readonly #signal: AbortSignal;

  constructor(options: AgentRunOptions) {
    this.#options = options;
    const { context } = options;
    this.#shown = new ShownProgress((text) => context.progress(text));
    this.#signal = AbortSignal.any([context.signal, this.#overtime.signal]);
    // Each call that is under way listens, of which there are so many at a time.
    setMaxListeners(0, this.#signal);
  }

  async work(): Promise<AgentReply | Parked> {
    const { runtime, context, journal } = this.#options;
    // Before it has begun it waits for its servers, which may come up at the next attempt: its own time is that of its work.
    if (this.#begun !== undefined) this.#watchTime();
    const readAnswer = answerReader(runtime.output_schema);
    try {
      for (;;) {
        this.#signal.throwIfAborted();
        const end = await this.#carryOut(nextStep(this.#rows, runtime, readAnswer));
        if (end !== undefined) return end;
      }
    } catch (error) {
      // It may be the last that is ever heard of this attempt; where it cannot be kept the next one begins before it.
      await journal.flush().catch(() => {});
      // What ended it says more than what failed by that.
      if (this.#overtime.signal.aborted && !context.signal.aborted) throw this.#overtime.signal.reason;
      throw error;
    } finally {
      clearTimeout(this.#timer);
      this.#shown.end();
    }
  }

  /** Ends what has worked for as long as it may, once that is really over: meanwhile it may have waited for the disk. */
  #watchTime(): void {
    const left = this.#ownLeftMs();
    const inMs = Math.min(Math.max(left + 1, LOOKED_AT_AFTER_MS), LONGEST_TIMER_MS);
    if (left === 0) this.#overtime.abort(this.#tooLong());
    else this.#timer = setTimeout(() => this.#watchTime(), inMs);
  }

  get #rows(): readonly JournalRow[] {
    return this.#options.journal.rows;
  }

  get #begun(): Begun | undefined {
    return this.#rows.find((row): row is Begun => row.kind === 'begun');
  }

  /** Undefined: the run goes on. */
  async #carryOut(next: NextStep): Promise<AgentReply | Parked | undefined> {
    const { job, journal } = this.#options;
    switch (next.do) {
      case 'begin':
        journal.add(await begunRow(this.#options, this.#signal, this.#leftMs()));
        this.#watchTime();
        return undefined;
      case 'note':
        journal.add(...next.rows);
        return undefined;
      case 'ask':
        journal.checkRoom();
        this.#checkShared(0);
        journal.add(this.#answerRow(next.iteration, await this.#askWhileKept(next.hasTools)));
        return undefined;
      case 'call':
        this.#checkShared(next.calls.filter(({ isRepeated }) => !isRepeated).length);
        return this.#call(next.calls);
      case 'people':
        return this.#askPeople(next.calls);
      case 'wait':
        return this.#lookOrPark(next.approvals);
      case 'end':
        await journal.flush();
        if (!this.#rows.some(({ kind }) => kind === 'ended')) journal.add(endedRow(next));
        return { text: next.text, data: next.data, effects: journal.take() };
      case 'fail':
        await journal.flush();
        throw new HandlerError(`agent ${job.agent}: ${next.reason}`, { isFinal: true });
    }
  }

  /** A question changes nothing in the world, so it need not wait for the disk; its answer is not taken before. */
  async #askWhileKept(hasTools: boolean): Promise<ModelAnswer> {
    const unkept = new AbortController();
    const kept = this.#options.journal.flush();
    kept.catch((error: unknown) => unkept.abort(error));
    const answer = await this.#ask(hasTools, AbortSignal.any([this.#signal, unkept.signal]));
    await kept;
    return answer;
  }

  #ask(hasTools: boolean, signal: AbortSignal): Promise<ModelAnswer> {
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
        ...{ models: names, retries, leftMs: this.#leftMs(), signal },
        onText: this.#shown.text,
        onRetry: (reason, inMs) => context.retrying(reason, inMs),
      },
    );
  }

  /** Ids of calls are the run's own: providers repeat theirs, or leave them out. */
  #answerRow(iteration: number, answer: ModelAnswer): ModelAnswerRow {
    const { length } = answer.calls;
    if (length > MAX_CALLS)
      throw new HandlerError(
        `agent ${this.#options.job.agent}: an answer of ${answer.model} calls ${length} tools, and at most ${MAX_CALLS} calls are read`,
        { isFinal: true },
      );
    const calls = answer.calls.map((call, n) => ({ ...call, id: `call_${iteration}_${n}` }));
    const row: ModelAnswerRow = { kind: 'answer', iteration, ...answer, calls };
    // Its own provider likes to have it back, and does without.
    return row.raw !== undefined && isTooLong(row) ? { ...row, raw: undefined } : row;
  }

  /** Of the run that it is a part of. */
  #checkShared(moreCalls: number): void {
    const over = this.#options.context.usedUp?.(moreCalls);
    if (over !== undefined) throw new HandlerError(over, { isFinal: true });
  }

  async #call(calls: readonly PlannedCall[]): Promise<Parked | undefined> {
    const { journal, tools, job } = this.#options;
    const { nonce = '' } = this.#begun ?? {};
    const parked = await makeCalls(calls, {
      journal,
      tools,
      shown: this.#shown,
      signal: this.#signal,
      trace: job.trace,
      leftMs: () => this.#leftMs(),
      keyOf: (call) => `${job.event.id}/${nonce}/${call}`,
    });
    const [first] = parked;
    if (first === undefined) return undefined;
    const dues = parked.flatMap(({ wakeInMs }) => wakeInMs ?? []);
    const { parkedOn, note } = first;
    const wakeInMs = dues.length === 0 ? undefined : Math.min(...dues);
    return { parkedOn, wakeInMs, note, state: journal.state, effects: journal.take() };
  }

  async #askPeople(calls: readonly PlannedCall[]): Promise<Parked | undefined> {
    const { context, runtime, journal, job } = this.#options;
    const { approvals } = context;
    if (approvals !== undefined)
      return parkAsking(calls, approvals, runtime.policy, { agent: job.agent, event: job.event.id, journal });
    const text = 'not called: it has to be approved, and nobody can be asked here';
    for (const { id } of calls)
      journal.add({ kind: 'result', id, text, isError: true, how: 'refused', tookMs: 0 });
    return undefined;
  }

  async #lookOrPark(ids: readonly string[]): Promise<Parked | undefined> {
    const { context, journal, job } = this.#options;
    if (context.approvals === undefined)
      throw new HandlerError(`agent ${job.agent} waits for an approval, and nobody can be asked here`, {
        isFinal: true,
      });
    return parkUndecided(ids, context.approvals, { agent: job.agent, event: job.event.id, journal });
  }

  #leftMs(): number {
    return Math.max(0, Math.min(this.#options.context.leftMs, this.#ownLeftMs()));
  }

  #ownLeftMs(): number {
    const { runtime, journal } = this.#options;
    return Math.max(0, runtime.timeout_seconds * 1000 - journal.workedMs);
  }

  #tooLong(): HandlerError {
    const { job, runtime } = this.#options;
    const { timeout_seconds } = runtime;
    return new HandlerError(
      `agent ${job.agent} has worked for timeout_seconds (${timeout_seconds}) and has no answer; give it more, and replay its event`,
      { isFinal: true },
    );
  }
}

const isTooLong = (row: JournalRow) => JSON.stringify(row).length > MAX_ROW;

/** Where there is no room for the same twice the text has it. */
function endedRow({ text, data }: Extract<NextStep, { readonly do: 'end' }>): JournalRow {
  const row: JournalRow = { kind: 'ended', text, data };
  return data !== undefined && isTooLong(row) ? { kind: 'ended', text } : row;
}
