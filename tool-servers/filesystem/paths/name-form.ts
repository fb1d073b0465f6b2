// Names in another Unicode form than they were said in. Models say an é as one sign; a folder that came from elsewhere may
// hold it as an e with an accent behind it, which the system takes for another name, and nobody can see the difference.

import { lstat, opendir } from 'node:fs/promises';
import type { Pinned } from '../confinement/pinned.ts';
import { MAX_ENTRIES_READ } from '../limits.ts';
import { isSystemError } from '../system-error.ts';

/**
 * `name` as `folder`, proven inside, has it: the only entry that differs in the Unicode form alone when there is none of
 * the very name; `name` itself otherwise.
 */
export async function nameIn(folder: Pinned, name: string): Promise<string> {
  if (isAscii(name) || !(await isMissing(folder.at(name)))) return name;
  const alike = await namesLike(folder, name.normalize('NFC')).catch((error) => {
    // A folder may be used without the permission to list it.
    if (isSystemError(error)) return [];
    throw error;
  });
  return alike.length === 1 && alike[0] !== undefined ? alike[0] : name;
}

async function namesLike(folder: Pinned, form: string): Promise<string[]> {
  const names: string[] = [];
  let seen = 0;
  for await (const { name } of await opendir(folder.self)) {
    if (++seen > MAX_ENTRIES_READ) return [];
    if (name.normalize('NFC') === form) names.push(name);
  }
  return names;
}

/** Whether `name` has one form only. */
export function isAscii(name: string): boolean {
  return Buffer.byteLength(name) === name.length;
}

async function isMissing(path: string): Promise<boolean> {
  return await lstat(path).then(
    () => false,
    (error) => isSystemError(error) && error.code === 'ENOENT',
  );
}
