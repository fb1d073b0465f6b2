// Several nodes on one PostgreSQL: membership, what becomes of the claims of one that is gone, the server's clock, its end.

import { setTimeout as elapse } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { StoreUnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { Database } from '../../../../../actors/store/postgres/database.ts';
import { Membership } from '../../../../../actors/store/postgres/membership.ts';
import {
  type OpenedPostgres,
  type OpenPostgresOptions,
  openPostgresStore,
} from '../../../../../actors/store/postgres/open-postgres-store.ts';
import { startRelay } from '../../../../fixtures/cluster/relay.ts';
import { sharedPostgres } from '../../../../fixtures/store/shared-postgres.ts';
import {
  appendClaimed,
  claimOne,
  commitOne,
  eventOf,
  LONG_MS,
  resultOf,
} from '../../../../fixtures/store/store-conformance.ts';

/** Less than what a statement on a dead line is waited for. */
const REFUSED_WITHIN_MS = 4_000;
/** Of a reading on its way. */
const A_MOMENT_MS = 2_000;
/** Longer than what a clock has to be set by to be noticed. */
const ANSWERED_AFTER_MS = 1_200;

const server = await sharedPostgres();
const opened: OpenedPostgres[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map(({ store }) => store.close()));
});

async function nodeOn(url: string, name: string, more: Partial<OpenPostgresOptions> = {}) {
  const one = await openPostgresStore({ url, ...more, node: { name, address: `${name}:1`, ...more.node } });
  opened.push(one);
  return one;
}

async function sql(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(text);
  await client.end();
  return rows;
}

/** As if nothing had been heard of it for as long as its membership. */
const silence = (url: string, name: string) =>
  sql(url, `UPDATE actor_gateway.node SET until = 1 WHERE name = '${name}'`);

test('nodes that begin at the same time on an empty database make its tables once, and know of each other (PGS1)', async () => {
  const url = await server.newDatabase();
  const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => nodeOn(url, name)));
  const [first] = nodes;
  await first?.membership.tellNow();
  expect(first?.membership.members.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
  expect(await sql(url, 'SELECT version FROM actor_gateway.schema_version')).toHaveLength(1);
});

test('tables that a later version has changed are refused, and those that it left usable are taken (PGS2)', async () => {
  const url = await server.newDatabase();
  await (await openPostgresStore({ url, node: { name: 'a', address: '' } })).store.close();
  await sql(url, 'UPDATE actor_gateway.schema_version SET version = 99, oldest = 1');
  await nodeOn(url, 'b');
  await sql(url, 'UPDATE actor_gateway.schema_version SET oldest = 98');
  await expect(nodeOn(url, 'c')).rejects.toThrow(/newer version \(schema 99/);
});

test('what a node had claimed is free as soon as its membership is over, counts as a crash, and its late word as nothing (PGN2)', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a', { node: { name: 'a', address: '', ttlMs: 60_000 } });
  const b = await nodeOn(url, 'b', { node: { name: 'b', address: '', ttlMs: 400 } });
  const lost = await appendClaimed(a.store, eventOf('a:1', 'k/1'), LONG_MS);
  expect(await b.store.claim(5, LONG_MS)).toEqual([]);
  await silence(url, 'a');
  const [turn] = await vi.waitFor(
    async () => {
      const turns = await b.store.claim(5, LONG_MS);
      expect(turns).toHaveLength(1);
      return turns;
    },
    { timeout: 10_000, interval: 50 },
  );
  expect(turn?.event).toMatchObject({ id: 'a:1', attempt: 2, crashes: 1, wasClaimed: true });
  expect(await commitOne(a.store, resultOf(lost))).toMatchObject({ isCurrent: false });
  if (turn !== undefined) expect(await commitOne(b.store, resultOf(turn))).toMatchObject({ isCurrent: true });
});

test('a node that is no member any more is given no claim, by an append or otherwise, so that none waits for its end (PGN1)', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a', { node: { name: 'a', address: '', ttlMs: 60_000 } });
  const b = await nodeOn(url, 'b');
  await sql(url, `DELETE FROM actor_gateway.node WHERE name = 'a'`);
  const [appended] = await a.store.append([eventOf('a:1', 'k/1')], { claimMs: LONG_MS });
  expect(appended).toEqual({ id: 'a:1', outcome: 'new', state: 'queued' });
  expect(await a.store.claim(5, LONG_MS)).toEqual([]);
  expect(await b.store.claim(5, LONG_MS)).toMatchObject([{ event: { id: 'a:1', attempt: 1 } }]);
});

