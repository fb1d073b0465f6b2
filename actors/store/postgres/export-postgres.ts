// Exports and imports a PostgreSQL store, table by table, in one transaction. Loaded only by `store export`
// and `store import` with `store.postgres`. Imported running events belong to a dead node, as if a gateway
// had crashed. The first node that joins removes it, which counts one attempt and one crash for each of these
// events (rule S11 in ../store.ts). Mailboxes are not exported, but derived from the events.

import type { Failure } from '../delivery.ts';
import { firstNonBlocking, stateCodes } from '../delivery-states.ts';
import { TransferRefusedError } from '../export/errors.ts';
import type { StoreCounters } from '../export/file-format.ts';
import { failureOf } from '../export/row-format.ts';
import {
  type ExportColumn,
  type ExportRow,
  type ExportTable,
  exportedTables,
  type Value,
} from '../export/tables.ts';
import type { ExportSource, ImportTarget } from '../export/transfer.ts';
import { kindOf } from '../key-kinds.ts';
import { TransferSession } from './export-session.ts';
import type { SchemaMigration } from './migration.ts';

const CLOCK = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const MAX_BATCH_ROWS = 500;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const MAX_BATCH_KEYS = 1_000;
/** Lease of imported running events. It must not expire before the first node joins. */
const DEAD_NODE_LEASE_MS = 86_400_000;

export interface PostgresTransferOptions {
  readonly url: string;
  /** Epoch milliseconds. Defaults to the server's clock. */
  readonly now?: () => number;
  /** Called after a migration of existing tables. */
  readonly onMigrated?: (migration: SchemaMigration) => void;
}

interface PostgresSourceOptions extends PostgresTransferOptions {
  /** True if gateways may use the database: they are not excluded. */
  readonly isLive?: boolean;
}

/** Rejects with TransferRefusedError and StoreUnavailableError. */
export async function openPostgresSource({
  url,
  now: clock,
  isLive = false,
  onMigrated,
}: PostgresSourceOptions): Promise<ExportSource> {
  const session = await TransferSession.open(url, isLive ? 'shared' : 'exclusive', onMigrated);
  try {
    await session.rows('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    // If the clock moved backwards, remaining durations are relative to the last recorded timestamp.
    const now = Math.max(
      clock?.() ?? (await session.number(CLOCK)),
      await session.number('SELECT at FROM clock'),
    );
    const counter = Math.max(await lastNumber(session, 'counter'), await lastNumber(session, 'fence'));
    return new PostgresSource(session, now, {
      counter,
      lastSeq: await lastNumber(session, 'delivery_seq_seq'),
    });
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Creates missing tables. Rejects with TransferRefusedError if the store is not empty. */
export async function openPostgresTarget({
  url,
  now,
  onMigrated,
}: PostgresTransferOptions): Promise<ImportTarget> {
  const session = await TransferSession.open(url, 'created', onMigrated);
  try {
    await session.rows('BEGIN');
    await lockAll(session);
    await rejectNonEmpty(session);
    return new PostgresTarget(session, now?.() ?? (await session.number(CLOCK)));
  } catch (error) {
    await session.close();
    throw error;
  }
}

class PostgresSource implements ExportSource {
  readonly engine = 'postgres';
  readonly now: number;
  readonly counters: StoreCounters;
  readonly #session: TransferSession;

  constructor(session: TransferSession, now: number, counters: StoreCounters) {
    this.#session = session;
    this.now = now;
    this.counters = counters;
  }

  count(table: ExportTable): Promise<number> {
    return this.#session.number(`SELECT count(*) FROM ${table.name}`);
  }

  /** Reads the sizes of rows first, to limit the amount of data per query. */
  async *rows(table: ExportTable): AsyncGenerator<ExportRow> {
    const { name, key, columns } = table;
    const keys = key.join(', ');
    const placeholders = (from: number) => `(${key.map((_, at) => `$${from + at}`).join(', ')})`;
    const sizes = columns
      .filter(({ type }) => type === 'text' || type === 'bytes')
      .map((column) => `coalesce(octet_length(${column.name}), 0)`);
    const names = columns.map((column) => column.name).join(', ');
    let last: readonly unknown[] | undefined;
    for (;;) {
      const condition = last === undefined ? '' : `WHERE (${keys}) > ${placeholders(1)}`;
      const next: readonly (readonly unknown[])[] = await this.#session.rows(
        `SELECT ${['0::bigint', ...sizes].join(' + ')}, ${keys} FROM ${name} ${condition} ORDER BY ${keys} LIMIT ${MAX_BATCH_ROWS}`,
        last ?? [],
      );
      let at = 0;
      while (at < next.length) {
        const from = at;
        for (let bytes = 0; at < next.length && bytes < MAX_BATCH_BYTES; at += 1)
          bytes += Number(next[at]?.[0]);
        const [first, end] = [next[from], next[at - 1]].map((row) => (row ?? []).slice(1));
        const found = await this.#session.rows<readonly Value[]>(
          `SELECT ${names} FROM ${name} WHERE (${keys}) >= ${placeholders(1)} AND (${keys}) <= ${placeholders(1 + key.length)} ORDER BY ${keys}`,
          [...(first ?? []), ...(end ?? [])],
        );
        for (const values of found)
          yield Object.fromEntries(
            columns.map((column, index) => [column.name, fromSqlValue(column, values[index] ?? null)]),
          );
        last = end;
      }
      if (next.length < MAX_BATCH_ROWS) return;
    }
  }

  async close(): Promise<void> {
    await this.#session.close();
  }
}

class PostgresTarget implements ImportTarget {
  readonly engine = 'postgres';
  readonly now: number;
  readonly #session: TransferSession;

  constructor(session: TransferSession, now: number) {
    this.#session = session;
    this.now = now;
  }

  async write(table: ExportTable, rows: readonly ExportRow[]): Promise<void> {
    const { name, columns } = table;
    const values: unknown[] = [];
    const lists = rows.map((row) => {
      const parameters = columns.map((column) => `$${values.push(toSqlValue(column, row[column.name]))}`);
      return `(${parameters.join(', ')})`;
    });
    const names = columns.map((column) => column.name).join(', ');
    await this.#session.rows(`INSERT INTO ${name} (${names}) VALUES ${lists.join(', ')}`, values);
  }

  async commit({ counter, lastSeq }: StoreCounters): Promise<void> {
    const session = this.#session;
    for (const sequence of ['counter', 'fence'])
      await restart(
        session,
        `ALTER SEQUENCE ${sequence}`,
        Math.max(counter, await lastNumber(session, sequence)),
      );
    const last = Math.max(lastSeq, await lastNumber(session, 'delivery_seq_seq'));
    await restart(session, 'ALTER TABLE delivery ALTER COLUMN seq', last);
    await session.rows('UPDATE clock SET at = $1', [this.now]);
    // The store is empty, so the rows of dead nodes have no events.
    for (const table of ['node_lease', 'node']) await session.rows(`DELETE FROM ${table}`);
    // The dead node. Its id is the restored counter, which is lower than the ids of later nodes. Events
    // that crashed a node also need it: they run after a pause, which starts when a node is removed.
    // States below `firstNonBlocking` block the later events of a key.
    await session.rows(
      `INSERT INTO node (id, name, address, until, about) SELECT $1, 'moved', '', 0, '{}'
       WHERE EXISTS (SELECT 1 FROM delivery WHERE state = ${stateCodes.running} OR (crashes > 0 AND state < ${firstNonBlocking}))`,
      [counter],
    );
    await this.#createMailboxes(counter);
    await session.rows('ANALYZE delivery, body, mailbox, timer, kv, run, step, approval, snapshot, tick');
    await session.rows('COMMIT');
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  async #createMailboxes(node: number): Promise<void> {
    const wanted = `SELECT DISTINCT key FROM delivery WHERE (state < ${firstNonBlocking} OR (waits_for IS NOT NULL AND holds_key))`;
    let last: string | undefined;
    for (;;) {
      const found: readonly (readonly [string])[] = await this.#session.rows<readonly [string]>(
        `${wanted} AND ($1::text IS NULL OR key > $1::text) ORDER BY key LIMIT ${MAX_BATCH_KEYS}`,
        [last ?? null],
      );
      const keys = found.map(([key]) => key);
      await this.#session.rows(insertMailboxes, [keys, keys.map(kindOf), this.now, node, DEAD_NODE_LEASE_MS]);
      if (keys.length < MAX_BATCH_KEYS) return;
      last = keys.at(-1);
    }
  }
}

