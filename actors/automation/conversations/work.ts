// Processes a conversation event: reads it, finds trigger and target, runs the handler (admission.ts,
// handler-attempts.ts), and returns one outcome with history and messages, which is committed as a whole. An
// event without a matching trigger is `ignored` with a reason, never an error; a waiting sender is notified.
// While a trigger is paused, its events are held, except built-in commands that the gateway answers itself.
// If the platform accepts answers only for a limited time, runs stop before that deadline, and no run starts
// or is postponed beyond it.

import type { Match } from '../../../machines/matching.ts';
import { Approvals } from '../../agents/approvals/approvals.ts';
import { RefusalLimit } from '../../agents/approvals/refusal-limit.ts';
import { StoredRows } from '../../agents/runs/stored-rows.ts';
import type { BuiltInCommand } from '../../events/built-in-commands.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { Assignment, Notice, Work, WorkOutcome } from '../../events/inbox/work.ts';
import type { WorkSlots } from '../../events/inbox/work-slots.ts';
import type { Adapter } from '../../platforms/adapter.ts';
import { INBOUND, type NewEvent, type StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { EventTriggers } from '../triggers/event-triggers.ts';
import { failedRequestOutcome, lateOutcome } from '../works/attempts.ts';
import { Admission } from './admission.ts';
import { BuiltInAnswers } from './built-in-answers.ts';
import { type ChatDecisionOptions, handleChatDecision } from './chat-decisions.ts';
import { expireEvent, OVERDUE, overdueEvent } from './expiry.ts';
import { HandlerAttempts } from './handler-attempts.ts';
import { CONVERSATION } from './job.ts';
import { messageOutcome, noticeRows, type RoutedEvent, WORDLESS_REPLY } from './messages.ts';
import type { Routing } from './routing.ts';
import { type AnswerTime, answerTime } from './run-deadline.ts';
import { greeting, welcomeOf } from './welcome.ts';

/** Required store operations. */
export type ConversationRecords = Pick<
  Store,
  | ('delivery' | 'deliveries' | 'run' | 'steps' | 'approval' | 'approvals' | 'decide' | 'withReceipt')
  | ('now' | 'steady')
>;

/** Timeout when the trigger does not exist; nothing runs in this case. */
const NO_TRIGGER_MS = 10_000;

export class ConversationWork implements Work {
  readonly prefix = CONVERSATION;
  readonly #routing: Routing;
  readonly #slots: WorkSlots;
  readonly #records: Pick<Store, 'delivery' | 'steps' | 'approvals' | 'now'>;
  readonly #admission: Admission;
  readonly #attempts: HandlerAttempts;
  readonly #decisionOptions: ChatDecisionOptions;
  readonly #triggers: EventTriggers;
  readonly #builtIns: BuiltInAnswers;

  /** `draftAfterMs` is the delay before a draft is shown (draft.ts). */
  constructor(routing: Routing, slots: WorkSlots, records: ConversationRecords, draftAfterMs?: number) {
    this.#routing = routing;
    this.#slots = slots;
    this.#records = records;
    const approvals = new Approvals({ store: records, triggerLookup: routing, ...routing.services });
    const { audit } = routing.services;
    this.#decisionOptions = { approvals, store: records, refusals: new RefusalLimit(), audit };
    const rows = new StoredRows(records);
    this.#admission = new Admission({ routing, records, rows, approvals });
    this.#attempts = new HandlerAttempts({
      routing,
      slots,
      records,
      rows,
      draftAfterMs,
      lateNotices: (event, triggerName) => this.noticeRows(event, 'late', triggerName),
    });
    this.#triggers = new EventTriggers(routing);
    this.#builtIns = new BuiltInAnswers(this.#triggers, records, routing);
  }

  /**
   * Returns the longest timeout: the trigger is known only after reading the event. Each run has its
   * deadline.
   */
  timeoutMs(): number {
    return this.#routing.longestTimeoutMs || NO_TRIGGER_MS;
  }

  onQueued(name: string): void {
    if (!this.#slots.noteQueued(name)) this.#routing.onHeld(name);
  }

  async perform(assignment: Assignment): Promise<WorkOutcome> {
    const outcome = await this.#perform(assignment);
    if (outcome.trigger !== undefined) this.#routing.count(outcome.trigger, outcome.kind);
    return outcome;
  }

  /**
   * Returns messages to the sender about a delay or missing answer. `triggerName` is the trigger that
   * accepted the event, if known, because its filters can change.
   */
  noticeRows(event: StoredEvent, notice: Notice, triggerName?: string): readonly NewEvent[] {
    if ((event.kind ?? INBOUND) !== INBOUND) return [];
    const adapter = this.#routing.adapterOf(event.key.split('/')[1] ?? '');
    if (adapter?.outbound === undefined) return [];
    let inbound: InboundEvent;
    try {
      inbound = adapter.read(event);
    } catch {
      // The sender is unknown; the record contains the error.
      return [];
    }
    const match =
      this.#triggers.triggerOfAccount(adapter, inbound, triggerName) ??
      this.#triggers.match(adapter, inbound);
    const isMatched = 'trigger' in match;
    if (!isMatched && inbound.isAwaited !== true) return [];
    // The platform no longer accepts messages for this event.
    if (inbound.answerBy !== undefined && this.#records.now() >= inbound.answerBy) return [];
    const trigger = isMatched ? match.trigger : this.#triggers.noticeSender(adapter, inbound);
    return trigger === undefined ? [] : noticeRows({ adapter, trigger, event, inbound }, notice);
  }

  async #perform(assignment: Assignment): Promise<WorkOutcome> {
    const { event } = assignment;
    const { kind = INBOUND, wakes = 'nothing' } = event;
    if (kind === OVERDUE)
      return expireEvent(assignment, {
        records: this.#records,
        lateNotices: (expired, triggerName) => this.noticeRows(expired, 'late', triggerName),
        discard: (id, note) => this.#routing.discard(id, note),
      });
    // All other kinds wake a parked event, but that event has resumed.
    if (kind !== INBOUND) return ignored(`no waiting event for this ${kind}: ${wakes}`);
    const adapter = this.#routing.adapterOf(event.key.split('/')[1] ?? '');
    if (adapter === undefined) return ignored('no adapter for its platform');
    let inbound: InboundEvent;
    try {
      inbound = adapter.read(event);
    } catch (error) {
      return {
        kind: 'failed',
        isFinal: true,
        note: `cannot read the event: ${messageOf(error)}`,
        retry: ONCE,
      };
    }
    if (inbound.decision !== undefined) return this.#decide(event, adapter, inbound, inbound.decision);
    const completing = this.#triggers.completion(adapter, inbound);
    if (completing !== undefined)
      try {
        inbound = await completing.event;
      } catch (error) {
        // No trigger has accepted the event yet.
        return { ...failedRequestOutcome(completing.trigger, error), trigger: undefined };
      }
    const match = this.#triggers.match(adapter, inbound);
    if (!('trigger' in match)) {
      const { note, notice } = match;
      return this.#withApproverNotices(
        event,
        inbound.isAwaited === true ? { ...ignored(note), notice } : ignored(note),
      );
    }
    const { trigger } = match;
    const time = answerTime(event, inbound, this.#records.now());
    if (time?.remainingMs === 0) return lateOutcome(trigger, time);
    const routedEvent = { adapter, trigger, event, inbound };
    if (match.builtIn !== undefined) return this.#runBuiltIn(assignment, routedEvent, match.builtIn, time);
    if (this.#routing.isPaused(trigger.name))
      return { kind: 'held', trigger: trigger.name, notAfter: time?.endsAt };
    if (inbound.isWordless === true)
      return {
        ...messageOutcome(routedEvent, WORDLESS_REPLY, { status: 'warning' }),
        kind: 'ignored',
        note: inbound.unsupported,
      };
    if (inbound.isArrival === true || match.isGreeting === true)
      return { kind: 'done', ...messageOutcome(routedEvent, welcomeOf(trigger) ?? greeting(trigger)) };
    return this.#runHandler(assignment, routedEvent, match, time);
  }

  async #runHandler(
    assignment: Assignment,
    routedEvent: RoutedEvent,
    match: Match,
    time: AnswerTime | undefined,
  ): Promise<WorkOutcome> {
    const admission = await this.#admission.admit(assignment, routedEvent, match, time);
    return 'outcome' in admission
      ? admission.outcome
      : this.#attempts.attempt(admission.assignment, admission.request);
  }

  /** Adds notices for approvers if a started run's trigger was removed. */
  async #withApproverNotices(event: StoredEvent, outcome: Ignored): Promise<WorkOutcome> {
    if ((event.steps ?? 0) === 0) return outcome;
    const emit = await this.#decisionOptions.approvals.undoneRows(event, outcome.note, this.#records);
    return { ...outcome, emit };
  }

  async #decide(
    event: StoredEvent,
    adapter: Adapter,
    inbound: InboundEvent,
    decision: DecisionInbound,
  ): Promise<WorkOutcome> {
    const trigger = this.#triggers.noticeSender(adapter, inbound);
    if (trigger === undefined) return ignored('its triggers were removed or disabled');
    try {
      return await handleChatDecision({ adapter, trigger, event, inbound }, decision, this.#decisionOptions);
    } catch (error) {
      return { kind: 'failed', trigger: trigger.name, note: messageOf(error), retry: trigger.retry };
    }
  }

  /** Returns the event's expiry, for the second mailbox of the conversation (expiry.ts). */
  expiryEvent(event: StoredEvent): NewEvent {
    return overdueEvent(event);
  }

  async #runBuiltIn(
    assignment: Assignment,
    routedEvent: RoutedEvent,
    command: BuiltInCommand,
    time: AnswerTime | undefined,
  ): Promise<WorkOutcome> {
    const answer = await this.#builtIns.answer(routedEvent, command);
    // The text may quote the caller.
    if ('text' in answer)
      return { kind: 'done', ...messageOutcome(routedEvent, answer.text, { mentions: 'none' }) };
    const names = [routedEvent.trigger.name, answer.match.trigger.name];
    const pausedName = names.find((name) => this.#routing.isPaused(name));
    if (pausedName !== undefined) return { kind: 'held', trigger: pausedName, notAfter: time?.endsAt };
    return this.#runHandler(assignment, answer.routedEvent, answer.match, time);
  }
}

/** Retry settings for an unknown trigger. */
const ONCE = { attempts: 1, min_backoff_seconds: 1, max_backoff_seconds: 1, factor: 1 };

type Ignored = Extract<WorkOutcome, { readonly kind: 'done' | 'ignored' }> & { readonly note: string };

const ignored = (note: string): Ignored => ({ kind: 'ignored', note });

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
