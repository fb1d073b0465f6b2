// Calls between clients and servers of different protocol eras: legacy (sessions) and modern (stateless,
// 2026-07-28). Deadlines, limits and timers, with a fake clock. A legacy server's request during a call
// suspends the call, until the modern client answers with a retry.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConnectionLostError, type GatewayError } from '../../../../../../actors/base/errors/errors.ts';
import { EraBridge } from '../../../../../../actors/mcp/clients/eras/bridge.ts';
import {
  type ExclusiveConnection,
  ExclusiveConnections,
  type ExclusiveUser,
} from '../../../../../../actors/mcp/clients/eras/exclusive-connection.ts';
import type { ModernCaller } from '../../../../../../actors/mcp/clients/eras/modern-caller.ts';
import {
  MAX_SUSPENDED,
  MAX_SUSPENDED_BYTES,
  type Suspendable,
} from '../../../../../../actors/mcp/clients/eras/suspended-calls.ts';
import { ClientExchange } from '../../../../../../actors/mcp/clients/exchange.ts';
import type { ClientRequest, RoutedRequest } from '../../../../../../actors/mcp/clients/routed-request.ts';
import { Forwarder, withEras } from '../../../../../../actors/mcp/clients/routing/forwarder.ts';
import { InFlightLimiter } from '../../../../../../actors/mcp/clients/routing/in-flight-limiter.ts';
import { ReplayBudget } from '../../../../../../actors/mcp/clients/sessions/replay-budget.ts';
import { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import type { Envelope } from '../../../../../../actors/mcp/jsonrpc/envelope.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { type Edit, toBuffer } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import { ClientShares } from '../../../../../../actors/mcp/servers/calls/client-shares.ts';
import { MAX_PAUSE_MS } from '../../../../../../actors/mcp/servers/calls/limits.ts';
import type { ServerEntry } from '../../../../../../config/catalog/catalog-schema.ts';
import type { FakeLink } from '../../../../../fixtures/server/fake-link.ts';
import { FakeManagedServer, settle, toolCall } from '../../../../../fixtures/server/fake-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: any JSON message
type Message = any;

/** Records the messages that a client receives for one request. */
class ResponseRecorder {
  readonly sent: Message[] = [];
  readonly ends: Message[] = [];
  error: GatewayError | undefined;

  send(message: Buffer): void {
    this.sent.push(JSON.parse(message.toString()));
  }

  finish(message: Buffer, error?: GatewayError): void {
    this.error = error;
    this.ends.push(JSON.parse(message.toString()));
  }

  drop(): void {
    this.ends.push('dropped');
  }

  get result(): Message {
    return this.ends[0]?.result;
  }
}

const caller: ModernCaller = {
  clientInfo: { name: 'test', version: '1' },
  capabilities: { elicitation: {} },
  logLevel: undefined,
};

const message = (value: object) =>
  readClientMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...value })));

let eraBridge: EraBridge;
let forwarder: Forwarder;
let managed: FakeManagedServer;
let recorders: ResponseRecorder[];

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  });
  eraBridge = new EraBridge();
  forwarder = new Forwarder(new InFlightLimiter(1000), eraBridge);
  recorders = [];
});

afterEach(async () => {
  eraBridge.suspendedCalls.close();
  managed.end();
  await settle();
  vi.useRealTimers();
});

/** Returns the number of timers, without the shared timer for deadlines, which continues after the calls. */
function timers(): number {
  return vi.getTimerCount() - (managed.server.handle.deadlines.isTicking ? 1 : 0);
}

function request(
  envelope: Envelope,
  more: Partial<ClientRequest> = {},
): { route: RoutedRequest; recorder: ResponseRecorder } {
  const recorder = new ResponseRecorder();
  recorders.push(recorder);
  const exchange = new ClientExchange(envelope.rawId, recorder, {
    redact: (text) => text,
    onEnd: (ended) => more.session?.finish(ended),
  });
  more.session?.begin(exchange);
  const route = { session: undefined, caller: undefined, envelope, exchange, trace: undefined, ...more };
  return { route: { ...route, server: managed.server }, recorder };
}

