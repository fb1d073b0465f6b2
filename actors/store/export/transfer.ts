// Exports and imports a store, for `store export` and `store import`. Engines implement ExportSource and
// ImportTarget, each as a single transaction: an export reads a consistent state, an import writes all rows
// or none.

import { StoreFileError } from './errors.ts';
import {
  type ExportHead,
  type ExportSummary,
  RecordReader,
  RecordWriter,
  type StoreCounters,
} from './file-format.ts';
import { type ExportRow, type ExportTable, exportedTables, type TableName } from './tables.ts';

/** Store to export. No other process uses it meanwhile. */
export interface ExportSource {
  readonly engine: string;
  /** Store clock, epoch milliseconds. */
  readonly now: number;
  readonly counters: StoreCounters;
  count(table: ExportTable): Promise<number>;
  /** Yields the rows in key order. */
  rows(table: ExportTable): AsyncIterable<ExportRow>;
  close(): Promise<void>;
}

/** Empty store to import into. No other process uses it meanwhile. */
export interface ImportTarget {
  readonly engine: string;
  /** Store clock, epoch milliseconds. */
  readonly now: number;
  write(table: ExportTable, rows: readonly ExportRow[]): Promise<void>;
  /** Makes the imported rows durable, and continues the counters from these values. */
  commit(counters: StoreCounters): Promise<void>;
  /** Discards everything unless committed. */
  close(): Promise<void>;
}

export interface TransferProgress {
  readonly table: TableName;
  readonly unit: 'rows' | 'bytes';
  readonly done: number;
  /** Undefined if unknown. */
  readonly total: number | undefined;
}

export interface TransferOptions {
  readonly onProgress: (progress: TransferProgress) => void;
  /** Aborts the operation with the signal's reason as the error. */
  readonly signal: AbortSignal;
}

const MAX_BATCH_ROWS = 200;
const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** Exports the store with `write`. Rejects with GatewayErrors and the errors of `write`. */
export async function exportRows(
  source: ExportSource,
  about: Pick<ExportHead, 'madeBy' | 'at'>,
  write: (part: string) => Promise<void>,
  { onProgress, signal }: TransferOptions,
): Promise<ExportSummary> {
  const { engine, now, counters } = source;
  const writer = new RecordWriter(write, now);
  let total = 0;
  for (const table of exportedTables) total += await source.count(table);
  await writer.begin({ ...about, engine, ...counters });
  let done = 0;
  for (const table of exportedTables)
    for await (const row of source.rows(table)) {
      signal.throwIfAborted();
      done += 1;
      if (table.isExpired?.(row, now) !== true) await writer.add({ table, row });
      onProgress({ table: table.name, unit: 'rows', done, total });
    }
  return writer.end();
}

/**
 * Imports the rows of `parts`, and commits them once the whole file is verified. Rejects with GatewayErrors
 * and the errors of `parts`.
 */
export async function importRows(
  target: ImportTarget,
  parts: AsyncIterable<Uint8Array>,
  total: number | undefined,
  { onProgress, signal }: TransferOptions,
): Promise<ExportSummary & { readonly head: ExportHead }> {
  const reader = new RecordReader(parts);
  const head = await reader.head();
  const rows = reader.rows(target.now);
  let batch: ExportRow[] = [];
  let table: ExportTable | undefined;
  let bytes = 0;
  let done = 0;
  const flush = async () => {
    if (table !== undefined && batch.length > 0)
      await withLineNumbers(reader.line - batch.length, reader.line - 1, () =>
        target.write(table as ExportTable, batch),
      );
    batch = [];
    bytes = 0;
  };
  for (;;) {
    const next = await rows.next();
    signal.throwIfAborted();
    if (next.done === true) {
      await flush();
      // The head of the file contains the counters.
      await target.commit(head);
      return { ...next.value, head };
    }
    const { value } = next;
    if (value.table !== table || batch.length === MAX_BATCH_ROWS || bytes > MAX_BATCH_BYTES) await flush();
    table = value.table;
    batch.push(value.row);
    bytes += value.bytes;
    done += value.bytes + 1;
    onProgress({ table: table.name, unit: 'bytes', done, total });
  }
}

/** Adds the line numbers to an error of the store, such as a duplicate row. */
async function withLineNumbers<T>(from: number, to: number, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof StoreFileError) throw new StoreFileError(`lines ${from} to ${to}: ${error.message}`);
    throw error;
  }
}
