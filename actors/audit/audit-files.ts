// Names and first lines of the files of an audit: PATH is the current file, PATH.1 the previous one, PATH.2
// the one before.

import { open, readdir } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { splitLine } from './chain.ts';

/** Folder in the state folder with one folder per chain. */
export const AUDIT_FOLDER = 'audit';
/** Name of the chain of the gateway that owns the state folder. */
export const OWN_CHAIN = 'gateway';

/** Maximum length of a line. A longer one is not a line of the audit. */
export const MAX_LINE_BYTES = 65_536;

/** Returns the path of the current file, then of the previous ones. */
export async function auditFiles(path: string): Promise<readonly string[]> {
  const name = basename(path);
  const names = await readdir(dirname(path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const numbers = names.flatMap((each) => {
    if (each === name) return [0];
    const [, digits] = /^\.([1-9]\d{0,5})$/.exec(each.slice(name.length)) ?? [];
    return digits !== undefined && each.startsWith(name) ? [Number(digits)] : [];
  });
  return numbers.sort((a, b) => a - b).map((number) => numberedPath(path, number));
}

export function numberedPath(path: string, number: number): string {
  return number === 0 ? path : `${path}.${number}`;
}

/** Returns the path for a gateway that shares the configuration with others: `audit.stdio-1.jsonl`. */
export function slotPath(path: string, slot: string): string {
  const extension = extname(path);
  return join(dirname(path), `${basename(path, extension)}.${slot}${extension}`);
}

/** Returns the number of the first line; undefined if the file is missing or has no line. */
export async function firstNumberOf(path: string): Promise<number | undefined> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_LINE_BYTES), 0, MAX_LINE_BYTES, 0);
    const end = buffer.subarray(0, bytesRead).indexOf('\n');
    return end < 0 ? undefined : splitLine(buffer.subarray(0, end))?.link.n;
  } finally {
    await file.close();
  }
}
