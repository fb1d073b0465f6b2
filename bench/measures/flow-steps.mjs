// What a step of a flow costs, by how many nodes the flow has and how many steps came before.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

export const name = 'flow-steps';
export const title = 'Processor time per step of a flow';
export const about = `Flows of 10, 30, 60 and 100 nodes, a Transform each, in a chain and with 8 side by side, in one process and without a
disk. \`plan\` is what decides what comes next (machines/flow-run): a step is a node that begins and ends. \`all\` is a step with what is
around it: conditions and templates evaluated, rows written and read back. \`shown\` is what a row costs whoever shows the run
(actors/agents/runs/run-nodes.ts). The last rows are loops of one Transform, whose journals have 100, 500 and 1,000 rows: a turn
costs the same however many came before. The code is that of the tree in which the build lies.`;
export const goals = [
  { row: '100 nodes in a chain', column: 'plan', limit: 500, unit: 'µs', sense: 'at most' },
  { row: '100 nodes, 8 wide', column: 'plan', limit: 500, unit: 'µs', sense: 'at most' },
];

const SIZES = [10, 30, 60, 100];
/** Each turn has three rows, the loop two. */
const TURNS = [33, 166, 333];

export async function* run(bench) {
  const { FlowState, flowGraph, FlowHandler, RunNodes, flowDefinition, SecretValues } = await engine(bench);
  const read = (spec) =>
    flowDefinition(JSON.stringify(spec), {
      ...{ name: 'f', file: '/f.yaml', env: {} },
      secrets: new SecretValues(),
    });
  const repeats = bench.isSmoke ? 1 : 50;
  for (const size of SIZES)
    for (const [shape, spec] of [
      ['in a chain', chain(size)],
      [', 8 wide', wide(size)],
    ]) {
      const flow = await read(spec);
      const row = `${size} nodes${shape.startsWith(',') ? '' : ' '}${shape}`;
      bench.progress(row);
      const graph = flowGraph(flow);
      const plan = timed(repeats, () => planned(new FlowState(graph))) / size;
      const whole =
        (await timedRuns(repeats, () => carriedOut(new FlowHandler(flow, services(flow))))) / size;
      yield { round: 1, row, column: 'plan', value: plan, unit: 'µs' };
      yield { round: 1, row, column: 'all', value: whole, unit: 'µs' };
    }
  for (const turns of TURNS) {
    const row = `a loop of ${turns} turns, ${turns * 3 + 2} rows`;
    bench.progress(row);
    const flow = await read(loop(bench.isSmoke ? 2 : turns));
    const steps = [];
    await carriedOut(new FlowHandler(flow, services(flow)), steps);
    const rows = steps.map((text, at) => ({ at, text }));
    const show = () => {
      const nodes = new RunNodes(flow.definition, (text, most) => text.slice(0, most));
      for (const each of rows) nodes.add(each);
    };
    const times = Math.min(repeats, 20);
    const value = (await timedRuns(times, () => carriedOut(new FlowHandler(flow, services(flow))))) / turns;
    yield { round: 1, row, column: 'all', value, unit: 'µs' };
    yield { round: 1, row, column: 'shown', value: timed(times, show) / rows.length, unit: 'µs' };
  }
}

const transform = (id, before) => ({
  id,
  type: 'Transform',
  config: { set: { n: before === undefined ? 1 : `{{ steps.${before}.output.n + 1 }}` } },
});

function chain(size) {
  const ids = Array.from({ length: size }, (_, n) => `n${n}`);
  const connections = ids
    .slice(1)
    .map((to, n) => ({ from: ids[n], to, when: `steps.${ids[n]}.output.n > 0` }));
  return { nodes: ids.map((id, n) => transform(id, ids[n - 1])), connections };
}

function wide(size) {
  const ids = Array.from({ length: size }, (_, n) => `n${n}`);
  const before = (n) => (n < 8 ? undefined : ids[n - 8]);
  return {
    nodes: ids.map((id, n) => transform(id, before(n))),
    connections: ids.flatMap((to, n) => {
      if (n === 0) return [];
      const from = before(n);
      return from === undefined ? [{ from: ids[0], to }] : [{ from, to }];
    }),
  };
}

const loop = (turns) => ({
  nodes: [
    {
      id: 'each',
      type: 'Loop',
      config: { while: `index < ${turns}`, max: 900, nodes: [transform('one')], connections: [] },
    },
  ],
});

/** All nodes, each begun as soon as it may be. */
function planned(state) {
  for (;;) {
    const { starts, end } = state.next();
    if (end !== undefined) return;
    for (const path of starts) state.apply({ kind: 'entered', in: path });
    for (const path of state.working) state.apply({ kind: 'left', in: path, output: null, taken: takenAll });
  }
}

const takenAll = Array.from({ length: 500 }, (_, place) => place);

const services = (flow) => ({
  handlerOf: () => undefined,
  readDefinition: async () => flow,
});

async function carriedOut(handler, rows = []) {
  await handler.run(job, {
    signal: new AbortController().signal,
    leftMs: 600_000,
    state: undefined,
    steps: async () => [],
    checkpoint: async (_, { steps }) => {
      rows.push(...steps);
    },
    progress() {},
    retrying() {},
  });
}

const job = {
  ...{ input: 'go', parameters: {}, idempotencyKey: 'k', trace: '', requester: undefined, agent: 'f' },
  event: { id: 'e', type: 'HTTP', name: undefined, context: {} },
};

/** Microseconds of one, the median of all. */
function timed(repeats, work) {
  const took = Array.from({ length: repeats }, () => {
    const before = performance.now();
    work();
    return performance.now() - before;
  });
  return median(took) * 1000;
}

async function timedRuns(repeats, work) {
  const took = [];
  for (let n = 0; n < repeats; n += 1) {
    const before = performance.now();
    await work();
    took.push(performance.now() - before);
  }
  return median(took) * 1000;
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** The flow engine of the tree in which the build lies, bundled by itself: it is measured without a gateway around it. */
async function engine(bench) {
  const root = join(bench.dist, '..');
  const outfile = join(bench.makeFolder(), 'engine.mjs');
  const contents = [
    "export { FlowState } from './machines/flow-run/flow-state.ts';",
    "export { flowGraph } from './actors/agents/flows/flow-graph.ts';",
    "export { FlowHandler } from './actors/agents/flows/flow-handler.ts';",
    "export { RunNodes } from './actors/agents/runs/run-nodes.ts';",
    "export { flowDefinition } from './config/resources/definitions.ts';",
    "export { SecretValues } from './config/reader/secret-values.ts';",
  ].join('\n');
  await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    ...{ bundle: true, platform: 'node', format: 'esm', outfile, logLevel: 'error' },
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return import(pathToFileURL(outfile).href);
}