/** Fence 0 is never issued, so results of the exported claims are rejected. */
const insertMailboxes = `
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
    WHERE delivery.key = wanted.key AND state < ${firstNonBlocking} ORDER BY seq LIMIT 1) AS first ON true
  LEFT JOIN LATERAL (SELECT seq FROM delivery
    WHERE delivery.key = wanted.key AND state = ${stateCodes.running} ORDER BY seq LIMIT 1) AS running ON true`;

/** Returns the sequence's last number; 0 if unused. */
const lastNumber = (session: TransferSession, sequence: string) =>
  session.number(`SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM ${sequence}`);

/** Transactional, in contrast to setval. */
async function restart(session: TransferSession, what: string, last: number): Promise<void> {
  if (!Number.isSafeInteger(last)) throw new TypeError('a sequence needs a whole number');
  await session.rows(`${what} RESTART WITH ${last + 1}`);
}

/**
 * Blocks a suspended gateway whose membership has expired unnoticed, and a starting gateway before its first
 * claim.
 */
async function lockAll(session: TransferSession): Promise<void> {
  await session.rows(`LOCK TABLE clock, node, node_lease, ${targetTables.join(', ')} IN EXCLUSIVE MODE`);
}

const targetTables = [...exportedTables.map(({ name }) => name), 'lease', 'mailbox'];

async function rejectNonEmpty(session: TransferSession): Promise<void> {
  const contents: string[] = [];
  for (const name of targetTables) {
    const count = await session.number(`SELECT count(*) FROM ${name}`);
    if (count > 0) contents.push(`${count} in ${name}`);
  }
  if (contents.length > 0)
    throw new TransferRefusedError(
      `the store in the database is not empty (${contents.join(', ')}); use another database, or drop the schema actor_gateway`,
    );
}

function fromSqlValue({ type }: ExportColumn, value: unknown): Value {
  if (type === 'failures' && value !== null) return (value as readonly Failure[]).map(failureOf);
  return value as Value;
}

function toSqlValue({ type }: ExportColumn, value: Value | undefined): unknown {
  if (type === 'failures' && value !== null) return JSON.stringify(value);
  // For other views than a Buffer, the driver would write their whole underlying memory.
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return value ?? null;
}
