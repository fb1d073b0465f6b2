// What can be seen of a local server without starting it: whether its program and its folder are there. Told by --check
// as a note and not as an error: the machine on which a configuration is checked need not be the one where it runs.

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';

/** Why a server could not be started here as things are; undefined where nothing is seen to be missing. */
export function whyUnstartable(entry: ServerEntry, env: NodeJS.ProcessEnv): string | undefined {
  // There a program is found by more rules than these.
  if (entry.runtime !== 'stdio' || process.platform === 'win32') return undefined;
  const { command, cwd } = entry;
  if (!isFolder(cwd)) return `there is no folder ${cwd}`;
  if (isAbsolute(command)) return isProgram(command) ? undefined : `${command} is no program`;
  const isFound = isOnPath(command, { PATH: entry.env.PATH ?? env.PATH });
  return isFound ? undefined : `there is no program ${command} on PATH`;
}

/** Whether there is a program of that name; where other rules find one, it is thought to be. */
export function isOnPath(command: string, { PATH = '' }: { readonly PATH?: string | undefined }): boolean {
  if (process.platform === 'win32') return true;
  return PATH.split(delimiter).some((folder) => isProgram(join(folder, command)));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
