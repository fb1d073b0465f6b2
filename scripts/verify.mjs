// `npm test`: everything that must hold before a change lands, in the order of what fails fastest.

import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const bin = (name) => join(root, 'node_modules', name);
const steps = [
  ['types', [bin('typescript/bin/tsc'), '--noEmit']],
  ['lint', [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.']],
  ['unused', [bin('knip/bin/knip.js')]],
  ['build', [join(root, 'scripts', 'build.mjs')]],
  ['tests', [bin('vitest/vitest.mjs'), 'run', ...process.argv.slice(2)]],
];

for (const [name, args] of steps) {
  const started = performance.now();
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  if (status !== 0) process.exit(status ?? 1);
}
