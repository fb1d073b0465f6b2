// The files of resources: those of folders (not hidden, not of folders within), and those named one by one.

import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Problem } from '../reader/problem.ts';
import { SourceFile } from '../reader/source-file.ts';

const extensions = ['.yaml', '.yml', '.json'];
/** A folder beyond this is not one of resources. */
const MAX_FILES = 5000;

/** Absolute paths, each once, folder by folder, in the order of their names. Never rejects. */
export async function resourceFiles(
  places: readonly string[],
): Promise<{ readonly files: readonly string[]; readonly problems: readonly Problem[] }> {
  const files = new Set<string>();
  const problems: Problem[] = [];
  for (const place of places) {
    const path = resolve(place);
    const found = await filesAt(path);
    if ('reason' in found) problems.push(new SourceFile(path, '').problem(0, found.reason));
    else for (const file of found.files) files.add(file);
  }
  if (files.size <= MAX_FILES) return { files: [...files], problems };
  const [first = ''] = places;
  const message = `${files.size} files are more than ${MAX_FILES}; the others are left out`;
  problems.push(new SourceFile(resolve(first), '').problem(0, message));
  return { files: [...files].slice(0, MAX_FILES), problems };
}

/** Why there are no files to be had there; undefined where there may be some. Never rejects. */
export async function placeFault(place: string): Promise<string | undefined> {
  const found = await filesAt(resolve(place));
  return 'reason' in found ? found.reason : undefined;
}

async function filesAt(path: string): Promise<{ readonly files: string[] } | { readonly reason: string }> {
  try {
    if (!(await stat(path)).isDirectory()) return { files: [path] };
    const names = (await readdir(path)).filter(isResource).sort();
    return { files: names.map((name) => join(path, name)) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { reason: 'there is no such file or folder' };
    if (code === 'EACCES' || code === 'EPERM') return { reason: 'no permission to read it' };
    return { reason: `it cannot be read (${code ?? 'unknown error'})` };
  }
}

function isResource(name: string): boolean {
  return !name.startsWith('.') && extensions.some((extension) => name.toLowerCase().endsWith(extension));
}
