// Calls of a managed server with fake links that fail, hang or send unexpected messages.
// The invariants A1, A5, A6 and A8 are in ARCHITECTURE.md.

import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  ConnectionLostError,
  OverloadedError,
  SessionExpiredError,
} from '../../../../../actors/base/errors/errors.ts';
import { type Log, silentLog } from '../../../../../actors/base/errors/log.ts';
import { deadLettersOf } from '../../../../../actors/base/supervision/dead-letters.ts';
import { subscribeResource } from '../../../../../actors/mcp/clients/sessions/resource-subscription.ts';
import type { ServerEntry } from '../../../../../config/catalog/catalog-schema.ts';
import type { FakeLink, FakeServer } from '../../../../fixtures/server/fake-link.ts';
import { FakeManagedServer, FakeOwner, settle } from '../../../../fixtures/server/fake-server.ts';

const open: FakeManagedServer[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const managed of open.splice(0)) managed.end();
});

function make(
  entry: Partial<ServerEntry> = {},
  fake: FakeServer = {},
  graceMs = 0,
  log: Log = silentLog,
): FakeManagedServer {
  const managed = new FakeManagedServer(entry, fake, graceMs, log);
  open.push(managed);
  return managed;
}

const pool = { max: 1, in_flight: 256, waiting: 256 };

describe('a client that has disconnected', () => {
  const modern = { era: 'modern' } as const;
  const discovery = { supportedVersions: ['2026-07-28'], capabilities: { resources: { subscribe: true } } };

  test('while its subscription waited for the start causes no new connection', async () => {
    const managed = make({ ...modern, isolation: 'session', pool: { ...pool, max: 2 } });
    const owner = new FakeOwner('left');
    const watched = subscribeResource(managed.server, owner, 'a://1');
    await settle();
    expect([managed.links.length, managed.server.handle.waiting]).toEqual([1, 1]);
    managed.server.release(owner);
    expect(await watched).toBe(false);
    await settle();
    expect(managed.links).toHaveLength(1);
    expect(managed.link.wasClosed).toBe(true);
    expect(managed.server.handle.waiting).toBe(0);
    expect(managed.server.subscriptions.isEmpty).toBe(true);
    expect(managed.server.state).toBe('stopped');
  });

  test('during the subscription request causes no further requests', async () => {
    const managed = make({ ...modern, pool: { ...pool, max: 2 } });
    const owner = Object.assign(new FakeOwner('left'), { isEnded: false });
    const watched = subscribeResource(managed.server, owner, 'a://1');
    await settle();
    managed.link.answer(1, discovery);
    await settle();
    expect(managed.link.sent.map(({ method }) => method)).toContain('server/discover');
    owner.isEnded = true;
    managed.server.release(owner);
    managed.link.answer(managed.link.sent.at(-1)?.message.id, discovery);
    expect(await watched).toBe(false);
    expect(managed.server.subscriptions.isEmpty).toBe(true);
    expect(await subscribeResource(managed.server, owner, 'a://1')).toBe(false);
    expect(managed.link.sent.filter(({ text }) => text.includes('a://1'))).toEqual([]);
  });

  test('together with hundreds of others causes only one new listen request in total', async () => {
    const managed = make(modern, { answers: { 'server/discover': discovery } });
    const owners = Array.from({ length: 300 }, (_, n) => new FakeOwner(`o${n}`));
    managed.call(undefined, '1', 'a');
    await settle(10);
    const listens = () => managed.link.sent.filter(({ method }) => method === 'subscriptions/listen');
    for (const [n, owner] of owners.entries()) managed.server.subscriptions.add(`a://${n}`, owner);
    const [first] = owners;
    if (first === undefined) return;
    void managed.server.listen(Object.assign(first, { era: 'modern' }));
    await settle();
    let synced = 0;
    const { uris } = managed.server.subscriptions;
    managed.server.subscriptions.uris = (isMeant) => {
      synced += 1;
      return uris.call(managed.server.subscriptions, isMeant);
    };
    for (const owner of owners) managed.server.release(owner);
    await settle();
    expect(listens().length).toBeGreaterThan(0);
    expect(synced).toBe(1);
  });
});

