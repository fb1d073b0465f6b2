// Who hears what a shared server says. Resource updates go to the subscribers. Of the rest, what a transport links to
// a call goes to that call's session alone, and of what is linked to none only log messages have addressees that can
// be known: the sessions that asked for a level and those with a call in flight, each from its own level on.
// Everything else reaches nobody: guessing an addressee is how one user's messages end up with another.

import type { Envelope } from '../jsonrpc/envelope.ts';
import type { Call } from './call.ts';
import type { Connection } from './connection.ts';
import type { Owner } from './owner.ts';
import { Subscriptions } from './subscriptions.ts';

export function spreadNotification(
  subscriptions: Subscriptions,
  connection: Connection,
  envelope: Envelope,
  call: Call | undefined,
): void {
  if (envelope.method === 'notifications/resources/updated') {
    const uri = envelope.paramText('uri');
    if (uri === undefined) return;
    for (const owner of subscriptions.subscribers(uri))
      owner.onServerNotification(connection, envelope, undefined);
  } else if (envelope.method === 'notifications/message') {
    const level = envelope.paramText('level');
    const owners = call === undefined ? listeners(subscriptions, connection) : [call.owner];
    for (const owner of owners) {
      if (owner !== undefined && Subscriptions.passes(level, subscriptions.levelOf(owner)))
        owner.onServerNotification(connection, envelope, call);
    }
  } else {
    call?.owner?.onServerNotification(connection, envelope, call);
  }
}

function listeners(subscriptions: Subscriptions, connection: Connection): Set<Owner> {
  const all = new Set<Owner>(subscriptions.listeners());
  for (const call of connection.calls()) if (call.owner !== undefined) all.add(call.owner);
  return all;
}
