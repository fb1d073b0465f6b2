// Subscribes to resources on behalf of clients that cannot send the request to the server themselves: modern
// clients with a listen stream (listen-stream.ts), and sessions of legacy clients at modern servers.

import { forEachLimited } from '../../../base/bounds/for-each-limited.ts';
import { OverloadedError } from '../../../base/errors/errors.ts';
import { requestMessage } from '../../jsonrpc/compose.ts';
import type { Envelope } from '../../jsonrpc/envelope.ts';
import { type Era, toModern } from '../../jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../jsonrpc/read-message.ts';
import type { CallOwner } from '../../servers/calls/owner.ts';
import type { ManagedServer } from '../../servers/managed-server.ts';

const CONCURRENCY = 16;

/**
 * Subscribes a client, `owner`: a session or a listen stream. Starts the server if necessary. Resolves to
 * true if the server accepts. Resolves to false if the server refuses or fails, or if the memory budget is
 * exhausted.
 */
export async function subscribeResource(
  server: ManagedServer,
  owner: CallOwner,
  uri: string,
): Promise<boolean> {
  return (await subscribeResources(server, owner, [uri])).length > 0;
}

/** Same as `subscribeResource` for several resources. Resolves to the accepted uris, in order. */
export async function subscribeResources(
  server: ManagedServer,
  owner: CallOwner,
  uris: readonly string[],
): Promise<readonly string[]> {
  // Eras: legacy (sessions), modern (stateless requests), or both.
  await server.eras.ensureKnown();
  if (owner.isEnded === true) return [];
  const recordedUris = uris.filter((uri) => tryRecord(server, owner, uri));
  if (recordedUris.length === 0) return [];
  const acceptedUris = await requestSubscriptions(server, owner, recordedUris).catch(() => new Set<string>());
  const refusedUris = recordedUris.filter((uri) => !acceptedUris.has(uri));
  unsubscribeResources(server, owner, refusedUris);
  return recordedUris.filter((uri) => acceptedUris.has(uri));
}

/**
 * Records a subscription. Returns false if the memory budget is exhausted; a shorter uri may still be
 * accepted.
 */
function tryRecord({ subscriptions }: ManagedServer, owner: CallOwner, uri: string): boolean {
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
  // Removed in one step, so that a modern server receives one new listen request instead of several.
  const orphanedUris = uris.filter((uri) => server.subscriptions.remove(uri, owner));
  server.unsubscribe(orphanedUris);
}

async function requestSubscriptions(
  server: ManagedServer,
  owner: CallOwner,
  uris: readonly string[],
): Promise<ReadonlySet<string>> {
  // The era of the server for this client. It is unknown if the server could not be reached.
  const era = server.eras.serverEraFor(owner.era) ?? 'legacy';
  if (era === 'legacy') return subscribeLegacy(server, owner, uris);
  // The response is not used: the request opens the connection on which the gateway listens.
  await sendRequest(server, owner, era, 'server/discover', undefined);
  // A client that disconnected meanwhile must not be added again.
  return owner.isEnded === true ? new Set() : server.listen(owner);
}

/** Sends one request per resource. Limited concurrency leaves capacity for other requests. */
async function subscribeLegacy(
  server: ManagedServer,
  owner: CallOwner,
  uris: readonly string[],
): Promise<Set<string>> {
  const acceptedUris = new Set<string>();
  await forEachLimited(CONCURRENCY, uris, async (uri) => {
    if (owner.isEnded === true) return;
    const answer = await sendRequest(server, owner, 'legacy', 'resources/subscribe', { uri }).catch(
      () => undefined,
    );
    if (answer !== undefined && answer.error === undefined) acceptedUris.add(uri);
  });
  return acceptedUris;
}

function sendRequest(
  server: ManagedServer,
  owner: CallOwner,
  era: Era,
  method: string,
  params: Record<string, unknown> | undefined,
): Promise<Envelope> {
  // The connection replaces the id.
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