describe('a server start', () => {
  test('happens once for 200 concurrent calls, and all are answered', async () => {
    const managed = make();
    const calls = Array.from({ length: 200 }, (_, i) => managed.call(undefined, '1', `m${i}`));
    await settle();
    expect(managed.links).toHaveLength(1);
    expect(managed.server.state).toBe('running');
    for (const { message } of managed.link.calls)
      managed.link.answer(message.id, message.params.arguments.marker);
    expect(calls.map(({ recorder }) => recorder.result)).toEqual(calls.map((_, i) => `m${i}`));
  });

  test('fails if the server dies after initialize, during its lists', async () => {
    const managed = make({}, { capabilities: { tools: {} } });
    const { recorder } = managed.call(undefined, '1', 'a');
    await settle();
    expect(managed.server.state).toBe('starting');
    managed.link.die();
    await settle();
    expect(managed.server.state).toBe('failed');
    expect(managed.server.pool.members.size).toBe(0);
    expect(recorder.ends).toBe(0);
    managed.actor.send({ type: 'due' });
    await settle();
    expect(managed.links).toHaveLength(2);
    expect(managed.server.state).toBe('starting');
  });

  test('that failed is the reason in the errors of calls that time out before the server runs', async () => {
    const managed = make({ pool: { ...pool, in_flight: 1 } }, { hasManualInitialize: true });
    const first = managed.call(undefined, '1', 'a');
    const second = managed.call(undefined, '2', 'b');
    await settle();
    managed.link.die(new ConnectionLostError('no database'));
    await settle();
    const expected = 'while the server was being started: server fake could not be started: no database';
    first.call.expire();
    expect(first.recorder.errors[0]?.message).toMatch(new RegExp(`${expected}$`));
    managed.actor.send({ type: 'due' });
    await settle();
    managed.link.introduce(1);
    managed.call(undefined, '3', 'c');
    const waiting = managed.call(undefined, '4', 'd');
    await settle();
    expect(managed.server.state).toBe('running');
    waiting.call.expire();
    expect(waiting.recorder.errors[0]?.message).toContain('while waiting to be sent; raise');
    expect(second.recorder.ends).toBe(0);
  });

  test('that failed is reported to a call that waits for the replacement of a changed server', async () => {
    const [old, changed] = [make({}, { hasManualInitialize: true }), make({}, { hasManualInitialize: true })];
    const { recorder, call } = old.call(undefined, '1', 'a');
    await settle();
    old.link.die(new ConnectionLostError('the old one'));
    await settle();
    old.server.handle.retire(changed.server.handle);
    await settle();
    changed.link.die(new ConnectionLostError('the new one'));
    await settle();
    call.expire();
    expect(recorder.errors[0]?.message).toMatch(/could not be started: the new one$/);
  });

  test('that failed is reported to a waiting call whose server was replaced twice, with the newest error', async () => {
    const [old, changed, newest] = [0, 1, 2].map(() => make({}, { hasManualInitialize: true }));
    if (old === undefined || changed === undefined || newest === undefined)
      throw new Error('there are three');
    const { recorder, call } = old.call(undefined, '1', 'a');
    await settle();
    old.server.handle.retire(changed.server.handle);
    await settle();
    changed.link.die(new ConnectionLostError('the one between'));
    await settle();
    changed.server.handle.retire(newest.server.handle);
    await settle();
    newest.link.die(new ConnectionLostError('the newest'));
    await settle();
    call.expire();
    expect(recorder.errors[0]?.message).toMatch(/could not be started: the newest$/);
  });

  test('that is slow does not report the failure of an earlier start to a new call', async () => {
    const managed = make({}, { hasManualInitialize: true });
    managed.call(undefined, '1', 'a');
    await settle();
    managed.link.die(new ConnectionLostError('no database, then'));
    await settle();
    await new Promise((done) => setTimeout(done, 2));
    const { recorder, call } = managed.call(undefined, '2', 'b');
    managed.actor.send({ type: 'due' });
    await settle();
    call.expire();
    expect(recorder.errors[0]?.message).toContain('while waiting to be sent; raise');
  });

  const installing = 'may still be installing: run the command once manually, and check the network';
  const raise = 'raise start_timeout_seconds if it needs longer';
  test.each([
    ['in a silent installer names the installer', 'npx', 0, [], `npx ${installing}; ${raise}`],
    ['in an installer with a path names it as well', '/opt/bin/uvx', 0, [], `uvx ${installing}; ${raise}`],
    [
      'with stderr output reports the last line',
      'npx',
      0,
      ['a', 'b'],
      `its last line on stderr: b; ${raise}`,
    ],
    ['in any other program suggests a longer timeout', 'snpx', 0, [], raise],
    [
      'reports one invalid line in the singular',
      'npx',
      1,
      [],
      'it wrote 1 line to stdout that is not an MCP message; check that it is an MCP server',
    ],
    [
      'reports several invalid lines in the plural',
      'sh',
      2,
      [],
      'it wrote 2 lines to stdout that are not MCP messages; check that it is an MCP server',
    ],
  ] as const)('that takes too long %s', async (_, command, noiseLines, stderrTail, advice) => {
    const says = { noiseLines, stderrTail };
    const onSent = (link: FakeLink) => void Object.assign(link, says);
    const managed = make({ command, start_timeout_seconds: 0.01 }, { hasManualInitialize: true, onSent });
    await expect(managed.server.start()).rejects.toMatchObject({
      code: 'ERR_START_TIMEOUT',
      message: `server fake did not complete initialize within 0.01 s; ${advice}`,
    });
  });

  test('by one session continues for the next waiting call when the session ends', async () => {
    const managed = make({ isolation: 'session', pool: { ...pool, max: 2 } }, { hasManualInitialize: true });
    const [anna, ben] = [new FakeOwner('anna'), new FakeOwner('ben')];
    const hers = managed.call(anna, '1', 'anna');
    const his = managed.call(ben, '1', 'ben');
    hers.call.cancel();
    managed.server.release(anna);
    await settle();
    expect(managed.links.map(({ isOver }) => isOver)).toEqual([true, false]);
    managed.link.introduce(1);
    await settle();
    managed.link.answer(managed.link.calls[0]?.message.id, 'ben');
    expect(his.recorder.result).toBe('ben');
  });

  test('by one session is aborted when the session ends and no call waits', async () => {
    const managed = make({ isolation: 'session', pool: { ...pool, max: 2 } }, { hasManualInitialize: true });
    const anna = new FakeOwner('anna');
    managed.call(anna, '1', 'anna').call.cancel();
    managed.server.release(anna);
    await settle();
    expect(managed.server.state).toBe('stopped');
    expect(managed.link.isOver).toBe(true);
    managed.call(new FakeOwner('ben'), '1', 'ben');
    expect(managed.server.state).toBe('starting');
  });

  test("that is aborted by an operator's stop fails with that reason", async () => {
    const managed = make({}, { hasManualInitialize: true });
    const started = managed.server.start();
    const stopped = managed.server.stop();
    await expect(started).rejects.toThrow('was stopped while it was starting');
    await stopped;
  });
});

