// Appends events to their mailboxes, many at once, and claims an event at once where its mailbox is free.
//
// The mailboxes are held before the events get their numbers: in a key these grow in the order of the commits (S4).
// What wakes an event that waits ends with that, and takes no place.

import { stateCodes, stateOf } from '../delivery-states.ts';
import type { Entered } from '../ledger.ts';
import { storable } from '../storable.ts';
import { INBOUND, type NewEvent } from '../store.ts';
import {
  type Arriving,
  correctClaims,
  firstOfFree,
  isClaimable,
  isRevived,
  type Known,
  openClaimed,
} from './claim-at-append.ts';
import { statement, type Transaction } from './database.ts';
import { openMailboxes, settleFree } from './mailboxes.ts';
import { forgetProgress } from './progress.ts';
import { wakeBy } from './waits.ts';

/** An event, and for how long it is claimed where it comes to a free mailbox. */
export interface Arrival {
  readonly event: NewEvent;
  readonly claimMs?: number | undefined;
}

const insert = statement<readonly [seq: number, id: string]>(
  `WITH given AS (
     SELECT * FROM json_to_recordset($1::json) AS event (n int, id text, key text, trace text, state smallint, attempts int,
       started bigint, kind text, wakes text, meta text, body text)
   ), added AS (
     INSERT INTO delivery (id, key, trace, at, state, attempts, started, kind, wakes)
     SELECT id, key, trace, $2, state, attempts, started, kind, wakes FROM given ORDER BY n
     ON CONFLICT (id) DO NOTHING RETURNING seq, id, key, state
   ), kept AS (
     INSERT INTO body (seq, meta, body)
     SELECT seq, meta, decode(body, 'base64') FROM added JOIN given USING (id)
   ), claimed AS (
     UPDATE mailbox SET running = added.seq FROM added WHERE added.state = ${stateCodes.running} AND mailbox.key = added.key
   )
   SELECT seq, id FROM added`,
);

const byIds = statement<readonly [seq: number, id: string, key: string, state: number]>(
  'SELECT seq, id, key, state FROM delivery WHERE id = ANY ($1)',
);

const runAgain = statement(
  `UPDATE delivery SET state = ${stateCodes.queued}, attempts = 0, crashes = 0, ended = NULL, retry_at = NULL, note = NULL,
     answer = NULL WHERE seq = $1`,
);

const snapshots = statement<readonly [key: string, value: string]>(
  'SELECT key, value FROM snapshot WHERE key = ANY ($1)',
);

