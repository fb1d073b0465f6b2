// `npm run bench`: measures this gateway beside others, in turns, and says what it saw. `--help` tells the rest.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { lockstep } from './lockstep.mjs';
import { killAll } from './processes.mjs';
import { againstReportOf, reportOf, rewritten, rewrittenAgainst } from './report.mjs';

const root = resolve(import.meta.dirname, '..');
const page = join(root, 'docs', 'benchmarks.md');
const folders = new Set();
const stopped = new AbortController();

/** Order of the document; a measure that is not named here comes last. */
const order = [
  ...['throughput', 'upstreams', 'call-cost', 'memory', 'sessions', 'servers'],
  ...['start', 'first-call', 'lists', 'results', 'streams', 'inspector'],
  ...['events', 'cluster', 'conversations', 'agent-steps', 'flow-steps', 'parked-runs'],
];

/** The measures that know `--only`. */
const loaded = ['throughput', 'upstreams', 'call-cost'];

/** Those that `--against` runs when none is named. */
const comparable = ['throughput', 'events', 'start'];

const measures = await allMeasures();
const asked = readArguments();
if (asked.help) {
  console.log(helpText());
} else {
  process.on('exit', cleanUp);
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])
    process.once(signal, () => {
      stopped.abort();
      process.exit(code);
    });
  try {
    await runAll();
    process.exit(0);
  } catch (error) {
    console.error(`\n${error.stack ?? error}`);
    process.exit(1);
  }
}

async function allMeasures() {
  const folder = join(import.meta.dirname, 'measures');
  const files = readdirSync(folder).filter((file) => file.endsWith('.mjs'));
  const found = await Promise.all(files.map((file) => import(join(folder, file))));
  const place = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);
  return found.sort((a, b) => place(a) - place(b) || a.name.localeCompare(b.name));
}

function readArguments() {
  const isFlag = { type: 'boolean', default: false };
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        json: { type: 'string' },
        dist: { type: 'string', default: process.env.ACTOR_GATEWAY_DIST ?? join(root, 'dist') },
        against: { type: 'string' },
        only: { type: 'string', default: '' },
        'node-args': { type: 'string', default: '' },
        write: isFlag,
        smoke: isFlag,
        help: isFlag,
      },
    });
    const unknown = positionals.filter((each) => !measures.some(({ name }) => name === each));
    if (unknown.length > 0) throw new Error(`no such measure: ${unknown.join(', ')}; --help lists them`);
    const against = values.against === undefined ? undefined : resolve(values.against);
    const wanted = positionals.length === 0 && against !== undefined ? comparable : positionals;
    const chosen = measures.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
    const rounds = numberOf('rounds', values.rounds ?? (values.smoke ? '1' : '5'));
    const seconds = values.smoke ? 0 : numberOf('seconds', values.seconds ?? '3');
    const isPartial = values.only !== '' || values['node-args'] !== '';
    if (values.write && (values.smoke || (isPartial && against === undefined)))
      throw new Error('--write goes with neither --smoke nor, but for --against, --only or --node-args');
    const nodeArgs = values['node-args'].split(' ').filter((arg) => arg !== '');
    const only = new RegExp(values.only);
    return { ...values, chosen, rounds, seconds, only, nodeArgs, dist: resolve(values.dist), against };
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

function numberOf(option, text) {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1) return number;
  throw new Error(`--${option} wants a whole number from 1, not ${text}`);
}