describe('the end of the last connection', () => {
  test('counts as a server failure even if calls wait, and only the supervisor restarts the server', async () => {
    const managed = make({ pool: { ...pool, in_flight: 1 } });
    const first = managed.call(undefined, '1', 'a');
    const second = managed.call(undefined, '2', 'b');
    await settle();
    managed.link.die();
    await settle();
    expect(first.recorder.errors[0]).toBeInstanceOf(ConnectionLostError);
    expect(managed.server.state).toBe('failed');
    expect(managed.links).toHaveLength(1);
    expect(second.recorder.ends).toBe(0);
    managed.actor.send({ type: 'due' });
    await settle();
    expect(managed.links).toHaveLength(2);
    expect(managed.link.calls.map(({ message }) => message.params.arguments.marker)).toEqual(['b']);
  });
});

describe('a server that does not answer its health pings', () => {
  const health = { interval_seconds: 0.01, timeout_seconds: 0.01, failures: 2 };

  test('fails after its calls, and log, record and later errors name that reason', async () => {
    const warnings: unknown[] = [];
    const managed = make({ health }, {}, 0, { ...silentLog, warn: (fields) => warnings.push(fields) });
    const { recorder } = managed.call(undefined, '1', 'a');
    await settle();
    await new Promise((resolve) => setTimeout(resolve, 100));
    // The call may block the server.
    expect(managed.server.state).toBe('running');
    managed.link.answer(managed.link.calls[0]?.message.id, 'a');
    expect(recorder.result).toBe('a');
    await vi.waitFor(() => expect(managed.server.state).toBe('failed'), 10_000);
    const reason = 'server fake did not answer 2 health pings in a row and was ended';
    expect(managed.server.lastError?.message).toBe(reason);
    const expected = { server: 'fake', code: 'ERR_CONNECTION_LOST', reason };
    expect(warnings).toEqual([expected, expected]);
    managed.actor.send({ type: 'park', until: Date.now() + 60_000 });
    expect(managed.call(undefined, '2', 'b').recorder.errors[0]?.message).toContain(`: ${reason}`);
  });
});

