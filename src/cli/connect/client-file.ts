// Writes the gateway's entry into an MCP client's configuration file, and removes it. Replaces the file
// atomically, keeps its permissions and follows symbolic links. A backup of the original is kept next to the
// file until the entry is removed. Files that are not JSON are refused.

import { constants } from 'node:fs';
import { mkdir, open, realpath, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ClientEntries } from '../../../config/clients/client-entry.ts';
import { formatProblem } from '../../../config/reader/problem.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { CommandLineError } from '../api/target-options.ts';
import { type AtomicWriteOptions, writeFileAtomically } from '../files/atomic-write.ts';
import { resolveReplaceable, UnwritableFile } from '../files/replaceable-path.ts';
import { type EntryLocation, entryIn, InvalidClientText, withEntry, withoutEntry } from './client-text.ts';

/** Generous, because some clients store their history in the same file. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Content of the backup if the file did not exist before. */
const NO_FILE_MARK = '// There was no such file before this entry was written.\n';

export type WriteResult =
  | { readonly what: 'written'; readonly backup: string | undefined }
  | { readonly what: 'unchanged' };
export type UndoResult = { readonly what: 'removed' | 'restored' | 'deleted' | 'unchanged' };

/** Writes the entry. Creates a missing file. Throws CommandLineError if the file is unusable. */
export async function writeEntry(
  path: string,
  location: EntryLocation,
  entries: ClientEntries,
): Promise<WriteResult> {
  const text = await textOf(path);
  const next = applyEdit(path, text ?? '', () => withEntry(text ?? '', location, entries));
  if (next === text) return { what: 'unchanged' };
  const backup = backupOf(path, location);
  if (text === undefined) {
    await mkdir(dirname(path), { recursive: true });
    await refuseUnusable(path);
    await replaceFile(backup, NO_FILE_MARK);
    await replaceFile(path, next, { check: () => refuseChanged(path, undefined) });
    return { what: 'written', backup: undefined };
  }
  // If the file already contains our entry, the existing backup is the original.
  const hasOriginalBackup = entryIn(text, location) !== undefined && (await textOf(backup)) !== undefined;
  if (!hasOriginalBackup) await replaceFile(backup, text, { like: path });
  await replaceFile(path, next, { check: () => refuseChanged(path, text) });
  return { what: 'written', backup };
}

/**
 * Removes the entry, or restores the entry that had this name before. Throws CommandLineError like
 * `writeEntry`.
 */
export async function undoEntry(path: string, location: EntryLocation): Promise<UndoResult> {
  const text = await textOf(path);
  if (text === undefined) return { what: 'unchanged' };
  const backup = backupOf(path, location);
  const backupText = await textOf(backup);
  const before = backupText === NO_FILE_MARK ? undefined : backupText;
  const next = applyEdit(path, text, () => withoutEntry(text, location, before));
  if (next === text) return { what: 'unchanged' };
  if (next === undefined) {
    await rm(await realpath(path));
    await rm(backup, { force: true });
    return { what: 'deleted' };
  }
  await replaceFile(path, next, { check: () => refuseChanged(path, text) });
  await rm(backup, { force: true });
  return { what: entryIn(next, location) === undefined ? 'removed' : 'restored' };
}

/** Returns whether the file exists and contains the entry. An unreadable file counts as not connected. */
export async function inspectFile(
  path: string,
  location: EntryLocation,
): Promise<{ exists: boolean; isConnected: boolean }> {
  try {
    const text = await textOf(path);
    const isConnected = text !== undefined && entryIn(text, location) !== undefined;
    return { exists: text !== undefined, isConnected };
  } catch (error) {
    if (error instanceof CommandLineError || error instanceof InvalidClientText)
      return { exists: true, isConnected: false };
    throw error;
  }
}

function backupOf(path: string, { name }: EntryLocation): string {
  return `${path}.before-${name}`;
}

/** Returns the text, including a byte order mark; undefined for a missing file. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    // Without O_NONBLOCK, opening a named pipe would block until another process writes to it.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new CommandLineError(`${path} is not a regular file`);
      if (stats.size > MAX_BYTES)
        throw new CommandLineError(`${path} is larger than 64 MiB; nothing was changed`);
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await file.readFile());
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (error instanceof CommandLineError) throw error;
    const why = error instanceof TypeError ? 'it is not UTF-8 text' : (code ?? (error as Error).message);
    throw new CommandLineError(`${path} cannot be read (${why}); nothing was changed`);
  }
}

/** Calls `edit`. Converts InvalidClientText to CommandLineError with file, line and column. */
function applyEdit<T>(path: string, text: string, edit: () => T): T {
  try {
    return edit();
  } catch (error) {
    if (!(error instanceof InvalidClientText)) throw error;
    const problem = new SourceFile(path, text.replace(/^\uFEFF/, '')).problem(
      error.offset,
      `${error.message}; nothing was changed`,
    );
    throw new CommandLineError(formatProblem(problem));
  }
}

/** Throws CommandLineError if the file no longer has the content `text`. */
async function refuseChanged(path: string, text: string | undefined): Promise<void> {
  if ((await textOf(path)) !== text)
    throw new CommandLineError(`${path} was changed by another program; run the command again`);
}

/** Throws CommandLineError if no file can be created at the path, for example a link to a missing file. */
async function refuseUnusable(path: string): Promise<void> {
  await withCommandLineErrors(() => resolveReplaceable(path));
}

/** Replaces the file. Throws CommandLineError if this fails. */
async function replaceFile(path: string, text: string, options: AtomicWriteOptions = {}): Promise<void> {
  await withCommandLineErrors(() => writeFileAtomically(path, text, options));
}

async function withCommandLineErrors(action: () => Promise<unknown>): Promise<void> {
  try {
    await action();
  } catch (error) {
    throw error instanceof UnwritableFile ? new CommandLineError(error.message) : error;
  }
}
