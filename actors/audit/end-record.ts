// The two ends of the chain, in the state folder: number of the first line that is still stored, and the last
// link. Verification and the next start compare them with the files, so that lines removed from either end
// are detected. The record is overwritten in place after each write, which needs no space on a full disk.

import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeStateFolder } from '../state/folder-access.ts';
import { type ChainLink, linkText, parseLink } from './chain.ts';

export interface ChainEnds {
  /** Path of the current file. After a change of the path, the chain continues in new files. */
  readonly path: string;
  readonly first: number;
  readonly last: ChainLink;
}

const OWNER_ONLY = 0o600;
/** Minimum length of the text, so that a shorter text replaces a longer one completely. */
const MIN_CHARS = 512;

export function endRecordPath(folder: string): string {
  return join(folder, 'end.json');
}

/** Returns undefined if the record is missing or damaged. */
export async function readEnds(folder: string): Promise<ChainEnds | undefined> {
  try {
    const { path, first, last } = JSON.parse(await readFile(endRecordPath(folder), 'utf8'));
    const link = parseLink(last);
    if (link === undefined || typeof path !== 'string' || !Number.isSafeInteger(first)) return undefined;
    return { path, first, last: link };
  } catch {
    return undefined;
  }
}

export class EndRecord {
  readonly #folder: string;
  #file: FileHandle | undefined;
  #length = MIN_CHARS;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Rejects with the error of the file system. */
  async write({ path, first, last }: ChainEnds): Promise<void> {
    this.#file ??= await this.#open();
    const text = JSON.stringify({ path, first, last: linkText(last) });
    this.#length = Math.max(this.#length, text.length + 1);
    await this.#file.write(`${text.padEnd(this.#length - 1)}\n`, 0);
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #open(): Promise<FileHandle> {
    const path = endRecordPath(this.#folder);
    makeStateFolder(this.#folder);
    const file = await open(path, 'r+', OWNER_ONLY).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return open(path, 'w+', OWNER_ONLY);
    });
    this.#length = Math.max(MIN_CHARS, (await file.stat()).size);
    return file;
  }
}
