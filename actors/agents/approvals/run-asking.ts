// How the run of one event asks: works out who may decide and where they are, and makes the record and the message, both of which
// become durable with the park of the run, or not at all.
//
// RAS1  rights come from the files, of the time when it is asked: from what was asked for only `who` is read, which is theirs too.

import { randomUUID } from 'node:crypto';
import { approversOf } from '../../../config/resources/approval-rules.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import type { InboundEvent } from '../../events/inbound-event.ts';
import { type Adapter, accountOf } from '../../platforms/adapter.ts';
import type { StoredEvent } from '../../store/event.ts';
import type { Store } from '../../store/store.ts';
import { HandlerError } from '../handlers/handler.ts';
import { type ApprovalBody, bodyOf, decisionOf, digestOf, type Person } from './approval-record.ts';
import { type AskedAt, outcomeRows, questionRows } from './approval-rows.ts';
import { type ApprovalPlaces, type Approvals, leftMs } from './approvals.ts';
import { channelPlace } from './channel-place.ts';
import type { ApprovalOutcome, ApprovalRequest, AskedApproval, RunApprovals } from './run-approvals.ts';

/** The run. */
export interface AskingRun {
  readonly adapter: Adapter;
  readonly trigger: Trigger;
  readonly event: StoredEvent;
  readonly inbound: InboundEvent;
  readonly agent: string;
  /** Nobody wants its answer after so many milliseconds; undefined: any time. */
  readonly mostMs: number | undefined;
}

export interface RunAskingOptions {
  readonly approvals: Approvals;
  readonly places: ApprovalPlaces;
  readonly store: Pick<Store, 'approval'>;
}

/** Characters of what is kept of one. */
const MAX_BODY = 1_048_576;

type Who = ApprovalRequest['who'];

export class RunAsking implements RunApprovals {
  readonly #run: AskingRun;
  readonly #options: RunAskingOptions;

  constructor(run: AskingRun, options: RunAskingOptions) {
    this.#run = run;
    this.#options = options;
  }

  async ask(request: ApprovalRequest): Promise<AskedApproval> {
    const { event, trigger, inbound, mostMs = Number.POSITIVE_INFINITY } = this.#run;
    const { kind, title, command, tool, node, who, agent = this.#run.agent } = request;
    const id = randomUUID();
    const origin = { id, run: event.id };
    const seconds = who.approval_timeout_seconds;
    const ms = Math.min(seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1000, mostMs);
    const expiresInMs = Number.isFinite(ms) ? ms : undefined;
    const at = await this.#placeFor(who);
    const approvers = approversFor(who, trigger);
    const asked = {
      ...{ kind, title, command, tool, node, agent, type: trigger.type, trace: event.trace },
      digest: digestOf(request),
      requestedBy: requesterOf(inbound),
      rights: {
        approvers,
        channel: who.approval_channel,
        selfApproval: who.self_approval,
        home: at && homeOf(at),
      },
    } satisfies Omit<ApprovalBody, 'question'>;
    const shown = this.#options.approvals.shown(asked);
    const { rows = [], question } = at === undefined ? {} : questionRows(at, origin, shown, expiresInMs);
    const onCancel =
      at === undefined || question === undefined
        ? []
        : outcomeRows(at, origin, shown, question, { state: 'cancelled' });
    const body = JSON.stringify({ ...asked, question } satisfies ApprovalBody);
    if (body.length > MAX_BODY)
      throw new HandlerError(
        `nobody can be asked: what is to be approved has ${body.length} characters, and at most ${MAX_BODY} are kept`,
        { isFinal: true },
      );
    const effects = { emit: rows, asks: [{ id, body, expiresInMs, onCancel }] };
    return { id, effects, expiresInMs, whom: whomText(approvers, who.approval_channel) };
  }

  async outcome(id: string): Promise<ApprovalOutcome | undefined> {
    const { approvals, store } = this.#options;
    const found = await store.approval(id);
    // What another run has asked is none of its business.
    if (found === undefined || found.run !== this.#run.event.id) return undefined;
    const now = await approvals.inTime(found, false);
    const left = leftMs(now);
    const { by: user, name: by = user, comment } = decisionOf(now) ?? {};
    const expiresInMs = now.state === 'pending' && Number.isFinite(left) ? Math.max(0, left) : undefined;
    const { agent, digest } = bodyOf(now);
    return { state: now.state, by, comment, expiresInMs, agent, digest };
  }

  /** Undefined where there is nowhere to ask. Rejects with a HandlerError for a channel that cannot be reached. */
  async #placeFor({ approval_channel: channel }: Who): Promise<AskedAt | undefined> {
    const { adapter, trigger, inbound } = this.#run;
    if (channel !== undefined)
      return channelPlace(this.#run, channel, this.#options.places, 'the approval_channel');
    const target = adapter.outbound?.target(trigger, inbound);
    return target && { adapter, trigger, target };
  }
}

/** Those of the trigger where the binding or the policy names none. */
function approversFor({ approvers }: Who, { config }: Trigger): readonly string[] {
  return approvers.length > 0 ? approvers : approversOf(config);
}

function requesterOf({ platform, account, user, userAliases = [] }: InboundEvent): Person | undefined {
  return user === undefined ? undefined : { platform, account, user, aliases: userAliases };
}

function homeOf({ adapter, trigger, target }: AskedAt) {
  return { ...accountOf(adapter, trigger), place: target.place };
}

function whomText(approvers: readonly string[], channel: string | undefined): string {
  if (approvers.length > 0) return approvers.map((name) => name.replace(/^@/, '')).join(', ');
  return channel === undefined ? 'an operator' : `people in ${channel}`;
}
