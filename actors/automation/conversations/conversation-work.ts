// The work on an event of a conversation: reads it, finds the trigger and agent that take it, has it answered, and says
// what is to be remembered and sent. Everything goes back as one outcome, which is committed as a whole (S5).
//
// The handler is asked once per attempt, always under the same key, so that it can tell a repetition.
//
// CW1  an event that nobody takes is `ignored`, with the reason in its record; it is never an error. Who waits for an answer
//      hears of it.
// CW2  nothing runs for a paused trigger: the event is held, and with it what comes after it in its conversation. Where a built-in
//      command is answered by the gateway itself nothing runs.
// CW3  nothing runs without a place either (inbox/work-places.ts), which is given back when the handler has really ended.
// CW4  where a platform takes no answer after a while, no handler is asked when there is too little time left for one, a run is
//      ended before that, and nothing is put off beyond it.
// CW5  only what is inbound is read by the platform's adapter; what is of another kind was to wake an event that does not wait.

import { agentTarget, type Target, targetText } from '../../../config/resources/triggers/target.ts';
import type { Match } from '../../../machines/matching.ts';
import type { BuiltInCommand } from '../../handlers/built-in-commands.ts';
import { type AgentReply, type Handler, HandlerError, type Job } from '../../handlers/handler.ts';
import { isParked } from '../../handlers/handler-context.ts';
import type { Assignment, Notice, Outcome, Work } from '../../inbox/work.ts';
import type { WorkPlaces } from '../../inbox/work-places.ts';
import { UnrenderableError } from '../../outbound/delivery-error.ts';
import { TypingIndicators } from '../../outbound/typing-indicators.ts';
import type { Adapter, InboundEvent } from '../../sources/adapter.ts';
import { INBOUND, type NewEvent, type Store, type StoredEvent } from '../../store/store.ts';
import { EventTriggers, type TriggerLookup } from '../triggers/event-triggers.ts';
import { askedInVain, givenUp, TOO_SOON_MS, tooLate, withoutPlace } from '../works/attempts.ts';
import { type AnswerTime, answerTime } from './answer-time.ts';
import { BuiltInAnswers, type BuiltInHost } from './built-in-answers.ts';
import { CONVERSATION, jobOf, parametersOf } from './conversation-job.ts';
import { Draft } from './draft.ts';
import { historyOf, snapshotAfter } from './history.ts';
import { endLate, OVERDUE, overdueEvent } from './overdue.ts';
import { type AnswerForm, answerRows, mayHaveDraft, noticeRows, type Taken } from './replies.ts';
import { type HandlerServices, parkedOutcome, RunContext } from './run-context.ts';
import { RunDeadline } from './run-deadline.ts';
import { timeLimit } from './time-limit.ts';
import { welcomeOf } from './welcome.ts';

/** A trigger that leads nowhere takes no event. */
const NOBODY = agentTarget('');
/** Where no trigger is left to say how long its handler may take, nothing runs. */
const NO_TRIGGER_MS = 10_000;

/** Where a platform does not say for how long it shows that somebody is typing. */
const TYPING_LASTS_MS = 5_000;

/** What it needs to know of triggers and agents; it changes with a reload, between two events. */
export interface Routing extends TriggerLookup, BuiltInHost {
  adapterOf(platform: string): Adapter | undefined;
  isPaused(name: string): boolean;
  /** Ends an event that waits, as ignored, with that note; false for any other. */
  discard(id: string, note: string): Promise<boolean>;
  /** An event is held by that trigger now. */
  onHeld(trigger: string): void;
  handlerOf(target: Target): Handler | undefined;
  readonly services: HandlerServices;
  /** An attempt of this trigger has ended so. */
  count(trigger: string, kind: Outcome['kind']): void;
  /** The longest of all triggers, in milliseconds. */
  readonly longestTimeoutMs: number;
}

export class ConversationWork implements Work {
  readonly prefix = CONVERSATION;
  readonly #routing: Routing;
  readonly #places: WorkPlaces;
  readonly #records: Pick<Store, 'delivery'>;
  readonly #draftAfterMs: number | undefined;
  readonly #typing = new TypingIndicators();
  readonly #triggers: EventTriggers;
  readonly #builtIns: BuiltInAnswers;

  /** `draftAfterMs` as in draft.ts. */
  constructor(
    routing: Routing,
    places: WorkPlaces,
    records: Pick<Store, 'delivery' | 'deliveries'>,
    draftAfterMs?: number,
  ) {
    this.#routing = routing;
    this.#places = places;
    this.#records = records;
    this.#draftAfterMs = draftAfterMs;
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
      return inbound.isAwaited === true ? { kind: 'ignored', note, notice } : ignored(note);
    }
    const { trigger } = match;
    const time = answerTime(event, inbound, Date.now());
    if (time?.leftMs === 0) return tooLate(trigger, time);
    const taken = { adapter, trigger, event, inbound };
    if (match.builtIn !== undefined) return this.#runBuiltIn(assignment, taken, match.builtIn, time);
    if (this.#routing.isPaused(trigger.name))
      return { kind: 'held', trigger: trigger.name, notAfter: time?.endsAt };
    if (inbound.isArrival === true) return { kind: 'done', ...said(taken, welcomeOf(trigger) ?? '') };
    return this.#run(assignment, taken, match, time);
  }