test('of what is held by a name each release lets go on other events, however many are under way', async () => {
  const url = await server.newDatabase();
  const { store } = await nodeOn(url, 'a');
  const KEYS = 40;
  for (let n = 0; n < KEYS; n += 1) {
    const turn = await appendClaimed(store, eventOf(`a:${n}`, `k/${n}`), LONG_MS);
    await commitOne(store, { ...resultOf(turn), outcome: 'queued', heldBy: 'place: a at b' });
  }
  const counts = await Promise.all(Array.from({ length: KEYS }, () => store.release('place: a at b', 1)));
  expect(counts).toEqual(counts.map(() => 1));
  expect(await store.claim(100, LONG_MS)).toHaveLength(KEYS);
});

test('a node that stands still in the middle of a transaction keeps no other from renewing its membership (PGN3)', async () => {
  const url = await server.newDatabase();
  const { membership } = await nodeOn(url, 'a', { node: { name: 'a', address: '', ttlMs: 800 } });
  const epoch = membership.epoch;
  const halted = new pg.Client({ connectionString: url });
  await halted.connect();
  await halted.query('SET search_path = actor_gateway');
  await halted.query('BEGIN');
  await halted.query('SELECT at FROM clock FOR UPDATE');
  await elapse(1_500);
  await halted.query('ROLLBACK');
  await halted.end();
  expect(membership.epoch).toBe(epoch);
  expect(membership.isMember).toBe(true);
});

test('an answer that is long on its way tells of no clock that was set, and shortens no other membership (PSC1)', async () => {
  const url = await server.newDatabase();
  const prompt = await nodeOn(url, 'prompt', { node: { name: 'prompt', address: '', ttlMs: 1_200 } });
  const { epoch } = prompt.membership;
  const relay = await startRelay({ port: server.port });
  // Otherwise the server ends a transaction before it could do harm.
  const database = new Database({
    url: url.replace(/:\d+\//, `:${relay.port}/`),
    connections: 1,
    timeoutMs: 20_000,
    idleMs: 20_000,
  });
  const slow = new Membership(database, { name: 'slow', address: '', ttlMs: 60_000 });
  await slow.join();
  relay.delay(ANSWERED_AFTER_MS);
  const renewed = slow.renew();
  // The beginning of the transaction alone is on its way for so long, and so is its answer.
  await elapse(1.5 * ANSWERED_AFTER_MS);
  relay.delay(0);
  await renewed;
  await slow.renew();
  expect(await sql(url, 'SELECT sets::int FROM actor_gateway.clock')).toEqual([{ sets: 0 }]);
  expect([prompt.membership.isMember, prompt.membership.epoch]).toEqual([true, epoch]);
  await slow.leave();
  await database.close();
});

test('a node that was given up begins anew under another id, and is told (PGN1)', async () => {
  const url = await server.newDatabase();
  const told: string[] = [];
  const { membership } = await nodeOn(url, 'a', {
    node: {
      name: 'a',
      address: '',
      ttlMs: 3_000,
      watcher: {
        onLost: () => told.push('lost'),
        onJoined: (epoch) => told.push(`joined ${epoch}`),
      },
    },
  });
  const before = membership.epoch;
  await sql(url, `DELETE FROM actor_gateway.node WHERE name = 'a'`);
  await vi.waitFor(() => expect(told).toHaveLength(3), { timeout: 10_000 });
  expect(membership.epoch).not.toBe(before);
  expect(told).toEqual([`joined ${before}`, 'lost', `joined ${membership.epoch}`]);
});

test('what members tell of themselves is known to the others with their next renewals', async () => {
  const url = await server.newDatabase();
  const [a, b] = [await nodeOn(url, 'a'), await nodeOn(url, 'b')];
  const seen: unknown[] = [];
  b.membership.watch({ onMembers: (members) => seen.push(members.map(({ name, about }) => [name, about])) });
  a.membership.tell('version', '1.2.3');
  await a.membership.tellNow();
  await b.membership.tellNow();
  expect(seen.at(-1)).toEqual([
    ['a', { version: '1.2.3' }],
    ['b', {}],
  ]);
});

test('a lease has one holder, is free when that lets go or is over, and has a greater epoch each time (NL1)', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a');
  const b = await nodeOn(url, 'b');
  const [ofA, ofB] = [a.store.cluster?.leases, b.store.cluster?.leases];
  const taken = await Promise.all([ofA?.take('server/x'), ofB?.take('server/x'), ofA?.take('server/x')]);
  const [first, ...more] = taken.flatMap((each) => each ?? []);
  expect(more).toEqual([]);
  const holder = await ofB?.holder('server/x');
  expect(holder?.epoch).toBe(first?.epoch);
  await first?.release();
  expect(first?.isHeld).toBe(false);
  const second = await ofA?.take('server/x');
  expect(second?.epoch).toBeGreaterThan(first?.epoch ?? Number.POSITIVE_INFINITY);
  // The late word of the one before changes nothing.
  await first?.release();
  expect(await ofB?.take('server/x')).toBeUndefined();
  await silence(url, 'a');
  await vi.waitFor(async () => expect(await ofB?.take('server/x')).toBeDefined(), { timeout: 10_000 });
});

