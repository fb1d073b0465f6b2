// Whether the handler of an event is asked, and what: the target of the binding, the rule or the trigger, the parameters of the command,
// and the approval that it requires.
//
// ADM1  what lacks a parameter comes neither to a handler nor before people; nor does what has had all its attempts.
// ADM2  a run that an agent, a fleet or a flow has begun is that one's, whatever the files say by now; where the agent is gone those who have approved what it
//       wanted are told in the end.

import { agentTarget, type Target, targetText } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { Match } from '../../../machines/matching.ts';
import type { ApprovalPlaces, Approvals } from '../../agents/approvals/approvals.ts';
import { RunAsking } from '../../agents/approvals/run-asking.ts';
import type { Assignment, Outcome } from '../../events/inbox/work.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { StoredEvent } from '../../store/event.ts';
import { stepsOf } from '../../store/run.ts';
import type { Store } from '../../store/store.ts';
import { askedInVain, givenUp } from '../works/attempts.ts';
import { passGate } from './command-gate.ts';
import { parametersOf } from './conversation-job.ts';
import { type Asked, faultOf } from './handler-attempts.ts';
import { said, type Taken } from './replies.ts';
import type { Routing } from './routing.ts';
import type { AnswerTime } from './run-deadline.ts';

/** A trigger that leads nowhere takes no event. */
const NOBODY = agentTarget('');

export interface AdmissionOptions {
  readonly routing: Pick<Routing, 'handlerOf'> & ApprovalPlaces;
  readonly records: Pick<Store, 'run' | 'steps' | 'approval' | 'approvals'>;
  readonly approvals: Approvals;
}

/** The attempt may begin, with what the journal has now; or what becomes of the event instead. */
export type Admitted =
  | { readonly assignment: Assignment; readonly asked: Asked }
  | { readonly outcome: Outcome };

export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Throws what the adapter throws that is asked how an answer is sent. */
  async admit(
    assignment: Assignment,
    taken: Taken,
    match: Match,
    time: AnswerTime | undefined,
  ): Promise<Admitted> {
    const { routing, records, approvals: all } = this.#options;
    const { trigger, event, inbound } = taken;
    const { binding, rule } = match;
    const given = parametersOf(match, inbound);
    if (given.isMissing) {
      const told = said(taken, given.help, { status: 'warning' });
      return { outcome: { ...told, kind: 'ignored', note: 'a parameter is missing, so nothing was run' } };
    }
    const end = givenUp(trigger, event);
    if (end !== undefined) return { outcome: end };
    const named = binding?.target ?? rule?.target ?? trigger.default_target ?? NOBODY;
    const target = await this.#ownerOf(event, named);
    const handler = routing.handlerOf(target);
    const notAfter = time?.endsAt;
    const mostMs = time?.leftMs;
    const agent = target.name;
    const approvals = new RunAsking(
      { ...taken, agent, mostMs },
      { approvals: all, places: routing, store: records },
    );
    const asked = { taken, match, target, parameters: given.values, approvals, time };
    const rules = binding?.approval;
    let passed = assignment;
    if (rules !== undefined)
      try {
        const journal = await stepsOf(records, event.id, event.steps ?? 0);
        const gate = { ...asked, assignment, agent, mayRun: handler !== undefined, rules, journal, mostMs };
        const verdict = await passGate(gate);
        if ('outcome' in verdict) return verdict;
        passed = verdict.assignment;
      } catch (error) {
        return { outcome: { ...notAsked(trigger, error), notAfter } };
      }
    if (handler !== undefined) return { assignment: passed, asked: { ...asked, handler } };
    return { outcome: { ...(await this.#withoutHandler(assignment, trigger, target)), notAfter } };
  }

  async #ownerOf({ id, steps = 0 }: StoredEvent, named: Target): Promise<Target> {
    const run = steps === 0 ? undefined : await this.#options.records.run(id);
    const { kind } = run ?? {};
    return run === undefined || kind === undefined || kind === 'command' ? named : { kind, name: run.name };
  }

  async #withoutHandler({ event, checkpoint }: Assignment, { name, retry }: Trigger, target: Target) {
    const { approvals, records } = this.#options;
    const note = `there is no ${targetText(target)}`;
    const isLast = event.attempt - event.crashes >= retry.attempts;
    const emit = isLast ? await approvals.undoneRows(event, note, records) : [];
    if (emit.length > 0) await checkpoint(undefined, { emit });
    return { kind: 'failed', trigger: name, note, retry } as const;
  }
}

/** Nobody could be asked whether it may run: it does not. */
function notAsked(trigger: Trigger, error: unknown) {
  if (error instanceof DeliveryError) return askedInVain(trigger, error);
  const { message: note, isFinal, retryAfterMs } = faultOf(error);
  const { name, retry } = trigger;
  return { kind: 'failed', trigger: name, note, isFinal, retryAfterMs, retry } as const;
}
