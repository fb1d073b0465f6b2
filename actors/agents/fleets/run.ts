// One attempt of a fleet run: calls members as planned until the run has an answer, fails or parks
// (parked.ts). An answer is durable before it triggers the next call. A member that fails temporarily is
// retried; if all its attempts fail, the rules of the fleet apply. A retried fleet calls only members without
// an answer. No work starts when the budget is used up. All work stops with the run.

import type { Fleet, FleetMember } from '../../../config/resources/fleets/fleet.ts';
import { exhaustedLimit } from '../../../machines/agent-run/usage.ts';
import { type FleetEnd, nextOfFleet, withoutAnswer } from '../../../machines/fleet-run/plan.ts';
import type { MemberRow } from '../../../machines/fleet-run/rows.ts';
import { approvalWake } from '../approvals/run-approvals.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';
import type { Parked } from '../handlers/parked.ts';
import { PartContext } from '../parts/context.ts';
import { messageOf } from '../parts/failure-reason.ts';
import type { PartsJournal } from '../parts/journal.ts';
import { type PartResult, RunningParts } from '../parts/running-parts.ts';
import { callMember } from './call-member.ts';
import { MemberTools } from './member-tools.ts';

export interface FleetRow {
  readonly kind: 'fleet';
  readonly name: string;
  /** Random, so that keys of this run are unique, also among runs of the same event. */
  readonly nonce: string;
  /** `Fleet.definition`. */
  readonly definition: string;
  readonly input: string;
}

export interface FleetRunOptions {
  /** Fleet as defined when the run started. */
  readonly fleet: Fleet;
  readonly firstRow: FleetRow;
  readonly job: Job;
  readonly context: HandlerContext;
  readonly journal: PartsJournal;
  /** Returns undefined for a missing agent. */
  handlerOf(member: FleetMember): Handler | undefined;
  /** First pause between requests to a member, in milliseconds. @default 1000 */
  readonly firstPauseMs?: number;
}

const memberKinds: ReadonlySet<unknown> = new Set(['entered', 'ended', 'failed', 'dropped', 'retried']);

export class FleetRun {
  readonly #options: FleetRunOptions;
  readonly #timeout = new AbortController();
  readonly #parts: RunningParts<AgentReply>;
  readonly #tools: MemberTools;

