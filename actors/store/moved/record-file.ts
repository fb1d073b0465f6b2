// The file that holds a store on its way: a head, one line for each row, and at its end how many there are of each kind and the
// SHA-256 of all that stands before. Everything goes through in parts of bounded size, whatever the size of the store.
//
// MVF1  a file that was cut or changed is found out by its last line; one with something missing, double or out of its order by its rows.
// MVF2  a line that does not fit into memory is refused as soon as it is too long, and never written.

import { createHash } from 'node:crypto';
import { StoreFileError } from './move-errors.ts';
import { movedTables, type TableName, tableNames } from './moved-tables.ts';
import { compareKeys, lineOf, type MovedRow, membersOf, rowOf } from './record-lines.ts';

const FORMAT = 'actor-gateway store';
const VERSION = 1;
/** A text of the store has 64 MiB at most, a body is base64 here; beyond twice this no text can be made of it. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
const WRITTEN_BYTES = 1024 * 1024;

/** What is counted on in the stores, rather than stored. */
export interface Numbers {
  /** The highest fence, epoch or version that was given out. */
  readonly counter: number;
  /** The highest `seq`, of records that are gone too. */
  readonly lastSeq: number;
}

export interface Head extends Numbers {
  readonly madeBy: string;
  readonly at: string;
  readonly engine: string;
}

export type Counts = Readonly<Record<TableName, number>>;

export interface Moved {
  readonly counts: Counts;
  readonly sha256: string;
}

export const noCounts = (): Record<TableName, number> =>
  Object.fromEntries(tableNames.map((name) => [name, 0])) as Record<TableName, number>;

/** Writes the parts of the file with `write`, which resolves when it can take more. */
export class RecordWriter {
  readonly #write: (part: string) => Promise<void>;
  readonly #hash = createHash('sha256');
  readonly #counts = noCounts();
  readonly #now: number;
  #parts: string[] = [];
  #length = 0;

  /** `now` is the time of the store, epoch ms. */
  constructor(write: (part: string) => Promise<void>, now: number) {
    this.#write = write;
    this.#now = now;
  }

  async begin({ madeBy, at, engine, counter, lastSeq }: Head): Promise<void> {
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

  /** Throws StoreFileError for a row that cannot be moved. */
  async add({ table, row }: MovedRow): Promise<void> {
    const line = lineOf(table, row, this.#now);
    if (line.length * 3 > MAX_LINE_BYTES && Buffer.byteLength(line) > MAX_LINE_BYTES)
      throw new StoreFileError(`a row of ${table.name} is too large`);
    this.#counts[table.name] += 1;
    await this.#add(line);
  }

  async end(): Promise<Moved> {
    const counts = checkedCounts(this.#counts);
    await this.#flush();
    const sha256 = this.#hash.digest('hex');
    await this.#write(`${JSON.stringify({ kind: 'end', counts, sha256 })}\n`);
    return { counts, sha256 };
  }

  async #add(line: string): Promise<void> {
    this.#parts.push(line, '\n');
    this.#length += line.length + 1;
    if (this.#length >= WRITTEN_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    const part = this.#parts.join('');
    this.#parts = [];
    this.#length = 0;
    this.#hash.update(part);
    if (part !== '') await this.#write(part);
  }
}

/** What is read: the head first, then rows with the number of their line. */
export class RecordReader {
  readonly #lines: AsyncIterator<Buffer>;
  readonly #hash = createHash('sha256');
  readonly #counts = noCounts();
  #line = 0;

  constructor(parts: AsyncIterable<Uint8Array>, maxLineBytes = MAX_LINE_BYTES) {
    this.#lines = linesOf(parts, maxLineBytes);
  }

  /** The line that was read last, counted from 1. */
  get line(): number {
    return this.#line;
  }

  /** Rejects with StoreFileError. */
  async head(): Promise<Head> {
    const bytes = await this.#next();
    if (bytes === undefined) throw new StoreFileError('the file is empty');
    this.#hash.update(bytes).update('\n');
    return this.#inLine(() => {
      const members = membersOf(bytes);
      if (members.format !== FORMAT) throw new StoreFileError('the file was not made by store export');
      if (members.version !== VERSION)
        throw new StoreFileError(
          `the file is of version ${Number(members.version)} of its format, here ${VERSION}; take the version of the gateway that has made it`,
        );
      const { made_by, at, engine, counter, last_seq } = members;
      if (![counter, last_seq].every((value) => Number.isSafeInteger(value) && Number(value) >= 0))
        throw new StoreFileError('its counter is no count');
      const texts = { madeBy: String(made_by), at: String(at), engine: String(engine) };
      return { ...texts, counter: Number(counter), lastSeq: Number(last_seq) };
    });
  }

  /** Ends after the last line, which has been found right. Rejects with StoreFileError. */
  async *rows(now: number): AsyncGenerator<MovedRow & { readonly bytes: number }, Moved> {
    let last: MovedRow | undefined;
    for (let bytes = await this.#next(); bytes !== undefined; bytes = await this.#next()) {
      const line = bytes;
      const members = this.#inLine(() => membersOf(line));
      if (members.kind === 'end') return await this.#end(members);
      this.#hash.update(line).update('\n');
      const before = last;
      const found = this.#inLine(() => {
        const read = rowOf(members, now);
        if (before !== undefined) checkOrder(before, read);
        return read;
      });
      this.#counts[found.table.name] += 1;
      last = found;
      yield { ...found, bytes: line.length };
    }
    throw new StoreFileError(`the file ends with line ${this.#line}; the rest of it is missing`);
  }

  async #end({ counts, sha256 }: Readonly<Record<string, unknown>>): Promise<Moved> {
    const found = this.#hash.digest('hex');
    const isRight =
      sha256 === found &&
      tableNames.every((name) => (counts as Counts | undefined)?.[name] === this.#counts[name]);
    if (!isRight)
      throw new StoreFileError(
        'the file has been changed: its rows are not those that its last line tells of',
      );
    if ((await this.#next()) !== undefined) throw new StoreFileError('the file goes on after its end');
    return { counts: checkedCounts(this.#counts), sha256: found };
  }

  async #next(): Promise<Buffer | undefined> {
    const { value, done } = await this.#lines.next();
    if (done !== true) this.#line += 1;
    return done === true ? undefined : value;
  }

  #inLine<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof StoreFileError)) throw error;
      throw new StoreFileError(`line ${this.#line}: ${error.message}`);
    }
  }
}

function checkOrder(before: MovedRow, { table, row }: MovedRow): void {
  const isInOrder =
    before.table === table
      ? compareKeys(table, before.row, row) < 0
      : movedTables.indexOf(before.table) < movedTables.indexOf(table);
  if (!isInOrder) throw new StoreFileError(`${table.name} is out of its order`);
}

function checkedCounts(counts: Counts): Counts {
  if (counts.delivery !== counts.body)
    throw new StoreFileError(`there are ${counts.delivery} deliveries, and bodies of ${counts.body}`);
  return counts;
}

/** Without their ends. Throws StoreFileError. */
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
      yield pending.length === 0 ? rest : Buffer.concat([...pending, rest]);
      pending = [];
      length = 0;
      from = end + 1;
    }
    if (from === bytes.length) continue;
    pending.push(bytes.subarray(from));
    length += bytes.length - from;
    if (length > maxBytes) throw new StoreFileError(`line ${count + 1} is too long`);
  }
  if (length > 0) throw new StoreFileError(`the file ends in the middle of line ${count + 1}`);
  return undefined;
}
