// Appends events to their mailboxes, many at once, and claims an event at once where its mailbox is free.
//
// The mailboxes are held before the events get their numbers: in a key these grow in the order of the commits (S4).
// What wakes an event that waits ends with that, and takes no place.

import type { DeliveryState } from '../delivery.ts';
import { stateCodes, stateOf } from '../delivery-states.ts';
import type { Entered } from '../ledger.ts';
import { storable } from '../storable.ts';
import { INBOUND, type NewEvent } from '../store.ts';
import { statement, type Transaction } from './database.ts';
import { kindOf, openMailboxes, settleFree } from './mailboxes.ts';
import { forgetProgress } from './progress.ts';
import { wakeBy } from './waits.ts';

export interface Claiming {
  readonly node: number;
  readonly claimMs: number;
}

export interface Known {
  readonly seq: number;
  readonly key: string;
  readonly state: DeliveryState;
}

/** With `claims`: a row that is made for a key with one event here is claimed for so long; its event comes after. */
const claimNew = statement<readonly [key: string, isNew: boolean, fence: number | null]>(
  `INSERT INTO mailbox (key, kind, ready_at, fence, lease_ms, node, has_more)
   SELECT key, kind, $2::bigint, nextval('fence'), $3::int, $4::bigint, has_more
   FROM json_to_recordset($1::json) AS wanted (key text, kind text, has_more boolean) ORDER BY key
   ON CONFLICT (key) DO UPDATE SET has_more = true RETURNING key, xmax = 0, CASE WHEN xmax = 0 THEN fence END`,
);

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

const beginLate = statement(
  `WITH begun AS (UPDATE delivery SET state = ${stateCodes.running}, attempts = 1, started = $2 WHERE seq = $1 RETURNING seq, key)
   UPDATE mailbox SET running = begun.seq FROM begun WHERE mailbox.key = begun.key`,
);

const giveUpClaim = statement(
  'UPDATE mailbox SET fence = NULL, node = NULL, lease_ms = NULL WHERE key = ANY ($1)',
);

const runAgain = statement(
  `UPDATE delivery SET state = ${stateCodes.queued}, attempts = 0, crashes = 0, ended = NULL, retry_at = NULL, note = NULL,
     answer = NULL WHERE seq = $1`,
);

const snapshots = statement<readonly [key: string, value: string]>(
  'SELECT key, value FROM snapshot WHERE key = ANY ($1)',
);

/** What is kept of an event, by the same words as in the table. */
interface Row {
  readonly n: number;
  readonly id: string;
  readonly key: string;
  readonly event: NewEvent;
}

