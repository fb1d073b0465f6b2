// Gateway start time.

import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { startGateway } from '../gateway.mjs';
import { loadedCodeBytes } from '../loaded-code.mjs';
import { rawEcho } from '../targets.mjs';
import { timeListener, timeRun, timeStart } from '../timed-start.mjs';

const healthRow = 'gateway, to /health';
const bareNodeRow = 'node -e 0';
const bareBundleRow = 'bare bundle, to /health';
const timeColumn = 'time';
const minRounds = 10;

export const name = 'start';
export const title = 'Start of the process';
export const about = `Milliseconds from the start of the process, with one server in the catalog, to the first 200 at \`/health\`. The
request is sent when the gateway reports its address.

- \`node -e 0\` is measured from start to end in the same round.
- The bare bundle loads the same packages (xstate, pino, yaml, typebox, uWebSockets.js) and answers \`/health\`.
- This measure has at least ${minRounds} rounds, after an uncounted one, also if the line below the tables names fewer.
- "Heap" is the heap in use after a forced collection when the gateway is healthy.
- "Code" is the size of the gateway's own files that were read; it is the same in each round.`;
export const goals = [
  { row: healthRow, column: timeColumn, against: bareNodeRow, factor: 2.5, sense: 'at most' },
];

export async function* run(bench) {
  const rounds = bench.isSmoke ? 1 : Math.max(minRounds, bench.rounds);
  // Creates configuration and state folder.
  const { folder, stop } = await startGateway(bench, { servers: { echo: rawEcho } });
  await stop();
  const bareBundle = bench.isAlone ? undefined : await buildBareBundle(bench);
  const rows = [
    [bareNodeRow, () => timeRun(bench, ['-e', '0'])],
    [healthRow, () => timeStart(bench, folder)],
    ...(bareBundle === undefined ? [] : [[bareBundleRow, () => timeListener(folder, [bareBundle])]]),
    ['gateway --version', () => timeRun(bench, [join(bench.dist, 'main.js'), '--version'])],
  ];
  // Round 0 is the warm-up.
  for (let round = bench.isSmoke ? 1 : 0; round <= rounds; round += 1) {
    for (const [row, measure] of rows) {
      const value = await measure();
      if (round > 0) yield { round, row, column: timeColumn, value, unit: 'ms' };
    }
    if (round === 0) continue;
    yield { round, row: healthRow, column: 'heap', value: (await heapBytes(bench)) / 1e6, unit: 'MB' };
    yield { round, row: healthRow, column: 'code', value: loadedCodeBytes(bench.dist) / 1e3, unit: 'KB' };
  }
}

async function heapBytes(bench) {
  const gateway = await startGateway(bench, { servers: { echo: rawEcho }, hasProbe: true });
  const { heapUsed } = await gateway.memory();
  await gateway.stop();
  return heapUsed;
}

/** Bundles a program with the packages of the gateway, which only answers /health. Returns its file. */
async function buildBareBundle(bench) {
  const root = resolve(import.meta.dirname, '../..');
  const folder = bench.makeFolder();
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const source = join(folder, 'source.mjs');
  writeFileSync(
    source,
    `import { pino } from 'pino';
import { Type } from 'typebox';
import { App, us_socket_local_port } from 'uWebSockets.js';
import { createActor, createMachine } from 'xstate';
import { parse } from 'yaml';
const port = parse('port: 0').port;
const actor = createActor(createMachine({ initial: 'on', states: { on: {} } })).start();
const log = pino({ base: { type: Type.Object({ port: Type.Integer() }).type } });
App()
  .get('/health', (res) => res.end(actor.getSnapshot().value))
  .listen('127.0.0.1', port, (socket) => log.info({ port: us_socket_local_port(socket) }));
`,
  );
  const outfile = join(folder, 'bundle.mjs');
  await build({
    entryPoints: [source],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['uWebSockets.js'],
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
  rmSync(source);
  return outfile;
}
