// The gateway's store on PostgreSQL with nothing around it: what postgres-alone.mjs does by plain statements, done through the Store. Events of
// the same size are appended with their claims and committed, 64 calls together, several such groups under way at a time.
//
// node bench/postgres-store.mjs CHECKOUT URL SECONDS      prints `rate: EVENTS_PER_SECOND`

import { nextEvent, printRate, TOGETHER } from './lone-events.mjs';
import { openedStore } from './opened-store.mjs';

const [checkout, url, seconds] = process.argv.slice(2);
const CLAIM_MS = 30_000;

const store = await openedStore(checkout, url);

const body = Buffer.alloc(1_000, 'x');

async function group() {
  const one = async (next) => {
    const [{ turn }] = await store.append([next], { claimMs: CLAIM_MS });
    const { key, fence } = turn;
    await store.commit([
      { key, fence, seq: turn.event.seq, outcome: 'done', trigger: 'events', answer: '', emit: [] },
    ]);
  };
  await Promise.all(Array.from({ length: TOGETHER }, () => one(nextEvent(body))));
}

await printRate(group, Number(seconds));
await store.close();
