// Reads lines backwards from the end, with filters. A page is bounded in lines, in returned bytes and in read
// bytes; a page that ended early may be empty and continues with `nextBefore`. Text that is not a line of the
// audit is skipped.

import { type FileHandle, open } from 'node:fs/promises';
import { auditFiles, firstNumberOf, MAX_LINE_BYTES } from './audit-files.ts';
import { splitLine } from './chain.ts';

export interface AuditFilter {
  readonly principal?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  /** An outcome, or `failed` for all except `ok`. */
  readonly outcome?: string | undefined;
  /** Epoch milliseconds. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Returns lines with smaller numbers. */
  readonly before?: number | undefined;
  readonly limit: number;
}

export interface AuditPage {
  /** JSON texts, newest first. */
  readonly lines: readonly string[];
  /** `before` of the next page; undefined after the last. */
  readonly nextBefore: number | undefined;
}

const BLOCK = MAX_LINE_BYTES;
const MAX_PAGE_BYTES = 1_048_576;
const MAX_READ_BYTES = 16_777_216;
const LINE_BREAK = 0x0a;

/** Rejects with the error of the file system. */
export async function queryLines(path: string, filter: AuditFilter): Promise<AuditPage> {
  const page = new PageBuilder(filter);
  const { before = Number.POSITIVE_INFINITY } = filter;
  for (const each of await auditFiles(path)) {
    const first = await firstNumberOf(each);
    if (first === undefined || first >= before) continue;
    const file = await open(each, 'r');
    try {
      const { size } = await file.stat();
      await readBackwards(file, await endBefore(file, size, before), page);
    } finally {
      await file.close();
    }
    if (page.isFull) break;
  }
  return page;
}

class PageBuilder implements AuditPage {
  readonly lines: string[] = [];
  nextBefore: number | undefined;
  isFull = false;
  readonly #filter: AuditFilter;
  #bytes = 0;
  #readBytes = 0;

  constructor(filter: AuditFilter) {
    this.#filter = filter;
  }

  /** Adds a line if it matches. */
  add(line: Buffer): void {
    const { before, limit } = this.#filter;
    const n = splitLine(line)?.link.n;
    if (this.isFull || n === undefined || (before !== undefined && n >= before)) return;
    this.#readBytes += line.length;
    const text = line.toString('utf8');
    const isMatch = this.#matches(text);
    const exceeds = this.lines.length >= limit || this.#bytes + text.length > MAX_PAGE_BYTES;
    if (this.#readBytes > MAX_READ_BYTES || (isMatch && exceeds)) {
      this.isFull = true;
      this.nextBefore = n + 1;
    } else if (isMatch) {
      this.lines.push(text);
      this.#bytes += text.length;
    }
  }

  #matches(text: string): boolean {
    const { since, until, outcome, principal, action, target } = this.#filter;
    const members = { principal, action, target, ...(outcome === 'failed' ? {} : { outcome }) };
    // A line without the text of a value cannot match, and is not parsed.
    for (const value of Object.values(members))
      if (value !== undefined && !text.includes(JSON.stringify(value))) return false;
    const fields = parse(text);
    if (fields === undefined) return false;
    for (const [name, value] of Object.entries(members))
      if (value !== undefined && fields[name] !== value) return false;
    if (outcome === 'failed' && fields.outcome === 'ok') return false;
    const at = Date.parse(String(fields.time));
    return (since === undefined || at >= since) && (until === undefined || at <= until);
  }
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Passes the lines before `end`, last first. Text longer than a block is not a line. */
async function readBackwards(file: FileHandle, end: number, page: PageBuilder): Promise<void> {
  let rest = Buffer.alloc(0);
  for (let at = end; at > 0 && !page.isFull; ) {
    const length = Math.min(BLOCK, at);
    at -= length;
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, at);
    let text = Buffer.concat([buffer, rest.length > MAX_LINE_BYTES ? Buffer.alloc(0) : rest]);
    for (let start = text.lastIndexOf(LINE_BREAK); start >= 0; start = text.lastIndexOf(LINE_BREAK)) {
      if (start + 1 < text.length) page.add(text.subarray(start + 1));
      text = text.subarray(0, start);
      if (page.isFull) return;
    }
    rest = text;
  }
  if (rest.length > 0) page.add(rest);
}

/** Returns a position at or after all lines with numbers below `before`; binary search. */
async function endBefore(file: FileHandle, size: number, before: number): Promise<number> {
  let low = 0;
  let high = size;
  while (before !== Number.POSITIVE_INFINITY && high - low > BLOCK) {
    const middle = Math.floor((low + high) / 2);
    const n = await numberAfter(file, middle);
    if (n === undefined) break;
    if (n >= before) high = middle;
    else low = middle;
  }
  return Math.min(size, high + BLOCK);
}

/** Returns the number of the first line that begins after a position. */
async function numberAfter(file: FileHandle, position: number): Promise<number | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(2 * BLOCK), 0, 2 * BLOCK, position);
  const text = buffer.subarray(0, bytesRead);
  const start = text.indexOf(LINE_BREAK) + 1;
  const end = text.indexOf(LINE_BREAK, start);
  return start === 0 || end < 0 ? undefined : splitLine(text.subarray(start, end))?.link.n;
}
