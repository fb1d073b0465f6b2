// A path as a caller says it, and where that is below an allowed folder, by its letters alone: nothing on the disk is
// looked at, so that a path outside is refused before anybody could learn whether it exists.
//
// 1. `.` and `..` are taken out by the letters, as a shell's `cd` does, before any link is followed.
// 2. A folder may be said as it was given or as it is after its links; the answer is always in the first form.

import { posix } from 'node:path';
import { ToolError } from '../../tool-error.ts';
import type { AllowedFolder } from '../confinement/allowed-folder.ts';
import { MAX_FOLDERS_TOLD, MAX_PATH_BYTES } from '../limits.ts';
import { isWithin, quoted } from './path-text.ts';

export interface SpokenPath {
  /** Absolute, below the folder as it was given. */
  readonly path: string;
  readonly folder: AllowedFolder;
  /** The names below the folder; none for the folder itself. */
  readonly names: readonly string[];
  /** It ends as only a folder's path does, such as `a/`. */
  readonly isFolder: boolean;
}

/**
 * Where `said` is, by its letters.
 * @param folders not empty; relative paths are taken from the first
 * @throws ToolError when it is no path, or outside all folders
 */
export function speak(said: string, folders: readonly AllowedFolder[]): SpokenPath {
  const [first] = folders;
  if (first === undefined) throw new Error('no allowed folder');
  if (said === '')
    throw new ToolError(`The path is empty. Say a path in an allowed folder, or "." for ${first.path}.`);
  if (said.includes('\0') || /\p{Surrogate}/u.test(said))
    throw new ToolError('The path has a character in it that no path can have. Say it without.');
  if (Buffer.byteLength(said) > MAX_PATH_BYTES)
    throw new ToolError(`The path is longer than ${MAX_PATH_BYTES} bytes. Say a shorter one.`);
  if (said === '~' || said.startsWith('~/'))
    throw new ToolError(
      `"~" is not a home folder here. Say a path in an allowed folder (${toldFolders(folders)}), or "./~" for a name.`,
    );
  const form = /^file:/i.test(said) ? 'a URI' : /^[a-z]:[\\/]/i.test(said) ? 'a path of Windows' : undefined;
  if (form !== undefined)
    throw new ToolError(
      `${quoted(said)} is ${form}. Say a path in an allowed folder (${toldFolders(folders)}), or begin with "./" for such a name.`,
    );

  const path = posix.resolve(first.path, said);
  const found = nearest(path, folders);
  if (found === undefined)
    throw new ToolError(
      `${quoted(said)} is outside the allowed folders. Say a path in one of them: ${toldFolders(folders)}.`,
    );
  const { folder, below } = found;
  const names = below === '' ? [] : below.split('/');
  return { path: posix.join(folder.path, below), folder, names, isFolder: /\/\.{0,2}$/.test(said) };
}

function toldFolders(folders: readonly AllowedFolder[]): string {
  const told = folders.slice(0, MAX_FOLDERS_TOLD).map(({ path }) => path);
  return folders.length > told.length ? `${told.join(', ')} and others` : told.join(', ');
}

/** The innermost folder around `path`: an allowed folder inside another is itself, not a part of the other. */
function nearest(path: string, folders: readonly AllowedFolder[]) {
  let best: { folder: AllowedFolder; below: string } | undefined;
  for (const folder of folders)
    for (const form of [folder.path, folder.realPath]) {
      if (!isWithin(form, path)) continue;
      const below = path.slice(form === '/' ? 1 : form.length + 1);
      if (best === undefined || below.length < best.below.length) best = { folder, below };
    }
  return best;
}
