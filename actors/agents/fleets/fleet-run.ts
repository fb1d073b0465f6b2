// One attempt at the run of a fleet: asks members as its plan says, until there is one answer, nothing left to do but wait, or a failure.
//
// FLT1  what a member has answered is durable before another is asked because of it.
// FLT2  a member that fails for a reason that may pass is asked again, so often; only then it has failed, and the rules of the fleet say what
//      becomes of that.
// FLT4  a fleet that has failed and is worked again asks whoever had no answer, and keeps the answers that there are.
// FLT5  nothing more is begun when the budget of the fleet is used up, by no member.
// FLT3  with the end of the run nobody works for it any more.

import type { Fleet, FleetMember } from '../../../config/resources/fleets/fleet.ts';
import { usedUp } from '../../../machines/agent-run/figures.ts';
import { type FleetEnd, nextOfFleet, withoutAnswer } from '../../../machines/fleet-run/plan.ts';
import type { MemberRow } from '../../../machines/fleet-run/rows.ts';
import { approvalWake } from '../approvals/run-approvals.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import { messageOf } from '../parts/message-of.ts';
import { PartContext } from '../parts/part-context.ts';
import type { PartsJournal } from '../parts/parts-journal.ts';
import { RunningParts, type Settled } from '../parts/running-parts.ts';
import { askMember } from './ask-member.ts';
import { MemberTools } from './member-tools.ts';

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

const memberKinds: ReadonlySet<unknown> = new Set(['entered', 'ended', 'failed', 'dropped', 'retried']);

export class FleetRun {
  readonly #options: FleetRunOptions;
  readonly #overtime = new AbortController();
  readonly #parts: RunningParts<AgentReply>;
  readonly #tools: MemberTools;

  constructor(options: FleetRunOptions) {
    this.#options = options;
    const { journal, context, job } = options;
    const signal = AbortSignal.any([context.signal, this.#overtime.signal]);
    this.#parts = new RunningParts<AgentReply>({ journal, signal, wakeName: approvalWake(job.event.id) });
    this.#tools = new MemberTools({
      fleet: options.fleet,
      journal,
      ask: (member, path, input, stop) => this.#ask(member, path, { input, signal: stop, hasWaited: true }),
    });
    const { fleet, begun } = options;
    if (nextOfFleet(fleet, begun.input, this.#rows).end?.how !== 'failed') return;
    const again = withoutAnswer(this.#rows);
    journal.add(...again.map((name): MemberRow => ({ kind: 'retried', in: name })));
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
    const over = starts.length > 0 ? this.#usedUp(0) : undefined;
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
    const fates = new Map(this.#rows.map(({ in: name, kind }) => [name, kind]));
    for (const [name, fate] of fates)
      if ((fate === 'entered' || fate === 'retried') && !this.#parts.has(name))
        this.#begin(name, this.#inputOf(name));
  }

  #usedUp(moreCalls: number): string | undefined {
    const { fleet, journal } = this.#options;
    return usedUp(fleet.budget, journal.figures, moreCalls);
  }

  /** What it is asked follows from the rows before it was begun. */
  #inputOf(name: string): string {
    const { fleet, begun } = this.#options;
    const before = this.#rows.filter((row) => row.in !== name);
    const { starts } = nextOfFleet({ ...fleet, concurrency: fleet.members.length }, begun.input, before);
    return starts.find(({ member }) => member === name)?.input ?? begun.input;
  }

  #begin(name: string, input: string): void {
    const { fleet, journal } = this.#options;
    const member = fleet.members.find((each) => each.name === name);
    this.#parts.begin(name, async (signal, hasWaited) => {
      if (member === undefined) throw nobody(name);
      await journal.flush();
      return this.#ask(member, name, { input, signal, hasWaited });
    });
  }

  /** One attempt at the part of a member. */
  async #ask(
    member: FleetMember,
    path: string,
    {
      input,
      signal,
      hasWaited,
    }: { readonly input: string; readonly signal: AbortSignal; readonly hasWaited: boolean },
  ): Promise<AgentReply | Parked> {
    const { fleet, begun, job, journal, context, firstPauseMs } = this.#options;
    const handler = this.#options.handlerOf(member);
    if (handler === undefined) throw nobody(member.name);
    const leads = fleet.coordination.mode === 'hierarchical' && member.isManager;
    const part = {
      ...{ path, run: context, journal, signal, hasWaited },
      onProgress: (text: string) => context.progress(`**${member.name}**\n${text}`),
      runTools: leads ? this.#tools : undefined,
      usedUp: (moreCalls: number) => this.#usedUp(moreCalls),
    };
    const asked: Job = {
      ...job,
      ...{ input, inputJson: undefined, agent: agentOf(member) },
      idempotencyKey: `${job.idempotencyKey}/${begun.nonce}/${path}`,
      // Whom the manager asks knows what the manager says.
      ...(path === member.name ? {} : { history: [] }),
    };
    return askMember(handler, asked, () => new PartContext(part), firstPauseMs);
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
      parkedOn: this.#parts.waitsForPeople ? approvalWake(job.event.id) : `time ${job.event.id}`,
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

const nobody = (name: string) =>
  new HandlerError(`there is nobody who answers for ${name}`, { isFinal: true });
