// `npm run conformance`: runs the public MCP conformance suites through the gateway at /mcp/:id, against test
// servers of both eras (MCP with sessions, and 2026-07-28 without) over stdio and HTTP. A row is a
// combination of server and suite. See `--help`.

import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runSuite, suites } from '../test/real/run-suite.mjs';
import { installReal } from '../test/real/setup.mjs';
import { Stage } from '../test/real/stage.mjs';

/**
 * Scenarios in which the server sends requests to the client. They fail if several clients share the server,
 * because the gateway cannot select the client.
 */
const needsClientRequests = [
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
];

// Options of the fixtures, and fields of catalog entries.
const forSuite = { isForConformance: true };
const modernOnly = { isModernOnly: true };
const ownSession = { isolation: 'session' };
/** The server requests roots in some scenarios. */
const roots = { forward_roots: true };

/** Servers by id: fixture, transport, options, and fields of the catalog entry. */
const upstreams = {
  stdio: { fixture: 'everything', options: forSuite, entry: ownSession },
  shared: { fixture: 'everything', options: forSuite, entry: { isolation: 'shared' } },
  http: { fixture: 'everything', isHttp: true, options: forSuite },
  'modern-stdio': { fixture: 'both-eras', options: modernOnly, entry: { ...roots, era: 'modern' } },
  'modern-http': {
    fixture: 'both-eras',
    isHttp: true,
    options: modernOnly,
    entry: { ...roots, era: 'modern' },
  },
  'auto-stdio': { fixture: 'both-eras', entry: { ...ownSession, ...roots, era: 'auto' } },
  'auto-http': { fixture: 'both-eras', isHttp: true, entry: { ...roots, era: 'auto' } },
  'pinned-stdio': { fixture: 'both-eras', entry: { ...ownSession, ...roots, era: 'legacy' } },
  'pinned-http': { fixture: 'both-eras', isHttp: true, entry: { ...roots, era: 'legacy' } },
};

/** `[upstream, suite, scenarios that may fail]`. A row fails if any other scenario fails. */
const rows = [
  ['stdio', '0.1.16'],
  ['stdio', '2025-11-25'],
  ['http', '0.1.16'],
  ['http', '2025-11-25'],
  ['shared', '0.1.16', needsClientRequests],
  ['shared', '2025-11-25', needsClientRequests],
  ['modern-stdio', '2026-07-28'],
  ['modern-http', '2026-07-28'],
  ['auto-stdio', '0.1.16'],
  ['auto-stdio', '2025-11-25'],
  ['auto-stdio', '2026-07-28'],
  ['auto-http', '0.1.16'],
  ['auto-http', '2025-11-25'],
  ['auto-http', '2026-07-28'],
];

/** Rows with client and server of different eras, for `--crossings`. They may fail. */
const crossings = [
  ['modern-stdio', '0.1.16'],
  ['modern-stdio', '2025-11-25'],
  ['modern-http', '0.1.16'],
  ['modern-http', '2025-11-25'],
  ['pinned-stdio', '2026-07-28'],
  ['pinned-http', '2026-07-28'],
];

/** Rows without the gateway, for `--direct`. They show the faults of the fixtures. */
const directRows = [
  ['http', '0.1.16'],
  ['http', '2025-11-25'],
  ['auto-http', '0.1.16'],
  ['auto-http', '2025-11-25'],
  ['auto-http', '2026-07-28'],
  ['modern-http', '2026-07-28'],
];

const help = `usage: npm run conformance -- [options]

Runs the public conformance suites through the gateway. Exits with 1 if a required row fails.

  --runs N      run each row N times (default 1)
  --at-once N   run rows of up to N servers concurrently (default 1); rows of the same server run in sequence
  --bail        stop at the first failed run
  --only RE     run only rows with a matching name, such as "http/2026-07-28"
  --crossings   also run rows with client and server of different eras; they may fail
  --direct      test the fixtures without the gateway, to separate their faults from the gateway's
  --list        list the rows
  --json        print a JSON object per run instead of the table
  --verbose     show the messages of failed checks
  --help        show this help

ACTOR_GATEWAY_DIST: folder of the built gateway (default: dist, built if needed).`;

const flags = readArguments();

const rowOf = ([upstream, suite, mayFail = []], isRequired) => ({
  name: `${upstream}/${suite}`,
  upstream,
  suite,
  mayFail,
  isRequired,
});
const pattern = new RegExp(flags.only);
const selected = [
  ...(flags.direct ? directRows : rows).map((row) => rowOf(row, true)),
  ...(flags.crossings && !flags.direct ? crossings : []).map((row) => rowOf(row, false)),
].filter(({ name }) => pattern.test(name));
const runs = Number(flags.runs);
const atOnce = Number(flags['at-once']);

