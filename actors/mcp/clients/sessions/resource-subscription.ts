// Subscribes to a resource at a server for a client that cannot do so there itself: a listening client, or a session at
// a server of the modern era.

import { forEachLimited } from '../../../base/bounds/for-each-limited.ts';
import { OverloadedError } from '../../../base/errors/errors.ts';
import { requestMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Era, toModern } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import type { CallOwner } from '../../servers/calls/call-owner.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';

const AT_A_TIME = 16;

/** Subscribes the client; resolves with whether the server agreed, and the server runs then. Never rejects. */
export async function subscribeResource(
  server: ManagedServer,
  owner: CallOwner,
  uri: string,
): Promise<boolean> {
  return (await subscribeResources(server, owner, [uri])).length > 0;
}

/** As `watch`, for several resources; resolves with those the server agreed to, in order. */
export async function subscribeResources(
  server: ManagedServer,
  owner: CallOwner,
  uris: readonly string[],
): Promise<readonly string[]> {
  await server.eras.settle();
  if (owner.isEnded === true) return [];
  const kept = uris.filter((uri) => isKept(server, owner, uri));
  if (kept.length === 0) return [];
  const agreed = await agreedOf(server, owner, kept).catch(() => new Set<string>());
  const refused = kept.filter((uri) => !agreed.has(uri));
  unsubscribeResources(server, owner, refused);
  return kept.filter((uri) => agreed.has(uri));
}

/** Whether there is room for it; of a listening client's resources some may be told of and others not. */
function isKept({ subscriptions }: ManagedServer, owner: CallOwner, uri: string): boolean {
  try {
    subscriptions.add(uri, owner);
    return true;
  } catch (error) {
    if (error instanceof OverloadedError) return false;
    throw error;
  }
}

export function unsubscribeResource(server: ManagedServer, owner: CallOwner, uri: string): void {
  unsubscribeResources(server, owner, [uri]);
}

export function unsubscribeResources(server: ManagedServer, owner: CallOwner, uris: readonly string[]): void {
  // First all of them: what a modern server is asked to tell of is said anew once, not once for each.
  const orphaned = uris.filter((uri) => server.subscriptions.remove(uri, owner));
  server.unsubscribed(orphaned);
}

async function agreedOf(
  server: ManagedServer,
  owner: CallOwner,
  uris: readonly string[],
): Promise<ReadonlySet<string>> {
  const era = server.eras.for(owner.era) ?? 'legacy';
  if (era === 'legacy') return subscribed(server, owner, uris);
  // Any answer will do: it has the connection opened on which the server is then asked to tell.
  await ask(server, owner, era, 'server/discover', undefined);
  // Who has left meanwhile was released, and is not a second time.
  return owner.isEnded === true ? new Set() : server.listen(owner);
}

/** One request for each resource, and few at a time: others wait for places at the server as well. */
async function subscribed(
  server: ManagedServer,
  owner: CallOwner,
  uris: readonly string[],
): Promise<Set<string>> {
  const agreed = new Set<string>();
  await forEachLimited(AT_A_TIME, uris, async (uri) => {
    if (owner.isEnded === true) return;
    const answer = await ask(server, owner, 'legacy', 'resources/subscribe', { uri }).catch(() => undefined);
    if (answer !== undefined && answer.error === undefined) agreed.add(uri);
  });
  return agreed;
}

function ask(
  server: ManagedServer,
  owner: CallOwner,
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
