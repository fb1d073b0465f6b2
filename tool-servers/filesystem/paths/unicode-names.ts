// Resolves names that differ from the requested name only in the Unicode form. Models write é as one
// character, but a name on disk may contain e and a combining accent. They look the same, but the system
// treats them as two names.

import { lstat, opendir } from 'node:fs/promises';
import type { PinnedEntry } from '../confinement/pinned-entry.ts';
import { MAX_FOLDER_ENTRIES } from '../limits.ts';
import { isSystemError } from '../system-error.ts';

/**
 * Returns the name of the entry in `folder`, an open folder whose paths (`self`, and `at(name)` for an entry)
 * stay valid if it is moved. If `name` does not exist and exactly one entry has the same name in another
 * Unicode form, returns that entry's name; otherwise `name`.
 */
export async function findNameIn(folder: PinnedEntry, name: string): Promise<string> {
  if (isAscii(name) || !(await isMissing(folder.at(name)))) return name;
  const candidates = await equivalentNames(folder, name.normalize('NFC')).catch((error) => {
    // The folder may permit access but no listing.
    if (isSystemError(error)) return [];
    throw error;
  });
  return candidates.length === 1 && candidates[0] !== undefined ? candidates[0] : name;
}

async function equivalentNames(folder: PinnedEntry, form: string): Promise<string[]> {
  const names: string[] = [];
  let count = 0;
  for await (const { name } of await opendir(folder.self)) {
    if (++count > MAX_FOLDER_ENTRIES) return [];
    if (name.normalize('NFC') === form) names.push(name);
  }
  return names;
}

/** True if `name` has a single Unicode form. */
export function isAscii(name: string): boolean {
  return Buffer.byteLength(name) === name.length;
}

async function isMissing(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => false,
    (error) => isSystemError(error) && error.code === 'ENOENT',
  );
}
