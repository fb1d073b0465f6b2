// A client's file on disk. It is replaced as a whole or not at all, with its mode and through symbolic links; what it was
// before our entry came stands beside it until the entry is taken out again. What is no JSON is left alone.

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, chown, mkdir, open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ClientEntries } from '../../../config/clients/client-entry.ts';
import { formatProblem } from '../../../config/reader/problem.ts';
import { SourceFile } from '../../../config/reader/source-file.ts';
import { UsageError } from '../api/target-options.ts';
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
    await replace(backup, NOT_THERE);
    await refuseChanged(path, undefined);
    await replace(path, next);
    return { what: 'written', backup: undefined };
  }
  // Where our entry is already, what was before it is kept, and not what is before this change.
  const isOurs = entryIn(text, place) !== undefined && (await textOf(backup)) !== undefined;
  if (!isOurs) await replace(backup, text, path);
  await refuseChanged(path, text);
  await replace(path, next);
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
  await refuseChanged(path, text);
  await replace(path, next);
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

/** `like` is the file whose mode and owner the new one gets. Throws UsageError where it cannot be written. */
async function replace(path: string, text: string, like = path): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const temporary = `${target}.${randomUUID().slice(0, 8)}.tmp`;
  try {
    const old = await stat(like).catch(() => undefined);
    await writeFile(temporary, text, { flag: 'wx', mode: 0o600, flush: true });
    if (old !== undefined) {
      await chmod(temporary, old.mode & 0o7777);
      const isOther = old.uid !== process.getuid?.() || old.gid !== process.getgid?.();
      if (isOther) await chown(temporary, old.uid, old.gid).catch(() => {});
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path} cannot be written (${code ?? (error as Error).message})`);
  }
}
