// Who gets the places of limits.in_flight when servers hang: no server and no session has them all, and what needs no server
// needs none.

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

/** Sends `count` calls that hang, and gives those that were refused, once the others are in flight. */
async function hung(url: string, stay: number, calls: readonly Promise<RpcAnswer>[]): Promise<RpcAnswer[]> {
  const refused: RpcAnswer[] = [];
  for (const call of calls) call.then((answer) => refused.push(answer)).catch(() => {});
  await until('the refusals', () => refused.length === calls.length - stay);
  await until('the rest', async () => (await stats(url)).requests.in_flight >= stay);
  return refused;
}

const many = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

test('servers that hang leave places to all others, and to every beginning (PL2, PL3)', async () => {
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
    expect(error?.message).toMatch(/^server a has 8 of the gateway's 16 places .* raise limits\.in_flight$/);
  }
  const ofB = await hung(
    url,
    4,
    many(40, () => callOnce(url, 'b', 'hang')),
  );
  expect(ofB[0]?.error?.message).toContain("server b has 4 of the gateway's 16 places");
  expect((await stats(url)).requests.in_flight).toBe(12);

  for (const path of ['/mcp/c', '/mcp', '/mcp/a']) {
    const session = await RawSession.open(url, path);
    expect((await session.request('ping')).result).toEqual({});
    expect(await session.end()).toBe(204);
  }
  const session = await RawSession.open(url, '/mcp');
  expect((await session.request('tools/list')).result?.tools).not.toHaveLength(0);
  expect((await session.call('c__echo', { n: 1 })).error).toBeUndefined();
  expect((await session.call('a__echo', { n: 1 })).error?.message).toContain('server a has 8');
  expect((await modern(`${url}/mcp/c`, toolCall('echo'))).error).toBeUndefined();

  // Their end gives all of them back.
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

test('a session with calls that hang leaves places to the other sessions of its servers', async () => {
  const servers = { a: fault('echo'), b: fault('echo') };
  const { url } = await startGateway({ servers, settings });
  const [greedy, modest] = await Promise.all([RawSession.open(url), RawSession.open(url)]);
  await greedy.request('tools/list');
  const names = ['a__hang', 'b__hang'];
  const refused = await hung(
    url,
    8,
    many(20, () => greedy.call(names.reverse()[0] ?? '')),
  );
  expect(refused.at(-1)?.error?.message).toContain("this session has 8 of the gateway's 16 places");
  expect((await modest.call('a__echo', { n: 1 })).error).toBeUndefined();
  expect((await greedy.request('ping')).result).toEqual({});
});

test('a server that never introduces itself keeps nobody from beginning elsewhere', async () => {
  const slow = { start_timeout_seconds: 300, request_timeout_seconds: 300 };
  const servers = { slow: fault('hangs-at-initialize', slow), c: fault('echo') };
  const { url } = await startGateway({ servers, settings });
  const failures: Error[] = [];
  for (const opening of many(12, () => RawSession.open(url, '/mcp/slow')))
    opening.catch((error: Error) => failures.push(error));
  await until('the refusals', () => failures.length === 8);
  expect(failures[0]?.message).toMatch(/server slow has 4 of the gateway's 8 places for requests that wait/);
  const session = await RawSession.open(url, '/mcp/c');
  expect((await session.call('echo', { n: 1 })).error).toBeUndefined();
  expect((await stats(url)).sessions).toBe(5);
});

test('a session that fills the waiting room of a shared server makes room for others there', async () => {
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

  const asked = [modest.call('echo', { n: 1 }), callOnce(url, 'a', 'echo', { n: 2 })];
  await until('their places', () => turnedOut.length === 4);
  expect(turnedOut.at(-1)?.error?.message).toContain('8 waiting');
  expect((await greedy.call('hang')).reason).toBe('ERR_OVERLOADED');
  expect(await greedy.end()).toBe(204);
  expect((await Promise.all(asked)).map(({ error }) => error)).toEqual([undefined, undefined]);
});

test('a session whose calls hang at a shared server leaves places there to others (IF2)', async () => {
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
  // So does whatever comes without a session, all of it together.
  for (const call of many(3, () => callOnce(url, 'a', 'hang'))) call.catch(() => {});
  await until('one of them', async () => (await details(url, 'a')).in_flight === 15);
  expect((await modest.call('echo', { n: 1 })).error).toBeUndefined();
});

test('large requests that hang are bounded in bytes over all, and leave some for other servers (PL5)', async () => {
  const servers = { a: fault('echo'), b: fault('echo') };
  const { url } = await startGateway({
    servers,
    settings: { limits: { body_bytes: 2_097_152 }, shutdown_seconds: 1 },
  });
  const large = { padding: 'x'.repeat(2_000_000) };
  const refused: RpcAnswer[] = [];
  // Of 64 MiB, half: one after the other, so that the server has read each before the next comes.
  for (let sent = 1; sent <= 20; sent += 1) {
    callOnce(url, 'a', 'hang', large).then(
      (answer) => refused.push(answer),
      () => {},
    );
    await until('its fate', async () => (await stats(url)).requests.in_flight + refused.length === sent);
  }
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(refused[0]?.error?.message).toMatch(/^large requests in flight take 34\d{6} of the 67108864 bytes/);
  expect((await callOnce(url, 'a', 'echo', { n: 1 })).status).toBe(200);
  expect((await callOnce(url, 'b', 'echo', large)).status).toBe(200);

  // Their end gives all of it back.
  await json(`${url}/servers/a/stop`, 'POST');
  await until('the end', async () => (await stats(url)).requests.in_flight === 0);
  for (let again = 0; again < 20; again += 1)
    expect((await callOnce(url, 'a', 'echo', large)).status).toBe(200);
});
