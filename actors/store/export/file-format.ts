// File format of an export: a head, one line per row, and a last line with the row counts and the SHA-256 of
// all lines before it. Reading and writing need little memory for a store of any size. The reader detects a
// truncated or changed file by the last line, and checks the order of the rows. A line above the maximum
// length is never written, and is rejected without being buffered.

import { createHash } from 'node:crypto';
import { StoreFileError } from './errors.ts';
import { compareKeys, lineOf, membersOf, rowOf, type TableRow } from './row-format.ts';
import { exportedTables, type TableName, tableNames } from './tables.ts';

const FORMAT = 'actor-gateway store';
const VERSION = 1;
/**
 * The longest text of the store, 64 MiB, fits into a line, also in base64. JavaScript strings are limited to
 * about twice this length.
 */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const BUFFER_BYTES = 1024 * 1024;

/** Store counters that are not derived from rows. */
export interface StoreCounters {
  /**
   * Highest number issued by the store's counter, which numbers fences, lease epochs and versions of values.
   */
  readonly counter: number;
  /** Highest issued `seq`, including deleted records. */
  readonly lastSeq: number;
}

export interface ExportHead extends StoreCounters {
  readonly madeBy: string;
  readonly at: string;
  readonly engine: string;
}

export type RowCounts = Readonly<Record<TableName, number>>;

export interface ExportSummary {
  readonly counts: RowCounts;
  readonly sha256: string;
}

export const zeroCounts = (): Record<TableName, number> =>
  Object.fromEntries(tableNames.map((name) => [name, 0])) as Record<TableName, number>;

/** Writes the file. `write` resolves when it accepts the next part. */
export class RecordWriter {
  readonly #write: (part: string) => Promise<void>;
  readonly #hash = createHash('sha256');
  readonly #counts = zeroCounts();
  readonly #now: number;
  #parts: string[] = [];
  #length = 0;

  /** `now` is the store's clock, epoch milliseconds. */
  constructor(write: (part: string) => Promise<void>, now: number) {
    this.#write = write;
    this.#now = now;
  }

  async begin({ madeBy, at, engine, counter, lastSeq }: ExportHead): Promise<void> {
    const head = {
      format: FORMAT,
      version: VERSION,
      made_by: madeBy,
      at,
      engine,
      counter,
      last_seq: lastSeq,
    };
    await this.#add(JSON.stringify(head));
  }

  /** Throws StoreFileError for a row that cannot be exported. */
  async add({ table, row }: TableRow): Promise<void> {
    const line = lineOf(table, row, this.#now);
    if (line.length * 3 > MAX_LINE_BYTES && Buffer.byteLength(line) > MAX_LINE_BYTES)
      throw new StoreFileError(`a row of ${table.name} is too large`);
    this.#counts[table.name] += 1;
    await this.#add(line);
  }

  async end(): Promise<ExportSummary> {
    const counts = verifyCounts(this.#counts);
    await this.#flush();
    const sha256 = this.#hash.digest('hex');
    await this.#write(`${JSON.stringify({ kind: 'end', counts, sha256 })}\n`);
    return { counts, sha256 };
  }

  async #add(line: string): Promise<void> {
    this.#parts.push(line, '\n');
    this.#length += line.length + 1;
    if (this.#length >= BUFFER_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const part = this.#parts.join('');
    this.#parts = [];
    this.#length = 0;
    this.#hash.update(part);
    if (part !== '') await this.#write(part);
  }
}

/** Reads the head, then the rows. */
export class RecordReader {
  readonly #lines: AsyncIterator<Buffer>;
  readonly #hash = createHash('sha256');
  readonly #counts = zeroCounts();
  #line = 0;

  constructor(parts: AsyncIterable<Uint8Array>, maxLineBytes = MAX_LINE_BYTES) {
    this.#lines = linesOf(parts, maxLineBytes);
  }

  /** Number of the last line that was read, from 1. */
  get line(): number {
    return this.#line;
  }

  /** Rejects with StoreFileError. */
  async head(): Promise<ExportHead> {
    const bytes = await this.#next();
    if (bytes === undefined) throw new StoreFileError('the file is empty');
    this.#hash.update(bytes).update('\n');
    return this.#withLineNumber(() => {
      const members = membersOf(bytes);
      if (members.format !== FORMAT) throw new StoreFileError('the file was not written by store export');
      if (members.version !== VERSION)
        throw new StoreFileError(
          `export format ${Number(members.version)}, expected ${VERSION}: import it with the version that wrote it`,
        );
      const { made_by, at, engine, counter, last_seq } = members;
      if (![counter, last_seq].every((value) => Number.isSafeInteger(value) && Number(value) >= 0))
        throw new StoreFileError('its counters are invalid');
      const texts = { madeBy: String(made_by), at: String(at), engine: String(engine) };
      return { ...texts, counter: Number(counter), lastSeq: Number(last_seq) };
    });
  }

