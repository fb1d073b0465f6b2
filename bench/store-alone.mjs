// Upper limit for the measure `events`: the thread of the SQLite store in isolation. Groups of 64 events are
// appended and claimed (reserved for this process), then their results are committed. Several groups are in
// flight, so the thread is never idle.
//
// node bench/store-alone.mjs DIST FILE SECONDS      prints `rate: EVENTS_PER_SECOND`

import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { EVENTS_PER_GROUP, nextEvent, printRate } from './store-events.mjs';

const [dist, file, seconds] = process.argv.slice(2);
/** Settings of the store. Nothing expires during a measure, and no event is refused. */
const workerData = { file, retentionMs: 86_400_000, snapshotRetentionMs: 86_400_000, maxWaiting: 100_000 };
const worker = new Worker(join(resolve(dist), 'store-worker.js'), { workerData });
/** Resolve functions of pending calls, in order. One message may contain the results of several groups. */
const waiting = [];
worker.on('message', (message) => {
  if (message.kind === 'refused') throw new Error(message.error.message);
  for (const answer of message.answers ?? []) waiting.shift()(answer);
});

/** Sends a group of calls to the thread and returns their results. */
function callThread(calls) {
  worker.postMessage({ calls, close: false });
  const nextAnswer = () =>
    new Promise((done) => {
      waiting.push(done);
    });
  return Promise.all(calls.map(nextAnswer)).then((answers) =>
    answers.map((answer) => {
      if ('error' in answer) throw new Error(answer.error.message);
      return answer.result;
    }),
  );
}

const body = Buffer.alloc(1_000, 'x');

async function handleGroup() {
  const events = Array.from({ length: EVENTS_PER_GROUP }, () => nextEvent(body));
  const claimMs = 30_000;
  const appended = await callThread(events.map((each) => ({ operation: 'append', args: [[each], claimMs] })));
  const results = appended.map(([{ claimed }], index) => ({
    key: events[index].key,
    fence: claimed.fence,
    seq: claimed.seq,
    outcome: 'done',
    trigger: 'events',
    answer: '',
    emit: [],
  }));
  await callThread([{ operation: 'commit', args: [results] }]);
}

await printRate(handleGroup, Number(seconds));
await worker.terminate();
