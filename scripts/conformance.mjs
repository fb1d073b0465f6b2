// `npm run conformance`: the public conformance suites, through the gateway at /mcp/:id, before servers of both eras
// over stdio and HTTP. What each row must give is said in `rows`. `--help` tells the rest.

import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runSuite, suites } from '../test/real/run-suite.mjs';
import { installReal } from '../test/real/setup.mjs';
import { Stage } from '../test/real/stage.mjs';

/** A shared server is never allowed to ask the client, since nobody could say which. */
const callsBack = [
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
];

const forSuite = { isForConformance: true };
const modernOnly = { isModernOnly: true };
const own = { isolation: 'session' };
/** Some scenarios have the server ask for roots. */
const roots = { forward_roots: true };

/** Fixture, way to it, its options, and fields of its catalog entry. */
const upstreams = {
  stdio: { fixture: 'everything', options: forSuite, entry: own },
  shared: { fixture: 'everything', options: forSuite, entry: { isolation: 'shared' } },
  http: { fixture: 'everything', isHttp: true, options: forSuite },
  'modern-stdio': { fixture: 'both-eras', options: modernOnly, entry: { ...roots, era: 'modern' } },
  'modern-http': {
    fixture: 'both-eras',
    isHttp: true,
    options: modernOnly,
    entry: { ...roots, era: 'modern' },
  },
  'auto-stdio': { fixture: 'both-eras', entry: { ...own, ...roots, era: 'auto' } },
  'auto-http': { fixture: 'both-eras', isHttp: true, entry: { ...roots, era: 'auto' } },
  'pinned-stdio': { fixture: 'both-eras', entry: { ...own, ...roots, era: 'legacy' } },
  'pinned-http': { fixture: 'both-eras', isHttp: true, entry: { ...roots, era: 'legacy' } },
};

/** `[upstream, suite, scenarios that may fail]`; all others must pass, or the row fails. */
const rows = [
  ['stdio', '0.1.16'],
  ['stdio', '2025-11-25'],
  ['http', '0.1.16'],
  ['http', '2025-11-25'],
  ['shared', '0.1.16', callsBack],
  ['shared', '2025-11-25', callsBack],
  ['modern-stdio', '2026-07-28'],
  ['modern-http', '2026-07-28'],
  ['auto-stdio', '0.1.16'],
  ['auto-stdio', '2025-11-25'],
  ['auto-stdio', '2026-07-28'],
  ['auto-http', '0.1.16'],
  ['auto-http', '2025-11-25'],
  ['auto-http', '2026-07-28'],
];

/** Client of one era, server of the other: shown with `--crossings`, and no reason to fail. */
const crossings = [
  ['modern-stdio', '0.1.16'],
  ['modern-stdio', '2025-11-25'],
  ['modern-http', '0.1.16'],
  ['modern-http', '2025-11-25'],
  ['pinned-stdio', '2026-07-28'],
  ['pinned-http', '2026-07-28'],
];

/** Without the gateway: what the fixtures themselves can do. */
const directRows = [
  ['http', '0.1.16'],
  ['http', '2025-11-25'],
  ['auto-http', '0.1.16'],
  ['auto-http', '2025-11-25'],
  ['auto-http', '2026-07-28'],
  ['modern-http', '2026-07-28'],
];

const help = `usage: npm run conformance -- [options]

Runs the public conformance suites through the gateway. Ends with 1 if a row does not give what it must.

  --runs N      run each row N times (default 1)
  --at-once N   run rows of up to N servers at the same time (default 1); those of one server come one after another
  --bail        end at the first run that fails
  --only RE     only rows whose name matches, such as "http/2026-07-28"
  --crossings   also the rows in which client and server are of different eras; they need not pass
  --direct      against the fixtures themselves, to tell their faults from the gateway's
  --list        only name the rows
  --json        one JSON object per run on stdout, instead of the table
  --verbose     with what the failed checks said
  --help        this text

ACTOR_GATEWAY_DIST names the folder of the built gateway (default: dist, built when needed).`;

const asked = readArguments();

const named = ([upstream, suite, mayFail = []], isRequired) => ({
  name: `${upstream}/${suite}`,
  upstream,
  suite,
  mayFail,
  isRequired,
});
const pattern = new RegExp(asked.only);
const chosen = [
  ...(asked.direct ? directRows : rows).map((row) => named(row, true)),
  ...(asked.crossings && !asked.direct ? crossings : []).map((row) => named(row, false)),
].filter(({ name }) => pattern.test(name));
const runs = Number(asked.runs);
const atOnce = Number(asked['at-once']);

