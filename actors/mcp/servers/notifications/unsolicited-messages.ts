// Delivers requests and notifications that a server sends by itself. On a private connection they go to its
// session. On a shared connection the receiver is never guessed: without a known receiver they are dropped.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { Call } from '../calls/call.ts';
import type { ListNotices } from '../lists/list-notices.ts';
import type { ConnectionUsage } from '../pool/connection-usage.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import type { TaskRecords } from '../tasks/task-records.ts';
import { deliverNotification } from './notifications.ts';
import { refuseServerRequest } from './server-request.ts';
import { withoutSubscriptionId } from './upstream-listen.ts';
import type { UpstreamSubscriptions } from './upstream-subscriptions.ts';

const TASK_STATUS = 'notifications/tasks/status';

export interface UnsolicitedMessagesOptions {
  readonly forwardsRoots: boolean;
  readonly upstreamSubscriptions: UpstreamSubscriptions;
  readonly listNotices: ListNotices;
  readonly usage: ConnectionUsage;
  readonly tasks: TaskRecords;
}

export class UnsolicitedMessages {
  readonly #options: UnsolicitedMessagesOptions;

  constructor(options: UnsolicitedMessagesOptions) {
    this.#options = options;
  }

  /**
   * Passes a server request to the session of the connection, or refuses it. The modern era (since
   * 2026-07-28) has no server requests.
   */
  request({ era, owner, connection }: PoolMember, envelope: Envelope, call: Call | undefined): void {
    const isRefused = envelope.method === 'roots/list' && !this.#options.forwardsRoots;
    if (era === 'modern' || owner === undefined || isRefused) refuseServerRequest(connection, envelope);
    else owner.onServerRequest(connection, envelope, call);
  }

  /** Handles a notification of the server. */
  notification(member: PoolMember, envelope: Envelope, call: Call | undefined): void {
    const { upstreamSubscriptions, listNotices, usage } = this.#options;
    if (upstreamSubscriptions.tryHandle(member, envelope)) return;
    // The subscription id identifies the gateway's own listen request, so clients must not receive it.
    const plain = member.era === 'modern' ? withoutSubscriptionId(envelope) : envelope;
    if (listNotices.tryHandle(member, plain)) return;
    if (plain.method === TASK_STATUS) {
      this.#notifyOfTask(member, plain);
      return;
    }
    const { owner, era, connection } = member;
    if (owner !== undefined && era === 'legacy') owner.onServerNotification(connection, plain, call);
    else deliverNotification(upstreamSubscriptions.subscriptions, usage, member, plain, call);
  }

  /** Sends a task status to the session that created the task, on any stream. */
  #notifyOfTask(member: PoolMember, envelope: Envelope): void {
    const { taskId, status, ttl } = (envelope.parse(envelope.params) ?? {}) as Record<string, unknown>;
    if (typeof taskId !== 'string') return;
    for (const session of this.#options.tasks.onStatus(member, taskId, { status, ttl }))
      session.onServerNotification(member.connection, envelope, undefined);
  }
}
