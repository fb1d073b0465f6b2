// What a step of an agent costs: its journal, its plan, the way to its tool.

import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { startAgentGateway, startBareAgent, startModel } from '../agents.mjs';

const ours = 'gateway';
const bare = 'bare loop of `ai`';
const more = 'gateway, more';
const disk = 'disk: two times write and fdatasync';
const SHORT = 20;
const LONG = 100;
/** Of a long run, at its beginning and at its end. */
const PART = 10;

export const name = 'agent-steps';
export const title = 'Steps of an agent';
export const about = `A run of ${SHORT} steps: in each the model wants one call of a tool and is told its result. Milliseconds from one question to the
next, as the model sees them: a server in a process of its own that answers at once, in OpenAI's protocol. The tool is the raw echo at
stdio. The gateway writes each step to disk twice before it goes on: the answer before the call, the result before the next question.
The bare loop (\`bench/bare-agent.mjs\`) is \`streamText\` of the same \`ai\`, step by step, with the same provider's package and the official MCP client;
it keeps nothing. Both in turn, run by run: one run at a time, then 16 at once. "CPU" is processor time of the process, threads among it, for
each step: what else runs on the machine disturbs it least; p10 tells of the steps that were least disturbed. The last columns are of runs of ${LONG} steps, one at
a time: p50 of its first and of its last ${PART} steps, since each question brings all that was said before. "More" is the difference of the two in the same round.
The disk's row appends 1 KB to a file and waits for \`fdatasync\`, twice, which is what a step has to wait for whatever writes it.`;
export const goals = [{ row: more, column: 'p50 at 1', limit: 2, unit: 'ms', sense: 'at most' }];
export const tables = ['p50', 'p10', 'p95', 'CPU', 'steps'];

const p = (part, values) => values.toSorted((a, b) => a - b)[Math.floor(values.length * part)];

export async function* run(bench) {
  const model = await startModel(bench);
  const rows = [[ours, await startAgentGateway(bench, model)]];
  if (!bench.isAlone) rows.push([bare, await startBareAgent(bench, model)]);
  let runs = 0;
  /** Steps of so many runs side by side. */
  const stepsOf = async (worker, atOnce, steps) => {
    const ids = Array.from({ length: atOnce }, () => `${process.pid}x${runs++}`);
    const taken = Promise.all(ids.map((id) => model.stepsOf(id)));
    await Promise.all(ids.map((id) => worker.ask(id, steps)));
    const took = await taken;
    await worker.ended(atOnce);
    return took;
  };
  const [short, long] = bench.isSmoke ? [2, 4] : [SHORT, LONG];
  const kinds = [
    { atOnce: 1, times: bench.isSmoke ? 1 : 10, steps: short },
    { atOnce: 16, times: bench.isSmoke ? 1 : 3, steps: short },
    { atOnce: 1, times: bench.isSmoke ? 1 : 3, steps: long },
  ];
  // The first runs start the servers of tools, and compile.
  if (!bench.isSmoke) for (const [, worker] of rows) await stepsOf(worker, 4, LONG);
  for (let round = 1; round <= bench.rounds; round += 1)
    for (const { atOnce, times, steps } of kinds) {
      const took = rows.map(() => []);
      const spent = rows.map(() => 0);
      for (let time = 0; time < times; time += 1)
        for (const [at, [, worker]] of rows.entries()) {
          const before = worker.cpuSeconds();
          took[at].push(...(await stepsOf(worker, atOnce, steps)));
          spent[at] += worker.cpuSeconds() - before;
        }
      const cpuMs = spent.map((seconds, at) => (seconds * 1000) / took[at].flat().length);
      const figures = (steps === short ? figuresOf(atOnce) : partsOf(steps)).map(([column, of]) => [
        column,
        took.map(of),
      ]);
      if (steps === short) figures.push([`CPU at ${atOnce}`, cpuMs]);
      for (const [column, values] of figures) {
        for (const [at, [row]] of rows.entries()) yield { round, row, column, value: values[at], unit: 'ms' };
        if (rows.length > 1) yield { round, row: more, column, value: values[0] - values[1], unit: 'ms' };
      }
      if (!bench.isAlone && steps === short && atOnce === 1) yield* syncs(bench, round);
    }
  for (const { stop } of [...rows.map(([, worker]) => worker), model]) await stop();
}

function figuresOf(atOnce) {
  return [0.5, 0.1, 0.95].map((part) => [`p${part * 100} at ${atOnce}`, (took) => p(part, took.flat())]);
}

function partsOf(steps) {
  const part = Math.min(PART, steps / 2);
  return [
    [
      `steps 1 to ${part}`,
      (took) =>
        p(
          0.5,
          took.flatMap((each) => each.slice(0, part)),
        ),
    ],
    [
      `steps ${steps - part + 1} to ${steps}`,
      (took) =>
        p(
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
    const began = performance.now();
    for (let n = 0; n < 2; n += 1) {
      writeSync(file, row);
      fdatasyncSync(file);
    }
    return performance.now() - began;
  });
  closeSync(file);
  for (const [column, of] of figuresOf(1)) yield { round, row: disk, column, value: of(took), unit: 'ms' };
}
