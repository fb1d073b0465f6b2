// Several nodes on a PostgreSQL: membership, claims of failed nodes, server clock, and server failure.
// Invariant S8 is in actors/store/store.ts.

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
import { migrations, schemaVersion } from '../../../../../actors/store/postgres/schema.ts';
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

/** Shorter than the statement timeout on a dead connection. */
const REFUSED_WITHIN_MS = 4_000;
/** Maximum clock reading delay. */
const MAX_CLOCK_DELAY_MS = 2_000;
/** Longer than the smallest detected clock step. */
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

/** Simulates a node that did not renew the membership for the whole period. */
const expireMembership = (url: string, name: string) =>
  sql(url, `UPDATE actor_gateway.node SET until = 1 WHERE name = '${name}'`);

test('nodes that start concurrently on an empty database create its tables once, and see each other', async () => {
  const url = await server.newDatabase();
  const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => nodeOn(url, name)));
  const [first] = nodes;
  await first?.membership.publishNow();
  expect(first?.membership.members.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
  expect(await sql(url, 'SELECT version FROM actor_gateway.schema_version')).toHaveLength(1);
});

test('incompatible tables of a newer version are rejected, compatible ones are accepted', async () => {
  const url = await server.newDatabase();
  await (await openPostgresStore({ url, node: { name: 'a', address: '' } })).store.close();
  await sql(url, 'UPDATE actor_gateway.schema_version SET version = 99, oldest = 1');
  await nodeOn(url, 'b');
  await sql(url, 'UPDATE actor_gateway.schema_version SET oldest = 98');
  await expect(nodeOn(url, 'c')).rejects.toThrow(/newer version \(schema 99/);
});

test('a migration of tables is reported once with both versions, but not for new or current tables', async () => {
  const url = await server.newDatabase();
  const reports: unknown[] = [];
  const open = (name: string, versions: readonly string[]) =>
    nodeOn(url, name, {
      migrating: { migrations: versions },
      onMigrated: (migration) => reports.push(migration),
    });
  await open('a', migrations);
  await open('b', migrations);
  expect(reports).toEqual([]);

  const nextVersion = [...migrations, 'ALTER TABLE kv ADD COLUMN note text'];
  const [first] = await Promise.all(['c', 'd', 'e'].map((name) => open(name, nextVersion)));
  expect(reports).toMatchObject([{ from: schemaVersion, to: schemaVersion + 1 }]);
  expect(await first?.store.counts()).toMatchObject({ queued: 0 });
  expect(await sql(url, 'SELECT * FROM actor_gateway.schema_version')).toEqual([
    { version: schemaVersion + 1, oldest: schemaVersion },
  ]);
});

test('claims of a dead node are free immediately and count as crashes; its late results are ignored', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a', { node: { name: 'a', address: '', ttlMs: 60_000 } });
  const b = await nodeOn(url, 'b', { node: { name: 'b', address: '', ttlMs: 2_000 } });
  const lost = await appendClaimed(a.store, eventOf('a:1', 'k/1'), LONG_MS);
  expect(await b.store.claim(5, LONG_MS)).toEqual([]);
  await expireMembership(url, 'a');
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

test('a node that is no longer a cluster member cannot claim events, neither on append nor later', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a', { node: { name: 'a', address: '', ttlMs: 60_000 } });
  const b = await nodeOn(url, 'b');
  await sql(url, `DELETE FROM actor_gateway.node WHERE name = 'a'`);
  const [appended] = await a.store.append([eventOf('a:1', 'k/1')], { claimMs: LONG_MS });
  expect(appended).toEqual({ id: 'a:1', outcome: 'new', state: 'queued' });
  expect(await a.store.claim(5, LONG_MS)).toEqual([]);
  expect(await b.store.claim(5, LONG_MS)).toMatchObject([{ event: { id: 'a:1', attempt: 1 } }]);
});

test('concurrent releases of events held by the same holder release different events', async () => {
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

test('a node suspended inside a transaction does not block renewals of other nodes', async () => {
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

test('a late response of the database does not count as a clock step, and shortens no membership', async () => {
  const url = await server.newDatabase();
  const prompt = await nodeOn(url, 'prompt', { node: { name: 'prompt', address: '', ttlMs: 1_200 } });
  const { epoch } = prompt.membership;
  const relay = await startRelay({ port: server.port });
  // Without this setting the server would abort a delayed transaction.
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
  // The start of the transaction and the response are delayed by this time.
  await elapse(1.5 * ANSWERED_AFTER_MS);
  relay.delay(0);
  await renewed;
  await slow.renew();
  expect(await sql(url, 'SELECT sets::int FROM actor_gateway.clock')).toEqual([{ sets: 0 }]);
  expect([prompt.membership.isMember, prompt.membership.epoch]).toEqual([true, epoch]);
  await slow.leave();
  await database.close();
});

test('a node that others declared dead rejoins with a new id, and its watcher is notified', async () => {
  const url = await server.newDatabase();
  const notified: string[] = [];
  const { membership } = await nodeOn(url, 'a', {
    node: {
      name: 'a',
      address: '',
      ttlMs: 3_000,
      watcher: {
        onLost: () => notified.push('lost'),
        onJoined: (epoch) => notified.push(`joined ${epoch}`),
      },
    },
  });
  const before = membership.epoch;
  await sql(url, `DELETE FROM actor_gateway.node WHERE name = 'a'`);
  await vi.waitFor(() => expect(notified).toHaveLength(3), { timeout: 10_000 });
  expect(membership.epoch).not.toBe(before);
  expect(notified).toEqual([`joined ${before}`, 'lost', `joined ${membership.epoch}`]);
});

test('information that a node publishes reaches the other nodes when they renew their membership', async () => {
  const url = await server.newDatabase();
  const [a, b] = [await nodeOn(url, 'a'), await nodeOn(url, 'b')];
  const seen: unknown[] = [];
  b.membership.watch({ onMembers: (members) => seen.push(members.map(({ name, about }) => [name, about])) });
  a.membership.publish('version', '1.2.3');
  await a.membership.publishNow();
  await b.membership.publishNow();
  expect(seen.at(-1)).toEqual([
    ['a', { version: '1.2.3' }],
    ['b', {}],
  ]);
});

test('a lease has one holder, is free after a release or the end of its holder, and its epoch increases', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a');
  const b = await nodeOn(url, 'b');
  const [ofA, ofB] = [a.store.cluster?.leases, b.store.cluster?.leases];
  const leases = await Promise.all([
    ofA?.acquire('server/x'),
    ofB?.acquire('server/x'),
    ofA?.acquire('server/x'),
  ]);
  const [first, ...more] = leases.flatMap((each) => each ?? []);
  expect(more).toEqual([]);
  const holder = await ofB?.holder('server/x');
  expect(holder?.epoch).toBe(first?.epoch);
  await first?.release();
  expect(first?.isHeld).toBe(false);
  const second = await ofA?.acquire('server/x');
  expect(second?.epoch).toBeGreaterThan(first?.epoch ?? Number.POSITIVE_INFINITY);
  // A late release by the previous holder has no effect.
  await first?.release();
  expect(await ofB?.acquire('server/x')).toBeUndefined();
  await expireMembership(url, 'a');
  await vi.waitFor(async () => expect(await ofB?.acquire('server/x')).toBeDefined(), { timeout: 10_000 });
});

test('a node without database access treats its leases as lost before other nodes can acquire them', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a', { node: { name: 'a', address: '', ttlMs: 2_000 } });
  const lease = await a.store.cluster?.leases.acquire('server/x');
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

test('a node without a connection to the database rejects events soon, and accepts them after a reconnect', async () => {
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
  relay.routeTo({ port: server.port });
  await vi.waitFor(async () => void (await store.append([eventOf('a:2')])), { timeout: 20_000 });
});

test('a node can query state, attempts and journal rows of events on another node', async () => {
  const url = await server.newDatabase();
  const [a, b] = await Promise.all([nodeOn(url, 'a'), nodeOn(url, 'b')]);
  const ids = ['t:run \u{1f600}', 't:next', 't:other', 't:nobody'];
  const [first = '', next = '', other = ''] = ids;
  const queryStates = async () => {
    const found = (await b.store.statuses?.(ids)) ?? [];
    return Object.fromEntries(found.map(({ id, ...standing }) => [id, standing]));
  };
  const turn = await appendClaimed(a.store, eventOf(first, 'k/1'));
  await a.store.append([eventOf(next, 'k/1'), eventOf(other, 'k/2')]);
  const queuedState = { state: 'queued', attempts: 0, steps: 0 };
  expect(await queryStates()).toEqual({
    [first]: { state: 'running', attempts: 1, steps: 0 },
    [next]: queuedState,
    [other]: queuedState,
  });
  const run = { kind: 'agent' as const, name: 'oncall', figures: '{}' };
  await commitOne(a.store, resultOf(turn, 'checkpoint', { steps: ['1', '2'], run }));
  expect((await queryStates())[first]).toMatchObject({ state: 'running', steps: 2 });
  await commitOne(a.store, resultOf(turn, 'done', { steps: ['3'], isLast: true, run }));
  expect(await queryStates()).toEqual({
    [first]: { state: 'done', attempts: 1, steps: 3 },
    [next]: queuedState,
    [other]: queuedState,
  });
});

test("the store uses the time of the database server, regardless of the node's clock (S8)", async () => {
  const url = await server.newDatabase();
  const { store } = await nodeOn(url, 'a');
  const servers = async () => {
    const [row] = await sql(url, 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now');
    return Number(row?.now);
  };
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 600_000 });
  try {
    const [before, now = 0, after] = [await servers(), store.now?.(), await servers()];
    expect(now).toBeGreaterThan(before - MAX_CLOCK_DELAY_MS);
    expect(now).toBeLessThan(after + MAX_CLOCK_DELAY_MS);
  } finally {
    vi.useRealTimers();
  }
});

test('a second node with the same name is rejected until the first one has ended', async () => {
  const url = await server.newDatabase();
  const node = { name: 'a', address: '', ttlMs: 1_000 };
  const first = await openPostgresStore({ url, node });
  await expect(openPostgresStore({ url, node })).rejects.toThrow('another gateway named a uses');
  await first.store.close();
  await nodeOn(url, 'a');
});

test('a database clock that is set back by ten minutes does not extend the pause before a retry', async () => {
  const url = await server.newDatabase();
  const a = await nodeOn(url, 'a');
  const turn = await appendClaimed(a.store, eventOf('a:1', 'k/1'));
  await commitOne(a.store, resultOf(turn, 'retrying', { retryInMs: 500 }));
  await a.store.close();
  // Simulates tables written by a clock that is ten minutes ahead.
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

test('an append wakes other nodes by a notification or by polling', async () => {
  const url = await server.newDatabase();
  const [a, b] = await Promise.all([nodeOn(url, 'a'), nodeOn(url, 'b')]);
  for (const id of ['a:1', 'a:2']) {
    const wakeUp = new Promise<void>((resolve) => void b.store.wake(resolve));
    await a.store.append([eventOf(id, `k/${id}`)]);
    await wakeUp;
    expect((await claimOne(b.store)).event.id).toBe(id);
    // This time the connection for notifications is lost too.
    await sql(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()`,
    );
  }
});

test('store calls fail with StoreUnavailableError while the database is down, and acknowledged events survive', async () => {
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

test('a database session that is idle in a transaction loses the transaction and its locks', async () => {
  const url = await server.newDatabase();
  await nodeOn(url, 'a');
  const database = new Database({ url, connections: 2, timeoutMs: 5_000, idleMs: 200 });
  const hold = 'SELECT at FROM clock FOR UPDATE';
  const began = performance.now();
  const stuck = database.transaction(async (transaction) => {
    await transaction.query(hold, []);
    await elapse(2_000);
    return transaction.query(hold, []);
  });
  const notified = expect(stuck).rejects.toThrow(StoreUnavailableError);
  await elapse(50);
  await database.transaction((transaction) => transaction.query(hold, []));
  expect(performance.now() - began).toBeLessThan(1_800);
  await notified;
  await database.close();
});
