// Delivers server notifications on shared connections. Resource updates go to the subscribers. A notification
// that the transport links to a call goes to the session of that call. Among unlinked notifications only log
// messages have known receivers: sessions that set a log level or have a call in flight. Everything else is
// dropped, because a guessed receiver could get messages of another user.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { Call } from '../calls/call.ts';
import type { CallOwner } from '../calls/owner.ts';
import type { Connection } from '../pool/connection.ts';
import type { ConnectionUsage } from '../pool/connection-usage.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import { Subscriptions } from './subscriptions.ts';

/** Delivers a notification, received on the connection `member`, to all clients that may receive it. */
export function deliverNotification(
  subscriptions: Subscriptions,
  usage: ConnectionUsage,
  member: PoolMember,
  envelope: Envelope,
  call: Call | undefined,
): void {
  const { connection } = member;
  if (envelope.method === 'notifications/resources/updated') {
    const uri = envelope.paramText('uri');
    if (uri === undefined) return;
    for (const owner of subscriptions.subscribers(uri))
      if (usage.isServedBy(owner, member)) owner.onServerNotification(connection, envelope, undefined);
  } else if (envelope.method === 'notifications/message') {
    const level = envelope.paramText('level');
    if (member.era === 'modern') {
      relayLog(connection, envelope, call);
      return;
    }
    const owners = call === undefined ? logReceivers(subscriptions, connection) : [call.owner];
    for (const owner of owners) {
      if (owner !== undefined && Subscriptions.passes(level, subscriptions.levelOf(owner)))
        owner.onServerNotification(connection, envelope, call);
    }
  } else {
    call?.owner?.onServerNotification(connection, envelope, call);
  }
}

/** Returns the sessions that receive a log message not linked to a call. */
function logReceivers(subscriptions: Subscriptions, connection: Connection): Set<CallOwner> {
  const all = new Set<CallOwner>(subscriptions.listeners());
  for (const call of connection.calls()) if (call.owner !== undefined) all.add(call.owner);
  return all;
}

/**
 * Forwards a modern (stateless) server's log message to the request that set a log level. Over HTTP the
 * message arrives on the stream of that request. Over stdio it is forwarded only if exactly one request has
 * set a log level.
 */
function relayLog(connection: Connection, envelope: Envelope, call: Call | undefined): void {
  if (call !== undefined) {
    call.relay(envelope.bytes);
    return;
  }
  const candidates = connection.calls().filter((one) => one.receivesLog);
  const [only] = candidates;
  if (only !== undefined && candidates.length === 1) only.relay(envelope.bytes);
}
