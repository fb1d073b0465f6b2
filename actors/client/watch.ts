// Has a server watch a resource for a client that has no way of its own to say so there: a listening client, or a
// session at a server of the modern era.

import { requestMessage } from '../jsonrpc/compose.ts';
import { type Envelope, readServerMessage } from '../jsonrpc/envelope.ts';
import { type Era, toModern } from '../jsonrpc/modern-meta.ts';
import type { ManagedServer } from '../server/managed-server.ts';
import type { Owner } from '../server/owner.ts';

/** Subscribes the client; resolves with whether the server agreed, and the server runs then. Never rejects. */
export async function watch(server: ManagedServer, owner: Owner, uri: string): Promise<boolean> {
  await server.eras.settle();
  server.subscriptions.add(uri, owner);
  const isAgreed = await agreed(server, owner, uri).catch(() => false);
  if (!isAgreed) unwatch(server, owner, uri);
  return isAgreed;
}

export function unwatch(server: ManagedServer, owner: Owner, uri: string): void {
  if (server.subscriptions.remove(uri, owner)) server.unsubscribed(uri);
}

async function agreed(server: ManagedServer, owner: Owner, uri: string): Promise<boolean> {
  const era = server.eras.for(owner.era) ?? 'legacy';
  if (era === 'legacy') {
    const answer = await ask(server, owner, era, 'resources/subscribe', { uri });
    return answer.error === undefined;
  }
  // Any answer will do: it has the connection opened on which the server is then asked to tell.
  await ask(server, owner, era, 'server/discover', undefined);
  const member = server.pool.pick(owner, era);
  return member !== undefined && (await server.listen(member)).has(uri);
}

function ask(
  server: ManagedServer,
  owner: Owner,
  era: Era,
  method: string,
  params: Record<string, unknown> | undefined,
): Promise<Envelope> {
  const plain = readServerMessage(requestMessage('0', method, params));
  const envelope = era === 'legacy' ? plain : toModern(plain, owner);
  return new Promise((resolve, reject) => {
    const drop = () => reject(new Error('the request was dropped'));
    server.handle.accept({
      envelope,
      era,
      owner,
      exchange: { answer: resolve, fail: reject, relay: () => {}, drop },
    });
  });
}
