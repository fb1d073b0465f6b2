// `npm test`: everything that must hold before a change lands, in the order of what fails fastest. Arguments go to the
// test runner: `npm run verify -- test/unit`.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const bin = (name) => join(root, 'node_modules', name);
const vitest = [bin('vitest/vitest.mjs'), 'run'];
const chosen = process.argv.slice(2);
const report = process.env.ACTOR_GATEWAY_TEST_REPORT;

const steps = [
  { name: 'types', args: [bin('typescript/bin/tsc'), '--noEmit'] },
  { name: 'types of the page', args: [bin('typescript/bin/tsc'), '-p', join(root, 'tsconfig.page.json')] },
  { name: 'lint', args: [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.'] },
  { name: 'unused', args: [bin('knip/bin/knip.js')] },
  { name: 'build', args: [join(root, 'scripts', 'build.mjs')] },
  ...(chosen.length === 0 ? [{ name: 'programs', args: [join(root, 'scripts', 'test-programs.mjs')] }] : []),
  { name: 'tests', args: [...vitest, ...chosen] },
];
if (chosen.length === 0) {
  // The files that do not run on both HTTP fillings by themselves run a second time, on the other one.
  const env = { GATEWAY_HTTP: 'node', ...(report && { ACTOR_GATEWAY_TEST_REPORT: `${report}.node` }) };
  steps.push({ name: 'tests on node:http', args: [...vitest, ...oneFillingTests()], env });
}

for (const { name, args, env } of steps) {
  const started = performance.now();
  const { status } = spawnSync(process.execPath, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
  if (status !== 0) process.exit(status ?? 1);
}

function oneFillingTests() {
  const folder = join(root, 'test', 'e2e');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', 'e2e', name))
    .filter((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return text.includes('gateway-process.ts') && !text.includes('fillings.ts');
    });
}
