// `npm run soak`: the gateway under everything at once, for minutes or hours. `--help` tells the rest.

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

Runs the built gateway with all kinds of triggers and tool servers, good and bad ones, and with everybody who uses it, while
it is killed, stopped, stalled and reloaded, its clock is set forward and back, and its disk is full. Then the faults end, and
what must hold is checked: nothing acknowledged is lost, out of order, or done twice without a reason; no answer goes to
another call; nobody stalls others; memory is bounded; nothing is left behind.

  --minutes N   how long faults go on (default 3); what is under way gets up to seven minutes more
  --seed S      what chance is made of (default: a new one, which is printed). The same seed brings the same faults, not the
                same timing
  --without F   leaves out a fault; may be given more than once. There are:
                ${Faults.names.join(', ')}
  --json FILE   what was counted, and when each fault was
  --dist DIR    folder of the built gateway (default: dist)
  --help        this text

Ends with 0 where everything held, with 1 where something did not; the folder of the gateway is kept then. Full disks need
Linux and unshare(1): elsewhere they are left out, which is said.`;

const asked = readArguments();
if (asked.help) console.log(HELP);
else if (!existsSync(join(asked.dist, 'main.js'))) {
  console.error(`there is no gateway in ${asked.dist}; npm run build makes it`);
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
      throw new Error(`--minutes wants a number, not ${values.minutes}`);
    const unknown = values.without.find((name) => !Faults.names.includes(name));
    if (unknown !== undefined)
      throw new Error(`--without wants one of ${Faults.names.join(', ')}, not ${unknown}`);
    return {
      ...values,
      minutes,
      seed: values.seed ?? String(randomInt(2 ** 32)),
      dist: resolve(values.dist),
    };
  } catch (error) {
    console.error(`${error.message}; --help tells more`);
    process.exit(2);
  }
}

function hasUnshare() {
  return spawnSync('unshare', ['--map-root-user', '--mount', 'true'], { stdio: 'ignore' }).status === 0;
}

/** The same once more where a small disk can be mounted that is gone with it. */
async function runWithMounts() {
  const args = [import.meta.filename, ...process.argv.slice(2), '--seed', asked.seed];
  const child = spawn('unshare', ['--map-root-user', '--mount', process.execPath, ...args], {
    stdio: 'inherit',
    env: { ...process.env, SOAK_CAN_MOUNT: '1' },
  });
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  // A terminal sends this one to both.
  process.on('SIGINT', () => {});
  const [code] = await once(child, 'exit');
  process.exitCode = code ?? 1;
}

async function run() {
  const canMount = process.env.SOAK_CAN_MOUNT === '1';
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopped.abort());
  console.log(`seed ${asked.seed}, ${asked.minutes} minutes${canMount ? '' : ', without full disks'}`);
  const isTerminal = process.stderr.isTTY;
  const clear = isTerminal ? '\r\u001b[K' : '';
  const seen = await soak({
    ...asked,
    canMount,
    signal: stopped.signal,
    onViolation: (line) => console.log(`${clear}VIOLATED ${line}`),
    onProgress: (journal) => {
      if (isTerminal) process.stderr.write(`${clear}${progressOf(journal)}`);
      else if (journal.seconds % 60 === 0) process.stderr.write(`${progressOf(journal)}\n`);
    },
  });
  if (isTerminal) process.stderr.write(clear);
  if (asked.json !== undefined) writeFileSync(asked.json, `${JSON.stringify(seen, null, 1)}\n`);
  for (const [what, times] of Object.entries(seen.counts))
    console.log(`${String(times).padStart(9)}  ${what}`);
  const broken = Object.entries(seen.violations);
  for (const [invariant, { times }] of broken) console.log(`VIOLATED ${times} times: ${invariant}`);
  if (broken.length === 0) console.log(`everything held, for ${seen.seconds} s`);
  else
    console.log(
      `the gateway's folder is ${seen.folder}; again: npm run soak -- --minutes ${asked.minutes} --seed ${asked.seed}`,
    );
  process.exit(broken.length === 0 ? 0 : 1);
}

function progressOf(journal) {
  const { counts, violations } = journal.figures();
  const faults = Object.entries(counts)
    .filter(([what]) => what.startsWith('fault: '))
    .reduce((sum, [, times]) => sum + times, 0);
  const { 'calls answered': calls = 0, attempts = 0 } = counts;
  return `${journal.seconds} s: ${faults} faults, ${attempts} attempts at events, ${calls} calls, ${Object.keys(violations).length} violations`;
}
