// Throughput of the gateway's PostgreSQL store in isolation, for comparison with postgres-alone.mjs. Events
// of the same size are appended and claimed (reserved for this process) in one call, then their outcomes are
// committed: 64 calls per group, with several groups in flight.
//
// node bench/postgres-store.mjs CHECKOUT URL SECONDS      prints `rate: EVENTS_PER_SECOND`

import { openStore } from './open-store.mjs';
import { EVENTS_PER_GROUP, nextEvent, printRate } from './store-events.mjs';

const [checkout, url, seconds] = process.argv.slice(2);
const CLAIM_MS = 30_000;

const store = await openStore(checkout, url);

const body = Buffer.alloc(1_000, 'x');

/** Appends and commits one group of events. */
async function handleGroup() {
  const handle = async (next) => {
    const [{ turn }] = await store.append([next], { claimMs: CLAIM_MS });
    const { key, fence } = turn;
    await store.commit([
      { key, fence, seq: turn.event.seq, outcome: 'done', trigger: 'events', answer: '', emit: [] },
    ]);
  };
  await Promise.all(Array.from({ length: EVENTS_PER_GROUP }, () => handle(nextEvent(body))));
}

await printRate(handleGroup, Number(seconds));
await store.close();
