// Reads the first unfinished event of each key, and starts attempts. The caller has locked the mailboxes.

import { firstNonBlocking, stateCodes } from '../delivery-states.ts';
import type { StoredEvent } from '../event.ts';
import { statement, type Transaction } from './database.ts';
import { extrasBySeq } from './progress.ts';

/** First unfinished event of a key, without its body. */
export interface FirstEvent {
  readonly key: string;
  readonly seq: number;
  readonly isHeld: boolean;
  readonly retryAt: number | null;
  readonly crashes: number;
  readonly bytes: number;
}

const firstAll = statement<
  readonly [key: string, seq: number, isHeld: boolean, retryAt: number | null, crashes: number, bytes: number]
>(
  `SELECT asked.key, first.seq, first.held_by IS NOT NULL, first.retry_at, first.crashes, octet_length(body.body)
   FROM unnest($1::text[]) AS asked (key)
   CROSS JOIN LATERAL (SELECT seq, held_by, retry_at, crashes FROM delivery
     WHERE delivery.key = asked.key AND state < ${firstNonBlocking} ORDER BY seq LIMIT 1) AS first
   JOIN body ON body.seq = first.seq`,
);

/** `started` is the value before this attempt; `attempt` includes this one. */
const beginAll = statement<
  readonly [
    key: string,
    seq: number,
    id: string,
    trace: string,
    at: number,
    attempt: number,
    crashes: number,
    started: number | null,
    hasExtras: boolean,
    meta: string,
    body: Uint8Array,
  ]
>(
  `WITH before AS (SELECT seq, started FROM delivery WHERE seq = ANY ($1) FOR UPDATE)
   UPDATE delivery SET state = ${stateCodes.running}, attempts = attempts + 1, started = $2, retry_at = NULL
   FROM before JOIN body ON body.seq = before.seq
   WHERE delivery.seq = before.seq AND delivery.seq = ANY ($1) AND body.seq = ANY ($1)
   RETURNING delivery.key, delivery.seq, id, trace, at, attempts, crashes, before.started,
     has_progress OR kind IS NOT NULL OR wakes IS NOT NULL, meta, body`,
);

export async function firstEvents(
  transaction: Transaction,
  keys: readonly string[],
): Promise<ReadonlyMap<string, FirstEvent>> {
  if (keys.length === 0) return new Map();
  const rows = await transaction.rows(firstAll, [keys]);
  return new Map(
    rows.map(([key, seq, isHeld, retryAt, crashes, bytes]) => [
      key,
      { key, seq, isHeld, retryAt, crashes, bytes },
    ]),
  );
}

/** Starts attempts, which count even if the node crashes. Returns the events by key. */
export async function startAttempts(
  transaction: Transaction,
  seqs: readonly number[],
): Promise<ReadonlyMap<string, StoredEvent>> {
  if (seqs.length === 0) return new Map();
  const rows = await transaction.rows(beginAll, [seqs, transaction.now]);
  const extras = await extrasBySeq(
    transaction,
    rows.flatMap(([, seq, , , , , , , hasExtras]) => (hasExtras ? seq : [])),
  );
  return new Map(
    rows.map(([key, seq, id, trace, at, attempt, crashes, started, , meta, body]) => {
      // Not derived from `attempts`, which an uncounted attempt decrements.
      const wasClaimed = started !== null;
      const event = { seq, id, key, trace, at, attempt, crashes, wasClaimed, meta, body };
      return [key, { ...event, ...extras.get(seq) }];
    }),
  );
}
