// Plan of the test runs: shared processes, second runs on the other HTTP implementation, and order.
// vitest.config.ts builds its projects from it; test/plan.test.ts checks that no file is missing.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');

/**
 * End-to-end tests that run on one HTTP implementation only, by subject. Tests of bodies, headers, streams,
 * disconnects, limits, listeners, shutdown and webhooks run on both, and so does every file not listed here.
 */
export const onOneEngine: Readonly<Record<string, readonly string[]>> = {
  'the command line, and front ends that are not HTTP': [
    'cli/automation-commands',
    'cli/terminal-approvals',
    'cli/chat',
    'cli/catalog-commands',
    'cli/registry-commands',
    'cli/cli',
    'cli/tutorials',
    'cli/operator-commands',
    'cli/trigger-commands',
    'cli/top',
    'cli/npm-start',
    'stdio/gateway-stdio',
    'stdio/gateway-stdio-clients',
    'cli/log-output',
    'cli/logs',
    'cli/key-commands',
    'cli/operator-failures',
    'cli/terminal-closed',
    'cli/terminal-text',
    'cli/try',
    'cli/register',
    'cli/import',
    'cli/flow-commands',
    'cli/setting-up',
    'cli/connect',
    'cli/mcp-commands',
    'cli/mcp-commands-in-a-terminal',
    'cli/operator-proof',
    'cli/written-files',
    'flows/flow-validated',
  ],
  'programs and libraries without a gateway': [
    'actors/child-records',
    'actors/paced-links',
    'actors/state-lock',
    'actors/stdio-link',
    'eras/both-eras-fixture',
    'tool-servers/browser-server-deadlines',
    'tool-servers/browser-server-life',
    'tool-servers/browser-server-network',
    'tool-servers/browser-server-tools',
    'tool-servers/filesystem-server-program',
    'tool-servers/filesystem-server-resources',
    'tool-servers/filesystem-server-tools',
    'tool-servers/filesystem-server-trees',
    'whole/library',
    'whole/library-clients',
    'whole/package',
    'tool-servers/tool-server-program',
    'tool-servers/repository-host-server',
    'tool-servers/repository-host-server-faults',
    'tool-servers/repository-host-server-files',
    'bot-platform',
    'workspace-sockets',
    'workspace-platform',
    'tool-servers/repository-host-server-limits',
  ],
  'connections to remote servers': [
    'remote/detected-transport',
    'remote/mcp-remote-upstream',
    'remote/modern-http-link',
    'remote/param-headers',
    'remote/remote-connections',
    'remote/remote-link-life',
    'remote/remote-links',
    'remote/remote-refusals',
    'remote/remote-streams',
    'remote/invalid-tools',
  ],
  'requests to platforms, which no listener of ours has to do with': [
    'agents/agent-commits',
    'agents/agent-injection',
    'agents/agent-streams',
    'agents/answers-grow-in-every-chat',
    'agents/approvals-in-chats',
    'agents/approvals-in-every-chat',
    'agents/approvals-reloaded',
    'automation/bot-messenger',
    'automation/bot-connections',
    'automation/workspace-connections',
    'automation/bot-pace',
    'automation/bot-progress',
    'automation/comment-commands',
    'automation/model-runs',
    'automation/every-chat',
    'automation/every-chat-operated',
    'automation/every-repo-host-faults',
    'automation/incidents',
    'automation/platforms-apart',
    'automation/proactive',
    'automation/repohostb',
    'automation/repohostc',
    'automation/stops-are-no-attempts',
    'automation/teamchat',
    'automation/failure-notices',
    'automation/tracker-comments',
  ],
  'events once they are taken: places, waits, a disk that is full or damaged': [
    'automation/automation-damaged',
    'automation/automation-full-disk',
    'whole/alarms',
    'automation/hanging-agent',
    'automation/automation-waits',
    'automation/postgres',
    'automation/store-export',
    'automation/suspended-node',
    'automation/cluster-connections',
    'automation/operated-at-any-node',
    'automation/cluster-rate-limits',
    'automation/cluster-schedules',
  ],
  'several gateways on one database, and what becomes of them and of it': [
    'cluster/cluster',
    'cluster/cluster-at-length',
    'nodes/access-keys-on-nodes',
    'nodes/node-list',
    'nodes/nodes-in-the-inspector',
    'nodes/cluster-pauses',
    'nodes/cluster-statistics',
  ],
  'servers as processes: starts, ends, idleness, failures, what is kept of them': [
    'mcp/abandoned-sessions',
    'mcp/restored-sessions',
    'whole/stored-calls',
    'automation/agent-runs-killed',
    'automation/approvals',
    'flows/flow-in-a-chat',
    'flows/flow-killed-at-rows',
    'flows/flow-runs',
    'flows/flow-urls',
    'flows/step-slots',
    'automation/automation-killed',
    'automation/businessmessenger-killed',
    'automation/businessmessenger-platform',
    'automation/automation-operated',
    'automation/store-retention',
    'agents/agent-approvals',
    'agents/self-approval',
    'agents/agent-approvals-killed',
    'agents/agent-cancelled',
    'agents/agent-killed-at-rows',
    'agents/agent-memory',
    'agents/agent-reloads',
    'agents/agent-runs-shuffled',
    'agents/agent-servers',
    'agents/agent-stops',
    'agents/results-before-requests',
    'servers/children',
    'servers/cold-start',
    'servers/idle-and-hung',
    'servers/killed',
    'servers/recent-stderr',
    'mcp/mcp-own-process',
    'mcp/names-of-servers',
    'automation/reload-turns',
    'servers/starts',
    'servers/without-store',
    'eras/request-state-affinity',
  ],
  'eras, crossings, lists and names: made of messages, whatever carried them': [
    'eras/aggregate-eras',
    'eras/both-eras-crowd',
    'eras/era-bridge',
    'eras/era-bridge-back',
    'eras/eras',
    'mcp/lists-by-capability',
    'mcp/mcp-aggregate',
    'eras/search-eras',
    'mcp/tool-search',
    'servers/isolation',
  ],
  'real programs: clients, servers, suites, benchmarks, the soak': [
    'whole/bench-smoke',
    'whole/conformance',
    'cli/example-catalog',
    'tool-servers/filesystem-server-gateway',
    'whole/real-clients',
    'whole/real-servers',
    'whole/restarted-clients',
    'whole/soak',
  ],
  'the page of the inspector; its addresses and streams have tests of their own': [
    'inspector/inspector',
    'inspector/inspector-at-length',
    'inspector/inspector-automation',
    'inspector/inspector-axe',
    'inspector/inspector-calls',
    'inspector/inspector-connect',
    'inspector/inspector-flows',
    'inspector/inspector-layout',
    'inspector/inspector-overview',
    'inspector/inspector-runs',
    'inspector/inspector-tools',
  ],
};

