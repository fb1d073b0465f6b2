// Inserts events with one statement, which needs one round trip: locks their mailboxes, assigns sequence
// numbers, and claims idle mailboxes for their first event. All mailboxes are locked before any number is
// assigned, because the events are joined to the rows of their mailboxes. Therefore the numbers of a key
// increase in commit order (rule S4 in ../store.ts). The column `mailbox.running` contains the number of the
// event that a claim runs. It stays null for a mailbox claimed here, because the number is unknown before the
// insert. A reader finds this event as the only one of the key in the state `running`.

import { stateCodes } from '../delivery-states.ts';
import { INBOUND, type NewEvent } from '../event.ts';
import { kindOf } from '../key-kinds.ts';
import { toStorableText } from '../record-texts.ts';
import { type ArrivingEvent, eventsToClaim, isClaimable, type KnownEvent } from './claim-at-append.ts';
import { nowMs, type Statements, statement } from './database.ts';

/** Event, and the lease duration of its claim if it arrives at an idle mailbox. */
export interface Arrival {
  readonly event: NewEvent;
  readonly claimMs?: number | undefined;
}

/** Intermediate result of an append. */
export interface InsertedEvents {
  readonly all: readonly ArrivingEvent[];
  /** Sequence numbers of new events, by id. */
  readonly seqs: ReadonlyMap<string, number>;
  /** Fences of claimed idle mailboxes, by key. */
  readonly fences: ReadonlyMap<string, number>;
  /** Events to claim, by key, on the assumption that all events are new. */
  readonly expected: ReadonlyMap<string, ArrivingEvent>;
  readonly snapshots: ReadonlyMap<string, string>;
}

const { running, queued } = stateCodes;

/**
 * A new mailbox is claimed if `lease_ms` is set and the node is still a member (`removeDeadNodes` in
 * nodes.ts).
 */
const insertAll = statement<
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

/** Before the insert no event is known to exist. */
const NO_KNOWN_EVENTS: ReadonlyMap<string, KnownEvent> = new Map();

/**
 * Inserts the events; claims belong to `node`. Sends its statements synchronously, so they can be sent with
 * BEGIN.
 */
export async function insertEvents(
  statements: Statements,
  arrivals: readonly Arrival[],
  node: number,
): Promise<InsertedEvents> {
  const all = toArriving(arrivals);
  const rows = all.filter(({ isRepeated }) => !isRepeated);
  const mailboxes = mailboxesOf(rows);
  const expected = eventsToClaim(all, mailboxes.keys(), NO_KNOWN_EVENTS);
  const claimableKeys = [...mailboxes.values()].flatMap(({ key, lease_ms }) =>
    lease_ms === null ? [] : key,
  );
  const eventRows = rows.map((row, n) => eventRow(row, n, expected.get(row.key) === row));
  const values = [JSON.stringify([...mailboxes.values()]), JSON.stringify(eventRows), node];
  const [found, snapshotRows] = await Promise.all([
    statements.rows(insertAll, values),
    claimableKeys.length === 0 ? [] : statements.rows(snapshots, [claimableKeys]),
  ]);
  const seqs = new Map<string, number>();
  const fences = new Map<string, number>();
  for (const [fence, key, seq, id] of found)
    if (seq !== null && id !== null) seqs.set(id, seq);
    else if (fence !== null && key !== null) fences.set(key, fence);
  const claimed = [...expected].filter(([key]) => fences.has(key));
  return { all, seqs, fences, expected: new Map(claimed), snapshots: new Map(snapshotRows) };
}

function toArriving(arrivals: readonly Arrival[]): readonly ArrivingEvent[] {
  const ids = new Set<string>();
  return arrivals.map(({ event, claimMs }) => {
    const id = toStorableText(event.id);
    const isRepeated = ids.has(id);
    ids.add(id);
    const mayBeClaimed = claimMs !== undefined && isClaimable(event);
    const key = toStorableText(event.key);
    return { id, key, event, isRepeated, claimMs: mayBeClaimed ? claimMs : undefined };
  });
}

interface NewMailbox {
  readonly key: string;
  readonly kind: string;
  /** Set if any event may be claimed. Which events are new is known only after the insert. */
  lease_ms: number | null;
  has_more: boolean;
}

function mailboxesOf(rows: readonly ArrivingEvent[]): ReadonlyMap<string, NewMailbox> {
  const mailboxes = new Map<string, NewMailbox>();
  for (const { key, claimMs } of rows) {
    const lease_ms = claimMs === undefined ? null : Math.ceil(claimMs);
    const same = mailboxes.get(key);
    if (same === undefined) mailboxes.set(key, { key, kind: kindOf(key), lease_ms, has_more: false });
    else {
      same.lease_ms ??= lease_ms;
      same.has_more = true;
    }
  }
  return mailboxes;
}

function eventRow({ id, key, event }: ArrivingEvent, n: number, mayRun: boolean) {
  const { trace, kind, wakes, meta, body } = event;
  return {
    n,
    id,
    key,
    trace: toStorableText(trace),
    may_run: mayRun,
    // Inbound, the most frequent kind, is stored as null.
    kind: kind === undefined || kind === INBOUND ? null : toStorableText(kind),
    wakes: wakes === undefined ? null : toStorableText(wakes),
    meta: toStorableText(meta),
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64'),
  };
}
