// One attempt at the run of a fleet: asks members as its plan says, until there is one answer, nothing left to do but wait, or a failure.
//
// FLT1  what a member has answered is durable before another is asked because of it.
// FLT2  a member that fails for a reason that may pass is asked again, so often; only then it has failed, and the rules of the fleet say what
//      becomes of that.
// FLT3  with the end of the run nobody works for it any more.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet, FleetMember } from '../../config/resources/fleets/fleet.ts';
import { usedUp } from '../../machines/agent-run/budget.ts';
import { type FleetEnd, nextOfFleet } from '../../machines/fleet-run/plan.ts';
import type { MemberRow } from '../../machines/fleet-run/rows.ts';
import { approvalWake } from '../approvals/run-approvals.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext, Parked } from '../handlers/handler-context.ts';
import { PartContext } from '../parts/part-context.ts';
import type { PartsJournal } from '../parts/parts-journal.ts';
import { RunningParts, type Settled } from '../parts/running-parts.ts';

export interface FleetRow {
  readonly kind: 'fleet';
  readonly name: string;
  /** By chance: keys of this run are no other's, of the same event neither. */
  readonly nonce: string;
  /** `Fleet.definition`. */
  readonly definition: string;
  readonly input: string;
}

export interface FleetRunOptions {
  /** As the run began with it. */
  readonly fleet: Fleet;
  readonly begun: FleetRow;
  readonly job: Job;
  readonly context: HandlerContext;
  readonly journal: PartsJournal;
  /** Undefined for an agent that is not there. */
  handlerOf(member: FleetMember): Handler | undefined;
  /** Of the pauses before a member is asked again. @default 1000 */
  readonly firstPauseMs?: number;
}

/** How often a member is asked. */
const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
const memberKinds: ReadonlySet<unknown> = new Set(['entered', 'ended', 'failed', 'dropped']);

export class FleetRun {
  readonly #options: FleetRunOptions;
  readonly #overtime = new AbortController();
  readonly #parts: RunningParts<AgentReply>;

  constructor(options: FleetRunOptions) {
    this.#options = options;
    const { journal, context, job } = options;
    const signal = AbortSignal.any([context.signal, this.#overtime.signal]);
    this.#parts = new RunningParts<AgentReply>({ journal, signal, wakeName: approvalWake(job.event.id) });
  }

  async work(): Promise<AgentReply | Parked> {
    const { fleet, journal, context } = this.#options;
    const left = Math.max(0, fleet.timeout_seconds * 1000 - journal.workedMs);
    const timer = setTimeout(() => this.#overtime.abort(this.#tooLong()), left);
    try {
      for (;;) {
        const end = this.#plan();
        if (end !== undefined) return await this.#end(end);
        const settled = await this.#parts.next();
        if (settled === undefined) return this.#park();
        this.#keep(settled);
        await journal.flush();
      }
    } catch (error) {
      await journal.flush().catch(() => {});
      if (this.#overtime.signal.aborted && !context.signal.aborted) throw this.#overtime.signal.reason;
      throw error;
    } finally {
      clearTimeout(timer);
      this.#parts.dropAll(new HandlerError(`fleet ${fleet.name} has ended`));
    }
  }

  /** Begins whom the plan names. Gives the end, once there is one. */
  #plan(): FleetEnd | undefined {
    const { fleet, begun, journal } = this.#options;
    const { starts, drops, end } = nextOfFleet(fleet, begun.input, this.#rows);
    for (const name of drops) {
      this.#parts.drop(name, new HandlerError('the fleet has its answer without it'));
      journal.add({ kind: 'dropped', in: name } satisfies MemberRow);
    }
    if (end !== undefined) return end;
    const over = usedUp(fleet.budget, journal.figures, 0);
    if (over !== undefined) return { how: 'failed', reason: over };
    journal.checkRoom();
    for (const { member, input } of starts) {
      journal.add({ kind: 'entered', in: member } satisfies MemberRow);
      this.#begin(member, input);
    }
    this.#goOn();
    return undefined;
  }

  /** Those whom an earlier attempt has begun. */
  #goOn(): void {
    const rows = this.#rows;
    const over = new Set(rows.filter(({ kind }) => kind !== 'entered').map((row) => row.in));
    for (const { in: name } of rows)
      if (!over.has(name) && !this.#parts.has(name)) this.#begin(name, this.#inputOf(name));
  }

  /** What it is asked follows from the rows before it was begun. */
  #inputOf(name: string): string {
    const { fleet, begun } = this.#options;
    const before = this.#rows.filter((row) => row.in !== name);
    const { starts } = nextOfFleet({ ...fleet, concurrency: fleet.members.length }, begun.input, before);
    return starts.find(({ member }) => member === name)?.input ?? begun.input;
  }

  #begin(name: string, input: string): void {
    const { fleet, begun, job, journal, context } = this.#options;
    const member = fleet.members.find((each) => each.name === name);
    this.#parts.begin(name, async (signal, hasWaited) => {
      const handler = member && this.#options.handlerOf(member);
      if (member === undefined || handler === undefined)
        throw new HandlerError(`there is nobody who answers for ${name}`, { isFinal: true });
      await journal.flush();
      const onProgress = (text: string) => context.progress(`**${name}**\n${text}`);
      const part = { path: name, run: context, journal, signal, hasWaited, onProgress };
      const asked: Job = {
        ...job,
        ...{ input, inputJson: undefined, agent: agentOf(member) },
        idempotencyKey: `${job.idempotencyKey}/${begun.nonce}/${name}`,
      };
      return this.#asked(handler, asked, () => new PartContext(part));
    });
  }

