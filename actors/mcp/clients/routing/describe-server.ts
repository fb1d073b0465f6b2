// Has a server initialised that has not described itself yet, by a request like any other: a backoff, a parked server
// and the bounds of the waiting calls hold for this as well.

import { type GatewayError, InternalError } from '../../../base/errors/errors.ts';
import { requestMessage } from '../../jsonrpc/compose.ts';
import { type Caller, toModern } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import type { ServerDescription } from '../../servers/cache/server-description.ts';
import type { Call } from '../../servers/calls/call.ts';
import type { CallOwner } from '../../servers/calls/call-owner.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';

export interface DescriptionWait {
  done(description: ServerDescription): void;
  fail(error: GatewayError): void;
  /** It was cancelled. */
  drop(): void;
}

/** What is known of a server, as a modern client is to see it. */
export function descriptionOf({ cache }: ManagedServer): ServerDescription | undefined {
  return cache.descriptionIn('modern') ?? cache.description;
}

/**
 * Asks the server, whose eras must be settled; one of `waiting` is called once. `owner` is the session it is asked for;
 * requests without one are modern.
 */
export function describeServer(
  server: ManagedServer,
  caller: Caller,
  waiting: DescriptionWait,
  owner?: CallOwner,
): Call {
  const era = server.eras.for(owner?.era ?? 'modern') ?? 'legacy';
  const method = era === 'legacy' ? 'ping' : 'server/discover';
  const plain = readServerMessage(requestMessage('0', method, undefined));
  return server.handle.accept({
    envelope: era === 'legacy' ? plain : toModern(plain, caller),
    era,
    owner,
    exchange: {
      answer: () => {
        const description = descriptionOf(server);
        if (description !== undefined) waiting.done(description);
        else waiting.fail(new InternalError(`server ${server.id} has not introduced itself`));
      },
      fail: (error) => waiting.fail(error),
      relay: () => {},
      drop: () => waiting.drop(),
    },
  });
}
