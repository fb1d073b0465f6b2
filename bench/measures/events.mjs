// Cost per signed event: verification, durable storage, response and handling.

import { strictEqual } from 'node:assert';
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, startHandling } from '../handling-gateway.mjs';
import { load } from '../load.mjs';
import { installPeers } from '../peers/install.mjs';
import { startProcess, until } from '../processes.mjs';
import { secret, signedEvents } from '../signed-events.mjs';

const gatewayRow = 'gateway';
const probotRow = 'Probot 14.3.2';
const ceilingRow = 'verified and answered, nothing else';
const storeRow = 'the store alone: appended, claimed, committed';
const diskRow = 'write and fdatasync, one at a time';
const PATH = '/webhook/repohost';

export const name = 'events';
export const title = 'Signed events, accepted durably and handled';
export const about = `Events of a repository host (\`issues.opened\`, about 1 KB, HMAC-SHA256), posted by 1, 16 and 64 connections and
spread over 256 conversations. The gateway responds when an event is on disk. The handler is a scripted agent
without an answer. The rate is the number of accepted events, divided by the time until the last is handled.

- Probot verifies the same events, responds, and then calls an app that does nothing. It stores nothing.
- "Verified and answered, nothing else": the gateway's HTTP server with signature check and parsing only. No
  gateway on this server can be faster.
- "The store alone": the store's thread without the gateway, always busy with such events.
- "Write and fdatasync": appends 1 KB to a file and waits for \`fdatasync\`, in sequence.
- Deliveries are counted before and after the load: each acknowledged event must exist once, and be done.`;
export const goals = [
  { row: gatewayRow, column: 'events/s at 64', limit: 10_000, unit: 'events/s', sense: 'at least' },
  { row: gatewayRow, column: 'p99 at 64, ms', limit: 20, unit: 'ms', sense: 'at most' },
  { row: gatewayRow, column: 'events/s at 64', against: probotRow, factor: 5, sense: 'at least' },
];
export const tables = ['events/s', 'p50', 'p99'];

const CONVERSATIONS = 256;

export async function* run(bench) {
  const events = signedEvents(bench.isSmoke ? 4 : CONVERSATIONS);
  const gateway = await startHandling(bench, {
    type: 'RepoHost',
    // The signed bodies are sent repeatedly.
    config: { webhook_secret: `\${WEBHOOK_SECRET}`, replay_window_seconds: 0 },
    commands: { 'issues.opened': { agent: 'nobody' } },
  });
  const rows = [[gatewayRow, gateway]];
  const hasRivals = !bench.isSmoke && !bench.isAlone;
  if (hasRivals) {
    installPeers();
    rows.push([probotRow, await startPeer(bench, 'peers/probot-hook.mjs')]);
    rows.push([ceilingRow, await startPeer(bench, 'bare-webhook.mjs')]);
  }
  let runs = 0;
  for (let round = 1; round <= bench.rounds; round += 1) {
    for (const connections of bench.isSmoke ? [4] : [1, 16, 64]) {
      for (const [row, target] of rows) {
        runs += 1;
        const numbered = { header: 'X-GitHub-Delivery', prefix: `run-${process.pid}-${runs}-` };
        if (bench.isSmoke) {
          await postSome(`${target.url}${PATH}`, events, numbered);
          await target.whenHandled(events.length);
          yield { round, row, column: 'events', value: events.length, unit: 'events' };
          continue;
        }
        const before = performance.now();
        const { calls, errors, p50Ms, p99Ms } = await load(`${target.url}${PATH}`, {
          connections,
          seconds: bench.seconds,
          bodies: events,
          numbered,
        });
        if (errors > 0) throw new Error(`${errors} events to ${row} failed`);
        await target.whenHandled(calls);
        const seconds = (performance.now() - before) / 1000 - START_SECONDS;
        yield { round, row, column: `events/s at ${connections}`, value: calls / seconds, unit: 'events/s' };
        yield { round, row, column: `p50 at ${connections}, ms`, value: p50Ms, unit: 'ms' };
        yield { round, row, column: `p99 at ${connections}, ms`, value: p99Ms, unit: 'ms' };
      }
    }
    if (!hasRivals) continue;
    yield {
      round,
      row: storeRow,
      column: 'events/s at 64',
      value: await storeAlone(bench),
      unit: 'events/s',
    };
    yield { round, row: diskRow, column: 'events/s at 1', value: syncsPerSecond(bench), unit: 'events/s' };
  }
  for (const [, target] of rows) await target.stop();
}

/** Approximate time that wrk needs to start and exit. */
const START_SECONDS = 0.05;

/** Starts a program that accepts events and reports their number at `/handled`. */
async function startPeer(bench, file) {
  const program = join(import.meta.dirname, '..', file);
  const started = startProcess(bench.makeFolder(), process.execPath, [program, secret], {
    env: { NODE_ENV: 'production' },
  });
  const port = await until(
    started,
    `${file} did not start`,
    () => /listening at (\d+)/.exec(started.log())?.[1],
  );
  const url = `http://127.0.0.1:${port}`;
  let handled = 0;
  return {
    url,
    stop: started.stop,
    async whenHandled(count) {
      handled += count;
      await eventually(async () => {
        const handledCount = Number(await (await fetch(`${url}/handled`)).text());
        // The load generator aborts the last requests without counting them; the program also handles them.
        if (handledCount >= handled) handled = handledCount;
        return handledCount >= handled;
      });
    },
  };
}

async function storeAlone(bench) {
  const folder = bench.makeFolder();
  const program = join(import.meta.dirname, '../store-alone.mjs');
  const args = [program, bench.dist, join(folder, 'events.db'), String(bench.seconds)];
  const started = startProcess(folder, process.execPath, args);
  await started.exited;
  const [, rate] = /^rate: (.*)$/m.exec(started.log()) ?? [];
  if (rate === undefined) throw new Error(`the store alone printed no rate:\n${started.log()}`);
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

function syncsPerSecond(bench) {
  const file = openSync(join(bench.makeFolder(), 'events'), 'a');
  const event = Buffer.alloc(1024, 'x');
  const deadline = performance.now() + bench.seconds * 1000;
  let count = 0;
  while (performance.now() < deadline) {
    writeSync(file, event);
    fdatasyncSync(file);
    count += 1;
  }
  closeSync(file);
  return count / bench.seconds;
}
