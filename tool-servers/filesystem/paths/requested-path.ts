// Parses a caller's path and selects its allowed folder, by text only. This does not access the disk: the
// refusal of an outside path must not reveal whether the path exists.
//
// 1. `.` and `..` are resolved in the text, like `cd` in a shell, before links are followed.
// 2. Callers may use the configured path or the real path of an allowed folder; the result has the configured
//    path.

import { posix } from 'node:path';
import { ToolError } from '../../tool-error.ts';
import type { AllowedFolder } from '../confinement/allowed-folder.ts';
import { MAX_FOLDERS_NAMED, MAX_PATH_BYTES } from '../limits.ts';
import { isWithin, quote } from './path-text.ts';

export interface RequestedPath {
  /** Absolute path; starts with the allowed folder as configured. */
  readonly path: string;
  readonly folder: AllowedFolder;
  /** Names in the path, relative to the folder; empty for the folder itself. */
  readonly names: readonly string[];
  /** True if the path must be a folder, for example `a/`. */
  readonly isFolder: boolean;
}

/**
 * Parses a requested path.
 * @param folders not empty; relative paths start at the first
 * @throws ToolError if the path is invalid or outside all folders
 */
export function parsePath(text: string, folders: readonly AllowedFolder[]): RequestedPath {
  const [first] = folders;
  if (first === undefined) throw new Error('no allowed folder');
  if (text === '')
    throw new ToolError(`The path is empty. Pass a path in an allowed folder, or "." for ${first.path}.`);
  if (text.includes('\0') || /\p{Surrogate}/u.test(text))
    throw new ToolError('The path contains a character that is invalid in paths. Remove it.');
  if (Buffer.byteLength(text) > MAX_PATH_BYTES)
    throw new ToolError(`The path is longer than ${MAX_PATH_BYTES} bytes. Pass a shorter path.`);
  if (text === '~' || text.startsWith('~/'))
    throw new ToolError(
      `"~" is not expanded to a home folder. Pass a path in an allowed folder (${folderList(folders)}), or "./~" for a file of this name.`,
    );
  const form = /^file:/i.test(text) ? 'a URI' : /^[a-z]:[\\/]/i.test(text) ? 'a Windows path' : undefined;
  if (form !== undefined)
    throw new ToolError(
      `${quote(text)} is ${form}. Pass a path in an allowed folder (${folderList(folders)}), or prefix it with "./" for a file of this name.`,
    );

  const path = posix.resolve(first.path, text);
  const innermost = innermostFolder(path, folders);
  if (innermost === undefined)
    throw new ToolError(
      `${quote(text)} is outside the allowed folders. Pass a path in one of them: ${folderList(folders)}.`,
    );
  const { folder, below } = innermost;
  const names = below === '' ? [] : below.split('/');
  return { path: posix.join(folder.path, below), folder, names, isFolder: /\/\.{0,2}$/.test(text) };
}

function folderList(folders: readonly AllowedFolder[]): string {
  const listed = folders.slice(0, MAX_FOLDERS_NAMED).map(({ path }) => path);
  return folders.length > listed.length ? `${listed.join(', ')} and others` : listed.join(', ');
}

/** Returns the innermost allowed folder that contains `path`; allowed folders may be nested. */
function innermostFolder(path: string, folders: readonly AllowedFolder[]) {
  let best: { folder: AllowedFolder; below: string } | undefined;
  for (const folder of folders)
    for (const form of [folder.path, folder.realPath]) {
      if (!isWithin(form, path)) continue;
      const below = path.slice(form === '/' ? 1 : form.length + 1);
      if (best === undefined || below.length < best.below.length) best = { folder, below };
    }
  return best;
}
