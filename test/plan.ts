// How the tests are run: which share a process, which run a second time on the other HTTP filling, and which begin first.
// vitest.config.ts makes its projects of this; test/plan.test.ts sees that no file falls out.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/**
 * End-to-end tests that run on one HTTP filling only, by what they are about instead. The rule: bodies, headers, streams,
 * disconnects, limits, listeners, shutdown and webhooks are the filling's, and what tests them runs on both. So does every
 * file that is not named here.
 */
export const onOneFilling: Readonly<Record<string, readonly string[]>> = {
  'the command line, and front ends that are not HTTP': [
    ...['automation-commands', 'cli', 'operator-commands', 'trigger-commands', 'top', 'npm-start'],
    ...['gateway-stdio', 'gateway-stdio-clients', 'log-output', 'operator-at-night', 'terminal-text'],
  ],
  'programs and libraries without a gateway': [
    ...['actors/child-records', 'actors/state-lock', 'actors/stdio-link', 'both-eras-fixture'],
    ...['browser-server-deadlines', 'browser-server-life', 'browser-server-network', 'browser-server-tools'],
    ...['filesystem-server-program', 'filesystem-server-resources', 'filesystem-server-tools'],
    ...['filesystem-server-trees', 'library', 'tool-server-program'],
    ...['repository-host-server', 'repository-host-server-faults', 'repository-host-server-files'],
    ...['bot-platform', 'repository-host-server-limits'],
  ],
  'the way to remote servers, on the far side of the gateway': [
    ...['mcp-remote-upstream', 'modern-http-link', 'param-headers', 'remote-link-life', 'remote-links'],
    ...['remote-refusals', 'remote-streams', 'unfit-tools'],
  ],
  'servers as processes: starts, ends, idleness, failures, what is kept of them': [
    ...['abandoned-sessions', 'automation-killed', 'automation-operated', 'automation-swept', 'children'],
    ...['idle-and-hung', 'killed', 'last-words', 'mcp-own-process', 'names-of-servers', 'reload-turns'],
    ...['starts', 'state-homes'],
  ],
  'eras, crossings, lists and names: made of messages, whatever carried them': [
    ...['aggregate-eras', 'both-eras-crowd', 'crossings', 'crossings-back', 'eras', 'lists-by-capability'],
    ...['mcp-aggregate', 'search-eras', 'tool-search'],
  ],
  'real programs: clients, servers, suites, benchmarks, the soak': [
    ...['bench-smoke', 'conformance', 'example-catalog', 'filesystem-server-gateway', 'real-clients'],
    ...['real-servers', 'soak'],
  ],
  'the page of the inspector; its addresses and streams have tests of their own': [
    ...['inspector', 'inspector-automation'],
  ],
};

/** The slowest, which begin first: one of them that began last would run alone for a minute. */
const slow = [
  ...[
    'soak',
    'conformance',
    'real-clients',
    'inspector',
    'eras',
    'growth',
    'browser-server-life',
    'bench-smoke',
  ],
  ...['browser-server-tools', 'trigger-commands', 'inspector-automation', 'real-servers', 'crossings'],
];

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');

/** Files below a folder of the project, as paths from its root. */
function filesIn(folder: string, isWanted: (name: string) => boolean): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(isWanted)
    .map((name) => join(folder, name))
    .sort();
}

export const testsIn = (folder: string) => filesIn(folder, (name) => name.endsWith('.test.ts'));
export const endToEnd = (name: string) => join('test', 'e2e', `${name}.test.ts`);

/** Whether a file runs on each filling by itself. */
export const hasBothFillings = (file: string) => /\bfillings\.ts'/.test(textOf(file));

/** The end-to-end tests that run a second time, on node:http. */
export function testsOnNodeHttp(): string[] {
  const one = new Set(Object.values(onOneFilling).flat().map(endToEnd));
  return testsIn('test/e2e').filter((file) => !one.has(file) && !hasBothFillings(file));
}

/**
 * Unit and property tests that need a process of their own. The others share one, which saves loading everything anew for
 * each. A fixture that tidies up at the end of a file asks for that when it is loaded, and in a shared process it would
 * be loaded for the first file only; and what is replaced for the whole process stays so for the next file.
 */
export function testsApart(): string[] {
  return [...testsIn('test/unit'), ...testsIn('test/property')].filter(
    (file) =>
      changesItsProcess.test(textOf(file)) ||
      [...fixturesOf(file)].some((fixture) => /^(before|after)(All|Each)\(/m.test(textOf(fixture))),
  );
}

const changesItsProcess = /\bvi\.(mock|stub|useFake)|\bprocess\.(chdir|umask|env\.\w+ = )/;

/** The files of test/fixtures that a file imports, and that those import. */
function fixturesOf(file: string, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of textOf(file).matchAll(/ from '(\.[^']+\.ts)'/g)) {
    const fixture = relative(root, resolve(root, dirname(file), name));
    if (!fixture.startsWith(join('test', 'fixtures')) || found.has(fixture)) continue;
    found.add(fixture);
    fixturesOf(fixture, found);
  }
  return found;
}

/** Where a file stands among those that begin first; the others are equal. */
export function turnOf(file: string): number {
  const place = slow.map(endToEnd).indexOf(relative(root, file));
  return place === -1 ? slow.length : place;
}
