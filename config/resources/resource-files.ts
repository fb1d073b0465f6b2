// Lists the files of triggers, agents, fleets and flows: explicitly named files, and the YAML and JSON files
// in folders. Hidden files and subfolders are skipped.

import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Problem } from '../reader/problem.ts';
import { SourceFile } from '../reader/source-file.ts';

const extensions = ['.yaml', '.yml', '.json'];
/** Maximum number of files. Larger folders are probably a mistake. */
const MAX_FILES = 5000;

/** Returns distinct absolute paths in the given order; files in a folder by name. Never rejects. */
export async function resourceFiles(
  filesAndFolders: readonly string[],
): Promise<{ readonly files: readonly string[]; readonly problems: readonly Problem[] }> {
  const files = new Set<string>();
  const problems: Problem[] = [];
  for (const each of filesAndFolders) {
    const path = resolve(each);
    const found = await filesAt(path);
    if ('reason' in found) problems.push(new SourceFile(path, '').problem(0, found.reason));
    else for (const file of found.files) files.add(file);
  }
  if (files.size <= MAX_FILES) return { files: [...files], problems };
  // The problem needs a position; it is reported at the first file or folder.
  const [first = ''] = filesAndFolders;
  const message = `found ${files.size} files; only the first ${MAX_FILES} are loaded`;
  problems.push(new SourceFile(resolve(first), '').problem(0, message));
  return { files: [...files].slice(0, MAX_FILES), problems };
}

/** Returns the reason why a file or folder cannot be read; undefined if it can. Never rejects. */
export async function pathFault(path: string): Promise<string | undefined> {
  const found = await filesAt(resolve(path));
  return 'reason' in found ? found.reason : undefined;
}

async function filesAt(path: string): Promise<{ readonly files: string[] } | { readonly reason: string }> {
  try {
    if (!(await stat(path)).isDirectory()) return { files: [path] };
    const names = (await readdir(path)).filter(isResource).sort();
    return { files: names.map((name) => join(path, name)) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { reason: 'no such file or folder' };
    if (code === 'EACCES' || code === 'EPERM') return { reason: 'no permission to read it' };
    return { reason: `it cannot be read (${code ?? 'unknown error'})` };
  }
}

function isResource(name: string): boolean {
  return !name.startsWith('.') && extensions.some((extension) => name.toLowerCase().endsWith(extension));
}
