// Requests at /mcp (all servers) that wait until the lists are known and the server of a name or URI is
// found.

import { expect, test } from 'vitest';
import { ClientExchange } from '../../../../../../actors/mcp/clients/exchange.ts';
import {
  type AggregateContext,
  routeToAny,
} from '../../../../../../actors/mcp/clients/routing/aggregate-router.ts';
import { KnownClients } from '../../../../../../actors/mcp/clients/routing/known-clients.ts';
import { ReplayBudget } from '../../../../../../actors/mcp/clients/sessions/replay-budget.ts';
import { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { FakeManagedServer, settle } from '../../../../../fixtures/server/fake-server.ts';

test('a subscription is not recorded if its session ends while the server of the resource is looked up', async () => {
  const managed = new FakeManagedServer();
  const session = new ClientSession({
    id: 's',
    target: undefined,
    protocolVersion: '2025-06-18',
    clientInfo: {},
    capabilities: {},
    replayBudget: new ReplayBudget(),
    onConnectionLost: () => {},
  });
  const message = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'x://1' } };
  const envelope = readClientMessage(Buffer.from(JSON.stringify(message)));
  const silent = { send: () => {}, finish: () => {}, drop: () => {} };
  const exchange = new ClientExchange('1', silent, {
    redact: (text) => text,
    onEnd: (ended) => session.finish(ended),
  });
  session.begin(exchange);

  let isFound = false;
  let arrive = () => {};
  const settled = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const all = {
    listTimeoutMs: 4000,
    discovery: { waitForLists: () => settled },
    eraBridge: { listingClientOf: () => undefined },
    known: new KnownClients(),
    views: {
      find: () => ({
        findListedResource: () => (isFound ? { server: managed.server, key: 'x://1' } : undefined),
        findResource: () => undefined,
      }),
    },
  } as unknown as AggregateContext;
  routeToAny({ session, caller: undefined, envelope, exchange, trace: undefined }, all);
  session.end('the client ended it');
  managed.server.release(session);
  isFound = true;
  arrive();
  await settle();
  expect([...managed.server.subscriptions.subscribers('x://1')]).toEqual([]);
  managed.end();
});
