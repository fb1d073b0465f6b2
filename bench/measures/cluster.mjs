// Throughput of several gateways (nodes) on one PostgreSQL, compared with PostgreSQL itself and with a
// gateway on SQLite. Also the cost of calls that a node forwards to the node that has the session.

import { strictEqual } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { startGateway } from '../gateway.mjs';
import { eventually, startHandling, triggerOf } from '../handling-gateway.mjs';
import { load } from '../load.mjs';
import { legacyCall, openSession } from '../messages.mjs';
import { freePort, startPostgres } from '../postgres.mjs';
import { startProcess } from '../processes.mjs';
import { signedEvents } from '../signed-events.mjs';
import { rawEcho } from '../targets.mjs';

const plainRow = 'plain statements, in groups of 64';
const storeRow = 'the store on PostgreSQL, alone';
/** Programs that use the database directly. */
const alonePrograms = [
  [plainRow, 'postgres-alone.mjs'],
  [storeRow, 'postgres-store.mjs'],
];
const sqliteRow = 'one gateway, SQLite';
const rowOf = (nodes) => `${['one gateway', 'two gateways', 'three gateways'][nodes - 1]}, PostgreSQL`;
const directRow = 'a call at the node that has its session';
const forwardedRow = 'the same call at another node';
const PATH = '/webhook/repohost';

export const name = 'cluster';
export const title = 'Several gateways on one PostgreSQL';
export const about = `The events of "Signed events", posted by 64 and by 256 connections to one, two or three gateways on one
PostgreSQL (default settings, \`fsync\` on, same disk), spread over all gateways and over 256 conversations. The
rate is computed as there. One gateway on SQLite is measured for comparison.

- "Plain statements": \`pg\` with the same rows and tables and nothing else. A statement inserts the
  rows of 64 events: event, body and conversation. A second one marks the events as done, and deletes the
  conversations. Four such groups run at a time.
- "The store on PostgreSQL, alone": the gateway's store instead, with 256 calls in flight and all checks for
  several nodes.
- Calls: small calls to an echo in a session, sent to the node of the session and to another node. The
  gateways that handled the events are stopped before the calls. Two seconds of warm-up are not counted.`;
export const tables = ['events/s', 'p99', 'call p50'];
export const goals = [
  { row: storeRow, column: 'events/s at 256', against: plainRow, factor: 0.5, sense: 'at least' },
  { row: forwardedRow, column: 'call p50 at 1', against: directRow, factor: 2.5, sense: 'at most' },
];

/** Numbers of connections. With 256, as many events are in flight as in the row `plainRow`. */
const CONNECTIONS = [64, 256];
const CONVERSATIONS = 256;

export async function* run(bench) {
  const events = signedEvents(bench.isSmoke ? 4 : CONVERSATIONS);
  const postgres = await startPostgres(bench);
  const setups = [[sqliteRow, [await startNode(bench)]]];
  for (const count of bench.isSmoke ? [1, 2] : [1, 2, 3]) {
    const url = await postgres.newDatabase();
    const nodes = [];
    for (let at = 1; at <= count; at += 1) nodes.push(await startNode(bench, { url, name: `node-${at}` }));
    setups.push([rowOf(count), nodes]);
  }
  let runs = 0;
  for (let round = 1; round <= bench.rounds; round += 1) {
    for (const [row, program] of alonePrograms) {
      const value = await rateOf(bench, postgres, program);
      yield { round, row, column: 'events/s at 256', value, unit: 'events/s' };
    }
    for (const connections of bench.isSmoke ? [256] : CONNECTIONS)
      for (const [row, nodes] of setups) {
        runs += 1;
        const prefix = `run-${process.pid}-${runs}`;
        for (const sample of await postEvents(bench, nodes, events, connections, prefix))
          yield { round, row, ...sample };
      }
  }
  // Idle gateways also use processor time.
  for (const [, nodes] of setups) for (const { stop } of nodes) await stop();
  const calls = await startCallTargets(bench, await postgres.newDatabase());
  // Warms up both paths.
  for (const [, target] of calls) await target.p50Ms(1);
  for (let round = 1; round <= bench.rounds; round += 1)
    for (const connections of bench.isSmoke ? [1] : [1, 16])
      for (const [row, target] of calls) {
        const p50Ms = await target.p50Ms(connections);
        yield { round, row, column: `call p50 at ${connections}`, value: p50Ms, unit: 'ms' };
      }
  // Each target stops both nodes.
  await calls[0][1].stop();
  await postgres.stop();
}

/** Starts a gateway on SQLite, or as node `shared.name` on the database `shared.url`. */
function startNode(bench, shared) {
  const trigger = {
    type: 'RepoHost',
    // The signed bodies are sent repeatedly.
    config: { webhook_secret: `\${WEBHOOK_SECRET}`, replay_window_seconds: 0 },
    commands: { 'issues.opened': { agent: 'nobody' } },
  };
  const config =
    shared === undefined ? {} : { store: { postgres: { url: shared.url } }, node: { name: shared.name } };
  return startHandling(bench, trigger, { config });
}

