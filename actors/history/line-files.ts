// A bounded log of lines, in numbered files of one folder. New lines are appended to the newest file; when it
// is full, the next number begins, and the oldest files are deleted. The first line of a file is its format.
//
// - Written lines survive the end of the process, also by `kill -9`; there is no flush to the disk.
// - A torn last line, and files of another format, are ignored by readers and count towards the size.

import { appendFile, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeStateFolder } from '../state/folder-access.ts';

const OWNER_ONLY = 0o600;
/** Files of the maximum size that the folder has space for. */
const FILES = 4;

const NAME = /^(\d{9})\.ndjson$/;

interface LineFile {
  readonly number: number;
  readonly path: string;
  bytes: number;
}

export interface LineFilesOptions {
  readonly folder: string;
  /** First line of each file. */
  readonly format: string;
  /** Maximum size of all files. */
  readonly maxBytes: number;
}

export class LineFiles {
  readonly #options: LineFilesOptions;
  /** By number; undefined before the first write, and after a failed one. */
  #files: LineFile[] | undefined;
  /** True if the newest file ends within a line. */
  #isTorn = false;
  /** True if the newest file accepts lines. */
  #canAppend = false;

  constructor(options: LineFilesOptions) {
    this.#options = options;
  }

  /** Maximum size of one file. A write should not be larger. */
  get fileBytes(): number {
    return Math.floor(this.#options.maxBytes / FILES);
  }

  /**
   * Appends text of complete lines. Rejects with the error of the file system. Do not call it in parallel.
   */
  async append(text: string): Promise<void> {
    const hadFiles = this.#files !== undefined;
    try {
      this.#files ??= await this.#scan();
      await this.#write(this.#files, text);
    } catch (error) {
      this.#files = undefined;
      // The folder may be deleted during operation.
      if (!hadFiles || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await this.append(text);
    }
  }

  /** Returns up to `count` of the last lines, oldest first. Rejects with the error of the file system. */
  async readLast(count: number): Promise<readonly string[]> {
    const { maxBytes, format } = this.#options;
    let lines: string[] = [];
    let readBytes = 0;
    for (const { path, bytes } of (await this.#list()).reverse()) {
      readBytes += bytes;
      if (lines.length >= count || readBytes > 2 * maxBytes) break;
      const [first, ...rest] = (await readFile(path, 'utf8')).split('\n');
      // The text after the last line break is '' or a torn line.
      rest.pop();
      if (first === format) lines = [...rest, ...lines];
    }
    return lines.slice(-count);
  }

  async #write(files: LineFile[], text: string): Promise<void> {
    const { folder, format, maxBytes } = this.#options;
    const size = Buffer.byteLength(text);
    let file = this.#canAppend ? files.at(-1) : undefined;
    if (file === undefined || (file.bytes > 0 && file.bytes + size > this.fileBytes)) {
      const number = (files.at(-1)?.number ?? 0) + 1;
      file = { number, path: join(folder, `${String(number).padStart(9, '0')}.ndjson`), bytes: 0 };
      files.push(file);
      this.#isTorn = false;
      this.#canAppend = true;
    }
    let total = files.reduce((sum, { bytes }) => sum + bytes, size + format.length + 2);
    while (total > maxBytes && files.length > 1) {
      const oldest = files[0] as LineFile;
      await rm(oldest.path, { force: true });
      files.shift();
      total -= oldest.bytes;
    }
    const start = file.bytes === 0 ? `${format}\n` : this.#isTorn ? '\n' : '';
    await appendFile(file.path, start + text, { mode: OWNER_ONLY });
    file.bytes += start.length + size;
    this.#isTorn = false;
  }

  /** Reads the folder, and decides whether the newest file accepts lines. */
  async #scan(): Promise<LineFile[]> {
    makeStateFolder(this.#options.folder);
    const files = await this.#list();
    const newest = files.at(-1);
    this.#canAppend = newest !== undefined && (newest.bytes === 0 || (await this.#hasFormat(newest)));
    return files;
  }

  async #list(): Promise<LineFile[]> {
    const { folder } = this.#options;
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const files: LineFile[] = [];
    for (const name of names.sort()) {
      const number = NAME.exec(name)?.[1];
      const path = join(folder, name);
      if (number !== undefined) files.push({ number: Number(number), path, bytes: (await stat(path)).size });
    }
    return files;
  }

  async #hasFormat({ path, bytes }: LineFile): Promise<boolean> {
    const expected = `${this.#options.format}\n`;
    const file = await open(path, 'r');
    try {
      const first = await file.read(Buffer.alloc(expected.length), 0, expected.length, 0);
      const last = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, bytes - 1));
      this.#isTorn = last.buffer.toString() !== '\n';
      return first.buffer.toString() === expected;
    } finally {
      await file.close();
    }
  }
}
