// What several gateways on one PostgreSQL take, beside PostgreSQL itself and beside one gateway on its file; and what it costs that a call
// comes to a node which does not have its session.

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

const plain = 'plain statements, in groups of 64';
const store = 'the store on PostgreSQL, alone';
const alone = [
  [plain, 'postgres-alone.mjs'],
  [store, 'postgres-store.mjs'],
];
const sqlite = 'one gateway, SQLite';
const rowOf = (nodes) => `${['one gateway', 'two gateways', 'three gateways'][nodes - 1]}, PostgreSQL`;
const direct = 'a call at the node that has its session';
const forwarded = 'the same call at another node';
const PATH = '/webhook/repohost';

export const name = 'cluster';
export const title = 'Several gateways on one PostgreSQL';
export const about = `The events of "Signed events", posted by 64 and by 256 connections to one, two or three gateways on one PostgreSQL (as it comes,
\`fsync\` on, on the same disk), spread over all of them and over 256 conversations; the rate is that of accepted events over the time until
the last of them was handled. Beside it the same with one gateway on its SQLite file. The first row is \`pg\` with the same rows in the
same tables and nothing around them: event, body and the row of the conversation inserted, 64 in a statement, then ended and taken away,
four such groups at a time. The second one is the gateway's store in its place, with 256 calls under way: what it asks, holds and compares
so that several nodes agree. The calls are small ones to an echo in a session, sent to the node that has the session and to the other one,
after the other gateways have ended, and each way after two seconds of it that do not count.`;
export const tables = ['events/s', 'p99', 'call p50'];
export const goals = [
  { row: store, column: 'events/s at 256', against: plain, factor: 0.5, sense: 'at least' },
  { row: forwarded, column: 'call p50 at 1', against: direct, factor: 2.5, sense: 'at most' },
];

/** With the latter as many events are under way as in the first row. */
const CONNECTIONS = [64, 256];
const CONVERSATIONS = 256;

export async function* run(bench) {
  const events = signedEvents(bench.isSmoke ? 4 : CONVERSATIONS);
  const postgres = await startPostgres(bench);
  const setups = [[sqlite, [await handling(bench)]]];
  for (const count of bench.isSmoke ? [1, 2] : [1, 2, 3]) {
    const url = await postgres.newDatabase();
    const nodes = [];
    for (let at = 1; at <= count; at += 1) nodes.push(await handling(bench, { url, name: `node-${at}` }));
    setups.push([rowOf(count), nodes]);
  }
  let runs = 0;
  for (let round = 1; round <= bench.rounds; round += 1) {
    for (const [row, program] of alone) {
      const value = await rateOf(bench, postgres, program);
      yield { round, row, column: 'events/s at 256', value, unit: 'events/s' };
    }
    for (const connections of bench.isSmoke ? [256] : CONNECTIONS)
      for (const [row, nodes] of setups) {
        runs += 1;
        const prefix = `run-${process.pid}-${runs}`;
        for (const sample of await eventsTo(bench, nodes, events, connections, prefix))
          yield { round, row, ...sample };
      }
  }
  // What rests beside them takes processor time as well.
  for (const [, nodes] of setups) for (const { stop } of nodes) await stop();
  const calls = await callers(bench, await postgres.newDatabase());
  // Neither way is new when it is measured.
  for (const [, target] of calls) await target.p50Ms(1);
  for (let round = 1; round <= bench.rounds; round += 1)
    for (const connections of bench.isSmoke ? [1] : [1, 16])
      for (const [row, target] of calls) {
        const p50Ms = await target.p50Ms(connections);
        yield { round, row, column: `call p50 at ${connections}`, value: p50Ms, unit: 'ms' };
      }
  await calls[0][1].stop();
  await postgres.stop();
}

