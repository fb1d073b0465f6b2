// Asks the handler of a target about an event, once per attempt, with all that belongs to it: its place, its deadline, what is
// shown meanwhile; and says what came of it.
//
// CW3  nothing runs without a place (inbox/work-places.ts), which is given back when the handler has really ended.

import { agentTarget, targetText } from '../../../config/resources/triggers/target.ts';
import type { Match } from '../../../machines/matching.ts';
import { type AgentReply, HandlerError, type Job } from '../../handlers/handler.ts';
import { isParked } from '../../handlers/handler-context.ts';
import type { Assignment, Outcome } from '../../inbox/work.ts';
import type { WorkPlaces } from '../../inbox/work-places.ts';
import { UnrenderableError } from '../../outbound/delivery-error.ts';
import type { NewEvent, Store, StoredEvent } from '../../store/store.ts';
import { givenUp, TOO_SOON_MS, withoutPlace } from '../works/attempts.ts';
import type { AnswerTime } from './answer-time.ts';
import { jobOf, parametersOf } from './conversation-job.ts';
import { Draft } from './draft.ts';
import { historyOf, snapshotAfter } from './history.ts';
import { answerRows, mayHaveDraft, said, type Taken } from './replies.ts';
import type { Routing } from './routing.ts';
import { parkedOutcome, RunContext } from './run-context.ts';
import { RunDeadline } from './run-deadline.ts';
import { ShownWhileAnswering } from './shown-while-answering.ts';
import { timeLimit } from './time-limit.ts';

/** A trigger that leads nowhere takes no event. */
const NOBODY = agentTarget('');

export interface HandlerRunsOptions {
  readonly routing: Pick<Routing, 'handlerOf' | 'services' | 'longestTimeoutMs'>;
  readonly places: WorkPlaces;
  readonly records: Pick<Store, 'delivery'>;
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
    const { routing, places } = this.#options;
    const { snapshot, signal } = assignment;
    const { trigger, event, inbound } = taken;
    const { binding, rule, command } = match;
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
    const place = places.take(whom, trigger.name, event);
    if (typeof place === 'string') return withoutPlace(place, trigger, `the ${whom}`, notAfter);
    const limit = timeLimit(trigger);
    const deadline = new RunDeadline({
      ...{ signal, limit, longestMs: routing.longestTimeoutMs, answerTime: time },
      onLate: () => this.#tellLate(assignment, trigger.name),
    });
    let endShown: (() => void) | undefined;
    let draft: Draft | undefined;
    try {
      endShown = this.#shown.begin(taken);
      const history = historyOf(snapshot);
      const job = jobOf(event, inbound, { command, parameters: given.values, trigger, target, history });
      draft = this.#draftOf(taken, assignment, deadline.signal);
      const limits = { signal: deadline.signal, limitMs: deadline.limitMs, show: draft && showing(draft) };
      const answer = await handler.run(job, new RunContext(assignment, routing.services, limits));
      const isInDoubt = await draft?.end();
      if (isParked(answer)) return parkedOutcome(event, trigger, answer, time?.leftMs);
      const replacesDraft = isInDoubt !== true && (draft?.wasBegun === true || mayHaveDraft(taken));
      return { kind: 'done', ...answered(taken, answer, job, replacesDraft) };
    } catch (error) {
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
      place.end();
    }
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

/** What is to be kept and sent of an answer. */
function answered(taken: Taken, answer: AgentReply, job: Job, replacesDraft: boolean) {
  return {
    trigger: taken.trigger.name,
    answer: answer.text,
    emit: answerRows(taken, answer, { replacesDraft }),
    snapshot: snapshotAfter(taken.inbound, job, answer),
  };
}

const showing = (draft: Draft) => (text: string) => draft.show(text);

function faultOf(error: unknown): Pick<HandlerError, 'isFinal' | 'isTooSoon' | 'retryAfterMs'> {
  if (error instanceof HandlerError) return error;
  // An answer that has no form on its platform has none at the next attempt either.
  return { isFinal: error instanceof UnrenderableError, isTooSoon: false, retryAfterMs: undefined };
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
