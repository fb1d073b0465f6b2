// Delivers what a server sends without being asked: its requests and its notifications. Each goes to the one client that
// it is for, or to nobody; on a shared connection that is never guessed.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { Call } from '../calls/call.ts';
import type { ListNotices } from '../lists/list-notices.ts';
import type { ConnectionUsage } from '../pool/connection-usage.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import type { TaskRecords } from '../tasks/task-records.ts';
import { spreadNotification } from './notifications.ts';
import { refuseServerRequest } from './server-request.ts';
import { unmarked } from './upstream-listen.ts';
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

  /** The modern era has no such requests. */
  request({ era, owner, connection }: PoolMember, envelope: Envelope, call: Call | undefined): void {
    const isRefused = envelope.method === 'roots/list' && !this.#options.forwardsRoots;
    if (era === 'modern' || owner === undefined || isRefused) refuseServerRequest(connection, envelope);
    else owner.onServerRequest(connection, envelope, call);
  }

  notification(member: PoolMember, envelope: Envelope, call: Call | undefined): void {
    const { upstreamSubscriptions, listNotices, usage } = this.#options;
    if (upstreamSubscriptions.take(member, envelope)) return;
    const plain = member.era === 'modern' ? unmarked(envelope) : envelope;
    if (listNotices.take(member, plain)) return;
    if (plain.method === TASK_STATUS) {
      this.#notifyOfTask(member, plain);
      return;
    }
    const { owner, era, connection } = member;
    if (owner !== undefined && era === 'legacy') owner.onServerNotification(connection, plain, call);
    else spreadNotification(upstreamSubscriptions.subscriptions, usage, member, plain, call);
  }

  /** Sends a task status to the session that created the task, regardless of the stream. */
  #notifyOfTask(member: PoolMember, envelope: Envelope): void {
    const { taskId, status, ttl } = (envelope.parse(envelope.params) ?? {}) as Record<string, unknown>;
    if (typeof taskId !== 'string') return;
    for (const session of this.#options.tasks.onStatus(member, taskId, { status, ttl }))
      session.onServerNotification(member.connection, envelope, undefined);
  }
}