test('a node that cannot reach the database knows its leases as lost before they are free (NL2)', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a', { node: { name: 'a', address: '', ttlMs: 2_000 } });
  const lease = await a.store.cluster?.leases.take('server/x');
  const [{ until } = { until: 0 }] = await sql(url, 'SELECT until FROM actor_gateway.node');
  await sql(url, 'ALTER TABLE actor_gateway.node RENAME TO node_away');
  while (lease?.isHeld) await elapse(5);
  const [{ now, last } = { now: 0, last: 0 }] = await sql(
    url,
    `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
       (SELECT max(until) FROM actor_gateway.node_away) AS last`,
  );
  expect(Number(last)).toBeGreaterThanOrEqual(Number(until));
  expect(Number(now)).toBeLessThan(Number(last));
  await sql(url, 'ALTER TABLE actor_gateway.node_away RENAME TO node');
});

test('a node whose line to the database is dead refuses events soon, and takes them again when the line is there (PAP1)', async () => {
  const url = await server.newDatabase();
  const relay = await startRelay({ port: server.port });
  const { store, membership } = await nodeOn(url.replace(/:\d+\//, `:${relay.port}/`), 'a', {
    node: { name: 'a', address: '', ttlMs: 800 },
  });
  relay.delay(20_000);
  await vi.waitFor(() => expect(membership.isMember).toBe(false), { timeout: 3_000 });
  const askedAtMs = performance.now();
  await expect(store.append([eventOf('a:1')])).rejects.toThrow(StoreUnavailableError);
  expect(performance.now() - askedAtMs).toBeLessThan(REFUSED_WITHIN_MS);
  relay.delay(0);
  relay.lead({ port: server.port });
  await vi.waitFor(async () => void (await store.append([eventOf('a:2')])), { timeout: 20_000 });
});

test('how an event stands at one node another one can ask: its state, its attempts, and the rows of its journal', async () => {
  const url = await server.newDatabase();
  const [a, b] = await Promise.all([nodeOn(url, 'a'), nodeOn(url, 'b')]);
  const ids = ['t:run \u{1f600}', 't:next', 't:other', 't:nobody'];
  const [first = '', next = '', other = ''] = ids;
  const asked = async () => {
    const found = (await b.store.standings?.(ids)) ?? [];
    return Object.fromEntries(found.map(({ id, ...standing }) => [id, standing]));
  };
  const turn = await appendClaimed(a.store, eventOf(first, 'k/1'));
  await a.store.append([eventOf(next, 'k/1'), eventOf(other, 'k/2')]);
  const waits = { state: 'queued', attempts: 0, steps: 0 };
  expect(await asked()).toEqual({
    [first]: { state: 'running', attempts: 1, steps: 0 },
    [next]: waits,
    [other]: waits,
  });
  const run = { kind: 'agent' as const, name: 'oncall', figures: '{}' };
  await commitOne(a.store, resultOf(turn, 'checkpoint', { steps: ['1', '2'], run }));
  expect((await asked())[first]).toMatchObject({ state: 'running', steps: 2 });
  await commitOne(a.store, resultOf(turn, 'done', { steps: ['3'], isLast: true, run }));
  expect(await asked()).toEqual({
    [first]: { state: 'done', attempts: 1, steps: 3 },
    [next]: waits,
    [other]: waits,
  });
});