function helpText() {
  const width = Math.max(...measures.map(({ name }) => name.length));
  const list = measures.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`);
  return `usage: npm run bench -- [measures] [options]

Measures this gateway beside the bare relay and other gateways. Each round measures every row once, in turn; the tables
give the median of the rounds, with the least and the greatest. Needs wrk on the PATH; the first run installs the
other gateways from npm into bench/peers. Ends with 0 also where a goal is missed, with 1 where something was wrong.

${list.join('\n')}

  --rounds N    rounds (default 5)
  --seconds N   length of each run under load (default 3)
  --json FILE   all samples and the environment
  --write       also write the figures into docs/benchmarks.md; only the sections of the measures that ran
  --smoke       tiny sizes, to see that everything works: no wrk, no other gateways, no figures
  --dist DIR    folder of the built gateway (default: dist)
  --against DIR a second build, measured step by step with the first; gives the medians of both and their ratio. Rows of
                the gateway only, without other gateways; without names: ${comparable.join(', ')}
  --only RE     only rows whose name matches, in the measures under load (${loaded.join(', ')})
  --node-args S arguments for Node in each gateway process, separated by spaces, such as --cpu-prof
  --help        this text`;
}

async function runAll() {
  for (const dist of builds())
    if (!existsSync(join(dist, 'main.js')))
      throw new Error(`there is no gateway in ${dist}; npm run build makes it`);
  const environment = environmentOf();
  const names = builds().map(commitOf);
  const results = [];
  for (const measure of asked.chosen) {
    const samples = [];
    const startedAt = Date.now();
    let last = '';
    for await (const sample of samplesOf(measure)) {
      samples.push(sample);
      const place = `round ${sample.round} of ${asked.rounds}: ${sample.row}`;
      if (place !== last) progress(measure, place);
      last = place;
    }
    progress(measure, `done in ${Math.round((Date.now() - startedAt) / 1000)} s\n`);
    results.push({ name: measure.name, environment, samples });
    const report = asked.against === undefined ? reportOf(measure, samples) : againstReportOf(names, samples);
    if (!asked.smoke) console.log(`## ${measure.title}\n\n${report}\n`);
    save(results);
  }
}

/** The second one first: it is what the other is measured against. */
function builds() {
  return asked.against === undefined ? [asked.dist] : [asked.against, asked.dist];
}

function samplesOf(measure) {
  const benches = builds().map((dist) => benchFor(measure, dist));
  return asked.against === undefined ? measure.run(benches[0]) : lockstep(measure.run, benches);
}

function benchFor(measure, dist) {
  return {
    rounds: asked.rounds,
    seconds: asked.seconds,
    isSmoke: asked.smoke,
    // What is not of the gateway is the same for both builds.
    isAlone: asked.against !== undefined,
    isWanted: (row) => asked.only.test(row) && (asked.against === undefined || row.startsWith('gateway')),
    nodeArgs: asked.nodeArgs,
    dist,
    signal: stopped.signal,
    progress: (text) => progress(measure, text),
    makeFolder() {
      const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-bench-'));
      folders.add(folder);
      return folder;
    },
  };
}

/** After each measure, so that an hour's figures are not lost with the last minute's failure. */
function save(results) {
  if (asked.json !== undefined)
    writeFileSync(asked.json, `${JSON.stringify({ measures: results }, null, 1)}\n`);
  if (!asked.write) return;
  const done = results.map(({ name, environment, samples }) => ({
    measure: measures.find((each) => each.name === name),
    environment,
    samples,
  }));
  const text = readFileSync(page, 'utf8');
  const names = builds().map(commitOf);
  writeFileSync(
    page,
    asked.against === undefined ? rewritten(text, done) : rewrittenAgainst(text, names, done),
  );
}

function environmentOf() {
  const [cpu] = cpus();
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: builds().map(commitOf).join(' and '),
    node: process.version,
    cpu: cpu?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGB: Math.round(totalmem() / 2 ** 30),
    rounds: asked.rounds,
    seconds: asked.seconds,
  };
}

/** Of the tree in which a build lies. */
function commitOf(dist) {
  const cwd = resolve(dist, '..');
  const git = (...args) => execFileSync('git', args, { cwd, encoding: 'utf8', stdio: 'pipe' }).trim();
  try {
    const hash = git('rev-parse', '--short', 'HEAD');
    return git('status', '--porcelain', 'src', 'actors', 'machines', 'config') === ''
      ? hash
      : `${hash} and changes`;
  } catch {
    return 'unknown';
  }
}

function progress({ name }, text) {
  const isTerminal = process.stderr.isTTY;
  if (isTerminal) process.stderr.write(`\r\u001b[K\u001b[2m${name}\u001b[0m ${text}`);
  else process.stderr.write(`${name} ${text.trimEnd()}\n`);
}

function cleanUp() {
  killAll();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
