// Decides if a handler processes an event: resolves the target from binding, rule or trigger, parses the
// parameters of the command, and requests the required approval (command-gate.ts). An event with a missing
// parameter, or without remaining attempts, does not reach handlers and approvers. A run stays with the
// agent, fleet or flow that started it, despite file changes; if that target is removed, approvers are
// notified that the action was not done.

import { agentTarget, type Target, targetText } from '../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { Match } from '../../../machines/matching.ts';
import type { Approvals, ApprovalTriggers } from '../../agents/approvals/approvals.ts';
import { ApprovalRequests } from '../../agents/approvals/run-requests.ts';
import type { StoredRows } from '../../agents/runs/stored-rows.ts';
import type { Assignment, WorkOutcome } from '../../events/inbox/work.ts';
import { DeliveryError } from '../../events/outbox/delivery-error.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { exhaustedOutcome, failedRequestOutcome } from '../works/attempts.ts';
import { passGate } from './command-gate.ts';
import { faultOf, type HandlerRequest } from './handler-attempts.ts';
import { parametersOf } from './job.ts';
import { messageOutcome, type RoutedEvent } from './messages.ts';
import type { Routing } from './routing.ts';
import type { AnswerTime } from './run-deadline.ts';

/** Target for a trigger that names no target; it has no handler. */
const NO_TARGET = agentTarget('');

export interface AdmissionOptions {
  readonly routing: Pick<Routing, 'handlerOf'> & ApprovalTriggers;
  readonly records: Pick<Store, 'run' | 'steps' | 'approval' | 'approvals'>;
  readonly rows: StoredRows;
  readonly approvals: Approvals;
}

/** The admitted attempt, or the outcome if the handler does not run. */
export type AdmissionResult =
  | { readonly assignment: Assignment; readonly request: HandlerRequest }
  | { readonly outcome: WorkOutcome };

export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Admits an event to its handler, or returns the outcome. Rejects with errors of the adapter. */
  async admit(
    assignment: Assignment,
    routedEvent: RoutedEvent,
    match: Match,
    time: AnswerTime | undefined,
  ): Promise<AdmissionResult> {
    const { routing, records, rows, approvals } = this.#options;
    const { trigger, event, inbound } = routedEvent;
    const { binding, rule } = match;
    const parameters = parametersOf(match, inbound);
    if (parameters.isMissing) {
      const reply = messageOutcome(routedEvent, parameters.help, { status: 'warning' });
      return { outcome: { ...reply, kind: 'ignored', note: 'missing parameter: nothing was run' } };
    }
    const exhausted = exhaustedOutcome(trigger, event);
    if (exhausted !== undefined) return { outcome: exhausted };
    const configuredTarget = binding?.target ?? rule?.target ?? trigger.default_target ?? NO_TARGET;
    const target = await this.#ownerOf(event, configuredTarget);
    const handler = routing.handlerOf(target);
    const notAfter = time?.endsAt;
    const remainingMs = time?.remainingMs;
    const agent = target.name;
    const runApprovals = new ApprovalRequests(
      { ...routedEvent, agent, deadlineMs: remainingMs },
      { approvals, triggerLookup: routing, store: records },
    );
    const attempt = {
      routedEvent,
      match,
      target,
      time,
      parameters: parameters.values,
      approvals: runApprovals,
    };
    const rules = binding?.approval;
    let admittedAssignment = assignment;
    if (rules !== undefined)
      try {
        const journal = await rows.of(event.id, event.steps ?? 0);
        const gate = {
          ...attempt,
          assignment,
          agent,
          mayRun: handler !== undefined,
          rules,
          journal,
          remainingMs,
        };
        const verdict = await passGate(gate);
        if ('outcome' in verdict) return verdict;
        admittedAssignment = verdict.assignment;
      } catch (error) {
        return { outcome: { ...approvalFailure(trigger, error), notAfter } };
      }
    if (handler !== undefined) return { assignment: admittedAssignment, request: { ...attempt, handler } };
    return { outcome: { ...(await this.#outcomeWithoutHandler(assignment, trigger, target)), notAfter } };
  }

  /** Returns the target that has started the run of the event; `configuredTarget` for a new event. */
  async #ownerOf({ id, steps = 0 }: StoredEvent, configuredTarget: Target): Promise<Target> {
    const run = steps === 0 ? undefined : await this.#options.records.run(id);
    // A run of kind `command` is only a command's approval (command-gate.ts): no target has started yet.
    const { kind } = run ?? {};
    return run === undefined || kind === undefined || kind === 'command'
      ? configuredTarget
      : { kind, name: run.name };
  }

  /** Returns the failure. The last attempt also notifies approvers that the approved action was not done. */
  async #outcomeWithoutHandler({ event, checkpoint }: Assignment, { name, retry }: Trigger, target: Target) {
    const { approvals, records } = this.#options;
    const note = `there is no ${targetText(target)}`;
    const isLast = event.attempt - event.crashes >= retry.attempts;
    const emit = isLast ? await approvals.undoneRows(event, note, records) : [];
    if (emit.length > 0) await checkpoint(undefined, { emit });
    return { kind: 'failed', trigger: name, note, retry } as const;
  }
}

/** Returns the outcome for a failed approval request. */
function approvalFailure(trigger: Trigger, error: unknown) {
  if (error instanceof DeliveryError) return failedRequestOutcome(trigger, error);
  const { message: note, isFinal, retryAfterMs } = faultOf(error);
  const { name, retry } = trigger;
  return { kind: 'failed', trigger: name, note, isFinal, retryAfterMs, retry } as const;
}
