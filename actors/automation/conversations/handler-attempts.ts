// Runs one attempt of a handler with slot, deadline, typing indicator and draft, and returns the outcome.
// admission.ts selects the handler. Each attempt needs a slot (inbox/work-slots.ts). The slot is released
// only when the handler has finished, even after a timeout.

import { type Target, targetText } from '../../../config/resources/triggers/target.ts';
import type { Match } from '../../../machines/matching.ts';
import type { ApprovalTriggers } from '../../agents/approvals/approvals.ts';
import { resolveChannel } from '../../agents/approvals/resolve-channel.ts';
import type { RunApprovals } from '../../agents/approvals/run-approvals.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../../agents/handlers/handler.ts';
import type { RunMessages } from '../../agents/handlers/handler-context.ts';
import { isParked } from '../../agents/handlers/parked.ts';
import { NoSlotError } from '../../agents/handlers/run-slots.ts';
import type { LiveAttempt } from '../../agents/runs/feed.ts';
import type { StoredRows } from '../../agents/runs/stored-rows.ts';
import { DeadlineError } from '../../base/errors/errors.ts';
import type { Assignment, WorkOutcome } from '../../events/inbox/work.ts';
import type { WorkSlots } from '../../events/inbox/work-slots.ts';
import { UnrenderableError } from '../../events/outbox/delivery-error.ts';
import type { OutboundMessage } from '../../events/outbox/message.ts';
import { outboxRows } from '../../events/outbox/rows.ts';
import { TypingIndicators } from '../../events/outbox/typing-indicators.ts';
import { accountOf } from '../../platforms/adapter.ts';
import type { NewEvent, StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { queuedOutcome, RATE_LIMIT_PAUSE_MS } from '../works/attempts.ts';
import { endedRow } from './command-gate.ts';
import { Draft } from './draft.ts';
import { historyOf, jobOf, snapshotAfter } from './job.ts';
import { answerRows, mayHaveDraft, type RoutedEvent } from './messages.ts';
import type { Routing } from './routing.ts';
import { parkedOutcome, RunContext, type RunLimits } from './run-context.ts';
import { type AnswerTime, attemptLimit, RunDeadline } from './run-deadline.ts';

/**
 * Creates the messages that a run sends besides its answer: to the conversation of the event, or to a
 * channel.
 */
export class EventMessages implements RunMessages {
  readonly #routedEvent: RoutedEvent;
  readonly #triggerLookup: ApprovalTriggers;

  constructor(routedEvent: RoutedEvent, triggerLookup: ApprovalTriggers) {
    this.#routedEvent = routedEvent;
    this.#triggerLookup = triggerLookup;
  }

  get canSend(): boolean {
    return this.#here() !== undefined;
  }

  async rows(text: string, step: string, channel?: string): Promise<readonly NewEvent[]> {
    const { trigger, event, inbound, format } = this.#routedEvent;
    const at =
      channel === undefined
        ? this.#here()
        : await resolveChannel(this.#routedEvent, channel, this.#triggerLookup);
    if (at?.adapter.outbound === undefined || text.trim() === '') return [];
    const expiresAt = channel === undefined ? inbound.answerBy : undefined;
    const message: OutboundMessage = {
      text,
      format,
      target: at.target,
      mentions: trigger.mentions,
      expiresAt,
      status: 'success',
      action: { do: 'post' },
    };
    const origin = { eventId: event.id, trace: event.trace, about: `said/${step}` };
    return outboxRows(at.adapter.outbound, accountOf(at.adapter, at.trigger), at.trigger, message, origin);
  }

  #here() {
    const { adapter, trigger, inbound } = this.#routedEvent;
    const target = adapter.outbound?.target(trigger, inbound);
    return target && { adapter, trigger, target };
  }
}

/** Display time of typing indicators, for platforms that do not specify it. */
const TYPING_LASTS_MS = 5_000;

/** Marks the event as seen and shows a typing indicator, best effort. */
export class TypingNotice {
  readonly #indicators = new TypingIndicators();

  /** Shows a typing indicator until the returned function is called. Returns undefined if unsupported. */
  begin({ adapter: { outbound }, trigger, event, inbound }: RoutedEvent): (() => void) | undefined {
    if (outbound?.showTyping === undefined && outbound?.markSeen === undefined) return undefined;
    const address = outbound.addressOf(trigger);
    if (event.attempt === 1 && event.woken === undefined)
      this.#indicators.once(address, async (signal) => outbound.markSeen?.(trigger, inbound, signal));
    const target = outbound.showTyping === undefined ? undefined : outbound.target(trigger, inbound);
    if (target === undefined) return undefined;
    const show = async (signal: AbortSignal) => outbound.showTyping?.(trigger, target, signal);
    const { typingDurationMs = TYPING_LASTS_MS, typingDelayMs } = outbound;
    return this.#indicators.begin(address, typingDurationMs, show, typingDelayMs);
  }
}

export interface HandlerAttemptsOptions {
  readonly routing: Pick<Routing, 'services' | 'longestTimeoutMs' | 'feed' | 'attemptSecondsOf'> &
    ApprovalTriggers;
  readonly slots: WorkSlots;
  readonly records: Pick<Store, 'delivery' | 'now' | 'steady'>;
  readonly rows: StoredRows;
  /** Delay before a draft is shown, in milliseconds; see draft.ts. */
  readonly draftAfterMs: number | undefined;
  /** Returns the notices about the late answer, sent by the named trigger. */
  lateNotices(event: StoredEvent, triggerName: string): readonly NewEvent[];
}

/** A handler and its input. */
export interface HandlerRequest {
  readonly routedEvent: RoutedEvent;
  readonly match: Match;
  readonly target: Target;
  readonly parameters: Readonly<Record<string, string>>;
  readonly handler: Handler;
  readonly approvals: RunApprovals;
  readonly time: AnswerTime | undefined;
}

export class HandlerAttempts {
  readonly #options: HandlerAttemptsOptions;
  readonly #typing = new TypingNotice();

  constructor(options: HandlerAttemptsOptions) {
    this.#options = options;
  }

  /** Runs the attempt. Rejects with errors of the adapter. */
  async attempt(assignment: Assignment, request: HandlerRequest): Promise<WorkOutcome> {
    const { routing, slots, rows, records: clock } = this.#options;
    const { snapshot, signal } = assignment;
    const { match, target, parameters, handler, approvals, time } = request;
    const routedEvent: RoutedEvent = { ...request.routedEvent, format: handler.format };
    const { trigger, event, inbound } = routedEvent;
    const { command, binding } = match;
    const { retry } = trigger;
    const notAfter = time?.endsAt;
    const targetName = targetText(target);
    // Without a free slot, `take` returns the name of the slot group in which the event waits.
    const slot = slots.take(targetName, trigger.name, event);
    if (typeof slot === 'string') return queuedOutcome(slot, trigger, `the ${targetName}`, notAfter);
    const limit = attemptLimit(trigger, target, routing.attemptSecondsOf(target));
    const deadline = new RunDeadline({
      signal,
      limit,
      longestMs: routing.longestTimeoutMs,
      answerTime: time,
      onLate: () => this.#notifyLate(assignment, trigger.name),
    });
    let endTyping: (() => void) | undefined;
    let draft: Draft | undefined;
    const live = routing.feed?.begin(event.id, target);
    try {
      endTyping = this.#typing.begin(routedEvent);
      const history = historyOf(snapshot);
      const job = jobOf(event, inbound, { command, parameters, trigger, target, history });
      draft = this.#draftOf(routedEvent, assignment, deadline.signal);
      const limits = { signal: deadline.signal, limitMs: deadline.limitMs, ...progressSinks(live, draft) };
      const runPeople = { approvals, messages: new EventMessages(routedEvent, routing) };
      const context = new RunContext(assignment, routing.services, limits, { rows, clock }, runPeople);
      const answer = await handler.run(job, context);
      // True if an edit in progress may still change the draft message.
      const mayDraftChange = await draft?.end();
      if (isParked(answer)) {
        live?.reportPark(answer.effects);
        return parkedOutcome(event, trigger, answer, time?.remainingMs);
      }
      // The answer replaces the draft message, even if an earlier attempt sent the draft. If a late edit
      // could overwrite the answer, the answer is sent as a new message.
      const hasDraft = draft?.hasMessage === true || mayHaveDraft(routedEvent);
      const replacesDraft = mayDraftChange !== true && hasDraft;
      // A command that needed an approval has a journal, even if its agent writes none.
      const steps = answer.effects?.steps ?? (binding?.approval && [endedRow(answer.text)]);
      const effects = answerEffects(routedEvent, answer, job, replacesDraft);
      const outcome = { kind: 'done', ...effects, by: targetName, steps } as const;
      // Counted after rendering, because an answer that the platform cannot show is a failure.
      live?.reportReply(answer);
      return outcome;
    } catch (error) {
      if (!wasStopped(signal)) live?.reportFailure();
      // Defined if the reply deadline of the platform has stopped the run.
      const { lateNote } = deadline;
      const { name } = trigger;
      if (lateNote !== undefined)
        return { kind: 'failed', trigger: name, note: lateNote, isFinal: true, notice: 'late', retry };
      const { message, isFinal, isRateLimited, retryAfterMs } = faultOf(error);
      const note = deadline.timeoutNote ?? message;
      if (!isRateLimited)
        return { kind: 'failed', trigger: name, note, isFinal, retryAfterMs, retry, notAfter };
      const inMs = retryAfterMs ?? Math.min(RATE_LIMIT_PAUSE_MS, retry.max_backoff_seconds * 1000);
      const isUncontacted = error instanceof NoSlotError;
      return { kind: 'deferred', trigger: name, note, inMs, isUncontacted, retry, notAfter };
    } finally {
      deadline.end();
      endTyping?.();
      await draft?.end();
      live?.end();
      slot.end();
    }
  }

  /** Sends the late notice, best effort: the outcome of the run contains it too. */
  #notifyLate({ event, checkpoint }: Assignment, triggerName: string): void {
    try {
      const emit = this.#options.lateNotices(event, triggerName);
      if (emit.length > 0) checkpoint(undefined, { emit }).catch(() => {});
    } catch {
      // A rendering error is logged with the final commit.
    }
  }

  /** Returns undefined if the platform cannot show drafts. */
  #draftOf(routedEvent: RoutedEvent, { checkpoint }: Assignment, signal: AbortSignal): Draft | undefined {
    const { outbound } = routedEvent.adapter;
    if (outbound?.editIntervalMs === undefined) return undefined;
    const { records, draftAfterMs: afterMs } = this.#options;
    return new Draft({ outbound, routedEvent, checkpoint, records, signal, afterMs });
  }
}