  /** The event waits for its trigger or a place beside which this one has its turn. One that has had its own is left alone. */
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
    return this.#run(assignment, answer.taken, answer.match, time);
  }

  async #run(
    assignment: Assignment,
    taken: Taken,
    match: Match,
    time: AnswerTime | undefined,
  ): Promise<Outcome> {
    const { snapshot, signal } = assignment;
    const { trigger, event, inbound } = taken;
    const { binding, rule, command } = match;
    const given = parametersOf(match, inbound);
    if (given.isMissing) {
      const told = said(taken, given.help, { status: 'warning' });
      return { ...told, kind: 'ignored', note: 'a parameter is missing, so nothing was run' };
    }
    const target = binding?.target ?? rule?.target ?? trigger.default_target ?? NOBODY;
    const handler = this.#routing.handlerOf(target);
    const whom = targetText(target);
    const { retry } = trigger;
    const notAfter = time?.endsAt;
    const end = givenUp(trigger, event);
    if (end !== undefined) return end;
    if (handler === undefined)
      return { kind: 'failed', trigger: trigger.name, note: `there is no ${whom}`, retry, notAfter };
    const place = this.#places.take(whom, trigger.name, event);
    if (typeof place === 'string') return withoutPlace(place, trigger, `the ${whom}`, notAfter);
    const limit = timeLimit(trigger);
    const deadline = new RunDeadline({
      ...{ signal, limit, longestMs: this.#routing.longestTimeoutMs, answerTime: time },
      onLate: () => this.#tellLate(assignment, trigger.name),
    });
    let endTyping: (() => void) | undefined;
    let draft: Draft | undefined;
    try {
      endTyping = this.#showTyping(taken);
      const history = historyOf(snapshot);
      const job = jobOf(event, inbound, { command, parameters: given.values, trigger, target, history });
      draft = this.#draftOf(taken, assignment, deadline.signal);
      const limits = { signal: deadline.signal, limitMs: deadline.limitMs, show: draft && showing(draft) };
      const answer = await handler.run(job, new RunContext(assignment, this.#routing.services, limits));
      const isInDoubt = await draft?.end();
      if (isParked(answer)) return parkedOutcome(event, trigger, answer, time?.leftMs);
      const replacesDraft = isInDoubt !== true && (draft?.wasBegun === true || mayHaveDraft(taken));
      return { kind: 'done', ...this.#answered(taken, answer, job, replacesDraft) };
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
      endTyping?.();
      await draft?.end();
      place.end();
    }
  }

  /** Best effort: the run may end yet, and says it then. */
  #tellLate({ event, checkpoint }: Assignment, taker: string): void {
    try {
      const emit = this.notice(event, 'late', taker);
      if (emit.length > 0) checkpoint(undefined, { emit }).catch(() => {});
    } catch {
      // Of what has no form there the commit of its end tells the log.
    }
  }

  /** Undefined where an answer under way is not shown. */
  #draftOf(taken: Taken, { checkpoint }: Assignment, signal: AbortSignal): Draft | undefined {
    const { outbound } = taken.adapter;
    if (outbound?.editsEveryMs === undefined) return undefined;
    return new Draft({
      outbound,
      taken,
      checkpoint,
      records: this.#records,
      signal,
      afterMs: this.#draftAfterMs,
    });
  }

  /** As long as the function it gives is not called; undefined where the platform has nothing of that kind. */
  #showTyping({ adapter: { outbound }, trigger, event, inbound }: Taken): (() => void) | undefined {
    if (outbound?.typing === undefined && outbound?.seen === undefined) return undefined;
    const address = outbound.sendsTo(trigger);
    if (event.attempt === 1 && event.woken === undefined)
      this.#typing.once(address, async (signal) => outbound.seen?.(trigger, inbound, signal));
    const target = outbound.typing === undefined ? undefined : outbound.target(trigger, inbound);
    if (target === undefined) return undefined;
    const show = async (signal: AbortSignal) => outbound.typing?.(trigger, target, signal);
    const { typingLastsMs = TYPING_LASTS_MS, typingAfterMs } = outbound;
    return this.#typing.begin(address, typingLastsMs, show, typingAfterMs);
  }

  /** What is to be kept and sent of an answer. */
  #answered(taken: Taken, answer: AgentReply, job: Job, replacesDraft: boolean) {
    return {
      trigger: taken.trigger.name,
      answer: answer.text,
      emit: answerRows(taken, answer, { replacesDraft }),
      snapshot: snapshotAfter(taken.inbound, job, answer),
    };
  }
}

/** Of a word of the gateway's own, which is no talk. */
function said(taken: Taken, text: string, form: AnswerForm = {}) {
  return { trigger: taken.trigger.name, answer: text, emit: answerRows(taken, { text }, form) };
}

const showing = (draft: Draft) => (text: string) => draft.show(text);

function faultOf(error: unknown): Pick<HandlerError, 'isFinal' | 'isTooSoon' | 'retryAfterMs'> {
  if (error instanceof HandlerError) return error;
  // An answer that has no form on its platform has none at the next attempt either.
  return { isFinal: error instanceof UnrenderableError, isTooSoon: false, retryAfterMs: undefined };
}

/** Nothing of a trigger is known, so nothing of its patience. */
const ONCE = { attempts: 1, min_backoff_seconds: 1, max_backoff_seconds: 1, factor: 1 };

const ignored = (note: string): Outcome => ({ kind: 'ignored', note });

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
