// Asks the handler of a target about an event, once per attempt, with all that belongs to it: its place, its deadline, what is
// shown meanwhile; and says what came of it.
//
// CW3  nothing runs without a place (inbox/work-places.ts), which is given back when the handler has really ended.

import { agentTarget, type Target, targetText } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { Match } from '../../../machines/matching.ts';
import type { ApprovalPlaces, Approvals } from '../../approvals/approvals.ts';
import { RunAsking } from '../../approvals/run-asking.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../../handlers/handler.ts';
import { isParked } from '../../handlers/handler-context.ts';
import type { Assignment, Outcome } from '../../inbox/work.ts';
import type { WorkPlaces } from '../../inbox/work-places.ts';
import { DeliveryError, UnrenderableError } from '../../outbound/delivery-error.ts';
import type { LiveAttempt } from '../../runs/run-feed.ts';
import { stepsOf } from '../../store/run.ts';
import type { NewEvent, Store, StoredEvent } from '../../store/store.ts';
import { askedInVain, givenUp, TOO_SOON_MS, withoutPlace } from '../works/attempts.ts';
import type { AnswerTime } from './answer-time.ts';
import { endedRow, passGate } from './command-gate.ts';
import { jobOf, parametersOf } from './conversation-job.ts';
import { Draft } from './draft.ts';
import { historyOf, snapshotAfter } from './history.ts';
import { answerRows, mayHaveDraft, said, type Taken } from './replies.ts';
import type { Routing } from './routing.ts';
import { parkedOutcome, RunContext, type RunLimits } from './run-context.ts';
import { RunDeadline } from './run-deadline.ts';
import { ShownWhileAnswering } from './shown-while-answering.ts';
import { timeLimit } from './time-limit.ts';

/** A trigger that leads nowhere takes no event. */
const NOBODY = agentTarget('');

export interface HandlerRunsOptions {
  readonly routing: Pick<Routing, 'handlerOf' | 'services' | 'longestTimeoutMs' | 'feed'> & ApprovalPlaces;
  readonly places: WorkPlaces;
  readonly records: Pick<Store, 'delivery' | 'steps' | 'approval' | 'decide'>;
  readonly approvals: Approvals;
  /** As in draft.ts. */
  readonly draftAfterMs: number | undefined;
  /** What is sent to whoever waits for an answer that comes too late, by the trigger of that name. */
  late(event: StoredEvent, taker: string): readonly NewEvent[];
}

export class HandlerRuns {
  readonly #options: HandlerRunsOptions;
  readonly #shown = new ShownWhileAnswering();

  constructor(options: HandlerRunsOptions) {
    this.#options = options;
  }

  /** The outcome of one attempt. Throws what the adapter throws that is asked how an answer is sent. */
  async run(
    assignment: Assignment,
    taken: Taken,
    match: Match,
    time: AnswerTime | undefined,
  ): Promise<Outcome> {
    const { routing, records } = this.#options;
    const { trigger, event, inbound } = taken;
    const { binding, rule } = match;
    const given = parametersOf(match, inbound);
    if (given.isMissing) {
      const told = said(taken, given.help, { status: 'warning' });
      return { ...told, kind: 'ignored', note: 'a parameter is missing, so nothing was run' };
    }
    const target = binding?.target ?? rule?.target ?? trigger.default_target ?? NOBODY;
    const handler = routing.handlerOf(target);
    const whom = targetText(target);
    const { retry } = trigger;
    const notAfter = time?.endsAt;
    const end = givenUp(trigger, event);
    if (end !== undefined) return end;
    if (handler === undefined)
      return { kind: 'failed', trigger: trigger.name, note: `there is no ${whom}`, retry, notAfter };
    const approvals = this.#askingOf(taken, target.name, time);
    const rules = binding?.approval;
    const asked = { taken, match, target, parameters: given.values, handler, approvals, time };
    if (rules === undefined) return this.#ask(assignment, asked);
    try {
      const journal = await stepsOf(records, event.id, event.steps ?? 0);
      const mostMs = time?.leftMs;
      const verdict = await passGate({ assignment, ...asked, rules, journal, mostMs });
      return 'outcome' in verdict ? verdict.outcome : this.#ask(verdict.assignment, asked);
    } catch (error) {
      return { ...notAsked(trigger, error), notAfter };
    }
  }

