// Vitest setup: prints a hint before a run if the packages of test/real are missing. Tests that import them
// fail.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

export function setup(): void {
  if (existsSync(resolve(import.meta.dirname, '../../node_modules/actor-gateway-test-real'))) return;
  console.error('the packages of test/real are missing: node scripts/setup.mjs --all');
}
