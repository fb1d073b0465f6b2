// Attempts of a handler at an event, each with all that belongs to it: its place, its deadline, what is shown meanwhile, and what came
// of it. Which handler is asked what, and whether it may be, is known before (admission.ts).
//
// CW3  nothing runs without a place (inbox/work-places.ts), which is given back when the handler has really ended.

import { type Target, targetText } from '../../../config/resources/triggers/target.ts';
import type { Match } from '../../../machines/matching.ts';
import type { ApprovalPlaces } from '../../agents/approvals/approvals.ts';
import { channelPlace } from '../../agents/approvals/channel-place.ts';
import type { RunApprovals } from '../../agents/approvals/run-approvals.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../../agents/handlers/handler.ts';
import type { Sayings } from '../../agents/handlers/handler-context.ts';
import { isParked } from '../../agents/handlers/parked.ts';
import type { LiveAttempt } from '../../agents/runs/run-feed.ts';
import { DeadlineError } from '../../base/errors/errors.ts';
import type { Assignment, Outcome } from '../../events/inbox/work.ts';
import type { WorkPlaces } from '../../events/inbox/work-places.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import { outboxRows } from '../../events/outbox/outbox-rows.ts';
import { TypingIndicators } from '../../events/outbox/typing-indicators.ts';
import { accountOf } from '../../platforms/adapter.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { TOO_SOON_MS, withoutPlace } from '../works/attempts.ts';
import { endedRow } from './command-gate.ts';
import { historyOf, jobOf, snapshotAfter } from './conversation-job.ts';
import { Draft } from './draft.ts';
import { answerRows, mayHaveDraft, type Taken } from './replies.ts';
import type { Routing } from './routing.ts';
import { parkedOutcome, RunContext, type RunLimits } from './run-context.ts';
import { type AnswerTime, attemptLimit, RunDeadline } from './run-deadline.ts';

/** Sends messages besides the answer: to the event's place, or to a channel. */
export class Saying implements Sayings {
  readonly #taken: Taken;
  readonly #places: ApprovalPlaces;

  constructor(taken: Taken, places: ApprovalPlaces) {
    this.#taken = taken;
    this.#places = places;
  }

  get isHeard(): boolean {
    return this.#here() !== undefined;
  }

  async rows(text: string, step: string, channel?: string): Promise<readonly NewEvent[]> {
    const { trigger, event, inbound } = this.#taken;
    const at = channel === undefined ? this.#here() : await channelPlace(this.#taken, channel, this.#places);
    if (at?.adapter.outbound === undefined || text.trim() === '') return [];
    const expiresAt = channel === undefined ? inbound.answerBy : undefined;
    const message = {
      ...{ text, target: at.target, mentions: trigger.mentions, expiresAt },
      ...({ status: 'success', action: { do: 'post' } } as const),
    };
    const origin = { eventId: event.id, trace: event.trace, about: `said/${step}` };
    return outboxRows(at.adapter.outbound, accountOf(at.adapter, at.trigger), at.trigger, message, origin);
  }

  #here() {
    const { adapter, trigger, inbound } = this.#taken;
    const target = adapter.outbound?.target(trigger, inbound);
    return target && { adapter, trigger, target };
  }
}

/** Interval of typing indicators if the platform declares none. */
const TYPING_LASTS_MS = 5_000;

/** Marks the event as seen and shows a typing indicator, best effort. */
export class ShownWhileAnswering {
  readonly #indicators = new TypingIndicators();

  /** Shows a typing indicator until the returned function is called. Returns undefined if the platform has none. */
  begin({ adapter: { outbound }, trigger, event, inbound }: Taken): (() => void) | undefined {
    if (outbound?.typing === undefined && outbound?.seen === undefined) return undefined;
    const address = outbound.sendsTo(trigger);
    if (event.attempt === 1 && event.woken === undefined)
      this.#indicators.once(address, async (signal) => outbound.seen?.(trigger, inbound, signal));
    const target = outbound.typing === undefined ? undefined : outbound.target(trigger, inbound);
    if (target === undefined) return undefined;
    const show = async (signal: AbortSignal) => outbound.typing?.(trigger, target, signal);
    const { typingLastsMs = TYPING_LASTS_MS, typingAfterMs } = outbound;
    return this.#indicators.begin(address, typingLastsMs, show, typingAfterMs);
  }
}