/** Returns true for a cancellation or shutdown, which does not count as a failure; false for a timeout. */
const wasStopped = ({ aborted, reason }: AbortSignal) => aborted && !(reason instanceof DeadlineError);

/** Returns an answer's history and messages. */
function answerEffects(routedEvent: RoutedEvent, answer: AgentReply, job: Job, replacesDraft: boolean) {
  return {
    ...answer.effects,
    trigger: routedEvent.trigger.name,
    answer: answer.text,
    emit: answerRows(routedEvent, answer, { replacesDraft }),
    snapshot: snapshotAfter(routedEvent.inbound, job, answer),
  };
}

/** Forwards progress to watchers and draft. */
function progressSinks(
  live: LiveAttempt | undefined,
  draft: Draft | undefined,
): Pick<RunLimits, 'show' | 'onRows' | 'onRetry'> {
  const show = (text: string) => {
    live?.reportText(text);
    draft?.show(text);
  };
  return { show, onRows: live?.reportRows, onRetry: live?.reportRetry };
}

/** Normalises an error of the handler or an earlier step. */
export function faultOf(
  error: unknown,
): Pick<HandlerError, 'message' | 'isFinal' | 'isRateLimited' | 'retryAfterMs'> {
  if (error instanceof HandlerError) return error;
  const message = error instanceof Error ? error.message : String(error);
  // Rendering errors are permanent.
  return {
    message,
    isFinal: error instanceof UnrenderableError,
    isRateLimited: false,
    retryAfterMs: undefined,
  };
}
