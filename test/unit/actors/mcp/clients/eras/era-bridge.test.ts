// What the crossings leave behind, and when they give up: deadlines, bounds and timers, with a clock the test owns.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ConnectionLostError, type GatewayError } from '../../../../../../actors/base/errors/errors.ts';
import { ClientExchange } from '../../../../../../actors/mcp/clients/client-exchange.ts';
import { EraBridge } from '../../../../../../actors/mcp/clients/eras/era-bridge.ts';
import {
  type ExclusiveConnection,
  ExclusiveConnections,
  type ExclusiveUser,
} from '../../../../../../actors/mcp/clients/eras/exclusive-connection.ts';
import type { ModernCaller } from '../../../../../../actors/mcp/clients/eras/modern-caller.ts';
import {
  MAX_SUSPENDED,
  MAX_SUSPENDED_BYTES,
  SUSPEND_MS,
  type Suspendable,
} from '../../../../../../actors/mcp/clients/eras/suspended-calls.ts';
import type { ClientRequest, RoutedRequest } from '../../../../../../actors/mcp/clients/routed-request.ts';
import { Forwarder, withEras } from '../../../../../../actors/mcp/clients/routing/forwarder.ts';
import { InFlightLimiter } from '../../../../../../actors/mcp/clients/routing/in-flight-limiter.ts';
import { ReplayBudget } from '../../../../../../actors/mcp/clients/sessions/replay-budget.ts';
import { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { applyEdits } from '../../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import type { Envelope } from '../../../../../../actors/mcp/jsonrpc/envelope.ts';
import { readClientMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { type Edit, whole } from '../../../../../../actors/mcp/jsonrpc/span.ts';
import type { ServerEntry } from '../../../../../../config/catalog/catalog-schema.ts';
import type { FakeLink } from '../../../../../fixtures/server/fake-link.ts';
import { FakeManaged, settle, toolCall } from '../../../../../fixtures/server/fake-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: a message of a test, in whatever shape
type Message = any;

/** What the client saw of one of its requests. */
class Ear {
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
let managed: FakeManaged;
let ears: Ear[];

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
  });
  eraBridge = new EraBridge();
  forwarder = new Forwarder(new InFlightLimiter(1000), eraBridge);
  ears = [];
});

afterEach(async () => {
  eraBridge.suspended.close();
  managed.end();
  await settle();
  vi.useRealTimers();
});

/** The timers that are set, but for that of the calls' deadlines: it is not cleared when they end. */
function timers(): number {
  return vi.getTimerCount() - (managed.server.handle.deadlines.isTicking ? 1 : 0);
}

function request(envelope: Envelope, more: Partial<ClientRequest> = {}): { route: RoutedRequest; ear: Ear } {
  const ear = new Ear();
  ears.push(ear);
  const exchange = new ClientExchange(envelope.rawId, ear, {
    redact: (text) => text,
    onEnd: (ended) => more.session?.finish(ended),
  });
  more.session?.begin(exchange);
  const route = { session: undefined, caller: undefined, envelope, exchange, trace: undefined, ...more };
  return { route: { ...route, server: managed.server }, ear };
}

