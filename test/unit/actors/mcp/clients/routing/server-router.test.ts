// Resource subscriptions of client sessions at one server: their limits. Legacy servers have sessions; modern
// servers are stateless (2026-07-28).

import { afterEach, expect, test } from 'vitest';
import { EraBridge } from '../../../../../../actors/mcp/clients/eras/bridge.ts';
import { ClientExchange } from '../../../../../../actors/mcp/clients/exchange.ts';
import { Forwarder } from '../../../../../../actors/mcp/clients/routing/forwarder.ts';
import { InFlightLimiter } from '../../../../../../actors/mcp/clients/routing/in-flight-limiter.ts';
import {
  type RoutingContext,
  routeToServer,
} from '../../../../../../actors/mcp/clients/routing/server-router.ts';
import { MAX_URIS } from '../../../../../../actors/mcp/clients/sessions/listen-stream.ts';
import { ReplayBudget } from '../../../../../../actors/mcp/clients/sessions/replay-budget.ts';
import { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { SubscriptionBudget } from '../../../../../../actors/mcp/servers/notifications/subscription-budget.ts';
import { Subscriptions } from '../../../../../../actors/mcp/servers/notifications/subscriptions.ts';
import { FakeManagedServer, settle } from '../../../../../fixtures/server/fake-server.ts';

let managed: FakeManagedServer;
afterEach(() => managed.end());

const aSession = () =>
  new ClientSession({
    id: 's',
    target: 'fake',
    protocolVersion: '2025-06-18',
    clientInfo: {},
    capabilities: {},
    replayBudget: new ReplayBudget(),
    onConnectionLost: () => {},
  });

function sendRequest(session: ClientSession, method: string, params: unknown) {
  const envelope = readClientMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));
  const eraBridge = new EraBridge();
  const context = {
    eraBridge,
    forwarder: new Forwarder(new InFlightLimiter(1000), eraBridge),
    aggregate: {},
  } as unknown as RoutingContext;
  return new Promise<{ error?: { code: number; message: string } }>((resolve) => {
    const outlet = {
      send: () => {},
      finish: (answer: Buffer) => resolve(JSON.parse(answer.toString())),
      drop: () => {},
    };
    const exchange = new ClientExchange('1', outlet, {
      redact: (text) => text,
      onEnd: (ended) => session.finish(ended),
    });
    session.begin(exchange);
    routeToServer(
      { session, caller: undefined, server: managed.server, envelope, exchange, trace: undefined },
      context,
    );
  });
}

test.each(['legacy', 'modern'] as const)(
  'the router limits the subscriptions of a session at a %s server until the session unsubscribes from a resource',
  async (era) => {
    const discovery = {
      supportedVersions: ['2026-07-28'],
      capabilities: { resources: { subscribe: true } },
    };
    managed = new FakeManagedServer(
      { era, pool: { max: 1, in_flight: 256, waiting: 2000 } },
      {
        answers: {
          'resources/subscribe': {},
          'resources/unsubscribe': {},
          'server/discover': discovery,
        },
      },
    );
    const session = aSession();
    const subscribe = (uri: string) => sendRequest(session, 'resources/subscribe', { uri });
    const full = {
      code: -32602,
      message: expect.stringContaining(`${MAX_URIS} subscriptions at server fake`),
    };
    const { subscriptions } = managed.server;
    for (let n = 0; n < MAX_URIS; n += 1) subscriptions.add(`x://${n}`, session);
    expect((await subscribe('x://more')).error).toEqual(full);
    expect(managed.links).toHaveLength(0);
    expect([...subscriptions.subscribers('x://more')]).toEqual([]);
    if (era === 'legacy') {
      expect((await subscribe('x://7')).error).toBeUndefined();
      const other = await sendRequest(aSession(), 'resources/subscribe', { uri: 'x://more' });
      expect(other.error).toBeUndefined();
    }
    expect((await sendRequest(session, 'resources/unsubscribe', { uri: 'x://7' })).error).toBeUndefined();
    void subscribe('x://more');
    await settle();
    expect([...subscriptions.subscribers('x://more')]).toContain(session);
    expect((await subscribe('x://evenmore')).error).toEqual(full);
  },
);

test('the router rejects a subscription to a URI above the length limit, without recording it', async () => {
  managed = new FakeManagedServer({}, { answers: { 'resources/subscribe': {} } });
  const session = aSession();
  const of = (length: number) =>
    sendRequest(session, 'resources/subscribe', { uri: `x://${'y'.repeat(length - 4)}` });
  expect((await of(8193)).error).toEqual({
    code: -32602,
    message: expect.stringContaining('8192 characters'),
  });
  expect(managed.server.subscriptions.isEmpty).toBe(true);
  expect((await of(8192)).error).toBeUndefined();
});

test.each(['legacy', 'modern'] as const)(
  'the router rejects a subscription at a %s server above the byte budget, and another client keeps its share',
  async (era) => {
    const discovery = {
      supportedVersions: ['2026-07-28'],
      capabilities: { resources: { subscribe: true } },
    };
    const budget = new SubscriptionBudget(40_000);
    managed = new FakeManagedServer(
      { era },
      { answers: { 'resources/subscribe': {}, 'server/discover': discovery } },
      ...([0, undefined, new Subscriptions(budget)] as const),
    );
    const [greedy, other] = [aSession(), aSession()];
    const { subscriptions } = managed.server;
    for (let n = 0; subscriptions.refusal(`x://${'y'.repeat(4000)}${n}`, greedy) === undefined; n += 1)
      subscriptions.add(`x://${'y'.repeat(4000)}${n}`, greedy);
    const before = budget.bytes;
    const refused = await sendRequest(greedy, 'resources/subscribe', { uri: `x://${'z'.repeat(4000)}` });
    expect(refused.error?.message).toMatch(
      /no memory for another subscription: all clients together use \d+/,
    );
    expect(budget.bytes).toBe(before);
    void sendRequest(other, 'resources/subscribe', { uri: `x://${'z'.repeat(4000)}` });
    await settle();
    expect(budget.bytes).toBeGreaterThan(before);
    subscriptions.releaseAll();
    expect(budget.bytes).toBe(0);
  },
);