/** Posts events to all nodes concurrently, with equal shares of the connections. Returns the samples. */
async function postEvents(bench, nodes, events, connections, prefix) {
  const before = await handledCount(nodes);
  const numberedFor = (at) => ({ header: 'X-GitHub-Delivery', prefix: `${prefix}-${at}-` });
  if (bench.isSmoke) {
    for (const [at, { url }] of nodes.entries()) await postSome(`${url}${PATH}`, events, numberedFor(at));
    await waitUntilHandled(nodes, before + nodes.length * events.length);
    return [{ column: `events/s at ${connections}`, value: nodes.length * events.length, unit: 'events' }];
  }
  const startedAt = performance.now();
  const loads = await Promise.all(
    nodes.map(({ url }, at) =>
      load(`${url}${PATH}`, {
        connections: Math.round(connections / nodes.length),
        seconds: bench.seconds,
        bodies: events,
        numbered: numberedFor(at),
      }),
    ),
  );
  const accepted = loads.reduce((sum, { calls }) => sum + calls, 0);
  const failed = loads.reduce((sum, { errors }) => sum + errors, 0);
  if (failed > 0) throw new Error(`${failed} events failed`);
  await waitUntilHandled(nodes, before + accepted);
  const seconds = (performance.now() - startedAt) / 1000 - START_SECONDS;
  return [
    { column: `events/s at ${connections}`, value: accepted / seconds, unit: 'events/s' },
    { column: `p99 at ${connections}, ms`, value: Math.max(...loads.map(({ p99Ms }) => p99Ms)), unit: 'ms' },
  ];
}

/** Approximate time that wrk needs to start and exit. */
const START_SECONDS = 0.05;

async function handledCount(nodes) {
  const triggers = await Promise.all(nodes.map(({ url }) => triggerOf(url)));
  return triggers.reduce((sum, { handled }) => sum + handled, 0);
}

/**
 * Waits until the nodes have handled `count` events, and until the number is stable: the load generator
 * aborts the last requests, and the nodes also handle them.
 */
async function waitUntilHandled(nodes, count) {
  await eventually(async () => (await handledCount(nodes)) >= count);
  let last = -1;
  await eventually(async () => {
    const now = await handledCount(nodes);
    const isSame = now === last;
    last = now;
    return isSame;
  });
}

/** Runs a separate program on a new database, and returns the rate that it prints. */
async function rateOf(bench, postgres, name) {
  const program = join(import.meta.dirname, '..', name);
  const seconds = bench.isSmoke ? 0.1 : bench.seconds;
  const args = [program, join(bench.dist, '..'), await postgres.newDatabase(), String(seconds)];
  const started = startProcess(bench.makeFolder(), process.execPath, args);
  await started.exited;
  const [, rate] = /^rate: (.*)$/m.exec(started.log()) ?? [];
  if (rate === undefined) throw new Error(`${name} printed no rate:\n${started.log()}`);
  return Number(rate);
}

async function postSome(url, events, { header, prefix }) {
  for (const [at, { body, headers }] of events.entries()) {
    const answer = await fetch(url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers, [header]: `${prefix}${at}` },
    });
    strictEqual(answer.ok, true, `${answer.status}`);
  }
}

/** Starts two cluster nodes and opens a session on the first. Returns the rows with their targets. */
async function startCallTargets(bench, url) {
  const secret = randomBytes(24).toString('hex');
  const start = async (name) => {
    const address = `127.0.0.1:${await freePort()}`;
    const config = { store: { postgres: { url } }, node: { name, address, secret } };
    return startGateway(bench, { servers: { echo: rawEcho }, config });
  };
  const [one, two] = [await start('one'), await start('two')];
  const stop = () => Promise.all([one.stop(), two.stop()]);
  const headers = await openSession(`${one.url}/mcp/echo`);
  const bodies = Array.from({ length: 1_000 }, (_, n) => legacyCall(n));
  // The second node discovers the first when it renews its membership of the cluster.
  await eventually(async () => (await call(`${two.url}/mcp/echo`, headers, bodies[0])).ok);
  const targetAt = (node) => ({
    stop,
    async p50Ms(connections) {
      if (bench.isSmoke) {
        const startedAt = performance.now();
        strictEqual((await call(`${node.url}/mcp/echo`, headers, bodies[1])).ok, true);
        return performance.now() - startedAt;
      }
      const options = { connections, seconds: bench.seconds, headers, bodies };
      const { p50Ms, errors } = await load(`${node.url}/mcp/echo`, options);
      if (errors > 0) throw new Error(`${errors} calls failed`);
      return p50Ms;
    },
  });
  return [
    [directRow, targetAt(one)],
    [forwardedRow, targetAt(two)],
  ];
}

async function call(url, headers, body) {
  const answer = await fetch(url, { method: 'POST', headers, body });
  await answer.arrayBuffer();
  return answer;
}
