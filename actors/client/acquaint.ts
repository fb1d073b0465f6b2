// Gets to know a server that has not introduced itself yet. It is asked for a sign of life, as any call would ask it:
// a backoff, a park and the bounds of its waiting room hold for this as well.

import { type GatewayError, InternalError } from '../errors.ts';
import { requestMessage } from '../jsonrpc/compose.ts';
import { type Asker, toModern } from '../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../jsonrpc/read-message.ts';
import type { Advert } from '../server/advert.ts';
import type { Call } from '../server/call.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import type { Owner } from '../server/owner.ts';

export interface Acquaintance {
  done(advert: Advert): void;
  fail(error: GatewayError): void;
  /** It was cancelled. */
  drop(): void;
}

/** What is known of a server, as a modern client is to see it. */
export function advertOf({ known }: ManagedServer): Advert | undefined {
  return known.advertIn('modern') ?? known.advert;
}

/**
 * Asks the server, whose eras must be settled; one of `waiting` is called once. `owner` is the session it is asked for;
 * requests without one are modern.
 */
export function acquaint(server: ManagedServer, asker: Asker, waiting: Acquaintance, owner?: Owner): Call {
  const era = server.eras.for(owner?.era ?? 'modern') ?? 'legacy';
  const method = era === 'legacy' ? 'ping' : 'server/discover';
  const plain = readServerMessage(requestMessage('0', method, undefined));
  return server.handle.accept({
    envelope: era === 'legacy' ? plain : toModern(plain, asker),
    era,
    owner,
    exchange: {
      answer: () => {
        const advert = advertOf(server);
        if (advert !== undefined) waiting.done(advert);
        else waiting.fail(new InternalError(`server ${server.id} has not introduced itself`));
      },
      fail: (error) => waiting.fail(error),
      relay: () => {},
      drop: () => waiting.drop(),
    },
  });
}