test('what time it is the server says, whatever the clock of a node is set to (S8)', async () => {
  const url = await server.newDatabase();
  const { store } = await nodeOn(url, 'a');
  const servers = async () => {
    const [row] = await sql(url, 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now');
    return Number(row?.now);
  };
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000 });
  try {
    const [before, now = 0, after] = [await servers(), store.now?.(), await servers()];
    expect(now).toBeGreaterThan(before - A_MOMENT_MS);
    expect(now).toBeLessThan(after + A_MOMENT_MS);
  } finally {
    vi.useRealTimers();
  }
});

test('a second node of one name is refused while the first one is there, and taken when that has ended', async () => {
  const url = await server.newDatabase();
  const node = { name: 'a', address: '', ttlMs: 1_000 };
  const first = await openPostgresStore({ url, node });
  await expect(openPostgresStore({ url, node })).rejects.toThrow('another gateway that is called a works');
  await first.store.close();
  await nodeOn(url, 'a');
});

test('a clock of the server that was set back by ten minutes makes no pause longer (PGN3)', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a');
  const turn = await appendClaimed(a.store, eventOf('a:1', 'k/1'));
  await commitOne(a.store, resultOf(turn, 'retrying', { retryInMs: 500 }));
  await a.store.close();
  // As the tables are seen by a clock that is ten minutes behind the one by which they were written.
  await sql(
    url,
    `UPDATE actor_gateway.delivery SET retry_at = retry_at + 600000;
     UPDATE actor_gateway.mailbox SET ready_at = ready_at + 600000;
     UPDATE actor_gateway.clock SET at = at + 600000`,
  );
  const b = await nodeOn(url, 'b');
  await vi.waitFor(async () => expect(await b.store.claim(1, LONG_MS)).toHaveLength(1), {
    timeout: 10_000,
    interval: 50,
  });
});

test('what one node appends another one hears of, by a notification or by looking (PGV2)', async () => {
  const url = await server.newDatabase();
  const [a, b] = await Promise.all([nodeOn(url, 'a'), nodeOn(url, 'b')]);
  for (const id of ['a:1', 'a:2']) {
    const heard = new Promise<void>((resolve) => void b.store.wake(resolve));
    await a.store.append([eventOf(id, `k/${id}`)]);
    await heard;
    expect((await claimOne(b.store)).event.id).toBe(id);
    // The second time without the connection for notifications.
    await sql(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`,
    );
  }
});

test('while the server is away calls fail with a clear word, and go on when it is back: what was acknowledged is there (PGD1)', async () => {
  const url = await server.newDatabase();
  const { store } = await nodeOn(url, 'a', { timeoutMs: 2_000 });
  await store.append([eventOf('a:1', 'k/1')]);
  await server.kill();
  await expect(store.append([eventOf('a:2', 'k/2')])).rejects.toThrow(StoreUnavailableError);
  await server.start();
  await vi.waitFor(() => store.append([eventOf('a:3', 'k/3')]), { timeout: 20_000, interval: 100 });
  const ids = (await store.deliveries({ limit: 10 })).map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(['a:1', 'a:3']));
});

test('a session that stands still in a transaction loses it, and its locks with it (PGD2)', async () => {
  const url = await server.newDatabase();
  await nodeOn(url, 'a');
  const database = new Database({ url, connections: 2, timeoutMs: 5_000, idleMs: 200 });
  const hold = 'SELECT at FROM clock FOR UPDATE';
  const began = performance.now();
  const stuck = database.transaction(async (transaction) => {
    await transaction.ask(hold, []);
    await elapse(2_000);
    return transaction.ask(hold, []);
  });
  const told = expect(stuck).rejects.toThrow(StoreUnavailableError);
  await elapse(50);
  await database.transaction((transaction) => transaction.ask(hold, []));
  expect(performance.now() - began).toBeLessThan(1_800);
  await told;
  await database.close();
});
