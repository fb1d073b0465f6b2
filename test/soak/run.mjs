// `npm run soak`: mixed load with faults, for minutes or hours. See `--help`.

import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Faults } from './faults.mjs';
import { soak } from './soak.mjs';

const root = resolve(import.meta.dirname, '..', '..');
const HELP = `usage: npm run soak -- [options]

Runs the built gateway with all kinds of triggers, tool servers (healthy and faulty) and clients. Meanwhile it
is killed, stopped, stalled and reloaded, its clock is changed, and its disk is filled. Then the faults end, and
the invariants are checked: no acknowledged event is lost, reordered or handled twice without a reason; no answer
reaches another call; no client blocks others; memory is bounded; nothing is left behind.

  --minutes N   duration of the faults (default 3), plus up to seven minutes for pending work
  --seed S      seed of the random numbers (default: a new one, which is printed). The same seed repeats the
                faults, but not their timing
  --without F   omits a fault; can be repeated. Faults:
                ${Faults.names.join(', ')}
  --json FILE   writes counts and fault times to a file
  --dist DIR    folder of the built gateway (default: dist)
  --help        prints this text

Exit code: 0 if all invariants held, otherwise 1; then the folder of the gateway is kept. Full disks require
Linux and unshare(1); otherwise they are omitted, which is printed.`;

const options = readArguments();
if (options.help) console.log(HELP);
else if (!existsSync(join(options.dist, 'main.js'))) {
  console.error(`no gateway in ${options.dist}; run npm run build`);
  process.exitCode = 2;
} else if (process.env.SOAK_CAN_MOUNT === undefined && hasUnshare()) await runWithMounts();
else await run();

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '3' },
        seed: { type: 'string' },
        without: { type: 'string', multiple: true, default: [] },
        json: { type: 'string' },
        dist: { type: 'string', default: process.env.ACTOR_GATEWAY_DIST ?? join(root, 'dist') },
        help: { type: 'boolean', default: false },
      },
    });
    const minutes = Number(values.minutes);
    if (!(minutes > 0 && minutes <= 10_000))
      throw new Error(`--minutes requires a number, not ${values.minutes}`);
    const unknown = values.without.find((name) => !Faults.names.includes(name));
    if (unknown !== undefined)
      throw new Error(`--without requires one of ${Faults.names.join(', ')}, not ${unknown}`);
    return {
      ...values,
      minutes,
      seed: values.seed ?? String(randomInt(2 ** 32)),
      dist: resolve(values.dist),
    };
  } catch (error) {
    console.error(`${error.message}; see --help`);
    process.exit(2);
  }
}

function hasUnshare() {
  return spawnSync('unshare', ['--map-root-user', '--mount', 'true'], { stdio: 'ignore' }).status === 0;
}

/** Runs this program in a mount namespace, in which it can mount a small disk. */
async function runWithMounts() {
  const args = [import.meta.filename, ...process.argv.slice(2), '--seed', options.seed];
  const child = spawn('unshare', ['--map-root-user', '--mount', process.execPath, ...args], {
    stdio: 'inherit',
    env: { ...process.env, SOAK_CAN_MOUNT: '1' },
  });
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  // A terminal sends the signal to both processes.
  process.on('SIGINT', () => {});
  const [code] = await once(child, 'exit');
  process.exitCode = code ?? 1;
}

async function run() {
  const canMount = process.env.SOAK_CAN_MOUNT === '1';
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => abort.abort());
  console.log(`seed ${options.seed}, ${options.minutes} minutes${canMount ? '' : ', without full disks'}`);
  const isTerminal = process.stderr.isTTY;
  const clear = isTerminal ? '\r\u001b[K' : '';
  const results = await soak({
    ...options,
    canMount,
    signal: abort.signal,
    onViolation: (line) => console.log(`${clear}VIOLATED ${line}`),
    onProgress: (journal) => {
      if (isTerminal) process.stderr.write(`${clear}${progressOf(journal)}`);
      else if (journal.seconds % 60 === 0) process.stderr.write(`${progressOf(journal)}\n`);
    },
  });
  if (isTerminal) process.stderr.write(clear);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 1)}\n`);
  for (const [name, times] of Object.entries(results.counts))
    console.log(`${String(times).padStart(9)}  ${name}`);
  const broken = Object.entries(results.violations);
  for (const [invariant, { times }] of broken) console.log(`VIOLATED ${times} times: ${invariant}`);
  if (broken.length === 0) console.log(`all invariants held, for ${results.seconds} s`);
  else
    console.log(
      `the gateway's folder is ${results.folder}; again: npm run soak -- --minutes ${options.minutes} --seed ${options.seed}`,
    );
  process.exit(broken.length === 0 ? 0 : 1);
}

function progressOf(journal) {
  const { counts, violations } = journal.figures();
  const faults = Object.entries(counts)
    .filter(([name]) => name.startsWith('fault: '))
    .reduce((sum, [, times]) => sum + times, 0);
  const { 'calls answered': calls = 0, attempts = 0 } = counts;
  return `${journal.seconds} s: ${faults} faults, ${attempts} attempts at events, ${calls} calls, ${Object.keys(violations).length} violations`;
}
