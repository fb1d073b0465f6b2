// What runs cost that wait: for people, or for a time.

import { setTimeout as sleep } from 'node:timers/promises';
import { startAgentGateway, startModel } from '../agents.mjs';
import { eventually, startHandling } from '../handling-gateway.mjs';
import { signatureOf } from '../signed-events.mjs';

const agent = 'agent, a tool to be approved';
const script = 'script that waits';
const rows = [agent, script];

export const name = 'parked-runs';
export const title = 'Memory per parked run';
export const about = `Runs that wait a day, each in a conversation of its own: of an agent with a model whose only call of a tool somebody has to
approve, and of a script with \`wait_ms\`. Heap in use after a forced collection, and resident memory at that
moment. First of a gateway without any, after a start of it; then with 100 of them, and with 1,000 more, each after ten seconds of rest;
then of the next process over the same store, when it has them all again. "More" is what the last 1,000 of one process added, "more after a restart" what
1,100 of them add to a start. What remains of a parked run is in the store: no place, no attempt, no actor.`;
export const goals = rows.flatMap((row) =>
  ['heap, more', 'heap, more after a restart'].map((column) => ({
    ...{ row, column, limit: 1, unit: 'MB', sense: 'at most' },
  })),
);
export const tables = ['heap', 'RSS'];

const FIRST = 100;
const MORE = 1_000;
const REST_MS = 10_000;
const DAY_MS = 86_400_000;

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
      { ...options, script: [{ answer: '', wait_ms: DAY_MS }] },
    ),
};

export async function* run(bench) {
  const [first, more] = bench.isSmoke ? [1, 2] : [FIRST, MORE];
  const model = await startModel(bench);
  for (const row of rows) {
    const folder = bench.makeFolder();
    const start = () => starts[row](bench, model, { ask: ['*'] }, { folder, hasProbe: true });
    const before = await start();
    const empty = await rested(bench, before);
    await park(bench, before, first);
    const some = await rested(bench, before);
    await park(bench, before, first + more);
    const all = await rested(bench, before);
    await before.stop();
    const next = await start();
    await waiting(next, first + more);
    const again = await rested(bench, next);
    await next.stop();
    for (const [column, value] of [
      ['at start', empty],
      [`with ${first}`, some],
      [`with ${first + more}`, all],
      ['after a restart', again],
      [', more', less(all, some)],
      [', more after a restart', less(again, empty)],
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

/** Until there are so many. */
async function park(bench, gateway, count) {
  for (let n = await waitingAt(gateway); n < count; n += 1) {
    if (n % 100 === 0) bench.progress(`${n} runs`);
    const body = JSON.stringify({ text: `run-parked${n}-steps-1` });
    const headers = {
      'content-type': 'application/json',
      'x-hub-signature-256': signatureOf(body),
      'x-conversation': `parked-${n}`,
    };
    const answer = await fetch(`${gateway.url}/events`, { method: 'POST', body, headers });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    await answer.text();
  }
  await waiting(gateway, count);
}

const waiting = (gateway, count) => eventually(async () => (await waitingAt(gateway)) === count);

async function waitingAt({ url }) {
  const { deliveries } = await (await fetch(`${url}/stats`)).json();
  return deliveries.waiting;
}
