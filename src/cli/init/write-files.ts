// Writes the files of `init`. Refuses to start if one of them exists.
//
// INI1  an existing file is never replaced. Variables are added to `.env`, which only its owner may read.

import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ApiProblem } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { readWhole, replaceText } from '../catalog/replace-text.ts';
import { UnwritableFile } from '../files/replaceable-file.ts';
import { writeWhole } from '../files/whole-file.ts';
import type { NewFile } from './new-files.ts';

const OWNER_ONLY = 0o600;
const KEY_BYTES = 24;

/** Throws UsageError, which names what is there. */
export function refuseExisting(folder: string, files: readonly NewFile[]): void {
  const there = files.map(({ path }) => path).filter((path) => exists(join(folder, path)));
  if (there.length === 0) return;
  const [is, them] = there.length === 1 ? ['is', 'it'] : ['are', 'them'];
  throw new UsageError(
    `${there.join(', ')} ${is} there already in ${folder}; nothing was written. Name another folder, or move ${them} away`,
  );
}

/** Returns the written paths. Throws UsageError if the disk does not accept them. */
export async function writeAll(
  folder: string,
  files: readonly NewFile[],
  variables: readonly string[],
): Promise<string[]> {
  try {
    for (const { path, text } of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      await writeWhole(join(folder, path), text, { isNew: true });
    }
    const isKept = variables.length > 0 && (await addVariables(join(folder, '.env'), variables));
    return [...files.map(({ path }) => path), ...(isKept ? ['.env'] : [])];
  } catch (error) {
    throw unwritable(error, folder);
  }
}

/** Includes dangling links. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
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
  if (error instanceof UnwritableFile || error instanceof ApiProblem) return new UsageError(error.message);
  const { code = 'unknown reason', path = folder } = error as NodeJS.ErrnoException;
  return new UsageError(`${path} cannot be written (${code})`);
}

/** Adds a new key for each variable that has no key. Returns false if all have keys. */
async function addVariables(file: string, names: readonly string[]): Promise<boolean> {
  const before = await readWhole(file);
  const missing = names.filter((name) => !new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`, 'm').test(before));
  if (missing.length === 0) return false;
  const head =
    before === ''
      ? '# Secrets of gateway.yaml and of what it names; keep this file out of version control.\n'
      : '';
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  const lines = missing.map((name) => `${name}=${randomBytes(KEY_BYTES).toString('base64url')}\n`);
  await replaceText(file, before, before + separator + head + lines.join(''), OWNER_ONLY);
  return true;
}
