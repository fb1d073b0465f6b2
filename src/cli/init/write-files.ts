// Writes the files of `init`. Existing files are not replaced: the command fails before the first write.
// Variables are appended to `.env`; only the owner may read it.

import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ApiProblem } from '../api/client.ts';
import { CommandLineError } from '../api/target-options.ts';
import { readText, replaceText } from '../catalog/replace-text.ts';
import { writeFileAtomically } from '../files/atomic-write.ts';
import { UnwritableFile } from '../files/replaceable-path.ts';
import type { NewFile } from './new-files.ts';

const OWNER_ONLY = 0o600;
const KEY_BYTES = 24;

/** Throws CommandLineError if any of these files exists. */
export function refuseExisting(folder: string, files: readonly NewFile[]): void {
  const existing = files.map(({ path }) => path).filter((path) => exists(join(folder, path)));
  if (existing.length === 0) return;
  const [verb, them] = existing.length === 1 ? ['exists', 'it'] : ['exist', 'them'];
  throw new CommandLineError(
    `${existing.join(', ')} ${verb} already in ${folder}; nothing was written. Use another folder, or move ${them} away`,
  );
}

/**
 * Writes the files and returns their paths. `variables` get generated values in .env. Throws
 * CommandLineError.
 */
export async function writeAll(
  folder: string,
  files: readonly NewFile[],
  variables: readonly string[],
): Promise<string[]> {
  try {
    for (const { path, text } of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      await writeFileAtomically(join(folder, path), text, { isNew: true });
    }
    const hasNewVariables = variables.length > 0 && (await addVariables(join(folder, '.env'), variables));
    return [...files.map(({ path }) => path), ...(hasNewVariables ? ['.env'] : [])];
  } catch (error) {
    throw unwritable(error, folder);
  }
}

/** Returns true also for a link to a missing file. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Creates the folder and its parents, if missing. Throws CommandLineError. */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw unwritable(error, folder);
  }
}

function unwritable(error: unknown, folder: string): CommandLineError {
  if (error instanceof UnwritableFile || error instanceof ApiProblem)
    return new CommandLineError(error.message);
  const { code = 'unknown reason', path = folder } = error as NodeJS.ErrnoException;
  return new CommandLineError(`${path} cannot be written (${code})`);
}

/** Generates a value for each variable that is not set. Returns false if all are set. */
async function addVariables(file: string, names: readonly string[]): Promise<boolean> {
  const before = await readText(file);
  const missing = names.filter((name) => !new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=`, 'm').test(before));
  if (missing.length === 0) return false;
  const head =
    before === ''
      ? '# Secrets of gateway.yaml and its files. Do not put this file under version control.\n'
      : '';
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  const lines = missing.map((name) => `${name}=${randomBytes(KEY_BYTES).toString('base64url')}\n`);
  await replaceText(file, before, before + separator + head + lines.join(''), OWNER_ONLY);
  return true;
}
