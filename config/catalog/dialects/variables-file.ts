// The file of variables that VS Code and Cursor name in an entry (`envFile`).

import { readFileSync, statSync } from 'node:fs';
import { parseEnv } from 'node:util';

const MAX_BYTES = 1024 * 1024;

interface Variables {
  readonly values: Readonly<Record<string, string>>;
  /** In plain words why there are none. */
  readonly reason?: string;
}

/** Reads it at once: an entry is read along its schema without waiting. Never throws. */
export function readVariables(path: string): Variables {
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

/** What is no file, a pipe perhaps, is not opened. */
function statOfFile(path: string) {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error('this is not a regular file');
  return stat;
}
