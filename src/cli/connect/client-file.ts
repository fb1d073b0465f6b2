// A client's file on disk. It is replaced as a whole or not at all, with its mode and through symbolic links; what it was
// before our entry came stands beside it until the entry is taken out again. What is no JSON is left alone.

import { constants } from 'node:fs';
import { mkdir, open, realpath, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ClientEntries } from '../../../config/clients/client-entry.ts';
import { formatProblem } from '../../../config/reader/problem.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { UsageError } from '../api/target-options.ts';
import { replaceableFile, UnwritableFile } from '../files/replaceable-file.ts';
import { type WholeFileOptions, writeWhole } from '../files/whole-file.ts';
import { type EntryPlace, entryIn, UnusableText, withEntry, withoutEntry } from './client-text.ts';

/** Some clients keep their history in the same file. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Kept in place of a file that our entry was the first to need. */
const NOT_THERE = '// There was no such file before this entry was written.\n';

export type Written =
  | { readonly what: 'written'; readonly backup: string | undefined }
  | { readonly what: 'unchanged' };
export type Undone = { readonly what: 'removed' | 'restored' | 'deleted' | 'unchanged' };

/** Puts the entry into the file, which is made where it is missing. Throws UsageError for one that cannot be used. */
export async function writeEntry(path: string, place: EntryPlace, entries: ClientEntries): Promise<Written> {
  const text = await textOf(path);
  const next = usable(path, text ?? '', () => withEntry(text ?? '', place, entries));
  if (next === text) return { what: 'unchanged' };
  const backup = backupOf(path, place);
  if (text === undefined) {
    await mkdir(dirname(path), { recursive: true });
    await refuseUnusable(path);
    await replace(backup, NOT_THERE);
    await replace(path, next, { check: () => refuseChanged(path, undefined) });
    return { what: 'written', backup: undefined };
  }
  // Where our entry is already, what was before it is kept, and not what is before this change.
  const isOurs = entryIn(text, place) !== undefined && (await textOf(backup)) !== undefined;
  if (!isOurs) await replace(backup, text, { like: path });
  await replace(path, next, { check: () => refuseChanged(path, text) });
  return { what: 'written', backup };
}

/** Takes the entry out again, or puts back what stood under its name. Throws UsageError as `writeEntry` does. */
export async function undoEntry(path: string, place: EntryPlace): Promise<Undone> {
  const text = await textOf(path);
  if (text === undefined) return { what: 'unchanged' };
  const backup = backupOf(path, place);
  const kept = await textOf(backup);
  const before = kept === NOT_THERE ? undefined : kept;
  const next = usable(path, text, () => withoutEntry(text, place, before));
  if (next === text) return { what: 'unchanged' };
  if (next === undefined) {
    await rm(await realpath(path));
    await rm(backup, { force: true });
    return { what: 'deleted' };
  }
  await replace(path, next, { check: () => refuseChanged(path, text) });
  await rm(backup, { force: true });
  return { what: entryIn(next, place) === undefined ? 'removed' : 'restored' };
}

/** Whether the file is there, and has the entry. A file that cannot be read has none. */
export async function lookAt(
  path: string,
  place: EntryPlace,
): Promise<{ isThere: boolean; isConnected: boolean }> {
  try {
    const text = await textOf(path);
    const isConnected = text !== undefined && entryIn(text, place) !== undefined;
    return { isThere: text !== undefined, isConnected };
  } catch (error) {
    if (error instanceof UsageError || error instanceof UnusableText)
      return { isThere: true, isConnected: false };
    throw error;
  }
}

function backupOf(path: string, { name }: EntryPlace): string {
  return `${path}.before-${name}`;
}

/** With its byte order mark; undefined for a file that is not there. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    // Without O_NONBLOCK the opening of a named pipe would wait for a writer, perhaps for ever.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      if (!found.isFile()) throw new UsageError(`${path} is no file`);
      if (found.size > MAX_BYTES) throw new UsageError(`${path} is larger than 64 MiB; nothing was changed`);
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (error instanceof UsageError) throw error;
    const why = error instanceof TypeError ? 'it is no text in UTF-8' : (code ?? (error as Error).message);
    throw new UsageError(`${path} cannot be read (${why}); nothing was changed`);
  }
}

function usable<T>(path: string, text: string, edit: () => T): T {
  try {
    return edit();
  } catch (error) {
    if (!(error instanceof UnusableText)) throw error;
    const problem = new SourceFile(path, text.replace(/^\uFEFF/, '')).problem(
      error.offset,
      `${error.message}; nothing was changed`,
    );
    throw new UsageError(formatProblem(problem));
  }
}

/** A client that writes its file too may have done so just now. */
async function refuseChanged(path: string, text: string | undefined): Promise<void> {
  if ((await textOf(path)) !== text)
    throw new UsageError(`${path} has just been changed by somebody else; try again`);
}

/** Throws UsageError for a path at which no file can be created, such as a link that leads nowhere. */
async function refuseUnusable(path: string): Promise<void> {
  await asUsage(() => replaceableFile(path));
}

/** Throws UsageError where the file cannot be written. */
async function replace(path: string, text: string, options: WholeFileOptions = {}): Promise<void> {
  await asUsage(() => writeWhole(path, text, options));
}

async function asUsage(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    throw error instanceof UnwritableFile ? new UsageError(error.message) : error;
  }
}
