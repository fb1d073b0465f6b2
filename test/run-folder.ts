// A folder for one test run. All test files share the bundled programs in it. Its path is in an environment
// variable, which the processes that run test files inherit.

import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const VARIABLE = 'ACTOR_GATEWAY_TEST_FOLDER';

/**
 * Creates the folder on the first call; each project of vitest.config.ts calls this. Returns a function that
 * removes it.
 */
export function setup(): (() => void) | undefined {
  if (process.env[VARIABLE] !== undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-tests-'));
  // Programs there import packages that cannot be bundled.
  symlinkSync(resolve(import.meta.dirname, '../node_modules'), join(folder, 'node_modules'));
  process.env[VARIABLE] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}

/** Path of the folder of this run. */
export function runFolder(): string {
  const folder = process.env[VARIABLE];
  if (folder === undefined) throw new Error(`${VARIABLE} is not set: run the tests by vitest`);
  return folder;
}
