// Maximum rate of events that PostgreSQL itself permits, for comparison with the measure `cluster`. Two
// statements write the same rows as the gateway, for 64 events each: the first inserts the event (table
// `delivery`), its body and its conversation (table `mailbox`); the second stores the outcome and deletes the
// conversation. Several groups are in flight. There are no reads, comparisons or locks.
//
// node bench/postgres-alone.mjs CHECKOUT URL SECONDS      prints `rate: EVENTS_PER_SECOND`

import pg from 'pg';
import { openStore } from './open-store.mjs';
import { CONCURRENT_GROUPS, EVENTS_PER_GROUP, nextEvent, printRate } from './store-events.mjs';

const [checkout, url, seconds] = process.argv.slice(2);
// Numbers of the gateway for the delivery states.
const RUNNING = 1;
const DONE = 5;

// Creates the tables.
await (await openStore(checkout, url)).close();
const pool = new pg.Pool({
  connectionString: url,
  max: CONCURRENT_GROUPS,
  onConnect: (client) => client.query('SET search_path = actor_gateway'),
});
// $1: the events; $2: the time. A mailbox is claimed (reserved for one gateway) for 30,000 ms.
const append = {
  name: 'append',
  text: `WITH input AS (SELECT * FROM json_to_recordset($1::json) AS event (id text, key text, trace text, meta text, body text)),
    added AS (INSERT INTO delivery (id, key, trace, at, state, attempts, started)
      SELECT id, key, trace, $2, ${RUNNING}, 1, $2 FROM input RETURNING seq, id, key),
    kept AS (INSERT INTO body (seq, meta, body) SELECT seq, meta, decode(body, 'base64') FROM added JOIN input USING (id)),
    opened AS (INSERT INTO mailbox (key, kind, ready_at, fence, lease_ms, node, has_more, running)
      SELECT key, 'conversation', $2::bigint + 30000, nextval('fence'), 30000, 1, false, seq FROM added)
    SELECT seq, key FROM added`,
};
// $1: numbers of the deliveries; $2: the time; $3: their keys.
const end = {
  name: 'end',
  text: `WITH closed AS (DELETE FROM mailbox WHERE key = ANY ($3))
    UPDATE delivery SET state = ${DONE}, ended = $2, trigger = 'events', answer = '' WHERE seq = ANY ($1)`,
};
const body = Buffer.alloc(1_000, 'x').toString('base64');

/** Writes and ends one group of events. */
async function writeGroup() {
  const events = Array.from({ length: EVENTS_PER_GROUP }, () => nextEvent(body));
  const { rows } = await pool.query({ ...append, values: [JSON.stringify(events), Date.now()] });
  await pool.query({ ...end, values: [rows.map(({ seq }) => seq), Date.now(), rows.map(({ key }) => key)] });
}

await printRate(writeGroup, Number(seconds));
await pool.end();