describe('a modern client before a legacy server', () => {
  beforeEach(() => {
    managed = new FakeManaged({ isolation: 'session', pool: { max: 3000, in_flight: 8, waiting: 3000 } });
  });

  const call = (who: ModernCaller = caller) => {
    const { route, ear } = request(toolCall('1', 'm', '"t"'), { caller: { ...who } });
    route.exchange.modernResult = { serverInfo: {}, isMethodKnown: true };
    forwarder.forward(route);
    return { route, ear };
  };

  const question = (id: unknown = 'q', params: object = { message: '?' }) => ({
    jsonrpc: '2.0',
    id,
    method: 'elicitation/create',
    params,
  });

  /** Once the questions that have come are asked. */
  async function gathered(): Promise<void> {
    await settle();
    vi.advanceTimersByTime(5);
    await settle();
  }

  /** A call that its server has asked a question for, once. */
  async function suspended(
    who?: ModernCaller,
  ): Promise<{ route: RoutedRequest; ear: Ear; link: FakeLink; state: string }> {
    const { route, ear } = call(who);
    await settle();
    const { link } = managed;
    link.say(question());
    await gathered();
    return { route, ear, link, state: ear.result?.requestState };
  }

  function retry(
    state: string,
    inputResponses: object,
  ): { ear: Ear; back: () => void; route: RoutedRequest } {
    const { bytes } = toolCall('2', 'm', '"u"');
    const { params } = JSON.parse(bytes.toString());
    const more = { ...params, requestState: state, inputResponses };
    const { route, ear } = request(message({ id: 2, method: 'tools/call', params: more }), { caller });
    route.exchange.modernResult = { serverInfo: {}, isMethodKnown: true };
    return {
      ear,
      route,
      back: () => eraBridge.suspended.take(state, managed.server.id, route.envelope).resume(route),
    };
  }

  test('that does not come back in time has its call cancelled, and nothing is left of it', async () => {
    const { link, state, ear } = await suspended({ ...caller, logLevel: 'info' });
    expect(managed.server.handle.inFlight).toBe(1);
    expect([...managed.server.subscriptions.listeners()]).toHaveLength(1);
    vi.advanceTimersByTime(SUSPEND_MS - 1);
    expect(link.isOver).toBe(false);
    vi.advanceTimersByTime(1);
    await settle();
    const said = link.sent.slice(-2).map(({ message }) => message);
    expect(said).toMatchObject([
      { method: 'notifications/cancelled', params: { reason: expect.stringContaining('did not come back') } },
      { id: 'q', error: { code: -32000 } },
    ]);
    expect(link.wasClosed).toBe(true);
    // It declares no logging.
    expect(link.sent.map(({ method }) => method)).not.toContain('logging/setLevel');
    expect(managed.server.pool.members.size).toBe(0);
    expect(managed.server.handle.inFlight).toBe(0);
    expect([...managed.server.subscriptions.listeners()]).toEqual([]);
    expect(eraBridge.suspended.size).toBe(0);
    expect(timers()).toBe(0);
    expect(retry(state, {}).back).toThrow('unknown');
    expect(ear.ends).toHaveLength(1);
  });

  test('that comes back in time has the deadline of its place gone, and one for its call again (ML4)', async () => {
    const { link, state } = await suspended();
    vi.advanceTimersByTime(SUSPEND_MS - 1);
    const { ear, back } = retry(state, { 'input-1': { action: 'accept' } });
    back();
    expect(link.sent.at(-1)?.message).toEqual({ jsonrpc: '2.0', id: 'q', result: { action: 'accept' } });
    vi.advanceTimersByTime(59_999);
    expect(ear.ends).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ear.error?.code).toBe('ERR_DEADLINE');
    await settle();
    expect(timers()).toBe(0);
    expect(managed.server.pool.members.size).toBe(0);
  });

  test('is another principal than the one that asked, and finds no call (PK1)', async () => {
    const { state } = await suspended({ ...caller, principal: 'token:alice' });
    const { route } = retry(state, { 'input-1': { action: 'accept' } });
    const take = (principal?: string) =>
      eraBridge.suspended.take(state, managed.server.id, route.envelope, principal);
    expect(() => take('token:bob')).toThrow('belongs to another request');
    expect(() => take()).toThrow('belongs to another request');
    take('token:alice').resume(route);
    expect(eraBridge.suspended.size).toBe(0);
  });

  test('that cancels the request it was answered cancels nothing of the call that is suspended', async () => {
    const { route, link, state } = await suspended();
    route.exchange.cancel('too late');
    await settle();
    expect(link.sent.map(({ method }) => method)).not.toContain('notifications/cancelled');
    const { ear, back } = retry(state, { 'input-1': {} });
    back();
    route.exchange.cancel('much too late');
    link.answer(link.calls[0]?.message.id, { content: [] });
    expect(ear.result).toMatchObject({ resultType: 'complete', content: [] });
  });

  test('has the place of the call that was suspended longest when there is no other', async () => {
    const expired: number[] = [];
    const states = Array.from({ length: MAX_SUSPENDED }, (_, n) => {
      const place: Suspendable = {
        server: '',
        digest: '',
        bytes: 0,
        resume: () => {},
        expire: () => expired.push(n),
      };
      return eraBridge.suspended.suspend(place) ?? '';
    });
    const { state } = await suspended();
    expect(eraBridge.suspended.has(state)).toBe(true);
    expect([expired, eraBridge.suspended.size]).toEqual([[0], MAX_SUSPENDED]);
    expect(states.filter((one) => !eraBridge.suspended.has(one))).toEqual([states[0]]);
    expect(retry(states[0] ?? '', {}).back).toThrow('given way to newer ones');
    eraBridge.suspended.close();
    await settle();
    expect(expired).toHaveLength(MAX_SUSPENDED);
    expect(timers()).toBe(0);
  });

  test('keeps no more bytes than there is room for: the call that was suspended longest gives way (PK3)', async () => {
    const expired: number[] = [];
    const bytes = MAX_SUSPENDED_BYTES / 4;
    const place = (n: number): Suspendable => ({
      server: '',
      digest: '',
      bytes,
      resume: () => {},
      expire: () => expired.push(n),
    });
    const calls = [0, 1, 2, 3, 4, 5].map(place);
    for (const one of calls) eraBridge.suspended.suspend(one);
    expect(expired).toEqual([0, 1]);
    const newest = calls.at(-1) as Suspendable;
    expect(eraBridge.suspended.keep(newest, 1)).toBe(false);
    vi.advanceTimersByTime(SUSPEND_MS);
    expect(expired).toEqual([0, 1, 2, 3, 4, 5]);

    // All of it is free again; nobody gets more than half.
    eraBridge.suspended.suspend(newest);
    expect(eraBridge.suspended.keep(newest, bytes)).toBe(true);
    expect(eraBridge.suspended.keep(newest, 1)).toBe(false);
    expect(eraBridge.suspended.keep(calls[0] as Suspendable, 1)).toBe(false);
    eraBridge.suspended.close();
    expect(timers()).toBe(0);
  });

  test('finds what its call said meanwhile as far as there was room, and an answer for which there was none is an error', async () => {
    const { link, state, route } = await suspended({ ...caller, logLevel: 'info' });
    // Others keep all but 4 MiB.
    const shares = [2, 4, 8, 16].map((part) => ({
      server: '',
      digest: '',
      bytes: MAX_SUSPENDED_BYTES / part - route.envelope.bytes.length,
      resume: () => {},
      expire: () => {},
    }));
    for (const share of shares) eraBridge.suspended.suspend(share);
    const log = (data: string) =>
      link.say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } });
    log('small');
    const large = 'x'.repeat(1024 * 1024);
    for (let n = 0; n < 4; n += 1) log(large);
    link.answer(link.calls[0]?.message.id, { content: [{ type: 'text', text: large.repeat(3) }] });
    await settle();
    const { ear, back } = retry(state, { 'input-1': { action: 'accept' } });
    back();
    expect(ear.sent.map(({ params }) => params.data.length)).toEqual([5, large.length, large.length]);
    expect(ear.error?.message).toMatch(/^the answer came while the client was away/);
  });

  test('has the connection of the call that was suspended longest when there is no other', async () => {
    managed.end();
    managed = new FakeManaged({ isolation: 'session', pool: { max: 2, in_flight: 8, waiting: 8 } });
    const first = await suspended({ ...caller, clientInfo: { name: 'first' } });
    vi.advanceTimersByTime(10);
    const second = await suspended({ ...caller, clientInfo: { name: 'second' } });
    // Neither an exclusive connection nor the connection that requests without questions share.
    const plain = call({ ...caller, capabilities: {} });
    await settle(10);
    expect([first.link.wasClosed, second.link.wasClosed]).toEqual([true, false]);
    managed.link.answer(managed.link.calls[0]?.message.id, { content: [], n: 3 });
    expect(plain.ear.result).toMatchObject({ n: 3 });
    expect(managed.server.pool.members.size).toBe(2);

    const late = retry(first.state, { 'input-1': {} });
    late.back();
    expect(late.ear.error).toMatchObject({ code: 'ERR_UNAVAILABLE', retryAfterSeconds: 1 });
    expect(late.ear.error?.message).toMatch(/gave way.*send the request anew, or raise pool\.max/);
    const { ear, back } = retry(second.state, { 'input-1': {} });
    back();
    second.link.answer(second.link.calls[0]?.message.id, { content: [], n: 2 });
    expect(ear.result).toMatchObject({ n: 2 });
    eraBridge.suspended.close();
    await settle();
    expect(timers()).toBe(0);
  });

  test('takes no connection from a call that its server is at work on', async () => {
    managed.end();
    managed = new FakeManaged({ isolation: 'session', pool: { max: 1, in_flight: 8, waiting: 8 } });
    const { state, link } = await suspended();
    const { back } = retry(state, { 'input-1': {} });
    back();
    const { ear } = call({ ...caller, clientInfo: { name: 'second' } });
    await settle();
    expect(ear.error?.message).toContain('all 1 connections of server');
    expect(link.wasClosed).toBe(false);
  });

  test('is not suspended any more once the gateway is stopping', async () => {
    eraBridge.suspended.close();
    const { ear } = await suspended();
    expect(ear.error?.code).toBe('ERR_STOPPED');
    expect(eraBridge.suspended.size).toBe(0);
  });

  test('is told what was said meanwhile, up to a bound, in order and under its new token (ML3)', async () => {
    const { link, state } = await suspended();
    const id = link.calls[0]?.message.id;
    const progress = (n: number, more = '') => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: id, progress: n, message: more },
    });
    for (let n = 0; n < 1000; n += 1) link.say(progress(n));
    const { ear, back } = retry(state, { 'input-1': {} });
    back();
    expect(ear.sent.map(({ params }) => params.progress)).toEqual(Array.from({ length: 256 }, (_, n) => n));
    expect(new Set(ear.sent.map(({ params }) => params.progressToken))).toEqual(new Set(['u']));
    link.say(question('q2'));
    await gathered();
    for (let n = 0; n < 9; n += 1) link.say(progress(n, 'x'.repeat(1 << 20)));
    const again = retry(ear.result.requestState, { 'input-2': {} });
    again.back();
    expect(again.ear.sent).toHaveLength(3);
  });

  test('gets the end of a call that has ended meanwhile, and the exclusive connection is free before (ML2)', async () => {
    const { link, state } = await suspended();
    link.answer(link.calls[0]?.message.id, { content: [], n: 1 });
    const next = call();
    await settle();
    // The same connection: nobody waits for anything on it.
    expect(managed.links.at(-1)).toBe(link);
    expect(link.calls).toHaveLength(2);
    const { ear, back } = retry(state, { 'input-1': {} });
    back();
    expect(ear.result).toMatchObject({ n: 1 });
    expect(next.ear.ends).toEqual([]);
    link.answer(link.calls[1]?.message.id, { content: [], n: 2 });
    expect(next.ear.result).toMatchObject({ n: 2 });
  });

  test.each(['first request', 'retry'])(
    'that closes the stream of its %s cancels the call',
    async (which) => {
      let link: FakeLink;
      if (which === 'retry') {
        const { state, ...first } = await suspended();
        link = first.link;
        const { back, route, ear } = retry(state, { 'input-1': {} });
        back();
        route.exchange.cancel();
        expect(ear.ends).toEqual(['dropped']);
      } else {
        const { route, ear } = call();
        await settle();
        link = managed.link;
        // The server asks, and before that has been told the client is gone.
        link.say(question());
        route.exchange.cancel();
        await settle();
        expect(ear.ends).toEqual(['dropped']);
      }
      const id = link.calls[0]?.message.id;
      expect(link.sent.map(({ message }) => message)).toContainEqual(
        expect.objectContaining({
          method: 'notifications/cancelled',
          params: expect.objectContaining({ requestId: id }),
        }),
      );
      // Whatever it still asks reaches nobody else.
      expect(link.wasClosed).toBe(true);
      await settle();
      expect(eraBridge.suspended.size).toBe(0);
      expect(timers()).toBe(0);
    },
  );

  test('has only so many questions kept; what its server asks beyond that is refused (ML5)', async () => {
    const { link, state } = await suspended();
    for (let n = 0; n < 300; n += 1) link.say(question(n));
    await gathered();
    const refused = link.sent.filter(({ message }) => message.error !== undefined);
    expect(refused).toHaveLength(45);
    expect(refused[0]?.message).toMatchObject({ id: 255, error: { code: -32000 } });
    const { ear, back } = retry(state, { 'input-1': {} });
    back();
    expect(Object.keys(ear.result.inputRequests)).toHaveLength(255);
  });

  test('has its log level told once per connection', async () => {
    managed.end();
    managed = new FakeManaged(
      { isolation: 'session' },
      { capabilities: { logging: {} }, answers: { 'logging/setLevel': {} } },
    );
    const loud = { ...caller, logLevel: 'warning' as const };
    for (const n of [0, 1, 2]) {
      const { ear } = call(loud);
      await settle(10);
      managed.link.answer(managed.link.calls[n]?.message.id, { content: [] });
      expect(ear.result).toMatchObject({ resultType: 'complete' });
    }
    const levels = managed.link.sent.filter(({ method }) => method === 'logging/setLevel');
    expect(levels.map(({ message }) => message.params)).toEqual([{ level: 'warning' }]);
    expect(managed.links).toHaveLength(1);
  });
});

