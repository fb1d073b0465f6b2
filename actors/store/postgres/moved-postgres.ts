// The store in PostgreSQL, read or filled as a whole, table by table, in one transaction. Loaded by `store export` and `store import`
// alone, and only where `store.postgres` is configured.
//
// MVP2  what ran on a node, or runs in what is filled in, belongs to a node that is over: the first one that joins buries it, so that an
//       event that ran has had an attempt, and a crash (S11).
// MVP3  the mailboxes follow from the events: the same stand ready, and in the order in which they have been ready for longest.

import type { Failure } from '../delivery.ts';
import { firstSettled, stateCodes } from '../delivery-states.ts';
import { kindOf } from '../key-kinds.ts';
import { MoveRefusedError } from '../moved/move-errors.ts';
import type { MoveSource, MoveTarget } from '../moved/moved-store.ts';
import { type Column, movedTables, type Row, type Table, type Value } from '../moved/moved-tables.ts';
import type { Numbers } from '../moved/record-file.ts';
import { failureOf } from '../moved/record-lines.ts';
import { MoveSession } from './move-session.ts';

const CLOCK = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const ROWS_TOGETHER = 500;
const BYTES_TOGETHER = 4 * 1024 * 1024;
const KEYS_TOGETHER = 1_000;
/** Until the first node joins nobody takes what ran for a claim that ran out. */
const UNTIL_BURIED_MS = 86_400_000;

export interface PostgresToMove {
  readonly url: string;
  /** Epoch ms; without it the clock of the server. */
  readonly now?: () => number;
}