  async #ask(assignment: Assignment, asked: Asked): Promise<Outcome> {
    const { routing, places, records } = this.#options;
    const { snapshot, signal } = assignment;
    const { taken, match, target, parameters, handler, approvals, time } = asked;
    const { trigger, event, inbound } = taken;
    const { command, binding } = match;
    const { retry } = trigger;
    const notAfter = time?.endsAt;
    const whom = targetText(target);
    const place = places.take(whom, trigger.name, event);
    if (typeof place === 'string') return withoutPlace(place, trigger, `the ${whom}`, notAfter);
    const limit = timeLimit(trigger);
    const deadline = new RunDeadline({
      ...{ signal, limit, longestMs: routing.longestTimeoutMs, answerTime: time },
      onLate: () => this.#tellLate(assignment, trigger.name),
    });
    let endShown: (() => void) | undefined;
    let draft: Draft | undefined;
    const live = routing.feed?.begin(event.id, target.name);
    try {
      endShown = this.#shown.begin(taken);
      const history = historyOf(snapshot);
      const job = jobOf(event, inbound, { command, parameters, trigger, target, history });
      draft = this.#draftOf(taken, assignment, deadline.signal);
      const limits = { signal: deadline.signal, limitMs: deadline.limitMs, ...telling(live, draft) };
      const context = new RunContext(assignment, routing.services, limits, records, approvals);
      const answer = await handler.run(job, context);
      const isInDoubt = await draft?.end();
      if (isParked(answer)) {
        live?.parked(answer.effects);
        return parkedOutcome(event, trigger, answer, time?.leftMs);
      }
      live?.replied(answer);
      const replacesDraft = isInDoubt !== true && (draft?.wasBegun === true || mayHaveDraft(taken));
      const steps = answer.effects?.steps ?? (binding?.approval && [endedRow(answer.text)]);
      return { kind: 'done', ...answered(taken, answer, job, replacesDraft), steps };
    } catch (error) {
      live?.failed();
      const { lateNote } = deadline;
      const { name } = trigger;
      if (lateNote !== undefined)
        return { kind: 'failed', trigger: name, note: lateNote, isFinal: true, notice: 'late', retry };
      const { isFinal, isTooSoon, retryAfterMs } = faultOf(error);
      const note = deadline.overNote ?? messageOf(error);
      if (!isTooSoon) return { kind: 'failed', trigger: name, note, isFinal, retryAfterMs, retry, notAfter };
      const inMs = retryAfterMs ?? Math.min(TOO_SOON_MS, retry.max_backoff_seconds * 1000);
      return { kind: 'deferred', trigger: name, note, inMs, retry, notAfter };
    } finally {
      deadline.end();
      endShown?.();
      await draft?.end();
      live?.end();
      place.end();
    }
  }

  #askingOf(taken: Taken, agent: string, time: AnswerTime | undefined): RunAsking {
    const { routing, records, approvals } = this.#options;
    const run = { ...taken, agent, mostMs: time?.leftMs };
    return new RunAsking(run, { approvals, places: routing, store: records });
  }

  /** Best effort: the run may end yet, and says it then. */
  #tellLate({ event, checkpoint }: Assignment, taker: string): void {
    try {
      const emit = this.#options.late(event, taker);
      if (emit.length > 0) checkpoint(undefined, { emit }).catch(() => {});
    } catch {
      // Of what has no form there the commit of its end tells the log.
    }
  }

  /** Undefined where an answer under way is not shown. */
  #draftOf(taken: Taken, { checkpoint }: Assignment, signal: AbortSignal): Draft | undefined {
    const { outbound } = taken.adapter;
    if (outbound?.editsEveryMs === undefined) return undefined;
    const { records, draftAfterMs: afterMs } = this.#options;
    return new Draft({ outbound, taken, checkpoint, records, signal, afterMs });
  }
}

/** A handler, and what it is to be asked. */
interface Asked {
  readonly taken: Taken;
  readonly match: Match;
  readonly target: Target;
  readonly parameters: Readonly<Record<string, string>>;
  readonly handler: Handler;
  readonly approvals: RunAsking;
  readonly time: AnswerTime | undefined;
}

/** Nobody could be asked whether it may run: it does not. */
function notAsked(trigger: Trigger, error: unknown) {
  if (error instanceof DeliveryError) return askedInVain(trigger, error);
  const { isFinal, retryAfterMs } = faultOf(error);
  const { name, retry } = trigger;
  return { kind: 'failed', trigger: name, note: messageOf(error), isFinal, retryAfterMs, retry } as const;
}

/** What is to be kept and sent of an answer. */
function answered(taken: Taken, answer: AgentReply, job: Job, replacesDraft: boolean) {
  return {
    ...answer.effects,
    trigger: taken.trigger.name,
    answer: answer.text,
    emit: answerRows(taken, answer, { replacesDraft }),
    snapshot: snapshotAfter(taken.inbound, job, answer),
  };
}

/** Who is told of an answer under way. */
function telling(
  live: LiveAttempt | undefined,
  draft: Draft | undefined,
): Pick<RunLimits, 'show' | 'onRows' | 'onRetry'> {
  const show = (text: string) => {
    live?.text(text);
    draft?.show(text);
  };
  return { show, onRows: live?.rows, onRetry: live?.retrying };
}

function faultOf(error: unknown): Pick<HandlerError, 'isFinal' | 'isTooSoon' | 'retryAfterMs'> {
  if (error instanceof HandlerError) return error;
  // An answer that has no form on its platform has none at the next attempt either.
  return { isFinal: error instanceof UnrenderableError, isTooSoon: false, retryAfterMs: undefined };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
