// Delivers the notifications of a shared server. Resource updates go to the subscribers. Of the rest, what a transport
// links to a call goes to that call's session alone. Of what is linked to none only log messages have addressees that
// can be known: the sessions that asked for a level and those with a call in flight, each from its own level on.
// Everything else reaches nobody: guessing an addressee is how one user's messages end up with another.

import type { Envelope } from '../../jsonrpc/envelope.ts';
import type { Call } from '../calls/call.ts';
import type { CallOwner } from '../calls/call-owner.ts';
import type { Connection } from '../pool/connection.ts';
import type { ConnectionUsage } from '../pool/connection-usage.ts';
import type { PoolMember } from '../pool/pool-member.ts';
import { Subscriptions } from './subscriptions.ts';

export function spreadNotification(
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
      if (usage.isAt(owner, member)) owner.onServerNotification(connection, envelope, undefined);
  } else if (envelope.method === 'notifications/message') {
    const level = envelope.paramText('level');
    if (member.era === 'modern') {
      relayLog(connection, envelope, call);
      return;
    }
    const owners = call === undefined ? listeners(subscriptions, connection) : [call.owner];
    for (const owner of owners) {
      if (owner !== undefined && Subscriptions.passes(level, subscriptions.levelOf(owner)))
        owner.onServerNotification(connection, envelope, call);
    }
  } else {
    call?.owner?.onServerNotification(connection, envelope, call);
  }
}

function listeners(subscriptions: Subscriptions, connection: Connection): Set<CallOwner> {
  const all = new Set<CallOwner>(subscriptions.listeners());
  for (const call of connection.calls()) if (call.owner !== undefined) all.add(call.owner);
  return all;
}

/**
 * In the modern era a log message belongs to a request that has asked for a level. Over HTTP it comes on that request's
 * stream; over stdio nothing links it, and it is passed on only while a single request can be meant.
 */
function relayLog(connection: Connection, envelope: Envelope, call: Call | undefined): void {
  if (call !== undefined) {
    call.relay(envelope.bytes);
    return;
  }
  const asking = connection.calls().filter((one) => one.hearsLog);
  const [only] = asking;
  if (only !== undefined && asking.length === 1) only.relay(envelope.bytes);
}