/** Those that are known, by their ids. */
export async function findAll(
  transaction: Transaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Known>> {
  const rows = await transaction.rows(byIds, [ids]);
  return new Map(rows.map(([seq, id, key, state]) => [id, { seq, key, state: stateOf(state) }]));
}

/** Gives what became of each, in their order. */
export async function append(
  transaction: Transaction,
  events: readonly NewEvent[],
  claiming?: Claiming,
): Promise<readonly Entered[]> {
  if (events.length === 0) return [];
  // One that is there twice comes the second time as one that is known.
  const rows: Row[] = [];
  const ids = new Set<string>();
  for (const [n, event] of events.entries()) {
    const id = storable(event.id);
    if (ids.has(id)) continue;
    ids.add(id);
    rows.push({ n, id, key: storable(event.key), event });
  }
  const fences = await openAll(transaction, rows, claiming);
  const claimed = new Map<string, Row>();
  for (const row of rows) if (fences.has(row.key) && !claimed.has(row.key)) claimed.set(row.key, row);
  const given = rows.map((row) => writtenRow(row, claimed.get(row.key) === row, transaction.now));
  const keysClaimed = [...claimed.keys()];
  const [added, kept] = await Promise.all([
    transaction.rows(insert, [JSON.stringify(given), transaction.now]),
    keysClaimed.length === 0 ? [] : transaction.rows(snapshots, [keysClaimed]),
  ]);
  const seqs = new Map(added.map(([seq, id]) => [id, seq]));
  const left = new Map(kept);
  const entered: Entered[] = [];
  const known = seqs.size === events.length ? NONE : await findAll(transaction, [...ids]);
  const unsettled = new Set<string>();
  for (const row of rows) {
    const seq = seqs.get(row.id);
    const isClaimed = claimed.get(row.key) === row;
    if (seq === undefined) {
      entered[row.n] = await again(transaction, row.event, known.get(row.id), unsettled);
      if (isClaimed) {
        // The claim that was made for it goes to the next of the key here, or is of no use.
        const isRepeated = entered[row.n]?.outcome === 'duplicate';
        const next = isRepeated ? rows.find((other) => isNewIn(row.key, other, seqs)) : undefined;
        if (next === undefined) {
          await transaction.run(giveUpClaim, [[row.key]]);
          unsettled.add(row.key);
        } else {
          claimed.set(row.key, next);
          await transaction.run(beginLate, [seqs.get(next.id), transaction.now]);
        }
      }
    } else if (isClaimed) {
      const fence = fences.get(row.key) ?? 0;
      const snapshot = left.get(row.key);
      entered[row.n] = {
        outcome: 'new',
        state: 'running',
        claimed: { fence, seq, at: transaction.now, snapshot },
      };
    } else entered[row.n] = await enter(transaction, row, seq, unsettled);
  }
  for (const [n, event] of events.entries())
    entered[n] ??= await again(transaction, event, known.get(storable(event.id)), unsettled);
  if (unsettled.size > 0) await settleFree(transaction, unsettled);
  return entered;
}

/** Holds the mailboxes. Gives the fences of those that are claimed for what comes. */
async function openAll(
  transaction: Transaction,
  rows: readonly Row[],
  claiming: Claiming | undefined,
): Promise<ReadonlyMap<string, number>> {
  if (claiming === undefined) {
    await openMailboxes(
      transaction,
      rows.map(({ key }) => key),
    );
    return NONE_CLAIMED;
  }
  const wanted = new Map<string, { has_more: boolean; isClaimable: boolean }>();
  for (const { key, event } of rows) {
    const same = wanted.get(key);
    if (same === undefined) wanted.set(key, { has_more: false, isClaimable: isClaimable(event) });
    else same.has_more = true;
  }
  const list = [...wanted].map(([key, { has_more }]) => ({ key, kind: kindOf(key), has_more }));
  const until = transaction.now + claiming.claimMs;
  const given = await transaction.rows(claimNew, [
    JSON.stringify(list),
    until,
    Math.ceil(claiming.claimMs),
    claiming.node,
  ]);
  const fences = new Map<string, number>();
  const useless: string[] = [];
  for (const [key, isNew, fence] of given) {
    if (!isNew || fence === null) continue;
    if (wanted.get(key)?.isClaimable === true) fences.set(key, fence);
    else useless.push(key);
  }
  if (useless.length > 0) await transaction.run(giveUpClaim, [useless]);
  return fences;
}

/** What is not kept as it was given is given out by the next claim. */
function isClaimable({ id, key, trace, meta, wakes }: NewEvent): boolean {
  return wakes === undefined && [id, key, trace, meta].every((text) => storable(text) === text);
}

function writtenRow({ n, id, key, event }: Row, isClaimed: boolean, now: number) {
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
  { key, event }: Row,
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
  const [found] =
    known === undefined || known.state === 'dead' ? await findOne(transaction, event.id) : [known];
  if (found === undefined) throw new Error('a record is neither new nor known');
  const { seq, key, state } = found;
  if (state !== 'dead' || event.isOnce === true) return { outcome: 'duplicate', state };
  unsettled.add(key);
  await openMailboxes(transaction, [key]);
  await requeue(transaction, seq);
  if (await wakeBy(transaction, seq, key)) return { outcome: 'revived', state: 'done' };
  return { outcome: 'revived', state: 'queued' };
}

function isNewIn(key: string, { id, key: own, event }: Row, seqs: ReadonlyMap<string, number>): boolean {
  return own === key && seqs.has(id) && isClaimable(event);
}

async function findOne(transaction: Transaction, id: string): Promise<readonly Known[]> {
  return [...(await findAll(transaction, [storable(id)])).values()];
}

/** Has a record that is over, or parked, wait for its turn again: from its beginning, or with `keepsState` from what was kept. */
export async function requeue(transaction: Transaction, seq: number, keepsState = false): Promise<void> {
  await transaction.run(runAgain, [seq]);
  if (!keepsState) await forgetProgress(transaction, seq);
}

/** Appends what has been emitted, and what that brings about. */
export async function appendEmitted(transaction: Transaction): Promise<void> {
  while (transaction.emitted.length > 0) await append(transaction, transaction.emitted.splice(0));
}

const NONE: ReadonlyMap<string, Known> = new Map();
const NONE_CLAIMED: ReadonlyMap<string, number> = new Map();