/** With `shared` on that database, under a name of its own. */
function handling(bench, shared) {
  const trigger = {
    type: 'RepoHost',
    // The bodies were signed before, and come again and again.
    config: { webhook_secret: `\${WEBHOOK_SECRET}`, replay_window_seconds: 0 },
    commands: { 'issues.opened': { agent: 'nobody' } },
  };
  const config =
    shared === undefined ? {} : { store: { postgres: { url: shared.url } }, node: { name: shared.name } };
  return startHandling(bench, trigger, { config });
}

/** Each node has its part of the connections, and all begin at the same time. */
async function eventsTo(bench, nodes, events, connections, prefix) {
  const before = await handledBy(nodes);
  const numberedFor = (at) => ({ header: 'X-GitHub-Delivery', prefix: `${prefix}-${at}-` });
  if (bench.isSmoke) {
    for (const [at, { url }] of nodes.entries()) await postSome(`${url}${PATH}`, events, numberedFor(at));
    await settled(nodes, before + nodes.length * events.length);
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
  await settled(nodes, before + accepted);
  const seconds = (performance.now() - startedAt) / 1000 - START_SECONDS;
  return [
    { column: `events/s at ${connections}`, value: accepted / seconds, unit: 'events/s' },
    { column: `p99 at ${connections}, ms`, value: Math.max(...loads.map(({ p99Ms }) => p99Ms)), unit: 'ms' },
  ];
}

/** wrk takes about this long to start and to end. */
const START_SECONDS = 0.05;

async function handledBy(nodes) {
  const triggers = await Promise.all(nodes.map(({ url }) => triggerOf(url)));
  return triggers.reduce((sum, { handled }) => sum + handled, 0);
}

/** Whichever node has handled them. What comes after that is of requests that were given up by the generator. */
async function settled(nodes, count) {
  await eventually(async () => (await handledBy(nodes)) >= count);
  let last = -1;
  await eventually(async () => {
    const now = await handledBy(nodes);
    const isSame = now === last;
    last = now;
    return isSame;
  });
}

/** What a program of its own does on the tables of the build's checkout. */
async function rateOf(bench, postgres, name) {
  const program = join(import.meta.dirname, '..', name);
  const seconds = bench.isSmoke ? 0.1 : bench.seconds;
  const args = [program, join(bench.dist, '..'), await postgres.newDatabase(), String(seconds)];
  const started = startProcess(bench.makeFolder(), process.execPath, args);
  await started.exited;
  const [, rate] = /^rate: (.*)$/m.exec(started.log()) ?? [];
  if (rate === undefined) throw new Error(`${name} gave no rate:\n${started.log()}`);
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

/** Two nodes that know each other, and one session, at the first of them. */
async function callers(bench, url) {
  const secret = randomBytes(24).toString('hex');
  const node = async (name) => {
    const address = `127.0.0.1:${await freePort()}`;
    const config = { store: { postgres: { url } }, node: { name, address, secret } };
    return startGateway(bench, { servers: { echo: rawEcho }, config });
  };
  const [one, two] = [await node('one'), await node('two')];
  const stop = () => Promise.all([one.stop(), two.stop()]);
  const headers = await openSession(`${one.url}/mcp/echo`);
  const bodies = Array.from({ length: 1_000 }, (_, n) => legacyCall(n));
  // It knows of the other one by its next renewal.
  await eventually(async () => (await call(`${two.url}/mcp/echo`, headers, bodies[0])).ok);
  const target = ({ url: at }) => ({
    stop,
    async p50Ms(connections) {
      if (bench.isSmoke) {
        const startedAt = performance.now();
        strictEqual((await call(`${at}/mcp/echo`, headers, bodies[1])).ok, true);
        return performance.now() - startedAt;
      }
      const options = { connections, seconds: bench.seconds, headers, bodies };
      const { p50Ms, errors } = await load(`${at}/mcp/echo`, options);
      if (errors > 0) throw new Error(`${errors} calls failed`);
      return p50Ms;
    },
  });
  return [
    [direct, target(one)],
    [forwarded, target(two)],
  ];
}

async function call(url, headers, body) {
  const answer = await fetch(url, { method: 'POST', headers, body });
  await answer.arrayBuffer();
  return answer;
}
