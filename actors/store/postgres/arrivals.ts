// Brings events to their mailboxes by one statement: it holds the mailboxes, gives the events their numbers, and claims the first one of
// each mailbox that was free. So a group of events is on its way to the server once.
//
// PGV1  the mailboxes are all held before any event gets its number: in a key these grow in the order of the commits (S4). The events
//       are sorted behind the rows of their mailboxes, and numbered as they are inserted.
// A mailbox that is claimed here does not name the event that runs: it is the only one of the key in that state.

import { stateCodes } from '../delivery-states.ts';
import { INBOUND, type NewEvent } from '../event.ts';
import { kindOf } from '../key-kinds.ts';
import { storable } from '../record-texts.ts';
import { type Arriving, firstOfFree, isClaimable, type Known } from './claim-at-append.ts';
import { nowMs, type Statements, statement } from './database.ts';

/** An event, and for how long it is claimed where it comes to a free mailbox. */
export interface Arrival {
  readonly event: NewEvent;
  readonly claimMs?: number | undefined;
}

/** What has come of arrivals so far. */
export interface Arrived {
  readonly all: readonly Arriving[];
  /** Of those that are new, by their ids. */
  readonly seqs: ReadonlyMap<string, number>;
  /** Of the mailboxes that were free, and are claimed, by their keys. */
  readonly fences: ReadonlyMap<string, number>;
  /** What has been claimed, by its key, as if all were new. */
  readonly expected: ReadonlyMap<string, Arriving>;
  readonly snapshots: ReadonlyMap<string, string>;
}

const { running, queued } = stateCodes;

/** A mailbox that is made here has a claim where `lease_ms` is given and the node is a member still (PGN1). */
const arrive = statement<
  readonly [fence: number | null, key: string | null, seq: number | null, id: string | null]
>(
  `WITH member AS (SELECT id FROM node WHERE id = $3 FOR KEY SHARE),
   opened AS (
     INSERT INTO mailbox (key, kind, ready_at, fence, lease_ms, node, has_more)
     SELECT key, kind, ${nowMs} + lease_ms, CASE WHEN lease_ms IS NOT NULL AND EXISTS (SELECT 1 FROM member) THEN nextval('fence') END,
       lease_ms, CASE WHEN lease_ms IS NOT NULL THEN (SELECT id FROM member) END, has_more
     FROM json_to_recordset($1::json) AS wanted (key text, kind text, lease_ms int, has_more boolean)
     ORDER BY key COLLATE "C"
     ON CONFLICT (key) DO UPDATE SET has_more = true RETURNING key, CASE WHEN xmax = 0 THEN fence END AS fence
   ), given AS (
     SELECT * FROM json_to_recordset($2::json) AS event (n int, id text, key text, trace text, may_run boolean, kind text, wakes text,
       meta text, body text)
   ), added AS (
     INSERT INTO delivery (id, key, trace, at, state, attempts, started, kind, wakes)
     SELECT given.id, given.key, trace, ${nowMs}, CASE WHEN runs THEN ${running} ELSE ${queued} END, CASE WHEN runs THEN 1 ELSE 0 END,
       CASE WHEN runs THEN ${nowMs} END, kind, wakes
     FROM given JOIN opened ON opened.key = given.key, LATERAL (SELECT may_run AND fence IS NOT NULL) AS claimed (runs)
     ORDER BY n
     ON CONFLICT (id) DO NOTHING RETURNING seq, id
   ), kept AS (
     INSERT INTO body (seq, meta, body) SELECT seq, meta, decode(body, 'base64') FROM added JOIN given USING (id)
   )
   SELECT fence, key, NULL, NULL FROM opened WHERE fence IS NOT NULL
   UNION ALL SELECT NULL, NULL, seq, id FROM added`,
);
const snapshots = statement<readonly [key: string, value: string]>(
  'SELECT key, value FROM snapshot WHERE key = ANY ($1)',
);

const NONE: ReadonlyMap<string, Known> = new Map();

/** Claims are those of `node`. It is sent when this returns, and needs nothing of the transaction. */
export async function bring(
  statements: Statements,
  arrivals: readonly Arrival[],
  node: number,
): Promise<Arrived> {
  const all = arriving(arrivals);
  const rows = all.filter(({ isRepeated }) => !isRepeated);
  const wanted = mailboxesOf(rows);
  const expected = firstOfFree(all, wanted.keys(), NONE);
  const free = [...wanted.values()].flatMap(({ key, lease_ms }) => (lease_ms === null ? [] : key));
  const written = rows.map((row, n) => writtenRow(row, n, expected.get(row.key) === row));
  const values = [JSON.stringify([...wanted.values()]), JSON.stringify(written), node];
  const [found, kept] = await Promise.all([
    statements.rows(arrive, values),
    free.length === 0 ? [] : statements.rows(snapshots, [free]),
  ]);
  const seqs = new Map<string, number>();
  const fences = new Map<string, number>();
  for (const [fence, key, seq, id] of found)
    if (seq !== null && id !== null) seqs.set(id, seq);
    else if (fence !== null && key !== null) fences.set(key, fence);
  const claimed = [...expected].filter(([key]) => fences.has(key));
  return { all, seqs, fences, expected: new Map(claimed), snapshots: new Map(kept) };
}

function arriving(arrivals: readonly Arrival[]): readonly Arriving[] {
  const ids = new Set<string>();
  return arrivals.map(({ event, claimMs }) => {
    const id = storable(event.id);
    const isRepeated = ids.has(id);
    ids.add(id);
    const mayBeClaimed = claimMs !== undefined && isClaimable(event);
    const key = storable(event.key);
    return { id, key, event, isRepeated, claimMs: mayBeClaimed ? claimMs : undefined };
  });
}

interface WantedMailbox {
  readonly key: string;
  readonly kind: string;
  /** Where any event of it may be claimed: which of them are new is not known yet. */
  lease_ms: number | null;
  has_more: boolean;
}

function mailboxesOf(rows: readonly Arriving[]): ReadonlyMap<string, WantedMailbox> {
  const wanted = new Map<string, WantedMailbox>();
  for (const { key, claimMs } of rows) {
    const lease_ms = claimMs === undefined ? null : Math.ceil(claimMs);
    const same = wanted.get(key);
    if (same === undefined) wanted.set(key, { key, kind: kindOf(key), lease_ms, has_more: false });
    else {
      same.lease_ms ??= lease_ms;
      same.has_more = true;
    }
  }
  return wanted;
}

function writtenRow({ id, key, event }: Arriving, n: number, mayRun: boolean) {
  const { trace, kind, wakes, meta, body } = event;
  return {
    n,
    id,
    key,
    trace: storable(trace),
    may_run: mayRun,
    // Most events are inbound, and say nothing of it.
    kind: kind === undefined || kind === INBOUND ? null : storable(kind),
    wakes: wakes === undefined ? null : storable(wakes),
    meta: storable(meta),
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64'),
  };
}
