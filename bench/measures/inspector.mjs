// Cost of inspector pages: the speed of calls and of server starts while clients watch the feed.

import { ok } from 'node:assert';
import { get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startGateway } from '../gateway.mjs';
import { load } from '../load.mjs';
import { legacyCall } from '../messages.mjs';
import { rawEcho } from '../targets.mjs';

/** Rows, with the number of clients that watch. */
const watcherCounts = [
  ['not watched', 0],
  ['watched by one', 1],
  ['watched by ten', 10],
];

export const name = 'inspector';
export const title = 'The inspector';
export const about = `Calls at \`/rpc\` from 16 connections to a raw stdio echo, and starts and stops of a server by
\`POST /servers/:id/start\` and \`…/stop\`, while 0, 1 and 10 clients watch \`/inspector/feed\`. The gateway
has 200 servers besides these two, and all are in the tree of the feed.

A call changes no state machine, so only the statistics that each watcher receives once a second can slow it.
A start and a stop are about a dozen events. Each watcher must receive the whole tree, and the server in each
of its states.`;
export const compared = { against: 'not watched', columns: ['calls/s', 'starts and stops/s'] };

export async function* run(bench) {
  const others = Array.from({ length: bench.isSmoke ? 5 : 200 }, (_, at) => [`server-${at}`, rawEcho]);
  const servers = { echo: rawEcho, cycled: rawEcho, ...Object.fromEntries(others) };
  const gateway = await startGateway(bench, { servers });
  const headers = { 'X-MCP-Server': 'echo', 'Content-Type': 'application/json' };
  const bodies = Array.from({ length: 1000 }, (_, n) => legacyCall(n));
  const callOnce = async () => {
    const answer = await fetch(`${gateway.url}/rpc`, { method: 'POST', headers, body: bodies[0] });
    ok(answer.ok, `a call failed with status ${answer.status}`);
  };
  try {
    await callOnce();
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const [row, count] of watcherCounts) {
        const watchers = await Promise.all(Array.from({ length: count }, () => watch(gateway.url)));
        const cycleRate = await startAndStop(gateway.url, bench.isSmoke ? 0.2 : bench.seconds);
        yield { round, row, column: 'starts and stops/s', value: cycleRate, unit: 'cycles/s' };
        if (!bench.isSmoke) {
          const before = gateway.cpuSeconds();
          const options = { connections: 16, seconds: bench.seconds, headers, bodies };
          const { calls, callsPerSecond, errors } = await load(`${gateway.url}/rpc`, options);
          ok(errors === 0, `${errors} calls failed`);
          yield { round, row, column: 'calls/s', value: callsPerSecond, unit: 'calls/s' };
          const µs = ((gateway.cpuSeconds() - before) * 1e6) / calls;
          yield { round, row, column: 'µs per call', value: µs, unit: 'µs' };
        }
        for (const watcher of watchers) await watcher.check(Object.keys(servers));
      }
    }
  } finally {
    await gateway.stop();
  }
}

/** Starts and stops a server repeatedly for `seconds`. Returns the cycles per second. */
async function startAndStop(url, seconds) {
  const startedAt = performance.now();
  let count = 0;
  do {
    for (const verb of ['start', 'stop']) {
      const answer = await fetch(`${url}/servers/cycled/${verb}`, { method: 'POST' });
      ok(answer.ok, `${verb} failed with status ${answer.status}: ${await answer.text()}`);
    }
    count += 1;
  } while (performance.now() - startedAt < seconds * 1000);
  return count / ((performance.now() - startedAt) / 1000);
}

/**
 * Watches the feed and records the states of actors. `check(ids)` resolves when all expected states were
 * seen.
 */
async function watch(url) {
  const states = new Map();
  const record = ({ name, state, steps = [] }) => {
    // An actor's name is a server's id with the number of the actor.
    const id = name.replace(/#\d+$/, '');
    if (!states.has(id)) states.set(id, new Set());
    states.get(id).add(state);
    for (const step of steps) if (step.state !== null) states.get(id).add(step.state);
  };
  let text = '';
  const onChunk = (chunk) => {
    const events = (text + chunk).split('\n\n');
    text = events.pop();
    for (const event of events) {
      const [, kind, data] = /^event: (tree|frame)\ndata: (.*)$/.exec(event) ?? [];
      if (kind !== undefined) for (const actor of JSON.parse(data).actors) record(actor);
    }
  };
  const response = await new Promise((done, failed) => {
    get(`${url}/inspector/feed`, done).on('error', failed);
  });
  ok(response.statusCode === 200, `the feed responded with ${response.statusCode}`);
  response.setEncoding('utf8').on('data', onChunk);
  response.on('error', () => {});
  return {
    async check(ids) {
      const cycleStates = ['starting', 'running', 'stopping', 'stopped'];
      const hasSeenAll = () =>
        ids.every((id) => states.has(id)) && cycleStates.every((state) => states.get('cycled').has(state));
      const deadline = Date.now() + 10_000;
      while (!hasSeenAll()) {
        ok(Date.now() < deadline, 'a watcher has not seen everything');
        await sleep(10);
      }
      response.destroy();
    },
  };
}
