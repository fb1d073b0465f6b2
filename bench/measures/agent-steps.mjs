// Cost of an agent step: planning, the journal, and the tool call.

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { startAgentGateway, startBareAgent, startModel } from '../agents.mjs';

const gatewayRow = 'gateway';
const bareLoopRow = 'bare loop of `ai`';
const differenceRow = 'gateway, more';
const disk = 'disk: two times write and fdatasync';
const SHORT = 20;
const LONG = 100;
/** Number of steps compared at the start and the end of a long run. */
const PART = 10;

export const name = 'agent-steps';
export const title = 'Steps of an agent';
export const about = `A run of ${SHORT} steps. In each step the model requests one tool call and receives its result. The value is
the time between two model requests, in milliseconds, as the model server sees it. This server is a separate
process that responds immediately, in OpenAI's protocol. The tool is on a stdio server without an SDK, which
returns its arguments. The gateway writes each step to disk twice: the model's answer before the call, and the
result before the next request.

- Bare loop (\`bench/bare-agent.mjs\`): \`streamText\` of the same \`ai\`, step by step, with the same provider
  package and the official MCP client. It stores nothing.
- Both alternate: one run at a time, then 16 concurrently.
- "CPU": processor time of the process with all threads, per step; the least affected by other load. p10 shows
  the least disturbed steps.
- The last columns are runs of ${LONG} steps, one at a time: p50 of the first and the last ${PART} steps,
  because each request contains the whole history.
- "More": the gateway minus the bare loop, within a round.
- The disk's row appends 1 KB to a file and waits for \`fdatasync\`, twice: the minimum for a durable step.`;
export const goals = [{ row: differenceRow, column: 'p50 at 1', limit: 2, unit: 'ms', sense: 'at most' }];
export const tables = ['p50', 'p10', 'p95', 'CPU', 'steps'];

/** Returns a percentile; `part` is from 0 to 1. */
const percentile = (part, values) => values.toSorted((a, b) => a - b)[Math.floor(values.length * part)];

export async function* run(bench) {
  const model = await startModel(bench);
  const rows = [[gatewayRow, await startAgentGateway(bench, model)]];
  if (!bench.isAlone) rows.push([bareLoopRow, await startBareAgent(bench, model)]);
  let runs = 0;
  /** Starts `concurrency` concurrent runs. Returns the durations of the steps, per run. */
  const stepsOf = async (worker, concurrency, steps) => {
    const ids = Array.from({ length: concurrency }, () => `${process.pid}x${runs++}`);
    const stepTimes = Promise.all(ids.map((id) => model.stepsOf(id)));
    await Promise.all(ids.map((id) => worker.ask(id, steps)));
    const took = await stepTimes;
    await worker.whenEnded(concurrency);
    return took;
  };
  const [short, long] = bench.isSmoke ? [2, 4] : [SHORT, LONG];
  const kinds = [
    { concurrency: 1, times: bench.isSmoke ? 1 : 10, steps: short },
    { concurrency: 16, times: bench.isSmoke ? 1 : 3, steps: short },
    { concurrency: 1, times: bench.isSmoke ? 1 : 3, steps: long },
  ];
  // The first runs start tool servers and compile code.
  if (!bench.isSmoke) for (const [, worker] of rows) await stepsOf(worker, 4, LONG);
  for (let round = 1; round <= bench.rounds; round += 1)
    for (const { concurrency, times, steps } of kinds) {
      const took = rows.map(() => []);
      const cpuSeconds = rows.map(() => 0);
      for (let time = 0; time < times; time += 1)
        for (const [at, [, worker]] of rows.entries()) {
          const before = worker.cpuSeconds();
          took[at].push(...(await stepsOf(worker, concurrency, steps)));
          cpuSeconds[at] += worker.cpuSeconds() - before;
        }
      const cpuMs = cpuSeconds.map((seconds, at) => (seconds * 1000) / took[at].flat().length);
      const figures = (steps === short ? figuresOf(concurrency) : partsOf(steps)).map(([column, of]) => [
        column,
        took.map(of),
      ]);
      if (steps === short) figures.push([`CPU at ${concurrency}`, cpuMs]);
      for (const [column, values] of figures) {
        for (const [at, [row]] of rows.entries()) yield { round, row, column, value: values[at], unit: 'ms' };
        if (rows.length > 1)
          yield { round, row: differenceRow, column, value: values[0] - values[1], unit: 'ms' };
      }
      if (!bench.isAlone && steps === short && concurrency === 1) yield* syncs(bench, round);
    }
  for (const { stop } of [...rows.map(([, worker]) => worker), model]) await stop();
}

function figuresOf(concurrency) {
  return [0.5, 0.1, 0.95].map((part) => [
    `p${part * 100} at ${concurrency}`,
    (took) => percentile(part, took.flat()),
  ]);
}

function partsOf(steps) {
  const part = Math.min(PART, steps / 2);
  return [
    [
      `steps 1 to ${part}`,
      (took) =>
        percentile(
          0.5,
          took.flatMap((each) => each.slice(0, part)),
        ),
    ],
    [
      `steps ${steps - part + 1} to ${steps}`,
      (took) =>
        percentile(
          0.5,
          took.flatMap((each) => each.slice(-part)),
        ),
    ],
  ];
}

function* syncs(bench, round) {
  const file = openSync(join(bench.makeFolder(), 'rows'), 'a');
  const row = Buffer.alloc(1024, 'x');
  const took = Array.from({ length: bench.isSmoke ? 1 : 100 }, () => {
    const startedAt = performance.now();
    for (let n = 0; n < 2; n += 1) {
      writeSync(file, row);
      fdatasyncSync(file);
    }
    return performance.now() - startedAt;
  });
  closeSync(file);
  for (const [column, of] of figuresOf(1)) yield { round, row: disk, column, value: of(took), unit: 'ms' };
}
