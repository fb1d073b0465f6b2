// The current file of an audit: appends chained lines, rotates the file, and opens it again on request. Each
// file begins with a line that contains the link of its predecessor, so files can be verified without
// deleted ones.
//
// - A failed write leaves no part of a line: the file is truncated to its last complete line.
// - After a kill, the file may end within a line. The next start moves this text to PATH.torn.

import { mkdirSync } from 'node:fs';
import { appendFile, type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDiskFull } from '../base/errors/disk-full.ts';
import { auditFiles, firstNumberOf, MAX_LINE_BYTES, numberedPath } from './audit-files.ts';
import { type ChainLink, GENESIS, LINK_BYTES, nextLink, splitLine, tailOf } from './chain.ts';
import { type ChainEnds, EndRecord, readEnds } from './end-record.ts';

const OWNER_ONLY = 0o600;
const OWNER_FOLDER = 0o700;
const LINE_BREAK = 0x0a;

export interface ChainFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  /** Number of previous files. */
  readonly keep: number;
  /** Folder of the end record. */
  readonly stateDir: string;
  /** Returns the first line of a file, without link. */
  firstLine(previous: ChainLink): string;
  /** Called if the end record could not be written. */
  onRecordFailed(error: Error): void;
}

/** A discovery about the files, which belongs in the audit. */
export interface FileNotice {
  readonly kind: 'torn-line' | 'removed-files';
  /** Number of bytes or lines. */
  readonly count: number;
}

export class ChainFile {
  readonly #options: ChainFileOptions;
  readonly #record: EndRecord;
  #file: FileHandle | undefined;
  /** Size of the complete lines. */
  #size = 0;
  #isTorn = false;
  #mustReopen = false;
  #link: ChainLink = GENESIS;
  #first = 1;
  #notices: FileNotice[] = [];

  /** Opens the file. On a full disk, the first write opens it. Rejects with the error of the file system. */
  static async open(options: ChainFileOptions): Promise<ChainFile> {
    const ends = await readEnds(options.stateDir);
    const file = new ChainFile(options, ends);
    mkdirSync(dirname(options.path), { recursive: true, mode: OWNER_FOLDER });
    try {
      await file.#open();
    } catch (error) {
      if (!isDiskFull(error)) throw error;
    }
    await file.#findEnds(ends);
    return file;
  }

  private constructor(options: ChainFileOptions, ends: ChainEnds | undefined) {
    this.#options = options;
    this.#record = new EndRecord(options.stateDir);
    this.#link = ends?.last ?? GENESIS;
  }

  /** Opens the file again before the next write, for programs that rename it. */
  reopen(): void {
    this.#mustReopen = true;
  }

  /** Returns the discoveries since the last call. */
  takeNotices(): readonly FileNotice[] {
    const notices = this.#notices;
    this.#notices = [];
    return notices;
  }

  /**
   * Appends lines, given without links. Rejects with the error of the file system, without an effect. Do not
   * call it in parallel.
   */
  async append(bodies: readonly Buffer[]): Promise<void> {
    if (this.#mustReopen) await this.#reopen();
    let file = this.#file ?? (await this.#open());
    const size = bodies.reduce((sum, body) => sum + body.length + LINK_BYTES, 0);
    if (this.#size > 0 && this.#size + size > this.#options.maxBytes) {
      await this.#rotate();
      file = await this.#open();
    }
    const chained = this.#chain(bodies);
    await this.#write(file, chained.bytes);
    this.#link = chained.link;
    await this.#saveEnds();
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
    await this.#record.close();
  }

  #chain(bodies: readonly Buffer[]): { readonly bytes: Buffer; readonly link: ChainLink } {
    let link = this.#link;
    const first = this.#size === 0 ? [Buffer.from(this.#options.firstLine(link))] : [];
    const pieces = [...first, ...bodies].flatMap((body) => {
      link = nextLink(body, link);
      return [body, Buffer.from(tailOf(link), 'latin1')];
    });
    return { bytes: Buffer.concat(pieces), link };
  }