/** The slowest tests, which start first, because a slow test at the end would run alone. */
const slow = [
  'whole/soak',
  'cluster/cluster',
  'automation/every-chat',
  'flows/flow-killed-at-rows',
  'http/http-seam',
  'whole/conformance',
  'inspector/inspector-automation',
  'whole/memory-growth',
  'whole/real-clients',
  'inspector/inspector',
  'tool-servers/browser-server-tools',
  'whole/bench-smoke',
  'tool-servers/browser-server-life',
  'eras/eras',
  'whole/real-servers',
  'automation/bot-pace',
  'cli/trigger-commands',
  'automation/automation-killed',
  'automation/every-repo-host-faults',
  'automation/incidents',
  'servers/killed',
  'automation/businessmessenger-platform',
  'automation/bot-progress',
  'agents/answers-grow-in-every-chat',
  'cli/operator-commands',
  'inspector/inspector-sessions',
  'eras/era-bridge',
  'agents/agent-killed-at-rows',
  'agents/agent-runs-shuffled',
];

/** Fixtures that start processor-intensive programs: a browser, or a database with several gateways. */
const demandingFixtures = [
  'tool-servers/browser.ts',
  'tool-servers/browser-pages-client.ts',
  'store/postgres-server.ts',
].map((name) => join('test', 'fixtures', name));

