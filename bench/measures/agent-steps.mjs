// Cost of one step of an agent's run: computing the next step, storing it in the journal (the rows of the
// run), and the tool call.

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { startAgentGateway, startBareAgent, startModel } from '../agents.mjs';

const gatewayRow = 'gateway';
const bareLoopRow = 'bare loop of `ai`';
const differenceRow = 'gateway, more';
const diskRow = 'disk: two times write and fdatasync';
/** Numbers of steps: short run and long run. */
const SHORT = 20;
const LONG = 100;
/** Number of steps compared at both ends of the long run. */
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

/** Returns a percentile; `fraction` is from 0 to 1. */
const percentile = (fraction, values) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * fraction)];

export async function* run(bench) {
  const model = await startModel(bench);
  const rows = [[gatewayRow, await startAgentGateway(bench, model)]];
  if (!bench.isAlone) rows.push([bareLoopRow, await startBareAgent(bench, model)]);
  let runs = 0;
  /** Executes `concurrency` concurrent runs. Returns the durations of the steps, per run. */
  const timeSteps = async (worker, concurrency, steps) => {
    const ids = Array.from({ length: concurrency }, () => `${process.pid}x${runs++}`);
    const stepTimes = Promise.all(ids.map((id) => model.stepsOf(id)));
    await Promise.all(ids.map((id) => worker.ask(id, steps)));
    const durations = await stepTimes;
    await worker.whenEnded(concurrency);
    return durations;
  };
  const [short, long] = bench.isSmoke ? [2, 4] : [SHORT, LONG];
  const kinds = [
    { concurrency: 1, times: bench.isSmoke ? 1 : 10, steps: short },
    { concurrency: 16, times: bench.isSmoke ? 1 : 3, steps: short },
    { concurrency: 1, times: bench.isSmoke ? 1 : 3, steps: long },
  ];
  // The first runs start tool servers and compile code.
  if (!bench.isSmoke) for (const [, worker] of rows) await timeSteps(worker, 4, LONG);
  for (let round = 1; round <= bench.rounds; round += 1)
    for (const { concurrency, times, steps } of kinds) {
      // Per row: the step durations, by run.
      const durations = rows.map(() => []);
      const cpuSeconds = rows.map(() => 0);
      for (let time = 0; time < times; time += 1)
        for (const [at, [, worker]] of rows.entries()) {
          const before = worker.cpuSeconds();
          durations[at].push(...(await timeSteps(worker, concurrency, steps)));
          cpuSeconds[at] += worker.cpuSeconds() - before;
        }
      const cpuMs = cpuSeconds.map((seconds, at) => (seconds * 1000) / durations[at].flat().length);
      const columns = steps === short ? percentileColumns(concurrency) : partColumns(steps);
      const figures = columns.map(([column, figureOf]) => [column, durations.map(figureOf)]);
      if (steps === short) figures.push([`CPU at ${concurrency}`, cpuMs]);
      for (const [column, values] of figures) {
        for (const [at, [row]] of rows.entries()) yield { round, row, column, value: values[at], unit: 'ms' };
        if (rows.length > 1)
          yield { round, row: differenceRow, column, value: values[0] - values[1], unit: 'ms' };
      }
      if (!bench.isAlone && steps === short && concurrency === 1) yield* diskSamples(bench, round);
    }
  for (const { stop } of [...rows.map(([, worker]) => worker), model]) await stop();
}

/** Returns pairs: a column's name and the function that computes its value from the durations per run. */
function percentileColumns(concurrency) {
  return [0.5, 0.1, 0.95].map((fraction) => [
    `p${fraction * 100} at ${concurrency}`,
    (durations) => percentile(fraction, durations.flat()),
  ]);
}

/** Returns such pairs for the medians of the first and the last steps. */
function partColumns(steps) {
  const count = Math.min(PART, steps / 2);
  const medianOf = (durations, ...range) =>
    percentile(
      0.5,
      durations.flatMap((each) => each.slice(...range)),
    );
  return [
    [`steps 1 to ${count}`, (durations) => medianOf(durations, 0, count)],
    [`steps ${steps - count + 1} to ${steps}`, (durations) => medianOf(durations, -count)],
  ];
}

/** Yields the duration of the minimum for a durable step: 1 KB written and synced to disk, twice. */
function* diskSamples(bench, round) {
  const file = openSync(join(bench.makeFolder(), 'rows'), 'a');
  const row = Buffer.alloc(1024, 'x');
  const durations = Array.from({ length: bench.isSmoke ? 1 : 100 }, () => {
    const startedAt = performance.now();
    for (let n = 0; n < 2; n += 1) {
      writeSync(file, row);
      fdatasyncSync(file);
    }
    return performance.now() - startedAt;
  });
  closeSync(file);
  for (const [column, figureOf] of percentileColumns(1))
    yield { round, row: diskRow, column, value: figureOf(durations), unit: 'ms' };
}
