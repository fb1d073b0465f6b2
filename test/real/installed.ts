// Names the missing packages in one line before a run; tests that import them fail.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

/** Prints how to install the packages of test/real, if they are missing. */
export function setup(): void {
  if (existsSync(resolve(import.meta.dirname, '../../node_modules/actor-gateway-test-real'))) return;
  console.error('the packages of test/real are missing: node scripts/setup.mjs --all');
}
