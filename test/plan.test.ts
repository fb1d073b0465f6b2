// The plan of the tests is whole: what runs on one HTTP filling only is named with its reason, and everything else runs on
// both.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import {
  atLength,
  demandingTests,
  endToEnd,
  filesIn,
  fixturesWithHooks,
  hasBothFillings,
  onOneFilling,
  propertiesAtLength,
  testsApart,
  testsIn,
  testsOnNodeHttp,
  turnOf,
} from './plan.ts';

const root = resolve(import.meta.dirname, '..');
/** Itself, or by what all tests of a platform begin with. */
const startsGateway = /\b(?:start(?:Gateway|Node|Automation|Incidents)|new RepoDesks|AskedAgents\.start)\(/;
const named = Object.values(onOneFilling).flat().map(endToEnd);

test('every end-to-end test runs on both fillings by itself, a second time, or is named with a reason', () => {
  const all = testsIn('test/e2e');
  const again = testsOnNodeHttp();
  expect(all.length).toBeGreaterThan(80);
  expect(again.length).toBeGreaterThan(5);
  const ways = (file: string) =>
    [named.includes(file), again.includes(file), hasBothFillings(file)].filter(Boolean).length;
  expect(all.filter((file) => ways(file) !== 1)).toEqual([]);
});

test('names only files that there are, and each once', () => {
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(new Set(named).size).toBe(named.length);
});

test('what npm test leaves out are end-to-end tests that there are, each once', () => {
  const all = testsIn('test/e2e');
  expect(atLength.map(endToEnd).filter((file) => !all.includes(file))).toEqual([]);
  expect(new Set(atLength).size).toBe(atLength.length);
});

test('what is said to need no gateway starts none', () => {
  const without = onOneFilling['programs and libraries without a gateway'] ?? [];
  expect(without.length).toBeGreaterThan(5);
  const texts = without.map((name) => [name, readFileSync(join(root, endToEnd(name)), 'utf8')] as const);
  expect(texts.filter(([, text]) => startsGateway.test(text)).map(([name]) => name)).toEqual([]);
});

test('what runs a second time starts a gateway, or it would be the same twice', () => {
  const texts = testsOnNodeHttp().map((file) => [file, readFileSync(join(root, file), 'utf8')] as const);
  expect(texts.filter(([, text]) => !startsGateway.test(text)).map(([file]) => file)).toEqual([]);
});

test('a test that replaces a module has a process of its own', () => {
  expect(testsApart()).toContain(join('test', 'unit', 'actors', 'state', 'reaped-leader.test.ts'));
  expect(testsApart()).not.toContain(join('test', 'unit', 'machines', 'policy.test.ts'));
});

test('fixtures close what they opened by test/fixtures/end-of-file.ts, in every file of a process', () => {
  expect(fixturesWithHooks()).toEqual([]);
});

test('tests with browsers, or with several gateways and a database, run with nothing else beside them', () => {
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

test('properties of which npm test makes few runs are in npm run test:long', () => {
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

test('the slowest tests begin first', () => {
  expect(turnOf(join(root, endToEnd('whole/soak')))).toBe(0);
  expect(turnOf(join(root, endToEnd('http/api')))).toBeGreaterThan(5);
  const turns = testsIn('test/e2e').map((file) => turnOf(join(root, file)));
  const last = Math.max(...turns);
  // Each turn but the last is that of one file: none of those named has gone.
  expect(turns.filter((turn) => turn < last).sort((a, b) => a - b)).toEqual(
    Array.from({ length: last }, (_, at) => at),
  );
});
