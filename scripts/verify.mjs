// `npm test`: runs all checks in parallel, then the tests. A check's output is printed when it
// completes. Arguments are passed to the test runner: `npm run verify -- test/unit`. `--long` (`npm run
// test:long`) runs the remaining tests: long and repeated runs, real clients and suites, and HTTP tests on
// the second implementation of the HTTP server, node:http (see test/plan.ts).

import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const bin = (name) => join(root, 'node_modules', name);
const script = (name) => join(root, 'scripts', name);
const isLong = process.argv.includes('--long');
const testArguments = process.argv.slice(2).filter((argument) => argument !== '--long');
const isWhole = testArguments.length === 0;

const checks = [
  { name: 'types', args: [bin('typescript/bin/tsc'), '--noEmit'] },
  { name: 'types of the page', args: [bin('typescript/bin/tsc'), '-p', join(root, 'tsconfig.page.json')] },
  { name: 'lint', args: [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.'] },
  { name: 'unused', args: [bin('knip/bin/knip.js')] },
  { name: 'build', args: [script('setup.mjs'), '--all'] },
  // Installs the programs that the tests require, such as a browser. Both checks mostly wait for the network.
  ...(isWhole ? [{ name: 'programs', args: [script('test-programs.mjs')] }] : []),
  ...(isWhole && isLong
    ? [{ name: 'real clients and suites', args: [join(root, 'test', 'real', 'setup.mjs')] }]
    : []),
];
const tests = {
  name: 'tests',
  args: [bin('vitest/vitest.mjs'), 'run', ...testArguments],
  env: isWhole ? { ACTOR_GATEWAY_TESTS: isLong ? 'long' : 'whole' } : {},
};

const codes = await Promise.all(checks.map((check) => run(check, 'pipe')));
const failed = codes.find((code) => code !== 0);
process.exitCode = failed ?? (await run(tests, 'inherit'));

/**
 * Runs a check or the tests, prints the result, and returns the exit code. `output` is a setting of stdio.
 */
async function run({ name, args, env }, output) {
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['inherit', output, output],
    env: { ...process.env, ...env },
  });
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => chunks.push(chunk));
  const code = await new Promise((done) => {
    child.once('error', () => done(1));
    child.once('close', (status) => done(status ?? 1));
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(Buffer.concat(chunks));
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  return code;
}
