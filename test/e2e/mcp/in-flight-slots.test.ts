// Distribution of the slots of limits.in_flight while servers hang: no server or session can use all slots,
// and requests that concern no server need none.

import { expect, test } from 'vitest';
import { modern, toolCall } from '../../fixtures/clients/modern-client.ts';
import {
  callOnce,
  details,
  json,
  RawSession,
  type RpcAnswer,
  startServer,
  stats,
  until,
} from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const IN_FLIGHT = 16;
const settings = { limits: { in_flight: IN_FLIGHT }, shutdown_seconds: 1 };

/** Sends `count` hanging calls. Returns the rejected calls once the remaining calls are in flight. */
async function hung(url: string, stay: number, calls: readonly Promise<RpcAnswer>[]): Promise<RpcAnswer[]> {
  const refusals: RpcAnswer[] = [];
  for (const call of calls) call.then((answer) => refusals.push(answer)).catch(() => {});
  await until('the refusals', () => refusals.length === calls.length - stay);
  await until('the rest', async () => (await stats(url)).requests.in_flight >= stay);
  return refusals;
}

const many = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

test('hanging servers leave request slots for calls of all other servers and for new sessions', async () => {
  const servers = { a: fault('echo'), b: fault('echo'), c: fault('echo') };
  const { url } = await startGateway({ servers, settings });
  await Promise.all(Object.keys(servers).map((id) => startServer(url, id)));

  const ofA = await hung(
    url,
    8,
    many(40, () => callOnce(url, 'a', 'hang')),
  );
  for (const { status, headers, error } of ofA) {
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(error?.message).toMatch(/^server a uses 8 of 16 slots .* raise limits\.in_flight$/);
  }
  const ofB = await hung(
    url,
    4,
    many(40, () => callOnce(url, 'b', 'hang')),
  );
  expect(ofB[0]?.error?.message).toContain('server b uses 4 of 16 slots');
  expect((await stats(url)).requests.in_flight).toBe(12);

  for (const path of ['/mcp/c', '/mcp', '/mcp/a']) {
    const session = await RawSession.open(url, path);
    expect((await session.request('ping')).result).toEqual({});
    expect(await session.end()).toBe(204);
  }
  const session = await RawSession.open(url, '/mcp');
  expect((await session.request('tools/list')).result?.tools).not.toHaveLength(0);
  expect((await session.call('c__echo', { n: 1 })).error).toBeUndefined();
  expect((await session.call('a__echo', { n: 1 })).error?.message).toContain('server a uses 8');
  expect((await modern(`${url}/mcp/c`, toolCall('echo'))).error).toBeUndefined();

  // Stopping them releases all slots.
  await Promise.all(['a', 'b'].map((id) => json(`${url}/servers/${id}/stop`, 'POST')));
  await until('the end', async () => (await stats(url)).requests.in_flight === 0);
  expect(
    (
      await hung(
        url,
        8,
        many(20, () => callOnce(url, 'c', 'hang')),
      )
    ).length,
  ).toBe(12);
});

test('a session with hanging calls leaves slots to the other sessions of its servers', async () => {
  const servers = { a: fault('echo'), b: fault('echo') };
  const { url } = await startGateway({ servers, settings });
  const [greedy, modest] = await Promise.all([RawSession.open(url), RawSession.open(url)]);
  await greedy.request('tools/list');
  const names = ['a__hang', 'b__hang'];
  const refusals = await hung(
    url,
    7,
    many(20, () => greedy.call(names.reverse()[0] ?? '')),
  );
  expect(refusals.at(-1)?.error?.message).toContain('this client uses 7 of 16 slots');
  expect((await modest.call('a__echo', { n: 1 })).error).toBeUndefined();
  expect((await greedy.request('ping')).result).toEqual({});
});

