// The gateway's store on PostgreSQL with nothing around it: what postgres-alone.mjs does by plain statements, done through the Store. Events of
// the same size are appended with their claims and committed, 64 calls together, several such groups under way at a time.
//
// node bench/postgres-store.mjs CHECKOUT URL SECONDS      prints `rate: EVENTS_PER_SECOND`

import { openedStore } from './opened-store.mjs';

const [checkout, url, seconds] = process.argv.slice(2);
const TOGETHER = 64;
const CONVERSATIONS = 65_536;
const GROUPS = 4;
const CLAIM_MS = 30_000;

const store = await openedStore(checkout, url);

const body = Buffer.alloc(1_000, 'x');
const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const meta = '{"triggers":["events"],"event":"issues","isForm":false}';
let count = 0;
const event = () => {
  count += 1;
  const key = `conversation/repohost/octocat/parts#${count % CONVERSATIONS}`;
  return { id: `repohost:alone/${count}`, key, trace, meta, body };
};

async function group() {
  const one = async (next) => {
    const [{ turn }] = await store.append([next], { claimMs: CLAIM_MS });
    const { key, fence } = turn;
    await store.commit([
      { key, fence, seq: turn.event.seq, outcome: 'done', trigger: 'events', answer: '', emit: [] },
    ]);
  };
  await Promise.all(Array.from({ length: TOGETHER }, () => one(event())));
  return TOGETHER;
}

async function together(untilMs) {
  const run = async () => {
    let done = 0;
    while (performance.now() < untilMs) done += await group();
    return done;
  };
  const counts = await Promise.all(Array.from({ length: GROUPS }, run));
  return counts.reduce((sum, done) => sum + done, 0);
}

await together(performance.now() + 500);
const startedAt = performance.now();
const done = await together(startedAt + Number(seconds) * 1000);
console.log(`rate: ${(done / (performance.now() - startedAt)) * 1000}`);
await store.close();
