// The other ceiling of the measure of signed events: the store's thread with nothing around it. Events of the same size are
// appended with their claims and committed in groups of 64 for SECONDS, several groups at a time, so that the thread is never
// idle.
//
// node bench/store-alone.mjs DIST FILE SECONDS      prints `rate: EVENTS_PER_SECOND`

import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { nextEvent, printRate, TOGETHER } from './lone-events.mjs';

const [dist, file, seconds] = process.argv.slice(2);
const workerData = { file, retentionMs: 86_400_000, rememberMs: 86_400_000, maxWaiting: 100_000 };
const worker = new Worker(join(resolve(dist), 'store-worker.js'), { workerData });
/** Calls are answered in the order in which they were posted, several posts perhaps together. */
const waiting = [];
worker.on('message', (message) => {
  if (message.kind === 'refused') throw new Error(message.error.message);
  for (const answer of message.answers ?? []) waiting.shift()(answer);
});

/** One group of calls; gives their results. */
function ask(calls) {
  worker.postMessage({ calls, close: false });
  return Promise.all(calls.map(() => new Promise((done) => void waiting.push(done)))).then((given) =>
    given.map((answer) => {
      if ('error' in answer) throw new Error(answer.error.message);
      return answer.result;
    }),
  );
}

const body = Buffer.alloc(1_000, 'x');

async function round() {
  const events = Array.from({ length: TOGETHER }, () => nextEvent(body));
  const entered = await ask(events.map((each) => ({ operation: 'append', args: [[each], 30_000] })));
  const results = entered.map(([{ claimed }], index) => ({
    key: events[index].key,
    fence: claimed.fence,
    seq: claimed.seq,
    outcome: 'done',
    trigger: 'events',
    answer: '',
    emit: [],
  }));
  await ask([{ operation: 'commit', args: [results] }]);
}

await printRate(round, Number(seconds));
await worker.terminate();