/** Those that are known, by their ids. */
export async function findAll(
  transaction: Transaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Known>> {
  if (ids.length === 0) return NONE;
  const rows = await transaction.rows(byIds, [ids]);
  return new Map(rows.map(([seq, id, key, state]) => [id, { seq, key, state: stateOf(state) }]));
}

/** Gives what became of each, in their order; claims are those of `node`. */
export async function append(
  transaction: Transaction,
  arrivals: readonly Arrival[],
  node = 0,
): Promise<readonly Entered[]> {
  if (arrivals.length === 0) return [];
  const all = arriving(arrivals);
  const rows = all.filter(({ isRepeated }) => !isRepeated);
  const fences = await open(transaction, rows, node);
  const expected = firstOfFree(all, fences.keys(), NONE);
  const given = rows.map((row) => writtenRow(row, expected.get(row.key) === row, transaction.now));
  const [added, kept] = await Promise.all([
    transaction.rows(insert, [JSON.stringify(given), transaction.now]),
    fences.size === 0 ? [] : transaction.rows(snapshots, [[...fences.keys()]]),
  ]);
  const seqs = new Map(added.map(([seq, id]) => [id, seq]));
  const known = await findAll(
    transaction,
    rows.filter(({ id }) => !seqs.has(id)).map(({ id }) => id),
  );
  const claimed = known.size === 0 ? expected : firstOfFree(all, fences.keys(), known);
  if (known.size > 0 || claimed.size < fences.size)
    await correctClaims(transaction, fences.keys(), expected, claimed, seqs);
  const left = new Map(kept);
  const entered: Entered[] = [];
  const unsettled = new Set<string>();
  // What one of them wakes is in another state than it was found in.
  let hasWoken = false;
  for (const row of all) {
    const seq = row.isRepeated ? undefined : seqs.get(row.id);
    const fence = fences.get(row.key);
    const found = row.isRepeated || hasWoken ? undefined : known.get(row.id);
    let entry: Entered;
    if (seq === undefined) entry = await again(transaction, row.event, found, unsettled);
    else if (fence !== undefined && claimed.get(row.key) === row) {
      const claim = { fence, seq, at: transaction.now, snapshot: left.get(row.key) };
      entry = { outcome: 'new', state: 'running', claimed: claim };
    } else entry = await enter(transaction, row, seq, unsettled);
    entered.push(entry);
    hasWoken ||= entry.outcome !== 'duplicate' && entry.state === 'done';
  }
  if (unsettled.size > 0) await settleFree(transaction, unsettled);
  transaction.added += entered.filter(
    ({ outcome, state }) => outcome !== 'duplicate' && state !== 'done',
  ).length;
  return entered;
}

function arriving(arrivals: readonly Arrival[]): readonly Arriving[] {
  const ids = new Set<string>();
  return arrivals.map(({ event, claimMs }, n) => {
    const id = storable(event.id);
    const isRepeated = ids.has(id);
    ids.add(id);
    const mayBeClaimed = claimMs !== undefined && isClaimable(event);
    const key = storable(event.key);
    return { n, id, key, event, isRepeated, claimMs: mayBeClaimed ? claimMs : undefined };
  });
}

/** Holds the mailboxes. Gives the fences of those that are claimed for what comes. */
async function open(
  transaction: Transaction,
  rows: readonly Arriving[],
  node: number,
): Promise<ReadonlyMap<string, number>> {
  if (rows.some(({ claimMs }) => claimMs !== undefined)) return openClaimed(transaction, rows, node);
  await openMailboxes(
    transaction,
    rows.map(({ key }) => key),
  );
  return new Map();
}

function writtenRow({ n, id, key, event }: Arriving, isClaimed: boolean, now: number) {
  const { trace, kind, wakes, meta, body } = event;
  return {
    n,
    id,
    key,
    trace: storable(trace),
    state: isClaimed ? stateCodes.running : stateCodes.queued,
    attempts: isClaimed ? 1 : 0,
    started: isClaimed ? now : null,
    // Most events are inbound, and say nothing of it.
    kind: kind === undefined || kind === INBOUND ? null : storable(kind),
    wakes: wakes === undefined ? null : storable(wakes),
    meta: storable(meta),
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('base64'),
  };
}

async function enter(
  transaction: Transaction,
  { key, event }: Arriving,
  seq: number,
  unsettled: Set<string>,
): Promise<Entered> {
  unsettled.add(key);
  if (event.wakes !== undefined && (await wakeBy(transaction, seq, key)))
    return { outcome: 'new', state: 'done' };
  return { outcome: 'new', state: 'queued' };
}

/** One that is known stays as it is, but that a dead one waits again where it may. */
async function again(
  transaction: Transaction,
  event: NewEvent,
  known: Known | undefined,
  unsettled: Set<string>,
): Promise<Entered> {
  unsettled.add(storable(event.key));
  const id = storable(event.id);
  const found =
    known === undefined || known.state === 'dead' ? (await findAll(transaction, [id])).get(id) : known;
  if (found === undefined) throw new Error('a record is neither new nor known');
  const { seq, key, state } = found;
  if (!isRevived(event, found)) return { outcome: 'duplicate', state };
  unsettled.add(key);
  await openMailboxes(transaction, [key]);
  await requeue(transaction, seq);
  if (await wakeBy(transaction, seq, key)) return { outcome: 'revived', state: 'done' };
  return { outcome: 'revived', state: 'queued' };
}

/** Has a record that is over, or parked, wait for its turn again: from its beginning, or with `keepsState` from what was kept. */
export async function requeue(transaction: Transaction, seq: number, keepsState = false): Promise<void> {
  await transaction.run(runAgain, [seq]);
  if (!keepsState) await forgetProgress(transaction, seq);
}

/** Appends what has been emitted, and what that brings about. */
export async function appendEmitted(transaction: Transaction): Promise<void> {
  while (transaction.emitted.length > 0)
    await append(
      transaction,
      transaction.emitted.splice(0).map((event) => ({ event })),
    );
}

const NONE: ReadonlyMap<string, Known> = new Map();
