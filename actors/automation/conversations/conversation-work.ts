// The work on an event of a conversation: reads it, finds the trigger and agent that take it, has it answered, and says
// what is to be remembered and sent. Everything goes back as one outcome, which is committed as a whole (S5).
//
// Whether a handler is asked stands in admission.ts, and how in handler-attempts.ts.
//
// CW1  an event that nobody takes is `ignored`, with the reason in its record; it is never an error. Who waits for an answer
//      hears of it.
// CW2  nothing runs for a paused trigger: the event is held, and with it what comes after it in its conversation. Where a built-in
//      command is answered by the gateway itself nothing runs.
// CW4  where a platform takes no answer after a while, no handler is asked when there is too little time left for one, a run is
//      ended before that, and nothing is put off beyond it.
// CW5  only what is inbound is read by the platform's adapter; what is of another kind was to wake an event that does not wait.

import type { Match } from '../../../machines/matching.ts';
import { Approvals } from '../../agents/approvals/approvals.ts';
import { RefusalLimit } from '../../agents/approvals/refusal-limit.ts';
import type { BuiltInCommand } from '../../events/built-in-commands.ts';
import type { DecisionInbound } from '../../events/decision-inbound.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import type { Assignment, Notice, Outcome, Work } from '../../events/inbox/work.ts';
import type { WorkPlaces } from '../../events/inbox/work-places.ts';
import type { Adapter } from '../../platforms/adapter.ts';
import { INBOUND, type NewEvent, type StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { EventTriggers } from '../triggers/event-triggers.ts';
import { askedInVain, tooLate } from '../works/attempts.ts';
import { Admission } from './admission.ts';
import { BuiltInAnswers } from './built-in-answers.ts';
import { CONVERSATION } from './conversation-job.ts';
import { type DecidedInChatOptions, decidedInChat } from './decided-in-chat.ts';
import { HandlerAttempts } from './handler-attempts.ts';
import { endLate, OVERDUE, overdueEvent } from './overdue.ts';
import { noticeRows, said, type Taken } from './replies.ts';
import type { Routing } from './routing.ts';
import { type AnswerTime, answerTime } from './run-deadline.ts';
import { welcomeOf } from './welcome.ts';

/** What it needs of the store. */
export type ConversationRecords = Pick<
  Store,
  'delivery' | 'deliveries' | 'run' | 'steps' | 'approval' | 'approvals' | 'decide' | 'withReceipt'
>;

/** Where no trigger is left to say how long its handler may take, nothing runs. */
const NO_TRIGGER_MS = 10_000;

export class ConversationWork implements Work {
  readonly prefix = CONVERSATION;
  readonly #routing: Routing;
  readonly #places: WorkPlaces;
  readonly #records: Pick<Store, 'delivery' | 'steps' | 'approvals'>;
  readonly #admission: Admission;
  readonly #attempts: HandlerAttempts;
  readonly #decided: DecidedInChatOptions;
  readonly #triggers: EventTriggers;
  readonly #builtIns: BuiltInAnswers;

  /** `draftAfterMs` as in draft.ts. */
  constructor(routing: Routing, places: WorkPlaces, records: ConversationRecords, draftAfterMs?: number) {
    this.#routing = routing;
    this.#places = places;
    this.#records = records;
    const approvals = new Approvals({ ...{ store: records, places: routing }, ...routing.services });
    this.#decided = { approvals, store: records, refusals: new RefusalLimit() };
    this.#admission = new Admission({ routing, records, approvals });
    this.#attempts = new HandlerAttempts({
      ...{ routing, places, records, draftAfterMs },
      late: (event, taker) => this.notice(event, 'late', taker),
    });
    this.#triggers = new EventTriggers(routing);
    this.#builtIns = new BuiltInAnswers(this.#triggers, records, routing);
  }

  /** Which trigger takes an event is known when it has been read; each run has the deadline of its own trigger besides. */
  timeoutMs(): number {
    return this.#routing.longestTimeoutMs || NO_TRIGGER_MS;
  }

  onHeld(name: string): void {
    if (!this.#places.onHeld(name)) this.#routing.onHeld(name);
  }

  async perform(assignment: Assignment): Promise<Outcome> {
    const outcome = await this.#perform(assignment);
    if (outcome.trigger !== undefined) this.#routing.count(outcome.trigger, outcome.kind);
    return outcome;
  }

  /**
   * What is said to whoever sent an event that waits, or ends without an answer for whatever reason. By `taker`, where one has taken
   * it: what its filters ask of the platform may be known no more.
   */
  notice(event: StoredEvent, notice: Notice, taker?: string): readonly NewEvent[] {
    if ((event.kind ?? INBOUND) !== INBOUND) return [];
    const adapter = this.#routing.adapterOf(event.key.split('/')[1] ?? '');
    if (adapter?.outbound === undefined) return [];
    let inbound: InboundEvent;
    try {
      inbound = adapter.read(event);
    } catch {
      // Nobody knows whom to tell; its record says that it cannot be read.
      return [];
    }
    const match = this.#triggers.taker(adapter, inbound, taker) ?? this.#triggers.match(adapter, inbound);
    const isTaken = 'trigger' in match;
    if (!isTaken && inbound.isAwaited !== true) return [];
    // What nobody can hear any more is not said.
    if (inbound.answerBy !== undefined && Date.now() >= inbound.answerBy) return [];
    const trigger = isTaken ? match.trigger : this.#triggers.spokesman(adapter, inbound);
    return trigger === undefined ? [] : noticeRows({ adapter, trigger, event, inbound }, notice);
  }

  async #perform(assignment: Assignment): Promise<Outcome> {
    const { event } = assignment;
    const { kind = INBOUND, wakes = 'nothing' } = event;
    if (kind === OVERDUE)
      return endLate(assignment, {
        records: this.#records,
        late: (late, taker) => this.notice(late, 'late', taker),
        discard: (id, note) => this.#routing.discard(id, note),
      });
    if (kind !== INBOUND) return ignored(`a ${kind} for what nothing here waits for: ${wakes}`);
    const adapter = this.#routing.adapterOf(event.key.split('/')[1] ?? '');
    if (adapter === undefined) return ignored('nothing here understands its platform');
    let inbound: InboundEvent;
    try {
      inbound = adapter.read(event);
    } catch (error) {
      return { kind: 'failed', isFinal: true, note: `it cannot be read: ${messageOf(error)}`, retry: ONCE };
    }
    if (inbound.decision !== undefined) return this.#decide(event, adapter, inbound, inbound.decision);
    const completing = this.#triggers.completing(adapter, inbound);
    if (completing !== undefined)
      try {
        inbound = await completing.event;
      } catch (error) {
        // Nobody has taken it yet.
        return { ...askedInVain(completing.trigger, error), trigger: undefined };
      }
    const match = this.#triggers.match(adapter, inbound);
    if (!('trigger' in match)) {
      const { note, notice } = match;
      return this.#withUndone(
        event,
        inbound.isAwaited === true ? { ...ignored(note), notice } : ignored(note),
      );
    }
    const { trigger } = match;
    const time = answerTime(event, inbound, Date.now());
    if (time?.leftMs === 0) return tooLate(trigger, time);
    const taken = { adapter, trigger, event, inbound };
    if (match.builtIn !== undefined) return this.#runBuiltIn(assignment, taken, match.builtIn, time);
    if (this.#routing.isPaused(trigger.name))
      return { kind: 'held', trigger: trigger.name, notAfter: time?.endsAt };
    if (inbound.isArrival === true) return { kind: 'done', ...said(taken, welcomeOf(trigger) ?? '') };
    return this.#ask(assignment, taken, match, time);
  }

  async #ask(
    assignment: Assignment,
    taken: Taken,
    match: Match,
    time: AnswerTime | undefined,
  ): Promise<Outcome> {
    const admitted = await this.#admission.admit(assignment, taken, match, time);
    return 'outcome' in admitted
      ? admitted.outcome
      : this.#attempts.attempt(admitted.assignment, admitted.asked);
  }

  /** Of a run whose trigger is gone, those who have approved what it wanted are told. */
  async #withUndone(event: StoredEvent, outcome: Ignored): Promise<Outcome> {
    if ((event.steps ?? 0) === 0) return outcome;
    const emit = await this.#decided.approvals.undoneRows(event, outcome.note, this.#records);
    return { ...outcome, emit };
  }

  async #decide(
    event: StoredEvent,
    adapter: Adapter,
    inbound: InboundEvent,
    decision: DecisionInbound,
  ): Promise<Outcome> {
    const trigger = this.#triggers.spokesman(adapter, inbound);
    if (trigger === undefined) return ignored('the triggers it came for are gone or switched off');
    try {
      return await decidedInChat({ adapter, trigger, event, inbound }, decision, this.#decided);
    } catch (error) {
      return { kind: 'failed', trigger: trigger.name, note: messageOf(error), retry: trigger.retry };
    }
  }

  /** Comes in the mailbox beside the conversation, where it has its turn while the event waits for its trigger or a place. */
  overdue(event: StoredEvent): NewEvent {
    return overdueEvent(event);
  }

  async #runBuiltIn(
    assignment: Assignment,
    taken: Taken,
    command: BuiltInCommand,
    time: AnswerTime | undefined,
  ): Promise<Outcome> {
    const answer = await this.#builtIns.answer(taken, command);
    // It may repeat what whoever called has written.
    if ('text' in answer) return { kind: 'done', ...said(taken, answer.text, { mentions: 'none' }) };
    const names = [taken.trigger.name, answer.match.trigger.name];
    const paused = names.find((name) => this.#routing.isPaused(name));
    if (paused !== undefined) return { kind: 'held', trigger: paused, notAfter: time?.endsAt };
    return this.#ask(assignment, answer.taken, answer.match, time);
  }
}

/** Nothing of a trigger is known, so nothing of its patience. */
const ONCE = { attempts: 1, min_backoff_seconds: 1, max_backoff_seconds: 1, factor: 1 };

type Ignored = Extract<Outcome, { readonly kind: 'done' | 'ignored' }> & { readonly note: string };

const ignored = (note: string): Ignored => ({ kind: 'ignored', note });

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
