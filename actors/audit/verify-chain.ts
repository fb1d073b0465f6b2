// Verifies the files of a chain, oldest first, in constant memory. The first line that differs from the
// written sequence is reported: changed, removed, duplicated or moved.

import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { auditFiles, MAX_LINE_BYTES } from './audit-files.ts';
import { type ChainedLine, type ChainLink, follows, parseLink, splitLine } from './chain.ts';
import type { ChainEnds } from './end-record.ts';

export interface ChainProblem {
  readonly file: string;
  /** Line number in the file, from 1. */
  readonly line: number;
  readonly kind: 'changed' | 'removed' | 'duplicated' | 'moved' | 'incomplete';
  readonly message: string;
}

export interface ChainReport {
  readonly path: string;
  readonly files: number;
  /** Number of verified lines. */
  readonly lines: number;
  readonly problem: ChainProblem | undefined;
}

export interface VerifyOptions {
  /** Path of the current file. */
  readonly path: string;
  /** Ends of the chain from the state folder, if known. */
  readonly ends: ChainEnds | undefined;
  /** Called with the number of read bytes, and the size of all files. */
  readonly onProgress?: (read: number, total: number) => void;
}

interface ReadLine {
  readonly file: string;
  readonly line: number;
  /** Without the line break. */
  readonly bytes: Buffer;
  /** False for text after the last line break. */
  readonly isComplete: boolean;
}

interface ChainFileHandle {
  readonly name: string;
  readonly handle: FileHandle;
  readonly size: number;
}

const BLOCK = 262_144;
/** Time for the rest of a line that a running gateway writes. */
const WRITE_MS = 300;
const LINE_BREAK = 0x0a;

/** Rejects with the error of the file system. */
export async function verifyChain({ path, ends, onProgress }: VerifyOptions): Promise<ChainReport> {
  const files = await openFiles(path);
  try {
    const verification = new Verification(path, ends?.path === path ? ends : undefined);
    for await (const line of linesOf(files, onProgress)) if (!verification.add(line)) break;
    return { path, files: files.length, ...verification.end() };
  } finally {
    await Promise.all(files.map(({ handle }) => handle.close()));
  }
}

class Verification {
  readonly #path: string;
  readonly #ends: ChainEnds | undefined;
  #previous: ChainLink | undefined;
  #lines = 0;
  #lastPlace: Pick<ReadLine, 'file' | 'line'>;
  #problem: ChainProblem | undefined;
  /** Number of a line that is missing at its place; searched in the rest to tell removed from moved. */
  #missing: number | undefined;

  constructor(path: string, ends: ChainEnds | undefined) {
    this.#path = path;
    this.#ends = ends;
    this.#lastPlace = { file: path, line: 0 };
  }

  /** Returns false as soon as the result is final. */
  add(read: ReadLine): boolean {
    const line = read.isComplete ? splitLine(read.bytes) : undefined;
    if (this.#missing !== undefined && this.#problem !== undefined) {
      if (line?.link.n !== this.#missing) return true;
      this.#problem = {
        ...this.#problem,
        kind: 'moved',
        message: `line ${this.#missing} was moved from here`,
      };
      return false;
    }
    this.#lastPlace = read;
    this.#problem = line === undefined ? unreadable(read) : this.#check(line, read);
    if (this.#problem !== undefined) return this.#missing !== undefined;
    this.#previous = line?.link;
    this.#lines += 1;
    return true;
  }

  /** Returns the result after the last line. */
  end(): Pick<ChainReport, 'lines' | 'problem'> {
    return { lines: this.#lines, problem: this.#problem ?? this.#missingEnd() };
  }

  #check(line: ChainedLine, read: ReadLine): ChainProblem | undefined {
    const previous = this.#previous ?? this.#startOf(line);
    if (previous === undefined) return problem(read, 'removed', 'the first line of the file is missing');
    const { n } = line.link;
    if (n > previous.n + 1) {
      this.#missing = previous.n + 1;
      const gap = n === previous.n + 2 ? `line ${n - 1} is` : `lines ${previous.n + 1} to ${n - 1} are`;
      return problem(read, 'removed', `${gap} missing before line ${n}`);
    }
    if (n <= previous.n) return problem(read, 'duplicated', `line ${n} is repeated after line ${previous.n}`);
    const isStored = this.#ends?.last.n !== n || this.#ends.last.hash === line.link.hash;
    return follows(line, previous) && isStored
      ? undefined
      : problem(read, 'changed', `line ${n} was changed`);
  }

  /** Returns the predecessor of the first line, which that line contains. */
  #startOf({ body, link }: ChainedLine): ChainLink | undefined {
    const [, text] = /,"previous":"([^"]*)"$/.exec(body.subarray(-100).toString('latin1')) ?? [];
    const previous = parseLink(text);
    return this.#ends !== undefined && link.n > this.#ends.first ? undefined : previous;
  }

  #missingEnd(): ChainProblem | undefined {
    const { file, line } = this.#lastPlace;
    const place = { file: this.#path, line: file === this.#path ? line + 1 : 1 };
    if (line === 0) return problem(place, 'removed', `there are no audit lines at ${this.#path}`);
    const { n: end = 0 } = this.#previous ?? {};
    const { n: last = 0 } = this.#ends?.last ?? {};
    if (last <= end) return undefined;
    return problem(place, 'removed', `lines ${end + 1} to ${last} are missing at the end`);
  }
}

function problem(
  { file, line }: Pick<ReadLine, 'file' | 'line'>,
  kind: ChainProblem['kind'],
  message: string,
): ChainProblem {
  return { file, line, kind, message };
}

function unreadable(read: ReadLine): ChainProblem {
  return read.isComplete
    ? problem(read, 'changed', 'this is no line of an audit')
    : problem(read, 'incomplete', 'the line has no end');
}

/**
 * Returns the open files, oldest first. The newest is opened first: a rotation meanwhile then only returns a
 * file twice.
 */
async function openFiles(path: string): Promise<readonly ChainFileHandle[]> {
  const files: ChainFileHandle[] = [];
  const inodes = new Set<number>();
  for (const name of await auditFiles(path)) {
    const handle = await open(name, 'r');
    const { ino, size } = await handle.stat();
    if (inodes.has(ino)) await handle.close();
    else files.unshift({ name, handle, size });
    inodes.add(ino);
  }
  return files;
}

async function* linesOf(
  files: readonly ChainFileHandle[],
  onProgress: VerifyOptions['onProgress'],
): AsyncGenerator<ReadLine> {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  let read = 0;
  for (const [at, { name: file, handle }] of files.entries()) {
    let line = 0;
    let rest = Buffer.alloc(0);
    let hasWaited = at < files.length - 1;
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(BLOCK), 0, BLOCK);
      if (bytesRead === 0) {
        if (rest.length === 0 || hasWaited) break;
        // A running gateway may be writing this line.
        await sleep(WRITE_MS);
        hasWaited = true;
        continue;
      }
      read += bytesRead;
      onProgress?.(read, total);
      let text = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      for (let end = text.indexOf(LINE_BREAK); end >= 0; end = text.indexOf(LINE_BREAK)) {
        line += 1;
        yield { file, line, bytes: text.subarray(0, end), isComplete: true };
        text = text.subarray(end + 1);
      }
      rest = text;
      if (rest.length > 2 * MAX_LINE_BYTES) break;
    }
    if (rest.length > 0) yield { file, line: line + 1, bytes: rest, isComplete: false };
  }
}
