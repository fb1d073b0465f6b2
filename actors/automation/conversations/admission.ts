// Whether the handler of an event is asked, and what: the target of the binding, the rule or the trigger, the parameters of the command,
// and the approval that it requires.
//
// ADM1  what lacks a parameter comes neither to a handler nor before people; nor does what has had all its attempts.

import { agentTarget, targetText } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { Match } from '../../../machines/matching.ts';
import type { ApprovalPlaces, Approvals } from '../../approvals/approvals.ts';
import { RunAsking } from '../../approvals/run-asking.ts';
import type { Assignment, Outcome } from '../../inbox/work.ts';
import { DeliveryError } from '../../outbound/delivery-error.ts';
import { stepsOf } from '../../store/run.ts';
import type { Store } from '../../store/store.ts';
import { askedInVain, givenUp } from '../works/attempts.ts';
import type { AnswerTime } from './answer-time.ts';
import { passGate } from './command-gate.ts';
import { parametersOf } from './conversation-job.ts';
import { type Asked, faultOf } from './handler-attempts.ts';
import { said, type Taken } from './replies.ts';
import type { Routing } from './routing.ts';

/** A trigger that leads nowhere takes no event. */
const NOBODY = agentTarget('');

export interface AdmissionOptions {
  readonly routing: Pick<Routing, 'handlerOf'> & ApprovalPlaces;
  readonly records: Pick<Store, 'steps' | 'approval'>;
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
    const target = binding?.target ?? rule?.target ?? trigger.default_target ?? NOBODY;
    const handler = routing.handlerOf(target);
    const notAfter = time?.endsAt;
    if (handler === undefined) {
      const { name, retry } = trigger;
      const note = `there is no ${targetText(target)}`;
      return { outcome: { kind: 'failed', trigger: name, note, retry, notAfter } };
    }
    const mostMs = time?.leftMs;
    const run = { ...taken, agent: target.name, mostMs };
    const approvals = new RunAsking(run, { approvals: all, places: routing, store: records });
    const asked = { taken, match, target, parameters: given.values, handler, approvals, time };
    const rules = binding?.approval;
    if (rules === undefined) return { assignment, asked };
    try {
      const journal = await stepsOf(records, event.id, event.steps ?? 0);
      const verdict = await passGate({ assignment, ...asked, rules, journal, mostMs });
      return 'outcome' in verdict ? verdict : { assignment: verdict.assignment, asked };
    } catch (error) {
      return { outcome: { ...notAsked(trigger, error), notAfter } };
    }
  }
}

/** Nobody could be asked whether it may run: it does not. */
function notAsked(trigger: Trigger, error: unknown) {
  if (error instanceof DeliveryError) return askedInVain(trigger, error);
  const { message: note, isFinal, retryAfterMs } = faultOf(error);
  const { name, retry } = trigger;
  return { kind: 'failed', trigger: name, note, isFinal, retryAfterMs, retry } as const;
}