export interface HandlerAttemptsOptions {
  readonly routing: Pick<Routing, 'services' | 'longestTimeoutMs' | 'feed' | 'attemptSecondsOf'> &
    ApprovalPlaces;
  readonly places: WorkPlaces;
  readonly records: Pick<Store, 'delivery' | 'steps'>;
  /** As in draft.ts. */
  readonly draftAfterMs: number | undefined;
  /** What is sent to whoever waits for an answer that comes too late, by the trigger of that name. */
  late(event: StoredEvent, taker: string): readonly NewEvent[];
}

/** A handler, and what it is to be asked. */
export interface Asked {
  readonly taken: Taken;
  readonly match: Match;
  readonly target: Target;
  readonly parameters: Readonly<Record<string, string>>;
  readonly handler: Handler;
  readonly approvals: RunApprovals;
  readonly time: AnswerTime | undefined;
}

export class HandlerAttempts {
  readonly #options: HandlerAttemptsOptions;
  readonly #shown = new ShownWhileAnswering();

  constructor(options: HandlerAttemptsOptions) {
    this.#options = options;
  }

  /** Throws what the adapter throws that is asked how an answer is sent. */
  async attempt(assignment: Assignment, asked: Asked): Promise<Outcome> {
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
    const limit = attemptLimit(trigger, target, routing.attemptSecondsOf(target));
    const deadline = new RunDeadline({
      ...{ signal, limit, longestMs: routing.longestTimeoutMs, answerTime: time },
      onLate: () => this.#tellLate(assignment, trigger.name),
    });
    let endShown: (() => void) | undefined;
    let draft: Draft | undefined;
    const live = routing.feed?.begin(event.id, target);
    try {
      endShown = this.#shown.begin(taken);
      const history = historyOf(snapshot);
      const job = jobOf(event, inbound, { command, parameters, trigger, target, history });
      draft = this.#draftOf(taken, assignment, deadline.signal);
      const limits = { signal: deadline.signal, limitMs: deadline.limitMs, ...telling(live, draft) };
      const people = { approvals, says: new Saying(taken, routing) };
      const context = new RunContext(assignment, routing.services, limits, records, people);
      const answer = await handler.run(job, context);
      const isInDoubt = await draft?.end();
      if (isParked(answer)) {
        live?.parked(answer.effects);
        return parkedOutcome(event, trigger, answer, time?.leftMs);
      }
      const replacesDraft = isInDoubt !== true && (draft?.wasBegun === true || mayHaveDraft(taken));
      const steps = answer.effects?.steps ?? (binding?.approval && [endedRow(answer.text)]);
      const told = answered(taken, answer, job, replacesDraft);
      const outcome = { kind: 'done', ...told, by: whom, steps } as const;
      // What has no form on its platform is no answer.
      live?.replied(answer);
      return outcome;
    } catch (error) {
      if (!wasToldToEnd(signal)) live?.failed();
      const { lateNote } = deadline;
      const { name } = trigger;
      if (lateNote !== undefined)
        return { kind: 'failed', trigger: name, note: lateNote, isFinal: true, notice: 'late', retry };
      const { message, isFinal, isTooSoon, retryAfterMs } = faultOf(error);
      const note = deadline.overNote ?? message;
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

/** It was cancelled, or the gateway stops: that is no failure. That its time is over is one. */
const wasToldToEnd = ({ aborted, reason }: AbortSignal) => aborted && !(reason instanceof DeadlineError);

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

/** What a handler, or whoever is asked before it, says of a failure. */
export function faultOf(
  error: unknown,
): Pick<HandlerError, 'message' | 'isFinal' | 'isTooSoon' | 'retryAfterMs'> {
  if (error instanceof HandlerError) return error;
  const message = error instanceof Error ? error.message : String(error);
  // An answer that has no form on its platform has none at the next attempt either.
  return { message, isFinal: error instanceof UnrenderableError, isTooSoon: false, retryAfterMs: undefined };
}