  async #asked(handler: Handler, job: Job, contextOf: () => PartContext): Promise<AgentReply | Parked> {
    for (let attempt = 1; ; attempt += 1) {
      const context = contextOf();
      try {
        return await handler.run({ ...job, attempt: job.attempt + attempt - 1 }, context);
      } catch (error) {
        context.signal.throwIfAborted();
        const { isFinal, retryAfterMs = 0 } = error instanceof HandlerError ? error : { isFinal: false };
        if (isFinal || attempt >= ATTEMPTS || retryAfterMs > LONGEST_PAUSE_MS) throw error;
        const { firstPauseMs = FIRST_PAUSE_MS } = this.#options;
        const ms = Math.max(retryAfterMs, firstPauseMs * 2 ** (attempt - 1));
        context.retrying(`${job.agent}: ${messageOf(error)}`, ms);
        await sleep(ms, undefined, { signal: context.signal });
      }
    }
  }

  #keep(settled: Settled<AgentReply>): void {
    const { journal } = this.#options;
    const { path } = settled;
    if (settled.how === 'failed') {
      journal.add({ kind: 'failed', in: path, reason: messageOf(settled.error) } satisfies MemberRow);
      return;
    }
    const { text, data, effects } = settled.reply;
    journal.addOfPart(path, undefined, effects ?? {});
    const hasEnd = this.#rows.some((row) => row.in === path && row.kind === 'ended');
    if (!hasEnd) journal.add({ kind: 'ended', in: path, text, data } satisfies MemberRow);
  }

  async #end(end: FleetEnd): Promise<AgentReply> {
    const { fleet, journal } = this.#options;
    if (end.how === 'failed') {
      await journal.flush();
      throw new HandlerError(`fleet ${fleet.name}: ${end.reason}`, { isFinal: true });
    }
    const { text, data } = end;
    await journal.flush();
    journal.add({ kind: 'ended', text, data });
    return { text, data, effects: journal.take() };
  }

  #park(): Parked {
    const { journal, job } = this.#options;
    return {
      parkedOn: approvalWake(job.event.id),
      wakeInMs: this.#parts.firstDueMs,
      state: journal.state,
      effects: journal.take(),
      note: 'its members wait',
    };
  }

  get #rows(): readonly MemberRow[] {
    const isOfMember = (row: Readonly<Record<string, unknown>>) =>
      memberKinds.has(row.kind) && typeof row.in === 'string' && !row.in.includes('/');
    return this.#options.journal.rows.filter(isOfMember) as unknown as readonly MemberRow[];
  }

  #tooLong(): HandlerError {
    const { name, timeout_seconds } = this.#options.fleet;
    return new HandlerError(
      `fleet ${name} has worked for timeout_seconds (${timeout_seconds}) and has no answer; give it more, and replay its event`,
      { isFinal: true },
    );
  }
}

const agentOf = ({ agent }: FleetMember): string => (typeof agent === 'string' ? agent : agent.name);

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