test('a server that hangs during initialize does not block other servers', async () => {
  const slow = { start_timeout_seconds: 300, request_timeout_seconds: 300 };
  const servers = { slow: fault('hangs-at-initialize', slow), c: fault('echo') };
  const { url } = await startGateway({ servers, settings });
  const failures: Error[] = [];
  for (const opening of many(12, () => RawSession.open(url, '/mcp/slow')))
    opening.catch((error: Error) => failures.push(error));
  await until('the refusals', () => failures.length === 8);
  expect(failures[0]?.message).toMatch(/server slow uses 4 of 8 slots for requests that wait/);
  const session = await RawSession.open(url, '/mcp/c');
  expect((await session.call('echo', { n: 1 })).error).toBeUndefined();
  expect((await stats(url)).sessions).toBe(5);
});

test('a session cannot fill the whole queue of a shared server, and calls of other sessions are answered', async () => {
  const { url } = await startGateway({
    servers: { a: fault('echo', { pool: { in_flight: 2, waiting: 8 } }) },
    settings: { shutdown_seconds: 1 },
  });
  const [greedy, modest] = await Promise.all([
    RawSession.open(url, '/mcp/a'),
    RawSession.open(url, '/mcp/a'),
  ]);
  const turnedOut = await hung(
    url,
    10,
    many(12, () => greedy.call('hang')),
  );
  expect(turnedOut).toHaveLength(2);

  const calls = [modest.call('echo', { n: 1 }), callOnce(url, 'a', 'echo', { n: 2 })];
  await until('their places', () => turnedOut.length === 4);
  expect(turnedOut.at(-1)?.error?.message).toContain('8 waiting');
  expect((await greedy.call('hang')).reason).toBe('ERR_OVERLOADED');
  expect(await greedy.end()).toBe(204);
  expect((await Promise.all(calls)).map(({ error }) => error)).toEqual([undefined, undefined]);
});

test('a session with hanging calls at a shared server leaves slots to other sessions', async () => {
  const { url } = await startGateway({
    servers: { a: fault('echo', { pool: { in_flight: 16, waiting: 8 } }) },
    settings: { shutdown_seconds: 1 },
  });
  const [greedy, modest] = await Promise.all([
    RawSession.open(url, '/mcp/a'),
    RawSession.open(url, '/mcp/a'),
  ]);
  await hung(
    url,
    22,
    many(30, () => greedy.call('hang')),
  );
  expect(await details(url, 'a')).toMatchObject({ in_flight: 14, waiting: 8 });
  expect((await modest.call('echo', { n: 1 })).error).toBeUndefined();
  expect((await callOnce(url, 'a', 'echo', { n: 2 })).status).toBe(200);
  // Requests that belong to no session share such a limit.
  for (const call of many(3, () => callOnce(url, 'a', 'hang'))) call.catch(() => {});
  await until('one of them', async () => (await details(url, 'a')).in_flight === 15);
  expect((await modest.call('echo', { n: 1 })).error).toBeUndefined();
});

test('large requests in flight to one server are limited in bytes, and leave a reserve for other servers', async () => {
  const servers = { a: fault('echo'), b: fault('echo') };
  const { url } = await startGateway({
    servers,
    settings: { limits: { body_bytes: 2_097_152 }, shutdown_seconds: 1 },
  });
  const large = { padding: 'x'.repeat(2_000_000) };
  const refusals: RpcAnswer[] = [];
  // Half of 64 MiB. Sequential, so that the server reads each request before the next is sent.
  for (let sent = 1; sent <= 20; sent += 1) {
    callOnce(url, 'a', 'hang', large).then(
      (answer) => refusals.push(answer),
      () => {},
    );
    await until('its fate', async () => (await stats(url)).requests.in_flight + refusals.length === sent);
  }
  expect(refusals.map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(refusals[0]?.error?.message).toMatch(/^large requests in flight use 34\d{6} of 67108864 bytes/);
  expect((await callOnce(url, 'a', 'echo', { n: 1 })).status).toBe(200);
  expect((await callOnce(url, 'b', 'echo', large)).status).toBe(200);

  // The stop releases all bytes.
  await json(`${url}/servers/a/stop`, 'POST');
  await until('the end', async () => (await stats(url)).requests.in_flight === 0);
  for (let again = 0; again < 20; again += 1)
    expect((await callOnce(url, 'a', 'echo', large)).status).toBe(200);
});
