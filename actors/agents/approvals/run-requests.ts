// Creates a run's approval requests: determines approvers and channel, and builds record and message. Both
// are committed with the result that parks the run (parked.ts). Access rights are those in the files at
// request time.

import { randomUUID } from 'node:crypto';
import { approversOf } from '../../../config/resources/approval-rules.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { HandlerError } from '../handlers/handler.ts';
import type { Approvals, ApprovalTriggers } from './approvals.ts';
import { type MessagePlace, outcomeRows, requestRows } from './outbox-rows.ts';
import { type ApprovalBody, bodyOf, decisionOf, digestOf, type Person } from './record.ts';
import { resolveChannel } from './resolve-channel.ts';
import type { ApprovalOutcome, ApprovalRequest, CreatedRequest, RunApprovals } from './run-approvals.ts';

/** The run with the request. */
export interface RequestingRun {
  readonly adapter: Adapter;
  readonly trigger: Trigger;
  readonly event: StoredEvent;
  readonly inbound: InboundEvent;
  readonly agent: string;
  /** Milliseconds before the answer becomes useless; undefined: no limit. */
  readonly deadlineMs: number | undefined;
}

export interface ApprovalRequestsOptions {
  readonly approvals: Approvals;
  readonly triggerLookup: ApprovalTriggers;
  readonly store: Pick<Store, 'approval'>;
}

/** Maximum length of stored requests, in characters. */
const MAX_BODY = 1_048_576;

type RequestRules = ApprovalRequest['rules'];

export class ApprovalRequests implements RunApprovals {
  readonly #run: RequestingRun;
  readonly #options: ApprovalRequestsOptions;

  constructor(run: RequestingRun, options: ApprovalRequestsOptions) {
    this.#run = run;
    this.#options = options;
  }

  async ask(request: ApprovalRequest): Promise<CreatedRequest> {
    const { event, trigger, inbound, deadlineMs = Number.POSITIVE_INFINITY } = this.#run;
    const { kind, title, command, tool, node, rules, agent = this.#run.agent } = request;
    const id = randomUUID();
    const origin = { id, run: event.id };
    const seconds = rules.approval_timeout_seconds;
    const ms = Math.min(seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1000, deadlineMs);
    const expiresInMs = Number.isFinite(ms) ? ms : undefined;
    const at = await this.#placeFor(rules);
    const approvers = approversFor(rules, trigger);
    const record = {
      kind,
      title,
      command,
      tool,
      node,
      agent,
      type: trigger.type,
      trace: event.trace,
      digest: digestOf(request),
      requestedBy: requesterOf(inbound),
      rights: {
        approvers,
        channel: rules.approval_channel,
        selfApproval: rules.self_approval,
        home: at && homeOf(at),
      },
    } satisfies Omit<ApprovalBody, 'question'>;
    const redacted = this.#options.approvals.redactedCopy(record);
    const { rows = [], question } = at === undefined ? {} : requestRows(at, origin, redacted, expiresInMs);
    const onCancel =
      at === undefined || question === undefined
        ? []
        : outcomeRows(at, origin, redacted, question, { state: 'cancelled' });
    const body = JSON.stringify({ ...record, question } satisfies ApprovalBody);
    if (body.length > MAX_BODY)
      throw new HandlerError(
        `cannot ask for approval: the request has ${body.length} characters, at most ${MAX_BODY} are stored`,
        { isFinal: true },
      );
    const effects = { emit: rows, asks: [{ id, body, expiresInMs, onCancel }] };
    return { id, effects, expiresInMs, approverText: approversText(approvers, rules.approval_channel) };
  }

  async outcome(id: string): Promise<ApprovalOutcome | undefined> {
    const { approvals, store } = this.#options;
    const stored = await store.approval(id);
    // A run may not read approvals of other runs.
    if (stored === undefined || stored.run !== this.#run.event.id) return undefined;
    const current = await approvals.expireIfDue(stored);
    const decision = decisionOf(current);
    const expiresInMs = current.state === 'pending' ? current.expiresInMs : undefined;
    const { agent, digest } = bodyOf(current);
    const by = decision?.name ?? decision?.by;
    return { state: current.state, by, comment: decision?.comment, expiresInMs, agent, digest };
  }

  /**
   * Returns the place for the request message; undefined if the platform sends no messages. Rejects with a
   * HandlerError for unreachable channels.
   */
  async #placeFor({ approval_channel: channel }: RequestRules): Promise<MessagePlace | undefined> {
    const { adapter, trigger, inbound } = this.#run;
    if (channel !== undefined)
      return resolveChannel(this.#run, channel, this.#options.triggerLookup, 'the approval_channel');
    const target = adapter.outbound?.target(trigger, inbound);
    return target && { adapter, trigger, target };
  }
}

/** Returns the approvers of the agent, or by default of the trigger. */
function approversFor({ approvers }: RequestRules, { config }: Trigger): readonly string[] {
  return approvers.length > 0 ? approvers : approversOf(config);
}

function requesterOf({
  platform,
  account,
  user,
  userAliases = [],
  isUserShared: isShared,
}: InboundEvent): Person | undefined {
  return user === undefined ? undefined : { platform, account, user, aliases: userAliases, isShared };
}

function homeOf({ adapter, trigger, target }: MessagePlace) {
  return { ...accountOf(adapter, trigger), place: target.place };
}

function approversText(approvers: readonly string[], channel: string | undefined): string {
  if (approvers.length > 0) return approvers.map((name) => name.replace(/^@/, '')).join(', ');
  return channel === undefined ? 'an operator' : `people in ${channel}`;
}
