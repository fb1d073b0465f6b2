// Checks that the test plan is complete: each test on one HTTP implementation has a reason, and all others
// run on both.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { longTests } from './long-tests.ts';
import {
  demandingTests,
  endToEnd,
  filesIn,
  fixturesWithHooks,
  hasBothEngines,
  onOneEngine,
  propertiesAtLength,
  testsApart,
  testsIn,
  testsOnNodeHttp,
  turnOf,
} from './plan.ts';

const root = resolve(import.meta.dirname, '..');
/** Directly, or through the first call in a platform's tests. */
const startsGateway =
  /\b(?:start(?:Gateway|Node|Automation|Incidents)|new RepoHostCases|AgentsGateway\.start)\(/;
const assignedFiles = Object.values(onOneEngine).flat().map(endToEnd);

test('every e2e file uses both HTTP engines, runs once per engine, or has a reason for a single engine', () => {
  const all = testsIn('test/e2e');
  const filesOnNodeHttp = testsOnNodeHttp();
  expect(all.length).toBeGreaterThan(80);
  expect(filesOnNodeHttp.length).toBeGreaterThan(5);
  const modesOf = (file: string) =>
    [assignedFiles.includes(file), filesOnNodeHttp.includes(file), hasBothEngines(file)].filter(Boolean)
      .length;
  expect(all.filter((file) => modesOf(file) !== 1)).toEqual([]);
});

test('the list of files on a single HTTP engine contains only existing files, each once', () => {
  expect(assignedFiles.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(new Set(assignedFiles).size).toBe(assignedFiles.length);
});

test('the list of e2e files that npm test omits contains only existing files, each once', () => {
  const all = testsIn('test/e2e');
  expect(longTests.filter((file) => !all.includes(file))).toEqual([]);
  expect(new Set(longTests).size).toBe(longTests.length);
});

test('e2e files that are listed as tests without a gateway start no gateway', () => {
  const without = onOneEngine['programs and libraries without a gateway'] ?? [];
  expect(without.length).toBeGreaterThan(5);
  const texts = without.map((name) => [name, readFileSync(join(root, endToEnd(name)), 'utf8')] as const);
  expect(texts.filter(([, text]) => startsGateway.test(text)).map(([name]) => name)).toEqual([]);
});

test('e2e files that run once per HTTP engine start a gateway', () => {
  const texts = testsOnNodeHttp().map((file) => [file, readFileSync(join(root, file), 'utf8')] as const);
  expect(texts.filter(([, text]) => !startsGateway.test(text)).map(([file]) => file)).toEqual([]);
});

test('a unit test file that replaces a module runs in its own process', () => {
  expect(testsApart()).toContain(join('test', 'unit', 'actors', 'state', 'reaped-leader.test.ts'));
  expect(testsApart()).not.toContain(join('test', 'unit', 'machines', 'policy.test.ts'));
});

test('every fixture releases its resources by test/fixtures/end-of-file.ts', () => {
  expect(fixturesWithHooks()).toEqual([]);
});

test('tests with browsers, or with a database and several gateways, do not run in parallel with others', () => {
  const demanding = demandingTests();
  for (const name of [
    'cluster/cluster',
    'inspector/inspector',
    'nodes/placement',
    'tool-servers/browser-server-life',
  ])
    expect(demanding).toContain(endToEnd(name));
  expect(demanding.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(demanding.length).toBeLessThan(testsIn('test/e2e').length / 3);
});

test('npm run test:long includes the property tests that npm test repeats only a few times', () => {
  expect(propertiesAtLength()).toContain(join('test', 'property', 'actors', 'store', 'store.test.ts'));
});

test('each package of test/real is used in a test', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'test', 'real', 'package.json'), 'utf8'));
  const texts = filesIn('test', (name) => /\.(ts|mts|mjs)$/.test(name)).map((file) =>
    readFileSync(join(root, file), 'utf8'),
  );
  const isUsed = (name: string) => {
    const [, short] = /^@modelcontextprotocol\/(server-\w+)$/.exec(name) ?? [];
    const names = [name.replace(/^@types\//, ''), ...(short === undefined ? [] : [short])];
    return texts.some((text) => names.some((each) => new RegExp(`'${each}['/]`).test(text)));
  };
  expect(Object.keys(dependencies).filter((name) => !isUsed(name))).toEqual([]);
});

test('the slowest e2e files start first', () => {
  expect(turnOf(join(root, endToEnd('whole/soak')))).toBe(0);
  expect(turnOf(join(root, endToEnd('http/api')))).toBeGreaterThan(5);
  const positions = testsIn('test/e2e').map((file) => turnOf(join(root, file)));
  const last = Math.max(...positions);
  // Each position but the last belongs to one file, so that each listed file exists.
  expect(positions.filter((position) => position < last).sort((a, b) => a - b)).toEqual(
    Array.from({ length: last }, (_, at) => at),
  );
});
