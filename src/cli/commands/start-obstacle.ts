// Checks whether a local server's program and folder exist, without starting it. `--check` reports a
// missing one as a note, not as an error: the configuration may be meant for another machine.

import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { ServerEntry } from '../../../config/catalog/catalog-schema.ts';

/** Returns the reason why a server cannot start here; undefined if none was found. */
export function findStartObstacle(entry: ServerEntry, env: NodeJS.ProcessEnv): string | undefined {
  // Windows has additional rules for locating programs.
  if (entry.runtime !== 'stdio' || process.platform === 'win32') return undefined;
  const { command, cwd } = entry;
  if (!isFolder(cwd)) return `there is no folder ${cwd}`;
  if (isAbsolute(command)) return isProgram(command) ? undefined : `${command} is not an executable file`;
  const hasProgram = isOnPath(command, { PATH: entry.env.PATH ?? env.PATH });
  return hasProgram ? undefined : `there is no program ${command} on PATH`;
}

/** Returns true if a program of that name is on PATH; always true on Windows, which has further rules. */
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