  async #write(file: FileHandle, bytes: Buffer): Promise<void> {
    try {
      if (this.#isTorn) await file.truncate(this.#size);
      this.#isTorn = true;
      await file.appendFile(bytes);
      await file.datasync();
      this.#isTorn = false;
      this.#size += bytes.length;
    } catch (error) {
      // If this fails, the next write truncates the file.
      await file.truncate(this.#size).catch(() => {});
      throw error;
    }
  }

  /** Opens the file, and removes an incomplete line at its end. */
  async #open(): Promise<FileHandle> {
    const { path } = this.#options;
    const file = await open(path, 'a+', OWNER_ONLY);
    try {
      const { size, mode } = await file.stat();
      if ((mode & 0o777) !== OWNER_ONLY) await file.chmod(OWNER_ONLY);
      this.#size = size;
      if (size > 0) await this.#readEnd(file, size);
    } catch (error) {
      await file.close();
      throw error;
    }
    this.#file = file;
    return file;
  }

  async #readEnd(file: FileHandle, size: number): Promise<void> {
    const end = await readTail(file, size);
    const complete = end.lastIndexOf(LINE_BREAK) + 1;
    if (complete === 0 && size > end.length) throw new Error('the file has no lines, so it is not an audit');
    const torn = end.subarray(complete);
    if (torn.length > 0) {
      await appendFile(`${this.#options.path}.torn`, torn, { mode: OWNER_ONLY });
      this.#size = size - torn.length;
      await file.truncate(this.#size);
      this.#notices.push({ kind: 'torn-line', count: torn.length });
    }
    this.#continueAfter(end.subarray(0, complete));
  }

  /** Continues the chain after the last line in a file, unless lines after it were removed. */
  #continueAfter(lines: Buffer): void {
    const start = lines.subarray(0, -1).lastIndexOf(LINE_BREAK) + 1;
    const link = splitLine(lines.subarray(start, -1))?.link;
    if (link !== undefined && link.n >= this.#link.n) this.#link = link;
  }

  /** Determines the ends of the chain at the start. */
  async #findEnds(ends: ChainEnds | undefined): Promise<void> {
    const { path } = this.#options;
    const files = await auditFiles(path);
    // The process may have been killed between the renaming of the current file and its replacement.
    const previous = this.#size === 0 ? files.find((each) => each !== path) : undefined;
    if (previous !== undefined) {
      const file = await open(previous, 'r');
      const { size } = await file.stat();
      const end = await readTail(file, size);
      this.#continueAfter(end.subarray(0, end.lastIndexOf(LINE_BREAK) + 1));
      await file.close();
    }
    const oldest = (await firstNumberOf(files.at(-1) ?? path)) ?? this.#link.n + 1;
    this.#first = ends?.path === path ? ends.first : oldest;
  }

  async #rotate(): Promise<void> {
    const { path, keep } = this.#options;
    const files = await auditFiles(path);
    const expired = numberedPath(path, keep);
    if (files.includes(expired)) {
      const next = files[files.indexOf(expired) - 1] ?? path;
      // The record comes first: after a kill, a file too many is no gap.
      this.#first = (await firstNumberOf(next)) ?? this.#first;
      await this.#saveEnds();
      await rm(expired, { force: true });
    }
    await this.#closeFile();
    for (let number = keep - 1; number >= 0; number -= 1) {
      const from = numberedPath(path, number);
      if (files.includes(from)) await rename(from, numberedPath(path, number + 1));
    }
  }

  /** Opens the file again. Files that were removed meanwhile become a notice. */
  async #reopen(): Promise<void> {
    this.#mustReopen = false;
    await this.#closeFile();
    await this.#open();
    const { path } = this.#options;
    const files = await auditFiles(path);
    const first = (await firstNumberOf(files.at(-1) ?? path)) ?? this.#link.n + 1;
    if (first <= this.#first) return;
    this.#notices.push({ kind: 'removed-files', count: first - this.#first });
    this.#first = first;
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  async #saveEnds(): Promise<void> {
    const { path, onRecordFailed } = this.#options;
    try {
      await this.#record.write({ path, first: this.#first, last: this.#link });
    } catch (error) {
      onRecordFailed(error as Error);
    }
  }
}

async function readTail(file: FileHandle, size: number): Promise<Buffer> {
  const length = Math.min(size, 2 * MAX_LINE_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.subarray(0, bytesRead);
}