if (asked.help) {
  console.log(help);
} else if (asked.list) {
  for (const { name } of chosen) console.log(name);
} else if (chosen.length === 0 || !(runs >= 1 && atOnce >= 1)) {
  console.error(
    chosen.length === 0 ? `no row matches ${asked.only}` : '--runs and --at-once want numbers from 1',
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
  const isFlag = { type: 'boolean', default: false };
  try {
    return parseArgs({
      options: {
        runs: { type: 'string', default: '1' },
        'at-once': { type: 'string', default: '1' },
        bail: isFlag,
        only: { type: 'string', default: '' },
        crossings: isFlag,
        direct: isFlag,
        list: isFlag,
        json: isFlag,
        verbose: isFlag,
        help: isFlag,
      },
    }).values;
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

function buildIfNeeded() {
  if (asked.direct || process.env.ACTOR_GATEWAY_DIST !== undefined) return;
  const setup = resolve(import.meta.dirname, 'setup.mjs');
  const { status } = spawnSync(process.execPath, [setup, '--all'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('the gateway could not be built');
}

async function runAll() {
  const stage = new Stage();
  const signalled = () => void stage.close().then(() => process.exit(130));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, signalled);
  try {
    const addresses = await raise(stage);
    const width = Math.max(...chosen.map(({ name }) => name.length));
    // Rows wait for clocks most of the time. Two suites before one server would be in each other's way.
    const rowsOf = (id) => chosen.filter(({ upstream }) => upstream === id);
    const waiting = [...new Set(chosen.map(({ upstream }) => upstream))].sort(
      (a, b) => rowsOf(b).length - rowsOf(a).length,
    );
    let isAllWell = true;
    let isOver = false;
    const runRow = async (row) => {
      const results = [];
      for (let run = 1; run <= runs; run += 1) {
        const result = await runSuite(row.suite, addresses[row.upstream], stage.outputFolder());
        const verdict = judge(row, result);
        results.push(verdict);
        if (asked.json) console.log(JSON.stringify({ row: row.name, run, ...verdict }));
        if (!verdict.isOk && asked.bail) break;
      }
      if (!asked.json) show(row, results, width);
      const isBad = row.isRequired && results.some(({ isOk }) => !isOk);
      isAllWell &&= !isBad;
      isOver ||= isBad && asked.bail;
    };
    const runNext = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        for (const row of rowsOf(next)) if (!isOver) await runRow(row);
    };
    await Promise.all(Array.from({ length: atOnce }, runNext));
    return isAllWell;
  } finally {
    await stage.close();
  }
}

/** Starts what the chosen rows need; gives the address of each upstream. */
async function raise(stage) {
  const needed = [...new Set(chosen.map(({ upstream }) => upstream))];
  const entries = {};
  for (const id of needed) {
    const { fixture, isHttp = false, options = {}, entry = {} } = upstreams[id];
    const to = isHttp ? { url: await stage.overHttp(fixture, options) } : stage.overStdio(fixture, options);
    entries[id] = { ...to, ...entry };
  }
  if (asked.direct) return Object.fromEntries(needed.map((id) => [id, entries[id].url]));
  const gateway = await stage.gateway(entries);
  return Object.fromEntries(needed.map((id) => [id, `${gateway}/mcp/${id}`]));
}

/** A row that reports fewer scenarios than its suite has is no success, whatever they say. */
function judge({ suite, mayFail }, result) {
  const unexpected = result.failed.filter(({ scenario }) => !mayFail.includes(scenario));
  const expected = suites[suite].total;
  const trouble =
    result.trouble ??
    (result.total === expected ? undefined : `reported ${result.total} scenarios of ${expected}`);
  return { isOk: unexpected.length === 0 && trouble === undefined, unexpected, ...result, trouble };
}

function show(row, results, width) {
  const good = results.filter(({ isOk }) => isOk).length;
  const least = results.reduce((worst, each) => (each.passed < worst.passed ? each : worst));
  const word = good === results.length ? 'ok  ' : row.isRequired ? 'FAIL' : 'part';
  const { passed, total, checks } = least;
  const seconds = results.reduce((sum, each) => sum + each.seconds, 0) / results.length;
  const counts = `${passed}/${total} (${checks.passed}/${checks.passed + checks.failed} checks)`;
  const times = results.length > 1 ? `${good}/${results.length} runs, ` : '';
  console.log(`${word} ${row.name.padEnd(width)}  ${counts.padEnd(24)} ${times}${seconds.toFixed(1)} s`);
  const counted = new Map();
  for (const { failed } of results)
    for (const { scenario, messages } of failed) {
      const before = counted.get(scenario) ?? { times: 0, messages };
      counted.set(scenario, { ...before, times: before.times + 1 });
    }
  const shown = [...counted].slice(0, asked.verbose ? counted.size : 12);
  for (const [scenario, { times: often, messages }] of shown) {
    const mayFail = row.mayFail.includes(scenario) ? ' (may fail here)' : '';
    console.log(`       ${scenario}${often === results.length ? '' : ` in ${often} runs`}${mayFail}`);
    if (asked.verbose && mayFail === '') for (const message of messages) console.log(`         ${message}`);
  }
  if (counted.size > shown.length) console.log(`       and ${counted.size - shown.length} more (--verbose)`);
  for (const { trouble } of results) if (trouble !== undefined) console.log(`       ${trouble}`);
}
