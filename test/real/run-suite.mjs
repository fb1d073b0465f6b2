// Runs a public conformance suite with the server at an address, and parses the results (summary and check
// files).

import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const packages = join(import.meta.dirname, 'suites', 'node_modules');
const shim = join(import.meta.dirname, 'node20-shim.mjs');
const needsShim = Number(process.versions.node.split('.')[0]) < 22;
const deadlineMs = 240_000;

/** `total` is the number of scenarios in a complete run, without the unscored extensions of a revision. */
export const suites = {
  '0.1.16': {
    tool: '@modelcontextprotocol/conformance',
    args: ['--suite', 'all'],
    total: 32,
    counts: () => true,
  },
  '2025-11-25': {
    tool: 'conformance-next',
    args: ['--requirements', '2025-11-25'],
    total: 33,
    counts: () => true,
  },
  '2026-07-28': {
    tool: 'conformance-next',
    args: ['--requirements', '2026-07-28'],
    total: 37,
    counts: (_scenario, isScored) => isScored,
  },
};

/**
 * Runs a suite. Resolves with the number of passed and all scenarios (`passed`, `total`), the number of
 * passed and failed `checks`, `failed` scenarios with messages, failed `unscored` scenarios, the duration in
 * `seconds`, and `trouble`: the error of the tool, if it did not complete.
 */
export async function runSuite(suite, url, output) {
  const { tool, args, counts } = suites[suite];
  const started = performance.now();
  const { text, trouble } = await run([
    ...(needsShim ? ['--import', shim] : []),
    join(packages, tool, 'dist', 'index.js'),
    ...['server', '--url', url, ...args, '-o', output],
  ]);
  const [, summary = ''] = text.split('=== SUMMARY ===');
  const [scenarios, notScored = ''] = summary.split(/^Not scored.*$/m);
  const unscoredNames = new Set([...notScored.matchAll(/^ +[✓✗] (\S+)/gm)].map(([, name]) => name));
  const seen = [...scenarios.matchAll(/^(\S) (\S+): (\d+) passed, (\d+) failed/gm)].map(
    ([, mark, scenario, passed, failed]) => ({
      scenario,
      isScored: !unscoredNames.has(scenario),
      isPassed: mark === '✓',
      passed: Number(passed),
      failed: Number(failed),
    }),
  );
  const counted = seen.filter(({ scenario, isScored }) => counts(scenario, isScored));
  const other = seen.filter((each) => !counted.includes(each));
  const sum = (key) => counted.reduce((before, each) => before + each[key], 0);
  return {
    passed: counted.filter(({ isPassed }) => isPassed).length,
    total: counted.length,
    checks: { passed: sum('passed'), failed: sum('failed') },
    failed: counted
      .filter(({ isPassed }) => !isPassed)
      .map(({ scenario }) => ({ scenario, messages: messagesOf(output, scenario) })),
    unscored: other.filter(({ isPassed }) => !isPassed).map(({ scenario }) => scenario),
    seconds: Math.round((performance.now() - started) / 100) / 10,
    trouble:
      trouble ?? (counted.length === 0 ? `the tool reported nothing: ${text.slice(-2000)}` : undefined),
  };
}

/**
 * Runs the tool and returns the output. The exit code is ignored, because the summary contains the result.
 */
function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let text = '';
    let trouble;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (chunk) => {
        text += chunk;
      });
    }
    const timer = setTimeout(() => {
      trouble = `the tool was still running after ${deadlineMs / 1000} s`;
      child.kill('SIGKILL');
    }, deadlineMs);
    const orphaned = () => child.kill('SIGKILL');
    process.once('exit', orphaned);
    child.on('error', (error) => {
      trouble = error.message;
    });
    child.on('close', () => {
      clearTimeout(timer);
      process.off('exit', orphaned);
      resolve({ text, trouble });
    });
  });
}

/** Returns the name and message of each failed check in a scenario. */
function messagesOf(output, scenario) {
  const folder = readdirSync(output).find((name) => new RegExp(`^server-${scenario}-\\d{4}-`).test(name));
  if (folder === undefined) return [];
  return JSON.parse(readFileSync(join(output, folder, 'checks.json'), 'utf8'))
    .filter(({ status }) => status === 'FAILURE')
    .map(({ name, errorMessage }) => `${name}: ${String(errorMessage ?? 'failed').slice(0, 400)}`);
}