/** Rejects with MoveRefusedError and StoreUnavailableError. */
export async function openPostgresSource({ url, now: clock }: PostgresToMove): Promise<MoveSource> {
  const session = await MoveSession.open(url, false);
  try {
    await session.rows('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // Where the clock was set back meanwhile, what remains is counted from when it was last noted.
    const now = Math.max(
      clock?.() ?? (await session.number(CLOCK)),
      await session.number('SELECT at FROM clock'),
    );
    const counter = Math.max(await drawn(session, 'counter'), await drawn(session, 'fence'));
    return new PostgresSource(session, now, { counter, lastSeq: await drawn(session, 'delivery_seq_seq') });
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Makes the tables where there are none. Rejects with MoveRefusedError where they have anything in them. */
export async function openPostgresTarget({ url, now }: PostgresToMove): Promise<MoveTarget> {
  const session = await MoveSession.open(url, true);
  try {
    await session.rows('BEGIN');
    await lockAll(session);
    await refuseFilled(session);
    return new PostgresTarget(session, now?.() ?? (await session.number(CLOCK)));
  } catch (error) {
    await session.close();
    throw error;
  }
}

class PostgresSource implements MoveSource {
  readonly engine = 'postgres';
  readonly now: number;
  readonly numbers: Numbers;
  readonly #session: MoveSession;

  constructor(session: MoveSession, now: number, numbers: Numbers) {
    this.#session = session;
    this.now = now;
    this.numbers = numbers;
  }

  count(table: Table): Promise<number> {
    return this.#session.number(`SELECT count(*) FROM ${table.name}`);
  }

  /** The sizes of some are asked for first, so that no more come at a time than fit into memory. */
  async *rows(table: Table): AsyncGenerator<Row> {
    const { name, key, columns } = table;
    const keys = key.join(', ');
    const given = (from: number) => `(${key.map((_, at) => `$${from + at}`).join(', ')})`;
    const sizes = columns
      .filter(({ type }) => type === 'text' || type === 'bytes')
      .map((column) => `coalesce(octet_length(${column.name}), 0)`);
    const names = columns.map((column) => column.name).join(', ');
    let last: readonly unknown[] | undefined;
    for (;;) {
      const where = last === undefined ? '' : `WHERE (${keys}) > ${given(1)}`;
      const next: readonly (readonly unknown[])[] = await this.#session.rows(
        `SELECT ${['0::bigint', ...sizes].join(' + ')}, ${keys} FROM ${name} ${where} ORDER BY ${keys} LIMIT ${ROWS_TOGETHER}`,
        last ?? [],
      );
      let at = 0;
      while (at < next.length) {
        const from = at;
        for (let bytes = 0; at < next.length && bytes < BYTES_TOGETHER; at += 1)
          bytes += Number(next[at]?.[0]);
        const [first, end] = [next[from], next[at - 1]].map((row) => (row ?? []).slice(1));
        const found = await this.#session.rows<readonly Value[]>(
          `SELECT ${names} FROM ${name} WHERE (${keys}) >= ${given(1)} AND (${keys}) <= ${given(1 + key.length)} ORDER BY ${keys}`,
          [...(first ?? []), ...(end ?? [])],
        );
        for (const values of found)
          yield Object.fromEntries(
            columns.map((column, index) => [column.name, readValue(column, values[index] ?? null)]),
          );
        last = end;
      }
      if (next.length < ROWS_TOGETHER) return;
    }
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

class PostgresTarget implements MoveTarget {
  readonly engine = 'postgres';
  readonly now: number;
  readonly #session: MoveSession;

  constructor(session: MoveSession, now: number) {
    this.#session = session;
    this.now = now;
  }

  async write(table: Table, rows: readonly Row[]): Promise<void> {
    const { name, columns } = table;
    const values: unknown[] = [];
    const lists = rows.map((row) => {
      const places = columns.map((column) => `$${values.push(writtenValue(column, row[column.name]))}`);
      return `(${places.join(', ')})`;
    });
    const names = columns.map((column) => column.name).join(', ');
    await this.#session.rows(`INSERT INTO ${name} (${names}) VALUES ${lists.join(', ')}`, values);
  }

  async commit({ counter, lastSeq }: Numbers): Promise<void> {
    const session = this.#session;
    for (const sequence of ['counter', 'fence'])
      await restart(session, `ALTER SEQUENCE ${sequence}`, Math.max(counter, await drawn(session, sequence)));
    const last = Math.max(lastSeq, await drawn(session, 'delivery_seq_seq'));
    await restart(session, 'ALTER TABLE delivery ALTER COLUMN seq', last);
    await session.rows('UPDATE clock SET at = $1', [this.now]);
    // Those that are over have had nothing here.
    for (const table of ['node_lease', 'node']) await session.rows(`DELETE FROM ${table}`);
    await session.rows(
      `INSERT INTO node (id, name, address, until, about) SELECT $1, 'moved', '', 0, '{}'
       WHERE EXISTS (SELECT 1 FROM delivery WHERE state = ${stateCodes.running} OR (crashes > 0 AND state < ${firstSettled}))`,
      [counter],
    );
    await this.#openMailboxes(counter);
    await session.rows('ANALYZE delivery, body, mailbox, timer, kv, run, step, approval, snapshot, tick');
    await session.rows('COMMIT');
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #openMailboxes(node: number): Promise<void> {
    const wanted = `SELECT DISTINCT key FROM delivery WHERE (state < ${firstSettled} OR (waits_for IS NOT NULL AND holds_key))`;
    let last: string | undefined;
    for (;;) {
      const found: readonly (readonly [string])[] = await this.#session.rows<readonly [string]>(
        `${wanted} AND ($1::text IS NULL OR key > $1::text) ORDER BY key LIMIT ${KEYS_TOGETHER}`,
        [last ?? null],
      );
      const keys = found.map(([key]) => key);
      await this.#session.rows(openAll, [keys, keys.map(kindOf), this.now, node, UNTIL_BURIED_MS]);
      if (keys.length < KEYS_TOGETHER) return;
      last = keys.at(-1);
    }
  }
}

/** No fence is 0: whoever has another one has lost his claim. */
const openAll = `
  INSERT INTO mailbox (key, kind, is_locked, crashes, fence, running, lease_ms, node, ready_at)
  SELECT wanted.key, wanted.kind, locked.is_locked, coalesce(first.crashes, 0),
    CASE WHEN running.seq IS NOT NULL THEN 0 END, running.seq,
    CASE WHEN running.seq IS NOT NULL THEN $5::int END, CASE WHEN running.seq IS NOT NULL THEN $4::bigint END,
    CASE WHEN running.seq IS NOT NULL THEN $3::bigint + $5::int
      WHEN locked.is_locked OR first.held_by IS NOT NULL THEN NULL
      ELSE coalesce(first.retry_at, least(first.at, $3::bigint)) END
  FROM unnest($1::text[], $2::text[]) AS wanted (key, kind)
  CROSS JOIN LATERAL (SELECT EXISTS (SELECT 1 FROM delivery
    WHERE delivery.key = wanted.key AND waits_for IS NOT NULL AND holds_key) AS is_locked) AS locked
  LEFT JOIN LATERAL (SELECT crashes, held_by, retry_at, at FROM delivery
    WHERE delivery.key = wanted.key AND state < ${firstSettled} ORDER BY seq LIMIT 1) AS first ON true
  LEFT JOIN LATERAL (SELECT seq FROM delivery
    WHERE delivery.key = wanted.key AND state = ${stateCodes.running} ORDER BY seq LIMIT 1) AS running ON true`;

/** The last number that a sequence has given; 0 for none. */
const drawn = (session: MoveSession, sequence: string) =>
  session.number(`SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM ${sequence}`);

/** In the transaction, as setval would not be. */
async function restart(session: MoveSession, what: string, last: number): Promise<void> {
  if (!Number.isSafeInteger(last)) throw new TypeError('a sequence goes on from a whole number');
  await session.rows(`${what} RESTART WITH ${last + 1}`);
}

/** A gateway that stood still, and does not know yet that it is no member, waits; so does one that begins, before it holds anything. */
async function lockAll(session: MoveSession): Promise<void> {
  await session.rows(`LOCK TABLE clock, node, node_lease, ${filled.join(', ')} IN EXCLUSIVE MODE`);
}

const filled = [...movedTables.map(({ name }) => name), 'lease', 'mailbox'];

async function refuseFilled(session: MoveSession): Promise<void> {
  const there: string[] = [];
  for (const name of filled) {
    const count = await session.number(`SELECT count(*) FROM ${name}`);
    if (count > 0) there.push(`${count} in ${name}`);
  }
  if (there.length > 0)
    throw new MoveRefusedError(
      `the store in the database is not empty (${there.join(', ')}), and nothing is mixed; take another database, or drop the schema actor_gateway`,
    );
}

function readValue({ type }: Column, value: unknown): Value {
  if (type === 'failures' && value !== null) return (value as readonly Failure[]).map(failureOf);
  return value as Value;
}

function writtenValue({ type }: Column, value: Value | undefined): unknown {
  if (type === 'failures' && value !== null) return JSON.stringify(value);
  // A view of a larger memory would be written as a whole.
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value ?? null;
}
