// `npm run bench`: measures this gateway and others alternately, and reports the results. See `--help`.
//
// A measure is a file in bench/measures: `run(bench)` yields samples, `about` is the text of the page,
// `goals` are checked in the report. `benchFor` creates the object that a measure receives.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { lockstep } from './lockstep.mjs';
import { killAll } from './processes.mjs';
import { comparisonReportOf, replaceComparison, replaceFigures, reportOf } from './report.mjs';

const root = resolve(import.meta.dirname, '..');
const docs = join(root, 'docs');
/** Temporary folders, removed at exit. */
const folders = new Set();
/** Aborted by Ctrl-C. */
const interruption = new AbortController();

/** Order in the document; other measures come last. */
const order = [
  'throughput',
  'upstreams',
  'call-cost',
  'memory',
  'sessions',
  'servers',
  'start',
  'first-call',
  'lists',
  'results',
  'streams',
  'inspector',
  'events',
  'cluster',
  'conversations',
  'agent-steps',
  'flow-steps',
  'parked-runs',
];

/** Measures that support `--only`. */
const underLoad = ['throughput', 'upstreams', 'call-cost'];

/** Default measures for `--against`. */
const comparable = ['throughput', 'events', 'start'];

const measures = await allMeasures();
const options = readArguments();
if (options.help) {
  console.log(helpText());
} else {
  process.on('exit', cleanUp);
  // Exit codes: 128 and the number of the signal.
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ])
    process.once(signal, () => {
      interruption.abort();
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
  const position = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);
  return found.sort((a, b) => position(a) - position(b) || a.name.localeCompare(b.name));
}

function readArguments() {
  const booleanOption = { type: 'boolean', default: false };
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
        write: booleanOption,
        smoke: booleanOption,
        help: booleanOption,
      },
    });
    const unknown = positionals.filter((each) => !measures.some(({ name }) => name === each));
    if (unknown.length > 0) throw new Error(`unknown measure: ${unknown.join(', ')}; see --help`);
    const against = values.against === undefined ? undefined : resolve(values.against);
    const names = positionals.length === 0 && against !== undefined ? comparable : positionals;
    const selected = measures.filter(({ name }) => names.length === 0 || names.includes(name));
    const rounds = parseNumber('rounds', values.rounds ?? (values.smoke ? '1' : '5'));
    const seconds = values.smoke ? 0 : parseNumber('seconds', values.seconds ?? '3');
    const isPartial = values.only !== '' || values['node-args'] !== '';
    if (values.write && (values.smoke || (isPartial && against === undefined)))
      throw new Error(
        '--write cannot be combined with --smoke; with --only or --node-args it requires --against',
      );
    const nodeArgs = values['node-args'].split(' ').filter((arg) => arg !== '');
    const only = new RegExp(values.only);
    return { ...values, selected, rounds, seconds, only, nodeArgs, dist: resolve(values.dist), against };
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

function parseNumber(option, text) {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1) return number;
  throw new Error(`--${option} must be a whole number from 1, not ${text}`);
}