describe('a modern client at a legacy server', () => {
  beforeEach(() => {
    managed = new FakeManagedServer({
      isolation: 'session',
      pool: { max: 3000, in_flight: 8, waiting: 3000 },
    });
  });

  const call = (who: ModernCaller = caller) => {
    const { route, recorder } = request(toolCall('1', 'm', '"t"'), { caller: { ...who } });
    route.exchange.modernResult = { serverInfo: {}, isMethodKnown: true };
    forwarder.forward(route);
    return { route, recorder };
  };

  const question = (id: unknown = 'q', params: object = { message: '?' }) => ({
    jsonrpc: '2.0',
    id,
    method: 'elicitation/create',
    params,
  });

  /** Resolves when the pending server requests have been sent to the client. */
  async function requestsSent(): Promise<void> {
    await settle();
    vi.advanceTimersByTime(5);
    await settle();
  }

  /** Starts a call that is suspended by a server request. */
  async function startSuspendedCall(
    who?: ModernCaller,
  ): Promise<{ route: RoutedRequest; recorder: ResponseRecorder; link: FakeLink; state: string }> {
    const { route, recorder } = call(who);
    await settle();
    const { link } = managed;
    link.say(question());
    await requestsSent();
    return { route, recorder, link, state: recorder.result?.requestState };
  }

  function retry(
    state: string,
    inputResponses: object,
  ): { recorder: ResponseRecorder; back: () => void; route: RoutedRequest } {
    const { bytes } = toolCall('2', 'm', '"u"');
    const { params } = JSON.parse(bytes.toString());
    const more = { ...params, requestState: state, inputResponses };
    const { route, recorder } = request(message({ id: 2, method: 'tools/call', params: more }), { caller });
    route.exchange.modernResult = { serverInfo: {}, isMethodKnown: true };
    return {
      recorder,
      route,
      back: () => eraBridge.suspendedCalls.take(state, managed.server.id, route.envelope).resume(route),
    };
  }

  test('that does not send its retry in time has its call cancelled, and no state remains', async () => {
    const { link, state, recorder } = await startSuspendedCall({ ...caller, logLevel: 'info' });
    expect(managed.server.handle.inFlight).toBe(1);
    expect([...managed.server.subscriptions.listeners()]).toHaveLength(1);
    vi.advanceTimersByTime(MAX_PAUSE_MS - 1);
    expect(link.isOver).toBe(false);
    vi.advanceTimersByTime(1);
    await settle();
    const lastMessages = link.sent.slice(-2).map(({ message }) => message);
    expect(lastMessages).toMatchObject([
      {
        method: 'notifications/cancelled',
        params: { reason: expect.stringContaining('did not provide the requested input') },
      },
      { id: 'q', error: { code: -32000 } },
    ]);
    expect(link.wasClosed).toBe(true);
    // The client does not declare logging.
    expect(link.sent.map(({ method }) => method)).not.toContain('logging/setLevel');
    expect(managed.server.pool.members.size).toBe(0);
    expect(managed.server.handle.inFlight).toBe(0);
    expect([...managed.server.subscriptions.listeners()]).toEqual([]);
    expect(eraBridge.suspendedCalls.size).toBe(0);
    expect(timers()).toBe(0);
    expect(retry(state, {}).back).toThrow('unknown');
    expect(recorder.ends).toHaveLength(1);
  });

  test('that sends its retry in time ends the suspension deadline and restarts the call deadline', async () => {
    const { link, state } = await startSuspendedCall();
    vi.advanceTimersByTime(MAX_PAUSE_MS - 1);
    const { recorder, back } = retry(state, { 'input-1': { action: 'accept' } });
    back();
    expect(link.sent.at(-1)?.message).toEqual({ jsonrpc: '2.0', id: 'q', result: { action: 'accept' } });
    vi.advanceTimersByTime(59_999);
    expect(recorder.ends).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(recorder.error?.code).toBe('ERR_DEADLINE');
    await settle();
    expect(timers()).toBe(0);
    expect(managed.server.pool.members.size).toBe(0);
  });

  test('cannot resume the call of another principal', async () => {
    const { state } = await startSuspendedCall({ ...caller, principal: 'token:alice' });
    const { route } = retry(state, { 'input-1': { action: 'accept' } });
    const take = (principal?: string) =>
      eraBridge.suspendedCalls.take(state, managed.server.id, route.envelope, principal);
    expect(() => take('token:bob')).toThrow('of another request');
    expect(() => take()).toThrow('of another request');
    take('token:alice').resume(route);
    expect(eraBridge.suspendedCalls.size).toBe(0);
  });

  test('that cancels a request already answered with questions does not cancel the suspended call', async () => {
    const { route, link, state } = await startSuspendedCall();
    route.exchange.cancel('too late');
    await settle();
    expect(link.sent.map(({ method }) => method)).not.toContain('notifications/cancelled');
    const { recorder, back } = retry(state, { 'input-1': {} });
    back();
    route.exchange.cancel('much too late');
    link.answer(link.calls[0]?.message.id, { content: [] });
    expect(recorder.result).toMatchObject({ resultType: 'complete', content: [] });
  });

  test('causes the longest suspended call to expire if no slot is free for a new suspension', async () => {
    const expired: number[] = [];
    const states = Array.from({ length: MAX_SUSPENDED }, (_, n) => {
      const newCall: Suspendable = {
        server: '',
        digest: '',
        bytes: 0,
        resume: () => {},
        expire: () => expired.push(n),
      };
      return eraBridge.suspendedCalls.suspend(newCall) ?? '';
    });
    const { state } = await startSuspendedCall();
    expect(eraBridge.suspendedCalls.has(state)).toBe(true);
    expect([expired, eraBridge.suspendedCalls.size]).toEqual([[0], MAX_SUSPENDED]);
    expect(states.filter((one) => !eraBridge.suspendedCalls.has(one))).toEqual([states[0]]);
    expect(retry(states[0] ?? '', {}).back).toThrow('displaced by newer ones');
    eraBridge.suspendedCalls.close();
    await settle();
    expect(expired).toHaveLength(MAX_SUSPENDED);
    expect(timers()).toBe(0);
  });

  test('causes the longest suspended call to expire if the byte budget is exhausted', async () => {
    const expired: number[] = [];
    const bytes = MAX_SUSPENDED_BYTES / 4;
    const newCall = (n: number): Suspendable => ({
      server: '',
      digest: '',
      bytes,
      resume: () => {},
      expire: () => expired.push(n),
    });
    const calls = [0, 1, 2, 3, 4, 5].map(newCall);
    for (const one of calls) eraBridge.suspendedCalls.suspend(one);
    expect(expired).toEqual([0, 1]);
    const newest = calls.at(-1) as Suspendable;
    expect(eraBridge.suspendedCalls.reserve(newest, 1)).toBe(false);
    vi.advanceTimersByTime(MAX_PAUSE_MS);
    expect(expired).toEqual([0, 1, 2, 3, 4, 5]);

    // The budget is free, but the limit per call is half of it.
    eraBridge.suspendedCalls.suspend(newest);
    expect(eraBridge.suspendedCalls.reserve(newest, bytes)).toBe(true);
    expect(eraBridge.suspendedCalls.reserve(newest, 1)).toBe(false);
    expect(eraBridge.suspendedCalls.reserve(calls[0] as Suspendable, 1)).toBe(false);
    eraBridge.suspendedCalls.close();
    expect(timers()).toBe(0);
  });

  test('receives the messages that fit into the memory budget, and an error in place of a response that does not fit', async () => {
    const { link, state, route } = await startSuspendedCall({ ...caller, logLevel: 'info' });
    // Other calls use all but 4 MiB.
    const shares = [2, 4, 8, 16].map((part) => ({
      server: '',
      digest: '',
      bytes: MAX_SUSPENDED_BYTES / part - route.envelope.bytes.length,
      resume: () => {},
      expire: () => {},
    }));
    for (const share of shares) eraBridge.suspendedCalls.suspend(share);
    const log = (data: string) =>
      link.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });
    log('small');
    const large = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 4; n += 1) log(large);
    link.answer(link.calls[0]?.message.id, { content: [{ type: 'text', text: large.repeat(3) }] });
    await settle();
    const { recorder, back } = retry(state, { 'input-1': { action: 'accept' } });
    back();
    expect(recorder.sent.map(({ params }) => params.data.length)).toEqual([5, large.length, large.length]);
    expect(recorder.error?.message).toMatch(/^the response arrived while the call was suspended/);
  });

  test('takes the connection of the call that waits longest for its client, if no connection is free', async () => {
    managed.end();
    managed = new FakeManagedServer({ isolation: 'session', pool: { max: 2, in_flight: 8, waiting: 8 } });
    const first = await startSuspendedCall({ ...caller, clientInfo: { name: 'first' } });
    vi.advanceTimersByTime(10);
    const second = await startSuspendedCall({ ...caller, clientInfo: { name: 'second' } });
    // Requests of clients that do not accept server requests never use an exclusive connection.
    const plain = call({ ...caller, capabilities: {} });
    await settle(10);
    expect([first.link.wasClosed, second.link.wasClosed]).toEqual([true, false]);
    managed.link.answer(managed.link.calls[0]?.message.id, { content: [], n: 3 });
    expect(plain.recorder.result).toMatchObject({ n: 3 });
    expect(managed.server.pool.members.size).toBe(2);

    const late = retry(first.state, { 'input-1': {} });
    late.back();
    expect(late.recorder.error).toMatchObject({ code: 'ERR_UNAVAILABLE', retryAfterSeconds: 1 });
    expect(late.recorder.error?.message).toMatch(
      /ended for another; send the request again, or raise pool\.max/,
    );
    const { recorder, back } = retry(second.state, { 'input-1': {} });
    back();
    second.link.answer(second.link.calls[0]?.message.id, { content: [], n: 2 });
    expect(recorder.result).toMatchObject({ n: 2 });
    eraBridge.suspendedCalls.close();
    await settle();
    expect(timers()).toBe(0);
  });

  test('receives an error if the call of another client, which the server processes, uses the only connection', async () => {
    managed.end();
    managed = new FakeManagedServer({ isolation: 'session', pool: { max: 1, in_flight: 8, waiting: 8 } });
    const { state, link } = await startSuspendedCall();
    const { back } = retry(state, { 'input-1': {} });
    back();
    const { recorder } = call({ ...caller, clientInfo: { name: 'second' } });
    await settle();
    expect(recorder.error?.message).toContain('all 1 connections of server');
    expect(link.wasClosed).toBe(false);
  });

  test('receives an error instead of a suspension while the gateway stops', async () => {
    eraBridge.suspendedCalls.close();
    const { recorder } = await startSuspendedCall();
    expect(recorder.error?.code).toBe('ERR_STOPPED');
    expect(eraBridge.suspendedCalls.size).toBe(0);
  });

  test('receives the messages stored during the suspension, up to a limit, in order and with its new token', async () => {
    const { link, state } = await startSuspendedCall();
    const id = link.calls[0]?.message.id;
    const progress = (n: number, more = '') => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: id, progress: n, message: more },
    });
    for (let n = 0; n < 1000; n += 1) link.say(progress(n));
    const { recorder, back } = retry(state, { 'input-1': {} });
    back();
    expect(recorder.sent.map(({ params }) => params.progress)).toEqual(
      Array.from({ length: 256 }, (_, n) => n),
    );
    expect(new Set(recorder.sent.map(({ params }) => params.progressToken))).toEqual(new Set(['u']));
    link.say(question('q2'));
    await requestsSent();
    for (let n = 0; n < 9; n += 1) link.say(progress(n, 'x'.repeat(1 << 20)));
    const secondRetry = retry(recorder.result.requestState, { 'input-2': {} });
    secondRetry.back();
    expect(secondRetry.recorder.sent).toHaveLength(3);
  });

  test('receives the response of a call that ended during the suspension and has released its exclusive connection', async () => {
    const { link, state } = await startSuspendedCall();
    link.answer(link.calls[0]?.message.id, { content: [], n: 1 });
    const next = call();
    await settle();
    // The connection is reused, because no call is waiting for a message.
    expect(managed.links.at(-1)).toBe(link);
    expect(link.calls).toHaveLength(2);
    const { recorder, back } = retry(state, { 'input-1': {} });
    back();
    expect(recorder.result).toMatchObject({ n: 1 });
    expect(next.recorder.ends).toEqual([]);
    link.answer(link.calls[1]?.message.id, { content: [], n: 2 });
    expect(next.recorder.result).toMatchObject({ n: 2 });
  });

  test.each(['first request', 'retry'])(
    'that closes the stream of its %s cancels the call',
    async (which) => {
      let link: FakeLink;
      if (which === 'retry') {
        const { state, ...first } = await startSuspendedCall();
        link = first.link;
        const { back, route, recorder } = retry(state, { 'input-1': {} });
        back();
        route.exchange.cancel();
        expect(recorder.ends).toEqual(['dropped']);
      } else {
        const { route, recorder } = call();
        await settle();
        link = managed.link;
        // The server sends a request before it receives the notification that the client disconnected.
        link.say(question());
        route.exchange.cancel();
        await settle();
        expect(recorder.ends).toEqual(['dropped']);
      }
      const id = link.calls[0]?.message.id;
      expect(link.sent.map(({ message }) => message)).toContainEqual(
        expect.objectContaining({
          method: 'notifications/cancelled',
          params: expect.objectContaining({ requestId: id }),
        }),
      );
      // Further requests of that server must not reach another client.
      expect(link.wasClosed).toBe(true);
      await settle();
      expect(eraBridge.suspendedCalls.size).toBe(0);
      expect(timers()).toBe(0);
    },
  );

  test('has a limited number of open server requests; further ones are rejected', async () => {
    const { link, state } = await startSuspendedCall();
    for (let n = 0; n < 300; n += 1) link.say(question(n));
    await requestsSent();
    const refused = link.sent.filter(({ message }) => message.error !== undefined);
    expect(refused).toHaveLength(45);
    expect(refused[0]?.message).toMatchObject({ id: 255, error: { code: -32000 } });
    const { recorder, back } = retry(state, { 'input-1': {} });
    back();
    expect(Object.keys(recorder.result.inputRequests)).toHaveLength(255);
  });

  test('sets its log level once per connection', async () => {
    managed.end();
    managed = new FakeManagedServer(
      { isolation: 'session' },
      { capabilities: { logging: {} }, answers: { 'logging/setLevel': {} } },
    );
    const loud = { ...caller, logLevel: 'warning' as const };
    for (const n of [0, 1, 2]) {
      const { recorder } = call(loud);
      await settle(10);
      managed.link.answer(managed.link.calls[n]?.message.id, { content: [] });
      expect(recorder.result).toMatchObject({ resultType: 'complete' });
    }
    const levels = managed.link.sent.filter(({ method }) => method === 'logging/setLevel');
    expect(levels.map(({ message }) => message.params)).toEqual([{ level: 'warning' }]);
    expect(managed.links).toHaveLength(1);
  });
});