describe('a call that was certainly not executed', () => {
  test('is sent again once on the same live link', async () => {
    const managed = make();
    const { recorder } = managed.call(undefined, '7', 'a');
    await settle();
    managed.link.undelivered(managed.link.calls[0]?.message.id, new ConnectionLostError('x'), false);
    await settle();
    expect(managed.link.calls).toHaveLength(2);
    managed.link.undelivered(managed.link.calls[1]?.message.id, new ConnectionLostError('y'), false);
    await settle();
    expect(managed.link.calls).toHaveLength(2);
    expect(recorder.errors.map(({ message }) => message)).toEqual(['y']);
  });

  test('is never sent again if it may have been executed', async () => {
    const managed = make();
    const { recorder } = managed.call(undefined, '7', 'a');
    await settle();
    managed.link.undelivered(managed.link.calls[0]?.message.id, new ConnectionLostError('x'), true);
    await settle();
    expect(managed.link.calls).toHaveLength(1);
    expect(recorder.errors.map(({ message }) => message)).toEqual(['x']);
  });
});

describe('calls that wait for an exclusive connection', () => {
  test('are rejected after the server start if the pool is full, even thousands of calls, and the server continues', async () => {
    const managed = make(
      { isolation: 'session', pool: { max: 1, in_flight: 256, waiting: 10_000 } },
      { hasManualInitialize: true },
    );
    const calls = Array.from({ length: 5000 }, (_, i) => managed.call(new FakeOwner(`o${i}`), '1', `m${i}`));
    managed.link.introduce(1);
    await settle();
    expect(managed.server.state).toBe('running');
    expect(calls.filter(({ recorder }) => recorder.errors[0]?.code === 'ERR_UNAVAILABLE')).toHaveLength(4999);
    expect(managed.link.calls).toHaveLength(1);
  });

  test('fail together if it cannot be opened, without another attempt', async () => {
    const managed = make({ isolation: 'session', pool: { ...pool, max: 5 } }, { hasManualInitialize: true });
    managed.call(new FakeOwner('anna'), '1', 'a');
    managed.link.introduce(1);
    await settle();
    const ben = new FakeOwner('ben');
    const his = [managed.call(ben, '1', 'b'), managed.call(ben, '2', 'c')];
    managed.link.die();
    await settle();
    expect(his.map(({ recorder }) => recorder.errors[0]?.code)).toEqual([
      'ERR_START_FAILED',
      'ERR_START_FAILED',
    ]);
    expect(managed.links).toHaveLength(2);
  });
});

describe('a lost remote session', () => {
  test('is reopened once for all calls, which are sent again', async () => {
    const managed = make({ runtime: 'http' });
    const calls = Array.from({ length: 5 }, (_, i) => managed.call(undefined, '1', `m${i}`));
    await settle();
    const error = new SessionExpiredError('404');
    const [link] = managed.links;
    for (const { message } of link?.calls ?? []) link?.undelivered(message.id, error, false);
    link?.die(error);
    await settle();
    expect(managed.links).toHaveLength(2);
    expect(managed.server.state).toBe('running');
    for (const { message } of managed.link.calls)
      managed.link.answer(message.id, message.params.arguments.marker);
    expect(calls.map(({ recorder }) => recorder.result)).toEqual(calls.map((_, i) => `m${i}`));
  });
});