function helpText() {
  const width = Math.max(...measures.map(({ name }) => name.length));
  const list = measures.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`);
  return `usage: npm run bench -- [measures] [options]

Measures this gateway, other gateways, and a minimal relay without features (the bare relay). Each round measures
every row once, in alternating order; the tables contain the median of the rounds, with minimum and maximum. Requires wrk on the PATH; the first run installs the
other gateways from npm into bench/peers. Exits with 0 even if a goal is missed, with 1 after an error.

${list.join('\n')}

  --rounds N    rounds (default 5)
  --seconds N   length of each run under load (default 3)
  --json FILE   write all samples and the environment
  --write       update the figures of the selected measures in docs/benchmarks*.md
  --smoke       functional test with tiny sizes: no wrk, no other gateways, no figures
  --dist DIR    folder of the built gateway (default: dist)
  --against DIR compare with a second build, step by step: medians of both and their ratio. Rows of
                the gateway only; default measures: ${comparable.join(', ')}
  --only RE     only rows whose name matches, in the measures under load (${underLoad.join(', ')})
  --node-args S arguments for Node in each gateway process, separated by spaces, such as --cpu-prof
  --help        this text`;
}

async function runAll() {
  for (const dist of builds())
    if (!existsSync(join(dist, 'main.js')))
      throw new Error(`there is no gateway in ${dist}; run npm run build`);
  const environment = environmentOf();
  const names = builds().map(commitOf);
  const results = [];
  for (const measure of options.selected) {
    const samples = [];
    const startedAt = Date.now();
    let lastStep = '';
    for await (const sample of samplesOf(measure)) {
      samples.push(sample);
      const step = `round ${sample.round} of ${options.rounds}: ${sample.row}`;
      if (step !== lastStep) progress(measure, step);
      lastStep = step;
    }
    progress(measure, `done in ${Math.round((Date.now() - startedAt) / 1000)} s\n`);
    results.push({ name: measure.name, environment, samples });
    const report =
      options.against === undefined ? reportOf(measure, samples) : comparisonReportOf(names, samples);
    if (!options.smoke) console.log(`## ${measure.title}\n\n${report}\n`);
    save(results);
  }
}

/** Returns the folders of the measured builds. The `--against` build comes first, as the baseline. */
function builds() {
  return options.against === undefined ? [options.dist] : [options.against, options.dist];
}

function samplesOf(measure) {
  const benches = builds().map((dist) => benchFor(measure, dist));
  return options.against === undefined ? measure.run(benches[0]) : lockstep(measure.run, benches);
}

/** Returns the object that a measure receives: options, and functions for folders and progress. */
function benchFor(measure, dist) {
  return {
    rounds: options.rounds,
    seconds: options.seconds,
    isSmoke: options.smoke,
    /** True with `--against`: other programs are not measured, because they are equal for both builds. */
    isAlone: options.against !== undefined,
    isWanted: (row) => options.only.test(row) && (options.against === undefined || row.startsWith('gateway')),
    nodeArgs: options.nodeArgs,
    dist,
    signal: interruption.signal,
    progress: (text) => progress(measure, text),
    makeFolder() {
      const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-bench-'));
      folders.add(folder);
      return folder;
    },
  };
}

/** Writes the results so far. Called after each measure, so that a later failure loses no figures. */
function save(results) {
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ measures: results }, null, 1)}\n`);
  if (!options.write) return;
  const done = results.map(({ name, environment, samples }) => ({
    measure: measures.find((each) => each.name === name),
    environment,
    samples,
  }));
  const names = builds().map(commitOf);
  if (options.against !== undefined) rewritePage('against', (text) => replaceComparison(text, names, done));
  else for (const result of done) rewritePage(result.measure.name, (text) => replaceFigures(text, result));
}

/** Rewrites the page that contains the figures `name`. */
function rewritePage(name, rewrite) {
  const pages = readdirSync(docs).filter((file) => /^benchmarks.*\.md$/.test(file));
  const texts = pages.map((file) => [join(docs, file), readFileSync(join(docs, file), 'utf8')]);
  const found = texts.find(([, text]) => text.includes(`<!-- figures: ${name} -->`));
  if (found === undefined) throw new Error(`no page has a section for the figures of ${name}`);
  const [path, text] = found;
  writeFileSync(path, rewrite(text));
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
    rounds: options.rounds,
    seconds: options.seconds,
  };
}

/** Returns the commit of the checkout that contains a build. */
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
  // Replaces the line, with the name in a dim color.
  if (isTerminal) process.stderr.write(`\r\u001b[K\u001b[2m${name}\u001b[0m ${text}`);
  else process.stderr.write(`${name} ${text.trimEnd()}\n`);
}

function cleanUp() {
  killAll();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
