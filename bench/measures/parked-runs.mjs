// Memory of parked runs: runs that wait for people or a timer, and exist only in the store.

import { setTimeout as sleep } from 'node:timers/promises';
import { startAgentGateway, startModel } from '../agents.mjs';
import { eventually, startHandling } from '../handling-gateway.mjs';
import { signatureOf } from '../signed-events.mjs';

const agentRow = 'agent, a tool to be approved';
const scriptRow = 'script that waits';
const rows = [agentRow, scriptRow];
const withoutCompiler = ['--no-opt', '--no-sparkplug', '--no-maglev', '--no-flush-bytecode'];

export const name = 'parked-runs';
export const title = 'Memory of 1,000 parked runs';
export const about = `Runs that wait for a day, each in a separate conversation: an agent with a model whose only tool call needs an
approval, and a script with \`wait_ms\`. Heap in use after a forced collection, and resident memory at that
moment, after ten seconds of rest:

1. a new gateway without runs;
2. after 100 runs that ended and 100 that wait;
3. after 1,000 more that ended; "ended" is the increase since state 2;
4. after 1,000 more that wait; "wait" is the increase since state 3;
5. the next process on the same store, minus a start without runs ("wait after a restart", 1,100 runs).

V8 compiles nothing here (\`${withoutCompiler.join(' ')}\`), because compiled code would be counted too.
Resident memory includes up to 32 MB of file pages of the store's thread and V8's young generation. A parked
run is only in the store: it occupies no place among the concurrent runs and has no object in memory.`;
export const goals = rows.flatMap((row) =>
  ['heap, wait', 'heap, wait after a restart'].map((column) => {
    return { row, column, limit: 1, unit: 'MB', sense: 'at most' };
  }),
);
export const tables = ['heap', 'RSS'];

const FIRST_COUNT = 100;
const FURTHER_COUNT = 1_000;
const REST_MS = 10_000;
const DAY_MS = 86_400_000;
/**
 * Part of the event text of a run that finishes immediately: the model requests no tool call. The first rule
 * of the script matches texts that contain it.
 */
const COMPLETING_TEXT = 'steps-0';

/** Functions that start the gateway, by row. */
const starts = {
  [agentRow]: startAgentGateway,
  [scriptRow]: (bench, _model, _policy, options) =>
    startHandling(
      bench,
      {
        type: 'HTTP',
        config: { path: '/events', webhook_secret: `\${WEBHOOK_SECRET}`, key: 'header:x-conversation' },
        default_agent: 'nobody',
      },
      {
        ...options,
        script: [
          { match: { text: COMPLETING_TEXT }, answer: 'Done.' },
          { answer: '', wait_ms: DAY_MS },
        ],
      },
    ),
};

export async function* run(bench) {
  const [first, more] = bench.isSmoke ? [1, 2] : [FIRST_COUNT, FURTHER_COUNT];
  const model = await startModel(bench);
  for (const row of rows) {
    const folder = bench.makeFolder();
    const start = () =>
      starts[row](bench, model, { ask: ['*'] }, { folder, hasProbe: true, nodeArgs: withoutCompiler });
    // The five states of `about`, in order.
    const gateway = await start();
    const empty = await memoryAfterRest(bench, gateway);
    await completeRuns(bench, gateway, first);
    await parkRuns(bench, gateway, first);
    const warm = await memoryAfterRest(bench, gateway);
    await completeRuns(bench, gateway, more);
    const ended = await memoryAfterRest(bench, gateway);
    await parkRuns(bench, gateway, more);
    const parked = await memoryAfterRest(bench, gateway);
    await gateway.stop();
    const nextGateway = await start();
    await untilWaiting(nextGateway, first + more);
    const restarted = await memoryAfterRest(bench, nextGateway);
    await nextGateway.stop();
    for (const [columnEnd, value] of [
      [' at start', empty],
      [` with ${first}`, warm],
      [', ended', difference(ended, warm)],
      [', wait', difference(parked, ended)],
      [', wait after a restart', difference(restarted, empty)],
    ])
      for (const [kind, bytes] of [
        ['heap', value.heapUsed],
        ['RSS', value.rss],
      ])
        yield { round: 1, row, column: `${kind}${columnEnd}`, value: bytes / 1e6, unit: 'MB' };
  }
  await model.stop();
}

const difference = (a, b) => ({ heapUsed: a.heapUsed - b.heapUsed, rss: a.rss - b.rss });

async function memoryAfterRest(bench, gateway) {
  await sleep(bench.isSmoke ? 100 : REST_MS);
  return gateway.memory();
}

/** Starts `count` runs; resolves when they have finished. */
async function completeRuns(bench, gateway, count) {
  await post(bench, gateway, count, COMPLETING_TEXT);
  await gateway.whenHandled(count);
}

/** Starts `count` runs; resolves when they are parked. */
async function parkRuns(bench, gateway, count) {
  const expected = (await waitingCount(gateway)) + count;
  await post(bench, gateway, count, 'steps-1');
  await untilWaiting(gateway, expected);
}

let posted = 0;
/**
 * Posts `count` events, each in a separate conversation. `steps` is `steps-N` for a run with N tool calls.
 */
async function post(bench, gateway, count, steps) {
  for (let n = 0; n < count; n += 1) {
    // `memory` forces a garbage collection. Without it, garbage would enlarge V8's internal tables.
    if (n % 100 === 0) await gateway.memory();
    if (n % 100 === 0) bench.progress(`${n} runs, ${steps}`);
    posted += 1;
    const body = JSON.stringify({ text: `run-parked${posted}-${steps}` });
    const headers = {
      'content-type': 'application/json',
      'x-hub-signature-256': signatureOf(body),
      'x-conversation': `parked-${posted}`,
    };
    const answer = await fetch(`${gateway.url}/events`, { method: 'POST', body, headers });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    await answer.text();
  }
}

const untilWaiting = (gateway, count) => eventually(async () => (await waitingCount(gateway)) === count);

async function waitingCount({ url }) {
  const { deliveries } = await (await fetch(`${url}/stats`)).json();
  return deliveries.waiting;
}