/** Tests that are processor-intensive themselves, or check times under one second. */
const demandingOtherwise = [
  'automation/every-chat',
  'automation/every-chat-operated',
  'automation/every-repo-host-faults',
  'cluster/cluster',
  'cluster/cluster-at-length',
  'stdio/gateway-stdio',
  'stdio/gateway-stdio-clients',
];

/**
 * End-to-end tests that run with at most one process per processor and nothing else: four on two processors
 * take longer than two after two, and miss deadlines.
 */
export function demandingTests(): string[] {
  const named = new Set(demandingOtherwise.map(endToEnd));
  return testsIn('test/e2e').filter(
    (file) => named.has(file) || [...fixturesOf(file)].some((fixture) => demandingFixtures.includes(fixture)),
  );
}

const textOf = (file: string) => readFileSync(join(root, file), 'utf8');

/** Returns the files below a folder of the project, as paths from the root. */
export function filesIn(folder: string, isWanted: (name: string) => boolean): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(isWanted)
    .map((name) => join(folder, name))
    .sort();
}

export const testsIn = (folder: string) => filesIn(folder, (name) => name.endsWith('.test.ts'));
export const endToEnd = (name: string) => join('test', 'e2e', `${name}.test.ts`);

/** Returns true for a test file that uses each HTTP implementation by itself. */
export const hasBothEngines = (file: string) =>
  /\{[^}]*\bhttpEngines\b[^}]*\} from '[^']*\/http-engines\.ts'/.test(textOf(file));

/** The end-to-end tests that run a second time, on node:http. */
export function testsOnNodeHttp(): string[] {
  const one = new Set(Object.values(onOneEngine).flat().map(endToEnd));
  return testsIn('test/e2e').filter((file) => !one.has(file) && !hasBothEngines(file));
}

/**
 * Unit and property tests that replace modules, timers or clocks, or use a database. Each runs in its own
 * process, so that it cannot affect later files: a module that is loaded under replaced timers retains them.
 */
export function testsApart(): string[] {
  return [...testsIn('test/unit'), ...testsIn('test/property')].filter((file) =>
    [file, ...fixturesOf(file)].some((each) => changesItsProcess.test(textOf(each))),
  );
}

const changesItsProcess =
  /\bvi\.(mock|stub|useFake|spyOn)|\bprocess\.(chdir|umask|env\.\w+ = )|\b(Date|performance)\.now = |\/shared-postgres\.ts'/;

/** Fixtures with their own hooks, which a shared process would run for the first file only. */
export function fixturesWithHooks(): string[] {
  return filesIn('test/fixtures', (name) => name.endsWith('.ts')).filter((file) =>
    /^(before|after)(All|Each)\(/m.test(textOf(file)),
  );
}

/** Returns the fixtures imported by a file, directly or indirectly. */
function fixturesOf(file: string, fixtures = new Set<string>()): Set<string> {
  for (const [, name = ''] of textOf(file).matchAll(/ from '(\.[^']+\.ts)'/g)) {
    const fixture = relative(root, resolve(root, dirname(file), name));
    if (!fixture.startsWith(join('test', 'fixtures')) || fixtures.has(fixture)) continue;
    fixtures.add(fixture);
    fixturesOf(fixture, fixtures);
  }
  return fixtures;
}

/** Returns the tests whose properties make all their runs in `npm run test:long` only. */
export function propertiesAtLength(): string[] {
  return [...testsIn('test/unit'), ...testsIn('test/property')].filter((file) =>
    /\bproperty-runs\.ts'/.test(textOf(file)),
  );
}

/** File position in the start order; unlisted files share the last position. */
export function turnOf(file: string): number {
  const index = slow.map(endToEnd).indexOf(relative(root, file));
  return index === -1 ? slow.length : index;
}
