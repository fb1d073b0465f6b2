// What runs cost that wait: for people, or for a time.

import { setTimeout as sleep } from 'node:timers/promises';
import { startAgentGateway, startModel } from '../agents.mjs';
import { eventually, startHandling } from '../handling-gateway.mjs';
import { signatureOf } from '../signed-events.mjs';

const agent = 'agent, a tool to be approved';
const script = 'script that waits';
const rows = [agent, script];
const withoutCompiler = ['--no-opt', '--no-sparkplug', '--no-maglev', '--no-flush-bytecode'];

export const name = 'parked-runs';
export const title = 'Memory per parked run';
export const about = `Runs that wait a day, each in a conversation of its own: of an agent with a model whose only call of a tool somebody has to
approve, and of a script with \`wait_ms\`. Heap in use after a forced collection, and resident memory at that moment, each after ten
seconds of rest: of a gateway without any, after a start of it; after 100 that have ended and 100 that wait; after 1,000 more that have ended,
which is what runs leave whether they waited or not; and after 1,000 more that wait. Then of the next process over the same store, when it has them
all again. "Ended" and "wait" are what these thousands added, "wait after a restart" is what 1,100 that wait add to a start. V8 compiles nothing
here (\`${withoutCompiler.join(' ')}\`): what it compiles on the way would be counted with the runs. Of resident memory the
store's thread has pages of its file, up to 32 MB, and V8 its young generation. What remains of a parked run is in the store: no place, no attempt, no actor.`;
export const goals = rows.flatMap((row) =>
  ['heap, wait', 'heap, wait after a restart'].map((column) => ({
    ...{ row, column, limit: 1, unit: 'MB', sense: 'at most' },
  })),
);
export const tables = ['heap', 'RSS'];

const FIRST = 100;
const MORE = 1_000;
const REST_MS = 10_000;
const DAY_MS = 86_400_000;
/** How many steps a run has is in its text: without one the model answers at once. */
const ENDS = 'steps-0';

const starts = {
  [agent]: startAgentGateway,
  [script]: (bench, _model, _policy, options) =>
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
          { match: { text: ENDS }, answer: 'Done.' },
          { answer: '', wait_ms: DAY_MS },
        ],
      },
    ),
};

export async function* run(bench) {
  const [first, more] = bench.isSmoke ? [1, 2] : [FIRST, MORE];
  const model = await startModel(bench);
  for (const row of rows) {
    const folder = bench.makeFolder();
    const start = () =>
      starts[row](bench, model, { ask: ['*'] }, { folder, hasProbe: true, nodeArgs: withoutCompiler });
    const before = await start();
    const empty = await rested(bench, before);
    await end(bench, before, first);
    await park(bench, before, first);
    const warm = await rested(bench, before);
    await end(bench, before, more);
    const ended = await rested(bench, before);
    await park(bench, before, more);
    const all = await rested(bench, before);
    await before.stop();
    const next = await start();
    await waiting(next, first + more);
    const again = await rested(bench, next);
    await next.stop();
    for (const [column, value] of [
      ['at start', empty],
      [`with ${first}`, warm],
      [', ended', less(ended, warm)],
      [', wait', less(all, ended)],
      [', wait after a restart', less(again, empty)],
    ])
      for (const [what, bytes] of [
        ['heap', value.heapUsed],
        ['RSS', value.rss],
      ]) {
        const place = column.startsWith(',') ? `${what}${column}` : `${what} ${column}`;
        yield { round: 1, row, column: place, value: bytes / 1e6, unit: 'MB' };
      }
  }
  await model.stop();
}

const less = (a, b) => ({ heapUsed: a.heapUsed - b.heapUsed, rss: a.rss - b.rss });

async function rested(bench, gateway) {
  await sleep(bench.isSmoke ? 100 : REST_MS);
  return gateway.memory();
}

/** So many more, until all of them have ended. */
async function end(bench, gateway, count) {
  await post(bench, gateway, count, ENDS);
  await gateway.settled(count);
}

/** So many more, until all of them wait. */
async function park(bench, gateway, count) {
  const wanted = (await waitingAt(gateway)) + count;
  await post(bench, gateway, count, 'steps-1');
  await waiting(gateway, wanted);
}

let posted = 0;
async function post(bench, gateway, count, steps) {
  for (let n = 0; n < count; n += 1) {
    // What is only garbage shall not make tables grow.
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

const waiting = (gateway, count) => eventually(async () => (await waitingAt(gateway)) === count);

async function waitingAt({ url }) {
  const { deliveries } = await (await fetch(`${url}/stats`)).json();
  return deliveries.waiting;
}
