// Writes what `init` has made: all of it or, where something of it is there already, nothing.
//
// INI1  a file that is there is never written over; .env is added to, by nobody but its owner to be read.

import { randomBytes } from 'node:crypto';
import { appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UsageError } from '../api/target-options.ts';
import type { NewFile } from './new-files.ts';

const OWNER_ONLY = 0o600;
const KEY_BYTES = 24;

/** Throws UsageError, which names what is there. */
export function refuseExisting(folder: string, files: readonly NewFile[]): void {
  const there = files.map(({ path }) => path).filter((path) => existsSync(join(folder, path)));
  if (there.length === 0) return;
  const [is, them] = there.length === 1 ? ['is', 'it'] : ['are', 'them'];
  throw new UsageError(
    `${there.join(', ')} ${is} there already in ${folder}; nothing was written. Name another folder, or move ${them} away`,
  );
}

/** Gives the paths that were written. Throws UsageError where the disk does not take them. */
export function writeAll(folder: string, files: readonly NewFile[], variables: readonly string[]): string[] {
  try {
    for (const { path, text } of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text, { flag: 'wx' });
    }
    const isKept = variables.length > 0 && addVariables(join(folder, '.env'), variables);
    return [...files.map(({ path }) => path), ...(isKept ? ['.env'] : [])];
  } catch (error) {
    throw unwritable(error, folder);
  }
}

/** With what is above it; one that is there stays as it is. Throws UsageError. */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw unwritable(error, folder);
  }
}

function unwritable(error: unknown, folder: string): UsageError {
  const { code = 'unknown reason', path = folder } = error as NodeJS.ErrnoException;
  return new UsageError(`${path} cannot be written (${code})`);
}

/** A new key for each that has none yet; false where all have one. */
function addVariables(file: string, names: readonly string[]): boolean {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const missing = names.filter((name) => !new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`, 'm').test(before));
  if (missing.length === 0) return false;
  const head =
    before === ''
      ? '# Secrets of gateway.yaml and of what it names; keep this file out of version control.\n'
      : '';
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  const lines = missing.map((name) => `${name}=${randomBytes(KEY_BYTES).toString('base64url')}\n`);
  appendFileSync(file, separator + head + lines.join(''), { mode: OWNER_ONLY });
  chmodSync(file, OWNER_ONLY);
  return true;
}
