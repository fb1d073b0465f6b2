// Reads the file with variables (`envFile`) for entries in VS Code's and Cursor's files.

import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';

const MAX_BYTES = 1024 * 1024;

interface FileVariables {
  readonly values: Readonly<Record<string, string>>;
  /** Error message, if the file could not be read. */
  readonly reason?: string;
}

/** Reads the file synchronously, since validation is synchronous. Never throws. */
export function readVariables(path: string): FileVariables {
  try {
    const { size } = statOfFile(path);
    if (size > MAX_BYTES) return { values: {}, reason: 'the file is larger than 1 MiB' };
    const found = Object.entries(parseEnv(readFileSync(path, 'utf8')));
    return { values: Object.fromEntries(found.map(([name, value = '']) => [name, value])) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { values: {}, reason: code === 'ENOENT' ? 'the file does not exist' : (code ?? message) };
  }
}

/** Rejects everything except regular files: opening a pipe would block. */
function statOfFile(path: string) {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error('not a regular file');
  return stat;
}