  /** Completes once the last line is verified. Rejects with StoreFileError. */
  async *rows(now: number): AsyncGenerator<TableRow & { readonly bytes: number }, ExportSummary> {
    let last: TableRow | undefined;
    for (let bytes = await this.#next(); bytes !== undefined; bytes = await this.#next()) {
      const line = bytes;
      const members = this.#withLineNumber(() => membersOf(line));
      if (members.kind === 'end') return await this.#end(members);
      this.#hash.update(line).update('\n');
      const before = last;
      const found = this.#withLineNumber(() => {
        const read = rowOf(members, now);
        if (before !== undefined) checkOrder(before, read);
        return read;
      });
      this.#counts[found.table.name] += 1;
      last = found;
      yield { ...found, bytes: line.length };
    }
    throw new StoreFileError(`the file is truncated after line ${this.#line}`);
  }

  async #end({ counts, sha256 }: Readonly<Record<string, unknown>>): Promise<ExportSummary> {
    const found = this.#hash.digest('hex');
    const isRight =
      sha256 === found &&
      tableNames.every((name) => (counts as RowCounts | undefined)?.[name] === this.#counts[name]);
    if (!isRight)
      throw new StoreFileError(
        'the file was changed: its rows do not match the counts and checksum of its last line',
      );
    if ((await this.#next()) !== undefined)
      throw new StoreFileError('the file continues after its last line');
    return { counts: verifyCounts(this.#counts), sha256: found };
  }

  async #next(): Promise<Buffer | undefined> {
    const { value, done } = await this.#lines.next();
    if (done !== true) this.#line += 1;
    return done === true ? undefined : value;
  }

  #withLineNumber<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof StoreFileError)) throw error;
      throw new StoreFileError(`line ${this.#line}: ${error.message}`);
    }
  }
}

function checkOrder(before: TableRow, { table, row }: TableRow): void {
  const isInOrder =
    before.table === table
      ? compareKeys(table, before.row, row) < 0
      : exportedTables.indexOf(before.table) < exportedTables.indexOf(table);
  if (!isInOrder) throw new StoreFileError(`rows of ${table.name} are out of order`);
}

function verifyCounts(counts: RowCounts): RowCounts {
  if (counts.delivery !== counts.body)
    throw new StoreFileError(`${counts.delivery} deliveries have ${counts.body} bodies`);
  return counts;
}

/** Yields lines without their terminators. Throws StoreFileError. */
async function* linesOf(
  parts: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Buffer, undefined> {
  let pending: Buffer[] = [];
  let length = 0;
  let count = 0;
  for await (const part of parts) {
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength);
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      const rest = bytes.subarray(from, end);
      count += 1;
      checkLength(count, length + rest.length, maxBytes);
      yield pending.length === 0 ? rest : Buffer.concat([...pending, rest]);
      pending = [];
      length = 0;
      from = end + 1;
    }
    if (from === bytes.length) continue;
    pending.push(bytes.subarray(from));
    length += bytes.length - from;
    checkLength(count + 1, length, maxBytes);
  }
  if (length > 0) throw new StoreFileError(`the file ends in the middle of line ${count + 1}`);
  return undefined;
}

function checkLength(line: number, length: number, maxBytes: number): void {
  if (length > maxBytes) throw new StoreFileError(`line ${line} has more than ${maxBytes} bytes`);
}
