// The two ends of a move, as an engine has them, and the move itself. Each end is one transaction: what is read is the store at one moment,
// and what is written is there as a whole or not at all.

import { StoreFileError } from './move-errors.ts';
import { movedTables, type Row, type Table, type TableName } from './moved-tables.ts';
import { type Head, type Moved, type Numbers, RecordReader, RecordWriter } from './record-file.ts';

/** A store that is read, and that nobody works with meanwhile. */
export interface MoveSource {
  readonly engine: string;
  /** Its time, epoch ms. */
  readonly now: number;
  readonly numbers: Numbers;
  count(table: Table): Promise<number>;
  /** In the order of their keys. */
  rows(table: Table): AsyncIterable<Row>;
  close(): Promise<void>;
}

/** A store that is empty, and that nobody works with meanwhile. */
export interface MoveTarget {
  readonly engine: string;
  /** Its time, epoch ms. */
  readonly now: number;
  write(table: Table, rows: readonly Row[]): Promise<void>;
  /** From here on it is there. */
  commit(numbers: Numbers): Promise<void>;
  /** Without `commit` nothing has been written. */
  close(): Promise<void>;
}

export interface Progress {
  readonly table: TableName;
  readonly unit: 'rows' | 'bytes';
  readonly done: number;
  /** Undefined where nobody knows. */
  readonly total: number | undefined;
}

export interface MoveOptions {
  readonly onProgress: (progress: Progress) => void;
  /** Ends it, with what it throws as its reason. */
  readonly signal: AbortSignal;
}

const ROWS_TOGETHER = 200;
const BYTES_TOGETHER = 4 * 1024 * 1024;

/** Writes all of the store with `write`. Rejects with GatewayErrors, and with what `write` rejects with. */
export async function exportRows(
  source: MoveSource,
  about: Pick<Head, 'madeBy' | 'at'>,
  write: (part: string) => Promise<void>,
  { onProgress, signal }: MoveOptions,
): Promise<Moved> {
  const { engine, now, numbers } = source;
  const writer = new RecordWriter(write, now);
  let total = 0;
  for (const table of movedTables) total += await source.count(table);
  await writer.begin({ ...about, engine, ...numbers });
  let done = 0;
  for (const table of movedTables)
    for await (const row of source.rows(table)) {
      signal.throwIfAborted();
      done += 1;
      if (table.isGone?.(row, now) !== true) await writer.add({ table, row });
      onProgress({ table: table.name, unit: 'rows', done, total });
    }
  return writer.end();
}

/**
 * Fills the store with what `parts` hold, when all of it has been found right. Rejects with GatewayErrors, and with what `parts` reject with.
 */
export async function importRows(
  target: MoveTarget,
  parts: AsyncIterable<Uint8Array>,
  total: number | undefined,
  { onProgress, signal }: MoveOptions,
): Promise<Moved & { readonly head: Head }> {
  const reader = new RecordReader(parts);
  const head = await reader.head();
  const rows = reader.rows(target.now);
  let together: Row[] = [];
  let table: Table | undefined;
  let bytes = 0;
  let done = 0;
  const flush = async () => {
    if (table !== undefined && together.length > 0)
      await inLines(reader.line - together.length, reader.line - 1, () =>
        target.write(table as Table, together),
      );
    together = [];
    bytes = 0;
  };
  for (;;) {
    const next = await rows.next();
    signal.throwIfAborted();
    if (next.done === true) {
      await flush();
      await target.commit(head);
      return { ...next.value, head };
    }
    const { value } = next;
    if (value.table !== table || together.length === ROWS_TOGETHER || bytes > BYTES_TOGETHER) await flush();
    table = value.table;
    together.push(value.row);
    bytes += value.bytes;
    done += value.bytes + 1;
    onProgress({ table: table.name, unit: 'bytes', done, total });
  }
}

/** The store may know of a row what the file does not: that it is there twice under another key. */
async function inLines<T>(from: number, to: number, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof StoreFileError) throw new StoreFileError(`lines ${from} to ${to}: ${error.message}`);
    throw error;
  }
}