  constructor(options: FleetRunOptions) {
    this.#options = options;
    const { journal, context, job } = options;
    const signal = AbortSignal.any([context.signal, this.#timeout.signal]);
    const wakeName = approvalWake(job.event.id);
    this.#parts = new RunningParts<AgentReply>({ journal, signal, clock: context.clock, wakeName });
    // `hasWaited`: a call may resume from a wait, and then needs the event that woke the run.
    this.#tools = new MemberTools({
      fleet: options.fleet,
      journal,
      ask: (member, path, input, stop) => this.#ask(member, path, { input, signal: stop, hasWaited: true }),
    });
    const { fleet, firstRow } = options;
    // If the fleet failed in an earlier attempt, this attempt is a retry of the unanswered members.
    if (nextOfFleet(fleet, firstRow.input, this.#rows).end?.how !== 'failed') return;
    const names = withoutAnswer(this.#rows);
    journal.add(...names.map((name): MemberRow => ({ kind: 'retried', in: name })));
  }

  async work(): Promise<AgentReply | Parked> {
    const { fleet, journal, context } = this.#options;
    const remainingMs = Math.max(0, fleet.timeout_seconds * 1000 - journal.workedMs);
    const timer = setTimeout(() => this.#timeout.abort(this.#timeoutError()), remainingMs);
    try {
      for (;;) {
        const end = this.#plan();
        if (end !== undefined) return await this.#end(end);
        const partResult = await this.#parts.next();
        if (partResult === undefined) return this.#park();
        this.#store(partResult);
        await journal.flush();
      }
    } catch (error) {
      await journal.flush().catch(() => {});
      if (this.#timeout.signal.aborted && !context.signal.aborted) throw this.#timeout.signal.reason;
      throw error;
    } finally {
      clearTimeout(timer);
      this.#parts.dropAll(new HandlerError(`fleet ${fleet.name} has ended`));
    }
  }

  /** Starts the planned members. Returns the final result, if reached. */
  #plan(): FleetEnd | undefined {
    const { fleet, firstRow, journal } = this.#options;
    const { starts, drops, end } = nextOfFleet(fleet, firstRow.input, this.#rows);
    for (const name of drops) {
      this.#parts.drop(name, new HandlerError('the fleet has its answer without this member'));
      journal.add({ kind: 'dropped', in: name } satisfies MemberRow);
    }
    if (end !== undefined) return end;
    const exceeded = starts.length > 0 ? this.#exceededLimit(0) : undefined;
    if (exceeded !== undefined) return { how: 'failed', reason: exceeded };
    journal.checkCapacity();
    for (const { member, input } of starts) {
      journal.add({ kind: 'entered', in: member } satisfies MemberRow);
      this.#begin(member, input);
    }
    this.#continueMembers();
    return undefined;
  }

  /** Continues members that an earlier attempt started. */
  #continueMembers(): void {
    const lastKinds = new Map(this.#rows.map(({ in: name, kind }) => [name, kind]));
    for (const [name, kind] of lastKinds)
      if ((kind === 'entered' || kind === 'retried') && !this.#parts.has(name))
        this.#begin(name, this.#inputOf(name));
  }

  #exceededLimit(moreCalls: number): string | undefined {
    const { fleet, journal } = this.#options;
    return exhaustedLimit(fleet.budget, journal.figures, moreCalls);
  }

  /** Returns a started member's input, computed from the rows before its start. */
  #inputOf(name: string): string {
    const { fleet, firstRow } = this.#options;
    // With one slot per member, the plan starts this member even if others work.
    const before = this.#rows.filter((row) => row.in !== name);
    const { starts } = nextOfFleet({ ...fleet, concurrency: fleet.members.length }, firstRow.input, before);
    return starts.find(({ member }) => member === name)?.input ?? firstRow.input;
  }

  /** Starts or resumes a member as a part of the run. */
  #begin(name: string, input: string): void {
    const { fleet, journal } = this.#options;
    const member = fleet.members.find((each) => each.name === name);
    this.#parts.begin(name, async (signal, hasWaited) => {
      if (member === undefined) throw missingHandler(name);
      await journal.flush();
      return this.#ask(member, name, { input, signal, hasWaited });
    });
  }

  /** Runs one attempt of the member part `path`. */
  async #ask(
    member: FleetMember,
    path: string,
    {
      input,
      signal,
      hasWaited,
    }: { readonly input: string; readonly signal: AbortSignal; readonly hasWaited: boolean },
  ): Promise<AgentReply | Parked> {
    const { fleet, firstRow, job, journal, context, firstPauseMs } = this.#options;
    const handler = this.#options.handlerOf(member);
    if (handler === undefined) throw missingHandler(member.name);
    // Only the manager in a hierarchical fleet gets the other members as tools.
    const isLeading = fleet.coordination.mode === 'hierarchical' && member.isManager;
    const part = {
      path,
      run: context,
      journal,
      signal,
      hasWaited,
      onProgress: (text: string) => context.progress(`**${member.name}**\n${text}`),
      runTools: isLeading ? this.#tools : undefined,
      exceededLimit: (moreCalls: number) => this.#exceededLimit(moreCalls),
    };
    const memberJob: Job = {
      ...job,
      input,
      inputJson: undefined,
      agent: agentOf(member),
      idempotencyKey: `${job.idempotencyKey}/${firstRow.nonce}/${path}`,
      // A question of the manager contains its own context.
      ...(path === member.name ? {} : { history: [], message: undefined }),
    };
    return callMember(handler, memberJob, () => new PartContext(part), firstPauseMs);
  }

  /** Stores a member's result. */
  #store(partResult: PartResult<AgentReply>): void {
    const { journal } = this.#options;
    const { path } = partResult;
    if (partResult.how === 'failed') {
      journal.add({ kind: 'failed', in: path, reason: messageOf(partResult.error) } satisfies MemberRow);
      return;
    }
    const { text, data, effects } = partResult.reply;
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
    return { text, data, effects: journal.takeUnwritten() };
  }

  #park(): Parked {
    const { journal, job } = this.#options;
    return {
      parkedOn: this.#parts.waitsForPeople ? approvalWake(job.event.id) : `time ${job.event.id}`,
      wakeInMs: this.#parts.firstDueMs,
      state: journal.state,
      effects: journal.takeUnwritten(),
      note: 'members wait',
    };
  }

  /** Rows of the members. Paths with a slash are calls of the manager (member-tools.ts). */
  get #rows(): readonly MemberRow[] {
    const isOfMember = (row: Readonly<Record<string, unknown>>) =>
      memberKinds.has(row.kind) && typeof row.in === 'string' && !row.in.includes('/');
    return this.#options.journal.rows.filter(isOfMember) as unknown as readonly MemberRow[];
  }

  #timeoutError(): HandlerError {
    const { name, timeout_seconds } = this.#options.fleet;
    return new HandlerError(
      `fleet ${name} has no answer after timeout_seconds (${timeout_seconds}); raise the limit and replay the event`,
      { isFinal: true },
    );
  }
}

const agentOf = ({ agent }: FleetMember): string => (typeof agent === 'string' ? agent : agent.name);

const missingHandler = (name: string) =>
  new HandlerError(`there is no handler for member ${name}`, { isFinal: true });