describe('requests to a server whose protocol era is being detected', () => {
  test('wait up to a limit, and further requests are rejected', async () => {
    managed = new FakeManagedServer({ era: 'auto', pool: { max: 1, in_flight: 8, waiting: 3 } });
    let acted = 0;
    for (let n = 0; n < 5; n += 1) withEras(request(toolCall('1', 'm')).route, () => (acted += 1));
    expect(recorders.map(({ error }) => error?.code)).toEqual([
      ...[undefined, undefined, undefined],
      ...['ERR_OVERLOADED', 'ERR_OVERLOADED'],
    ]);
    await settle();
    // The method is unknown, so the server uses the legacy era.
    managed.link.say({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no' } });
    await settle();
    expect(acted).toBe(3);
    expect(managed.server.eras.waiting).toBe(0);
  });

  test('that one client sends leave capacity for another client', () => {
    managed = new FakeManagedServer({ era: 'auto', pool: { max: 1, in_flight: 8, waiting: 3 } });
    const [greedy, other] = [new ClientShares(), new ClientShares()];
    for (const client of [greedy, greedy, greedy, greedy, other]) {
      const { route } = request(toolCall('1', 'm'));
      route.exchange.client = client;
      withEras(route, () => {});
    }
    expect(recorders.map(({ error }) => error?.code)).toEqual([
      ...[undefined, undefined, undefined],
      ...['ERR_OVERLOADED', undefined],
    ]);
  });
});

describe('connections that each serve one modern request at a time (exclusive)', () => {
  const user: ExclusiveUser = { onServerRequest: () => {}, onServerNotification: () => {} };

  /** Opens the exclusive connection with a call. */
  async function openConnection(exclusive: ExclusiveConnection): Promise<ExclusiveConnection> {
    const { call } = managed.call(exclusive, '1', 'm');
    await settle(10);
    managed.link.answer(managed.link.calls.at(-1)?.message.id, {});
    expect(call.isDone).toBe(true);
    return exclusive;
  }

  test('keep no state for clients that do not return', async () => {
    managed = new FakeManagedServer({ isolation: 'session', pool: { max: 2, in_flight: 8, waiting: 8 } });
    const exclusives = new ExclusiveConnections(managed.server);
    const client = (name: string) => ({ ...caller, clientInfo: { name }, logLevel: 'info' as const });
    for (let n = 0; n < 10; n += 1) {
      exclusives.release(await openConnection(exclusives.take(client(`client-${n}`), user)), false);
      expect(exclusives.size).toBeLessThanOrEqual(2);
    }
    expect(exclusives.size).toBe(2);
    // The first connection is reused and then discarded, the second fails.
    exclusives.release(exclusives.take(client('client-8'), user), true);
    expect(exclusives.size).toBe(1);
    managed.link.die(new ConnectionLostError('died'));
    await settle();
    expect(exclusives.size).toBe(0);
    expect(managed.server.pool.members.size).toBe(0);
    expect([...managed.server.subscriptions.listeners()]).toEqual([]);
  });

  test('are reused only by the principal that opened them', async () => {
    managed = new FakeManagedServer({ isolation: 'session', pool: { max: 9, in_flight: 8, waiting: 8 } });
    const exclusives = new ExclusiveConnections(managed.server);
    const of = (principal: string) => ({ ...caller, principal });
    const first = await openConnection(exclusives.take(of('token:alice'), user));
    exclusives.release(first, false);
    expect(exclusives.has(of('token:bob'))).toBe(false);
    expect(exclusives.take(of('token:bob'), user)).not.toBe(first);
    expect(exclusives.take(of('token:alice'), user)).toBe(first);
  });

  test('to a remote server are dropped if their client is absent when another client connects', async () => {
    const fake = { hasManualInitialize: false };
    const pool = { max: 9, in_flight: 8, waiting: 8 };
    managed = new FakeManagedServer(
      { isolation: 'session', runtime: 'http', pool } as Partial<ServerEntry>,
      fake,
    );
    const exclusives = new ExclusiveConnections(managed.server);
    const client = (name: string) => ({ ...caller, clientInfo: { name }, logLevel: 'info' as const });
    for (const name of ['a', 'b', 'c'])
      exclusives.release(await openConnection(exclusives.take(client(name), user)), false);
    expect(exclusives.size).toBe(3);
    fake.hasManualInitialize = true;
    for (const link of [...managed.links]) link.die();
    await settle();
    for (const link of managed.links.filter(({ isOver }) => !isOver)) link.die();
    await settle(10);
    expect(managed.server.pool.members.size).toBe(0);
    fake.hasManualInitialize = false;
    await managed.server.start();
    exclusives.release(await openConnection(exclusives.take(client('d'), user)), false);
    expect(exclusives.size).toBe(1);
    expect([...managed.server.subscriptions.listeners()]).toHaveLength(1);
  });

  test('to a remote server are not reopened after they die in use', async () => {
    managed = new FakeManagedServer({ isolation: 'session', runtime: 'http' } as Partial<ServerEntry>);
    const { route, recorder } = request(toolCall('1', 'm'), { caller });
    forwarder.forward(route);
    await settle();
    managed.link.die(new ConnectionLostError('the session is gone'));
    expect(recorder.error?.message).toContain('the session is gone');
    await settle();
    expect(managed.server.pool.members.size).toBe(0);
    expect(managed.links.filter(({ isOver }) => !isOver)).toEqual([]);
  });

  test('that are lost in use are reported as a server failure, like shared connections', async () => {
    managed = new FakeManagedServer({ isolation: 'session' });
    const { route, recorder } = request(toolCall('1', 'm'), { caller });
    forwarder.forward(route);
    await settle();
    managed.link.die(new ConnectionLostError('it fell over'));
    expect(recorder.error?.message).toContain('it fell over');
    expect(managed.server.lastError?.message).toContain('it fell over');
    await settle();
    expect(managed.server.pool.members.size).toBe(0);
  });
});

describe('a legacy client at a modern server', () => {
  let session: ClientSession;

  function startServer(entry: Partial<ServerEntry> = {}): void {
    const discovery = { supportedVersions: ['2026-07-28'], capabilities: {} };
    managed = new FakeManagedServer(
      { era: 'modern', ...entry },
      { answers: { 'server/discover': discovery } },
    );
  }

  beforeEach(() => {
    startServer();
    session = new ClientSession({
      id: 'session',
      target: undefined,
      protocolVersion: '2025-11-25',
      clientInfo: { name: 'old', version: '1' },
      capabilities: { elicitation: {} },
      replayBudget: new ReplayBudget(),
      onConnectionLost: () => {},
    });
  });

  async function callWithInput(
    result: object,
  ): Promise<{ recorder: ResponseRecorder; link: FakeLink; route: RoutedRequest }> {
    const { route, recorder } = request(toolCall('1', 'm'), { session });
    forwarder.forward(route);
    await settle();
    vi.advanceTimersByTime(10_000);
    managed.link.answer(managed.link.calls.at(-1)?.message.id, { resultType: 'input_required', ...result });
    return { recorder, link: managed.link, route };
  }

  const elicitation = { method: 'elicitation/create', params: { message: '?' } };
  const member = () => [...managed.server.pool.members][0];

  test('that does not answer in time fails its call and receives a cancellation', async () => {
    const { recorder } = await callWithInput({ inputRequests: { a: elicitation }, requestState: 's' });
    expect(member()?.inFlight).toBe(1);
    vi.advanceTimersByTime(599_999);
    expect(recorder.ends).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(recorder.result).toMatchObject({ isError: true });
    expect(recorder.sent).toMatchObject([
      { id: 1, method: 'elicitation/create' },
      { method: 'notifications/cancelled', params: { requestId: 1 } },
    ]);
    expect(member()?.inFlight).toBe(0);
    expect(timers()).toBe(0);
  });

  test('has ten minutes in total for all server requests, during which the call limits pause', async () => {
    const { recorder, link } = await callWithInput({ inputRequests: { a: elicitation } });
    vi.advanceTimersByTime(540_000);
    session.onClientAnswer(message({ id: 1, result: {} }));
    vi.advanceTimersByTime(59_000);
    link.answer(link.calls.at(-1)?.message.id, {
      resultType: 'input_required',
      inputRequests: { a: elicitation },
    });
    vi.advanceTimersByTime(59_999);
    expect(recorder.ends).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(recorder.result).toMatchObject({ isError: true });
    expect(recorder.sent.at(-1)).toMatchObject({ method: 'notifications/cancelled' });
    expect(timers()).toBe(0);
  });

  test('has one total time limit for all rounds of its call', async () => {
    startServer({ max_request_seconds: 100 });
    const { recorder, link } = await callWithInput({ inputRequests: { a: elicitation } });
    session.onClientAnswer(message({ id: 1, result: {} }));
    vi.advanceTimersByTime(59_000);
    link.answer(link.calls.at(-1)?.message.id, {
      resultType: 'input_required',
      inputRequests: { a: elicitation },
    });
    session.onClientAnswer(message({ id: 2, result: {} }));
    vi.advanceTimersByTime(30_999);
    expect(recorder.ends).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(recorder.error?.code).toBe('ERR_DEADLINE');
  });

  test.each(['cancels', 'ends its session'])(
    'that %s before the server request is repeated leaves no timer',
    async (how) => {
      const { recorder, link, route } = await callWithInput({ requestState: 's' });
      expect(timers()).toBe(1);
      if (how === 'cancels') route.exchange.cancel();
      else session.end('over');
      expect(recorder.ends).toHaveLength(1);
      expect(timers()).toBe(0);
      expect(member()?.inFlight).toBe(0);
      vi.advanceTimersByTime(10_000);
      expect(link.calls).toHaveLength(1);
    },
  );

  test('whose answer is nested too deeply fails its call, and the slot is free again', async () => {
    const { recorder, link } = await callWithInput({ inputRequests: { a: elicitation }, requestState: 's' });
    const deep = `${'['.repeat(255)}${']'.repeat(255)}`;
    session.onClientAnswer(
      readClientMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"content":${deep}}}`)),
    );
    expect(recorder.ends).toHaveLength(1);
    expect(recorder.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('deep') }],
    });
    expect(link.calls).toHaveLength(1);
    expect(member()?.inFlight).toBe(0);
    expect(session.inFlight).toBe(0);
  });

  test('gets one error if it ends its session during a question of the server, which gets no answer', async () => {
    const { recorder, link } = await callWithInput({ inputRequests: { a: elicitation } });
    session.end('over');
    expect(recorder.ends).toHaveLength(1);
    expect(recorder.error?.code).toBe('ERR_SESSION_GONE');
    session.onClientAnswer(message({ id: 1, result: {} }));
    expect(link.calls).toHaveLength(1);
    expect(timers()).toBe(0);
    expect(member()?.inFlight).toBe(0);
  });
});

describe('a call between a client and a server of different protocol eras', () => {
  test.each([
    ['legacy', caller],
    ['modern', undefined],
  ] as const)(
    'to the %s era is sent as edits of the original message, without parsing it again',
    async (era, who) => {
      managed = new FakeManagedServer({ era, isolation: 'shared' });
      const accept = vi.spyOn(managed.server.handle, 'accept');
      const { route } = request(toolCall('1', 'm', '"t"'), { caller: who });
      route.exchange.modernResult = who && { serverInfo: {}, isMethodKnown: true };
      forwarder.forward(route);
      const [[sent]] = accept.mock.calls as unknown as [[{ envelope: Envelope; edits: readonly Edit[] }]];
      expect(sent.envelope).toBe(route.envelope);
      const sentMessage = JSON.parse(toBuffer(applyEdits(sent.envelope.bytes, sent.edits)).toString());
      expect(sentMessage.params._meta.progressToken).toBe('t');
      const version = sentMessage.params._meta['io.modelcontextprotocol/protocolVersion'];
      expect(version).toBe(era === 'modern' ? '2026-07-28' : undefined);
    },
  );
});