describe('requests to a server that is being asked for its eras', () => {
  test('wait in no greater number than its waiting room holds', async () => {
    managed = new FakeManaged({ era: 'auto', pool: { max: 1, in_flight: 8, waiting: 3 } });
    let acted = 0;
    for (let n = 0; n < 5; n += 1) withEras(request(toolCall('1', 'm')).route, () => (acted += 1));
    expect(ears.map(({ error }) => error?.code)).toEqual([
      ...[undefined, undefined, undefined],
      ...['ERR_OVERLOADED', 'ERR_OVERLOADED'],
    ]);
    await settle();
    // It knows no such method, and is legacy.
    managed.link.say({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no' } });
    await settle();
    expect(acted).toBe(3);
    expect(managed.server.eras.waiting).toBe(0);
  });
});

describe('exclusive connections', () => {
  const user: ExclusiveUser = { onServerRequest: () => {}, onServerNotification: () => {} };

  /** Has the exclusive connection opened by a call on it. */
  async function opened(exclusive: ExclusiveConnection): Promise<ExclusiveConnection> {
    const { call } = managed.call(exclusive, '1', 'm');
    await settle(10);
    managed.link.answer(managed.link.calls.at(-1)?.message.id, {});
    expect(call.isDone).toBe(true);
    return exclusive;
  }

  test('leave nothing behind for clients that do not come again, however they have gone', async () => {
    managed = new FakeManaged({ isolation: 'session', pool: { max: 2, in_flight: 8, waiting: 8 } });
    const exclusives = new ExclusiveConnections(managed.server);
    const client = (name: string) => ({ ...caller, clientInfo: { name }, logLevel: 'info' as const });
    for (let n = 0; n < 10; n += 1) {
      exclusives.giveBack(await opened(exclusives.take(client(`client-${n}`), user)), false);
      expect(exclusives.size).toBeLessThanOrEqual(2);
    }
    expect(exclusives.size).toBe(2);
    // Used once more and spoilt, and one that dies.
    exclusives.giveBack(exclusives.take(client('client-8'), user), true);
    expect(exclusives.size).toBe(1);
    managed.link.die(new ConnectionLostError('died'));
    await settle();
    expect(exclusives.size).toBe(0);
    expect(managed.server.pool.members.size).toBe(0);
    expect([...managed.server.subscriptions.listeners()]).toEqual([]);
  });

  test('are used again by the principal that had them, and by no other', async () => {
    managed = new FakeManaged({ isolation: 'session', pool: { max: 9, in_flight: 8, waiting: 8 } });
    const exclusives = new ExclusiveConnections(managed.server);
    const of = (principal: string) => ({ ...caller, principal });
    const first = await opened(exclusives.take(of('token:alice'), user));
    exclusives.giveBack(first, false);
    expect(exclusives.has(of('token:bob'))).toBe(false);
    expect(exclusives.take(of('token:bob'), user)).not.toBe(first);
    expect(exclusives.take(of('token:alice'), user)).toBe(first);
  });

  test('to a remote server that stays away are forgotten when others come', async () => {
    const fake = { isManual: false };
    const pool = { max: 9, in_flight: 8, waiting: 8 };
    managed = new FakeManaged({ isolation: 'session', runtime: 'http', pool } as Partial<ServerEntry>, fake);
    const exclusives = new ExclusiveConnections(managed.server);
    const client = (name: string) => ({ ...caller, clientInfo: { name }, logLevel: 'info' as const });
    for (const name of ['a', 'b', 'c'])
      exclusives.giveBack(await opened(exclusives.take(client(name), user)), false);
    expect(exclusives.size).toBe(3);
    fake.isManual = true;
    for (const link of [...managed.links]) link.die();
    await settle();
    for (const link of managed.links.filter(({ isOver }) => !isOver)) link.die();
    await settle(10);
    expect(managed.server.pool.members.size).toBe(0);
    fake.isManual = false;
    await managed.server.start();
    exclusives.giveBack(await opened(exclusives.take(client('d'), user)), false);
    expect(exclusives.size).toBe(1);
    expect([...managed.server.subscriptions.listeners()]).toHaveLength(1);
  });

  test('to a remote server are not opened anew for nobody, when they die in use', async () => {
    managed = new FakeManaged({ isolation: 'session', runtime: 'http' } as Partial<ServerEntry>);
    const { route, ear } = request(toolCall('1', 'm'), { caller });
    forwarder.forward(route);
    await settle();
    managed.link.die(new ConnectionLostError('the session is gone'));
    expect(ear.error?.message).toContain('the session is gone');
    await settle();
    expect(managed.server.pool.members.size).toBe(0);
    expect(managed.links.filter(({ isOver }) => !isOver)).toEqual([]);
  });

  test('that die in use are reported as any connection that does', async () => {
    managed = new FakeManaged({ isolation: 'session' });
    const { route, ear } = request(toolCall('1', 'm'), { caller });
    forwarder.forward(route);
    await settle();
    managed.link.die(new ConnectionLostError('it fell over'));
    expect(ear.error?.message).toContain('it fell over');
    expect(managed.server.lastError?.message).toContain('it fell over');
    await settle();
    expect(managed.server.pool.members.size).toBe(0);
  });
});

describe('a legacy client before a modern server', () => {
  let session: ClientSession;

  beforeEach(() => {
    managed = new FakeManaged(
      { era: 'modern' },
      {
        answers: {
          'server/discover': { supportedVersions: ['2026-07-28'], capabilities: {} },
        },
      },
    );
    session = new ClientSession({
      id: 'session',
      target: undefined,
      protocolVersion: '2025-11-25',
      clientInfo: { name: 'old', version: '1' },
      capabilities: { elicitation: {} },
      replays: new ReplayBudget(),
      onParting: () => {},
    });
  });

  async function asked(result: object): Promise<{ ear: Ear; link: FakeLink; route: RoutedRequest }> {
    const { route, ear } = request(toolCall('1', 'm'), { session });
    forwarder.forward(route);
    await settle();
    // What its start may take has been taken.
    vi.advanceTimersByTime(10_000);
    managed.link.answer(managed.link.calls.at(-1)?.message.id, { resultType: 'input_required', ...result });
    return { ear, link: managed.link, route };
  }

  const elicitation = { method: 'elicitation/create', params: { message: '?' } };
  const member = () => [...managed.server.pool.members][0];

  test('that does not answer in time fails its call, and is told that the question is over (LM2)', async () => {
    const { ear } = await asked({ inputRequests: { a: elicitation }, requestState: 's' });
    expect(member()?.inFlight).toBe(1);
    vi.advanceTimersByTime(599_999);
    expect(ear.ends).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(ear.result).toMatchObject({ isError: true });
    expect(ear.sent).toMatchObject([
      { id: 1, method: 'elicitation/create' },
      { method: 'notifications/cancelled', params: { requestId: 1 } },
    ]);
    expect(member()?.inFlight).toBe(0);
    expect(timers()).toBe(0);
  });

  test.each(['cancels', 'ends its session'])(
    'that %s while the server is about to be asked again leaves no timer',
    async (how) => {
      const { ear, link, route } = await asked({ requestState: 's' });
      expect(timers()).toBe(1);
      if (how === 'cancels') route.exchange.cancel();
      else session.end('over');
      expect(ear.ends).toHaveLength(1);
      expect(timers()).toBe(0);
      expect(member()?.inFlight).toBe(0);
      vi.advanceTimersByTime(10_000);
      expect(link.calls).toHaveLength(1);
    },
  );

  test('that answers what is too deep to be sent on has its call ended, and no place kept', async () => {
    const { ear, link } = await asked({ inputRequests: { a: elicitation }, requestState: 's' });
    const deep = `${'['.repeat(255)}${']'.repeat(255)}`;
    session.onClientAnswer(
      readClientMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"content":${deep}}}`)),
    );
    expect(ear.ends).toHaveLength(1);
    expect(ear.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('deep') }] });
    expect(link.calls).toHaveLength(1);
    expect(member()?.inFlight).toBe(0);
    expect(session.inFlight).toBe(0);
  });

  test('that ends its session while it is asked hears one end, and the server nothing (LM3)', async () => {
    const { ear, link } = await asked({ inputRequests: { a: elicitation } });
    session.end('over');
    expect(ear.ends).toHaveLength(1);
    expect(ear.error?.code).toBe('ERR_SESSION_GONE');
    session.onClientAnswer(message({ id: 1, result: {} }));
    expect(link.calls).toHaveLength(1);
    expect(timers()).toBe(0);
    expect(member()?.inFlight).toBe(0);
  });
});

describe('a call that goes across', () => {
  test.each([
    ['legacy', caller],
    ['modern', undefined],
  ] as const)(
    'to the %s era is sent as edits of the message as it came, and not read again',
    async (era, who) => {
      managed = new FakeManaged({ era, isolation: 'shared' });
      const accept = vi.spyOn(managed.server.handle, 'accept');
      const { route } = request(toolCall('1', 'm', '"t"'), { caller: who });
      route.exchange.modernResult = who && { serverInfo: {}, isMethodKnown: true };
      forwarder.forward(route);
      const [[sent]] = accept.mock.calls as unknown as [[{ envelope: Envelope; edits: readonly Edit[] }]];
      expect(sent.envelope).toBe(route.envelope);
      const told = JSON.parse(whole(applyEdits(sent.envelope.bytes, sent.edits)).toString());
      expect(told.params._meta.progressToken).toBe('t');
      const version = told.params._meta['io.modelcontextprotocol/protocolVersion'];
      expect(version).toBe(era === 'modern' ? '2026-07-28' : undefined);
    },
  );
});
