// Shared limits of clients with tokens: a principal with many sessions gets no more slots than a principal
// with a single session, and other principals have slots left.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { modern, toolCall } from '../../fixtures/clients/modern-client.ts';
import { http, RawSession, until } from '../../fixtures/clients/raw-session.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { KeyServer, type SigningKey, signingKey } from '../../fixtures/key-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const KEY = 'correct horse battery staple';
const IN_FLIGHT = 32;

let provider: KeyServer;
let key: SigningKey;
let gateway: GatewayProcess;

beforeAll(async () => {
  key = await signingKey('first');
  provider = await KeyServer.start([key]);
  gateway = await startGateway({
    servers: {
      total: fault('echo', { pool: { in_flight: 100, waiting: 100 } }),
      narrow: fault('echo', { pool: { in_flight: 8, waiting: 4 } }),
      apart: fault('echo', { isolation: 'session', pool: { max: 8 } }),
      stateless: fault('echo', { pool: { in_flight: 8, waiting: 4 } }),
    },
    settings: {
      api_key: KEY,
      limits: { in_flight: IN_FLIGHT },
      auth: { jwt: { issuer: provider.issuer, audience: 'gateway' } },
      shutdown_seconds: 1,
    },
  });
});
afterAll(() => provider[Symbol.asyncDispose]());

const tokenOf = async (sub: string) => ({
  authorization: `Bearer ${await provider.token(key, { sub, aud: 'gateway' })}`,
});

const sessionOf = async (sub: string, server: string) =>
  RawSession.open(gateway.url, `/mcp/${server}`, {}, await tokenOf(sub));

const load = async (server: string) => {
  const { body } = await http(`${gateway.url}/servers/${server}`, { headers: { 'x-api-key': KEY } });
  const { in_flight, waiting } = JSON.parse(body.toString()) as { in_flight: number; waiting: number };
  return in_flight + waiting;
};

/** Opens sessions of a principal with `calls` hanging calls each. Returns when `count` are accepted. */
async function hang(sub: string, server: string, sessions: number, calls: number, count: number) {
  const opened: RawSession[] = [];
  while (opened.length < sessions) opened.push(await sessionOf(sub, server));
  const refusals: string[] = [];
  for (const session of opened)
    for (let call = 0; call < calls; call += 1)
      session.call('hang').then(
        ({ error }) => refusals.push(error?.message ?? 'no error'),
        () => {},
      );
  await until('the calls', async () => (await load(server)) >= count);
  await until('the refusals', () => refusals.length >= sessions * calls - count);
  return { refusals, end: () => Promise.all(opened.map((session) => session.end())) };
}

test('a principal with ten sessions of hanging calls leaves slots of limits.in_flight to others, also at the same server', async () => {
  const { refusals, end } = await hang('alice', 'total', 10, 4, 11);
  expect(refusals.at(-1)).toMatch(/^this client uses 11 of 32 slots .* raise limits\.in_flight$/);
  const bob = await sessionOf('bob', 'total');
  expect((await bob.call('echo', { n: 1 })).error).toBeUndefined();
  await end();
  await until('the end', async () => (await load('total')) === 0);
});

test('the sessions of a principal share its slots and its places in the queue of a server', async () => {
  const { refusals, end } = await hang('dora', 'narrow', 3, 4, 11);
  expect(refusals).toHaveLength(1);
  const erin = await sessionOf('erin', 'narrow');
  expect((await erin.call('echo', { n: 1 })).error).toBeUndefined();
  await end();
  await until('the end', async () => (await load('narrow')) === 0);
});

test('the sessions of a principal cannot use all connections of a server with isolation session', async () => {
  const { refusals, end } = await hang('fred', 'apart', 9, 1, 7);
  expect(refusals.at(-1)).toMatch(/^7 of 8 connections of server apart are in use by this client/);
  const gina = await sessionOf('gina', 'apart');
  expect((await gina.call('echo', { n: 1 })).error).toBeUndefined();
  await end();
  await until('the end', async () => (await load('apart')) === 0);
});

test('requests without a session count for their principal', async () => {
  const hugo = await tokenOf('hugo');
  await sessionOf('hugo', 'stateless');
  const calls = Array.from({ length: 11 }, () =>
    modern(`${gateway.url}/mcp/stateless`, toolCall('hang', {}, { headers: hugo })),
  );
  for (const call of calls) call.catch(() => {});
  await until('the calls', async () => (await load('stateless')) >= 11);
  const ivan = await tokenOf('ivan');
  const answer = await modern(`${gateway.url}/mcp/stateless`, toolCall('echo', {}, { headers: ivan }));
  expect(answer.error).toBeUndefined();
});

test('a principal can follow the logs in half of the streams', async () => {
  const judy = { ...(await tokenOf('judy')), accept: 'text/event-stream' };
  const leaving = new AbortController();
  const follow = async (headers: Readonly<Record<string, string>>) =>
    (await fetch(`${gateway.url}/logs`, { headers, signal: leaving.signal })).status;
  const statuses = await Promise.all(Array.from({ length: 20 }, () => follow(judy)));
  expect(statuses.filter((status) => status === 503)).toHaveLength(4);
  expect(await follow({ ...(await tokenOf('kate')), accept: 'text/event-stream' })).toBe(200);
  leaving.abort();
});