describe('the limits of a server (A8)', () => {
  test('apply per session under session isolation: one session cannot use the capacity of another (A6)', async () => {
    const managed = make({ isolation: 'session', pool: { max: 4, in_flight: 1, waiting: 1 } });
    const [anna, ben] = [new FakeOwner('anna'), new FakeOwner('ben')];
    managed.call(anna, '1', 'in flight');
    await settle();
    managed.call(anna, '2', 'waits');
    const refused = managed.call(anna, '3', 'one too many');
    expect(refused.recorder.errors[0]).toBeInstanceOf(OverloadedError);
    const bens = managed.call(ben, '1', 'ben');
    await settle();
    managed.link.answer(managed.link.calls[0]?.message.id, 'ok');
    expect(bens.recorder.result).toBe('ok');
  });

  test('reject a call above the in-flight and waiting limits immediately', async () => {
    const managed = make({ pool: { max: 1, in_flight: 2, waiting: 3 } });
    const calls = Array.from({ length: 3 }, () => managed.call(undefined, '1', 'a'));
    await settle();
    calls.push(managed.call(undefined, '1', 'a'), managed.call(undefined, '1', 'a'));
    expect(managed.server.handle).toMatchObject({ inFlight: 2, waiting: 3 });
    const refused = managed.call(undefined, '1', 'a');
    expect(refused.recorder.errors.map(({ code }) => code)).toEqual(['ERR_OVERLOADED']);
    expect(managed.link.calls).toHaveLength(2);
    managed.link.answer(managed.link.calls[0]?.message.id, 1);
    expect(managed.link.calls).toHaveLength(3);
    expect(managed.server.handle).toMatchObject({ inFlight: 2, waiting: 2 });
    expect(calls.filter(({ recorder }) => recorder.ends > 0)).toHaveLength(1);
  });
});

describe('session isolation', () => {
  const isolated: Partial<ServerEntry> = { isolation: 'session', pool: { max: 2, in_flight: 9, waiting: 9 } };

  test('a crash ends only one session and leaves the server running (A6)', async () => {
    const managed = make(isolated);
    const [anna, ben] = [new FakeOwner('anna'), new FakeOwner('ben')];
    const hers = managed.call(anna, '1', 'anna');
    const his = managed.call(ben, '1', 'ben');
    await settle();
    expect(managed.links).toHaveLength(2);
    managed.links[0]?.die();
    await settle();
    expect(hers.recorder.errors[0]).toBeInstanceOf(ConnectionLostError);
    expect(anna.partings).toEqual(['crashed']);
    expect([ben.partings, his.recorder.ends, managed.server.state]).toEqual([[], 0, 'running']);
  });

  test('a full pool closes the longest idle session; without an idle one the new call is rejected', async () => {
    const managed = make(isolated);
    const [anna, ben, carl] = [new FakeOwner('anna'), new FakeOwner('ben'), new FakeOwner('carl')];
    managed.call(anna, '1', 'anna');
    await settle();
    managed.call(ben, '1', 'ben');
    await settle();
    const refused = managed.call(carl, '1', 'carl');
    expect(refused.recorder.errors[0]).toMatchObject({ code: 'ERR_UNAVAILABLE', retryAfterSeconds: 1 });
    for (const link of managed.links) link.answer(link.calls[0]?.message.id, 'done');
    anna.hasOpenStream = true;
    managed.call(carl, '1', 'carl');
    await settle();
    expect([anna.partings, ben.partings]).toEqual([[], ['evicted']]);
    expect(managed.links[1]?.wasClosed).toBe(true);
    expect(managed.server.pool.members.size).toBe(2);
  });

  test('a server request goes to the session of its connection; without session isolation the request is rejected', async () => {
    const question = { jsonrpc: '2.0', id: 1, method: 'sampling/createMessage', params: {} };
    const managed = make(isolated);
    const [anna, ben] = [new FakeOwner('anna'), new FakeOwner('ben')];
    managed.call(anna, '1', 'anna');
    managed.call(ben, '1', 'ben');
    await settle();
    managed.links[1]?.say(question);
    expect([anna.received.length, ben.received.length]).toEqual([0, 1]);

    const shared = make();
    const one = new FakeOwner('one');
    shared.call(one, '1', 'one');
    await settle();
    shared.link.say(question);
    shared.link.say({ ...question, id: 2 }, shared.link.calls[0]?.message.id);
    expect(one.received).toEqual([]);
    const refusals = shared.link.sent.filter(({ message }) => message.error !== undefined);
    expect(refusals.map(({ message }) => [message.id, message.error.code])).toEqual([
      [1, -32601],
      [2, -32601],
    ]);
  });
});