if (flags.help) {
  console.log(help);
} else if (flags.list) {
  for (const { name } of selected) console.log(name);
} else if (selected.length === 0 || !(runs >= 1 && atOnce >= 1)) {
  console.error(
    selected.length === 0 ? `no row matches ${flags.only}` : '--runs and --at-once must be at least 1',
  );
  process.exitCode = 2;
} else {
  try {
    await installReal();
    buildIfNeeded();
    process.exitCode = (await runAll()) ? 0 : 1;
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}

function readArguments() {
  const booleanOption = { type: 'boolean', default: false };
  try {
    return parseArgs({
      options: {
        runs: { type: 'string', default: '1' },
        'at-once': { type: 'string', default: '1' },
        bail: booleanOption,
        only: { type: 'string', default: '' },
        crossings: booleanOption,
        direct: booleanOption,
        list: booleanOption,
        json: booleanOption,
        verbose: booleanOption,
        help: booleanOption,
      },
    }).values;
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

function buildIfNeeded() {
  if (flags.direct || process.env.ACTOR_GATEWAY_DIST !== undefined) return;
  const setup = resolve(import.meta.dirname, 'setup.mjs');
  const { status } = spawnSync(process.execPath, [setup, '--all'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('the gateway could not be built');
}

async function runAll() {
  const stage = new Stage();
  const onSignal = () => void stage.close().then(() => process.exit(130));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, onSignal);
  try {
    const addresses = await startServers(stage);
    const width = Math.max(...selected.map(({ name }) => name.length));
    // Rows run concurrently, because suites mostly wait for timers. Rows of the same server run in sequence,
    // because they would interfere.
    const rowsOf = (id) => selected.filter(({ upstream }) => upstream === id);
    // Servers with many rows come first, because they take longest.
    const waiting = [...new Set(selected.map(({ upstream }) => upstream))].sort(
      (a, b) => rowsOf(b).length - rowsOf(a).length,
    );
    let hasPassed = true;
    /** True if a row has failed with `--bail`. */
    let isStopped = false;
    const runRow = async (row) => {
      const results = [];
      for (let run = 1; run <= runs; run += 1) {
        const result = await runSuite(row.suite, addresses[row.upstream], stage.outputFolder());
        const verdict = judge(row, result);
        results.push(verdict);
        if (flags.json) console.log(JSON.stringify({ row: row.name, run, ...verdict }));
        if (!verdict.isOk && flags.bail) break;
      }
      if (!flags.json) show(row, results, width);
      const isBad = row.isRequired && results.some(({ isOk }) => !isOk);
      hasPassed &&= !isBad;
      isStopped ||= isBad && flags.bail;
    };
    const runNext = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        for (const row of rowsOf(next)) if (!isStopped) await runRow(row);
    };
    await Promise.all(Array.from({ length: atOnce }, runNext));
    return hasPassed;
  } finally {
    await stage.close();
  }
}

/** Starts the servers for the selected rows. Returns the server addresses by id. */
async function startServers(stage) {
  const needed = [...new Set(selected.map(({ upstream }) => upstream))];
  const entries = {};
  for (const id of needed) {
    const { fixture, isHttp = false, options = {}, entry = {} } = upstreams[id];
    const transport = isHttp
      ? { url: await stage.overHttp(fixture, options) }
      : stage.overStdio(fixture, options);
    entries[id] = { ...transport, ...entry };
  }
  if (flags.direct) return Object.fromEntries(needed.map((id) => [id, entries[id].url]));
  const gateway = await stage.gateway(entries);
  return Object.fromEntries(needed.map((id) => [id, `${gateway}/mcp/${id}`]));
}

/** Compares a result with the expectation of the row. A row also fails if scenarios are missing. */
function judge({ suite, mayFail }, result) {
  const unexpected = result.failed.filter(({ scenario }) => !mayFail.includes(scenario));
  const expected = suites[suite].total;
  const trouble =
    result.trouble ??
    (result.total === expected ? undefined : `reported ${result.total} scenarios of ${expected}`);
  return { isOk: unexpected.length === 0 && trouble === undefined, unexpected, ...result, trouble };
}

/** Prints the figures of a row's worst run, and the scenarios that failed in any run. */
function show(row, results, width) {
  const passedRuns = results.filter(({ isOk }) => isOk).length;
  const worstRun = results.reduce((worst, each) => (each.passed < worst.passed ? each : worst));
  const failureLabel = row.isRequired ? 'FAIL' : 'part';
  const label = passedRuns === results.length ? 'ok  ' : failureLabel;
  const { passed, total, checks } = worstRun;
  const seconds = results.reduce((sum, each) => sum + each.seconds, 0) / results.length;
  const counts = `${passed}/${total} (${checks.passed}/${checks.passed + checks.failed} checks)`;
  const ratio = results.length > 1 ? `${passedRuns}/${results.length} runs, ` : '';
  console.log(`${label} ${row.name.padEnd(width)}  ${counts.padEnd(24)} ${ratio}${seconds.toFixed(1)} s`);
  /** By scenario: the number of runs in which it failed, and the messages of the first. */
  const failures = new Map();
  for (const { failed } of results)
    for (const { scenario, messages } of failed) {
      const failure = failures.get(scenario) ?? { failedRuns: 0, messages };
      failures.set(scenario, { ...failure, failedRuns: failure.failedRuns + 1 });
    }
  const shown = [...failures].slice(0, flags.verbose ? failures.size : 12);
  for (const [scenario, { failedRuns, messages }] of shown) {
    const expectation = row.mayFail.includes(scenario) ? ' (may fail here)' : '';
    console.log(
      `       ${scenario}${failedRuns === results.length ? '' : ` in ${failedRuns} runs`}${expectation}`,
    );
    if (flags.verbose && expectation === '')
      for (const message of messages) console.log(`         ${message}`);
  }
  if (failures.size > shown.length)
    console.log(`       and ${failures.size - shown.length} more (--verbose)`);
  for (const { trouble } of results) if (trouble !== undefined) console.log(`       ${trouble}`);
}