describe('a manual stop', () => {
  test('of a server mentions an unanswered call only to clients that have one', async () => {
    const managed = make({ isolation: 'session', pool: { max: 2, in_flight: 9, waiting: 9 } });
    const [anna, ben] = [new FakeOwner('anna'), new FakeOwner('ben')];
    const reasons: string[] = [];
    for (const owner of [anna, ben])
      owner.onConnectionEnd = (_server, _why, { message }) => void reasons.push(message);
    managed.call(anna, '1', 'anna');
    await settle();
    managed.link.answer(managed.link.calls[0]?.message.id, 'done');
    const his = managed.call(ben, '1', 'ben');
    await settle();
    await managed.server.stop();
    const cut = 'server fake was stopped before the call was answered; it starts again on the next call';
    expect(reasons).toEqual(['server fake was stopped; it starts again on the next call', cut]);
    expect(his.recorder.errors.map(({ message }) => message)).toEqual([cut]);
  });
});

describe('a message of a shared server', () => {
  const notice = (method: string, params: object) => ({ jsonrpc: '2.0', method, params });

  test('reaches only its call, its subscribers, or the clients that listen or wait', async () => {
    const managed = make();
    const [anna, ben, carl] = [new FakeOwner('anna'), new FakeOwner('ben'), new FakeOwner('carl')];
    managed.call(anna, '1', 'anna');
    managed.call(ben, '1', 'ben');
    await settle();
    const counts = () => [anna, ben, carl].map(({ received }) => received.splice(0).length);
    const { link } = managed;
    const message = notice('notifications/message', { level: 'info', data: 1 });
    link.say(message, link.calls[1]?.message.id);
    expect(counts()).toEqual([0, 1, 0]);
    link.say(message);
    expect(counts()).toEqual([1, 1, 0]);
    managed.server.subscriptions.setLevel(carl, 'info');
    managed.server.subscriptions.setLevel(ben, 'error');
    link.say(message);
    expect(counts()).toEqual([1, 0, 1]);
    managed.server.subscriptions.add('x://1', carl);
    link.say(notice('notifications/resources/updated', { uri: 'x://1' }));
    link.say(notice('notifications/resources/updated', { uri: 'x://2' }));
    expect(counts()).toEqual([0, 0, 1]);
    link.say(notice('notifications/anything', {}));
    link.say(notice('notifications/cancelled', { requestId: 1 }));
    expect(counts()).toEqual([0, 0, 0]);
  });

  test('about changed lists causes one fetch for many such messages, and then a notification of the clients', async () => {
    const managed = make(
      {},
      { capabilities: { tools: {} }, answers: { 'tools/list': { tools: [{ name: 't' }] } } },
    );
    managed.call(undefined, '1', 'a');
    await settle();
    for (let i = 0; i < 50; i += 1) managed.link.say(notice('notifications/tools/list_changed', {}));
    const deadline = performance.now() + 2000;
    while (managed.announced.length === 0 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(managed.announced).toEqual(['tools']);
    expect(managed.link.sent.filter(({ method }) => method === 'tools/list')).toHaveLength(2);
  });

  test('about changed lists during a fetch causes one more fetch afterwards', async () => {
    const managed = make({}, { capabilities: { tools: {} } });
    const lists = () => managed.link.sent.filter(({ method }) => method === 'tools/list');
    const eventually = async (isSo: () => boolean) => {
      const deadline = performance.now() + 2000;
      while (!isSo() && performance.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 10));
      expect(isSo()).toBe(true);
    };
    managed.call(undefined, '1', 'a');
    await settle();
    managed.link.answer(lists()[0]?.message.id, { tools: [] });
    await settle();
    managed.link.say(notice('notifications/tools/list_changed', {}));
    await eventually(() => lists().length === 2);
    for (let i = 0; i < 4; i += 1) {
      managed.link.say(notice('notifications/tools/list_changed', {}));
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(lists()).toHaveLength(2);
    managed.link.answer(lists()[1]?.message.id, { tools: [] });
    await eventually(() => lists().length === 3);
  });

  test('that is a ping is answered', async () => {
    const managed = make();
    managed.call(undefined, '1', 'a');
    await settle();
    managed.link.say({ jsonrpc: '2.0', id: 'p', method: 'ping' });
    expect(managed.link.sent.at(-1)?.message).toEqual({ jsonrpc: '2.0', id: 'p', result: {} });
  });
});

describe('a server state machine that throws', () => {
  test("closes the server's handle and link; waiting calls are served after the restart (A1, A5)", async () => {
    const managed = make({}, { hasManualInitialize: true });
    const { handle } = managed.server;
    managed.thrown = [];
    const first = managed.call(undefined, '1', 'a');
    handle.drain = () => {
      Reflect.deleteProperty(handle, 'drain');
      throw new Error('a bug');
    };
    managed.link.introduce(1);
    await settle();
    expect(managed.thrown).toHaveLength(1);
    expect([managed.server.state, handle.isOpen, managed.link.isOver]).toEqual(['failed', false, true]);
    const letters = deadLettersOf(managed.actor.system);
    const before = letters.count;
    const second = managed.call(undefined, '2', 'b');
    await settle();
    expect(managed.links).toHaveLength(1);
    expect(letters.count).toBe(before + 1);
    expect(letters.recent.at(-1)?.type).toBe('demand');
    managed.spawn(2);
    await settle();
    managed.link.introduce(1);
    await settle();
    expect(managed.links).toHaveLength(2);
    for (const { message } of managed.link.calls)
      managed.link.answer(message.id, message.params.arguments.marker);
    expect([first.recorder.result, second.recorder.result]).toEqual(['a', 'b']);
  });
});

describe('a server stop', () => {
  test('ends the calls in flight and closes the link', async () => {
    const managed = make();
    const { recorder } = managed.call(undefined, '1', 'a');
    await settle();
    await managed.server.stop();
    expect(managed.server.state).toBe('stopped');
    expect(managed.link.wasClosed).toBe(true);
    expect(recorder.errors.map(({ code }) => code)).toEqual(['ERR_STOPPED']);
  });

  test('does not wait for suspended calls, which receive an error', async () => {
    const managed = make({}, {}, 60_000);
    const calls = ['a', 'b'].map((marker) => managed.call(undefined, '1', marker));
    await settle();
    for (const { call } of calls) call.suspend();
    await managed.server.stop();
    expect(managed.link.wasClosed).toBe(true);
    expect(calls.map(({ recorder }) => recorder.errors.map(({ code }) => code))).toEqual([
      ['ERR_STOPPED'],
      ['ERR_STOPPED'],
    ]);
  }, 5000);

  test('lets a suspended call continue if its client resumes it while another call is in flight', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const managed = make({}, {}, 60_000);
    const [parked, working] = [managed.call(undefined, '1', 'a'), managed.call(undefined, '2', 'b')];
    await settle();
    parked.call.suspend();
    const stopped = managed.server.stop();
    parked.call.resume();
    const [first, second] = managed.link.calls.map(({ message }) => message.id);
    managed.link.answer(second, 'b');
    await vi.advanceTimersByTimeAsync(30_000);
    expect(managed.server.state).toBe('stopping');
    managed.link.answer(first, 'a');
    await vi.advanceTimersByTimeAsync(100);
    await stopped;
    expect([parked.recorder.result, working.recorder.result]).toEqual(['a', 'b']);
  }, 5000);

  test('resets a parked server (calls refused after failures): its next call starts it again', async () => {
    const managed = make({}, { hasManualInitialize: true });
    managed.call(undefined, '1', 'a');
    await settle();
    managed.link.die();
    await settle();
    managed.actor.send({ type: 'park', until: Date.now() + 60_000 });
    expect(managed.call(undefined, '2', 'b').recorder.errors[0]?.code).toBe('ERR_UNAVAILABLE');
    await managed.server.stop();
    const { recorder } = managed.call(undefined, '3', 'c');
    await settle();
    expect(recorder.ends).toBe(0);
    expect(managed.server.state).toBe('starting');
  });

  test('of a parked server can be followed by a manual start, and calls wait for this start', async () => {
    const managed = make({}, { hasManualInitialize: true });
    managed.call(undefined, '1', 'a');
    await settle();
    managed.link.die();
    await settle();
    managed.actor.send({ type: 'park', until: Date.now() + 60_000 });
    const started = managed.server.start();
    const { recorder } = managed.call(undefined, '2', 'b');
    expect(recorder.ends).toBe(0);
    managed.link.introduce(1);
    await started;
    expect(managed.link.calls).toHaveLength(1);
  });
});
