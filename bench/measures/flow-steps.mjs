// Cost per flow step, by number of nodes and of previous steps.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

export const name = 'flow-steps';
export const title = 'Processor time per step of a flow';
export const about = `Flows of 10, 30, 60 and 100 Transform nodes, in a chain and 8 in parallel, in one process and without a disk.

- \`plan\` is the selection of the next step (machines/flow-run); a step is a node that starts and ends.
- \`all\` adds the rest of a step: evaluation of conditions and templates, writing and reading rows.
- \`shown\` is the cost of a row for displaying the run (actors/agents/runs/node-progress.ts).
- The last rows are loops of one Transform, with journals of 100, 500 and 1,000 rows: the cost of a turn does
  not grow.
- The code is that of the tree of the build.`;
export const goals = [
  { row: '100 nodes in a chain', column: 'plan', limit: 500, unit: 'µs', sense: 'at most' },
  { row: '100 nodes, 8 wide', column: 'plan', limit: 500, unit: 'µs', sense: 'at most' },
];

const SIZES = [10, 30, 60, 100];
/** Iterations per loop. Each iteration writes three rows to the journal, the loop itself two. */
const TURNS = [33, 166, 333];

export async function* run(bench) {
  const { FlowState, flowGraph, FlowHandler, RunNodes, flowDefinition, SecretValues } =
    await bundleEngine(bench);
  const readFlow = (spec) => {
    const source = { name: 'f', file: '/f.yaml', env: {}, secrets: new SecretValues() };
    return flowDefinition(JSON.stringify(spec), source);
  };
  const repeats = bench.isSmoke ? 1 : 50;
  for (const size of SIZES)
    for (const [shape, spec] of [
      [' in a chain', chain(size)],
      [', 8 wide', wide(size)],
    ]) {
      const flow = await readFlow(spec);
      const row = `${size} nodes${shape}`;
      bench.progress(row);
      const graph = flowGraph(flow);
      const plan = timeOf(repeats, () => planAll(new FlowState(graph))) / size;
      const total = (await timeOfRuns(repeats, () => runFlow(new FlowHandler(flow, services(flow))))) / size;
      yield { round: 1, row, column: 'plan', value: plan, unit: 'µs' };
      yield { round: 1, row, column: 'all', value: total, unit: 'µs' };
    }
  for (const turns of TURNS) {
    const row = `a loop of ${turns} turns, ${turns * 3 + 2} rows`;
    bench.progress(row);
    const flow = await readFlow(loop(bench.isSmoke ? 2 : turns));
    const steps = [];
    await runFlow(new FlowHandler(flow, services(flow)), steps);
    const rows = steps.map((text, at) => ({ at, text }));
    const show = () => {
      const nodes = new RunNodes(flow.definition, (text, limit) => text.slice(0, limit));
      for (const each of rows) nodes.add(each);
    };
    const times = Math.min(repeats, 20);
    const value = (await timeOfRuns(times, () => runFlow(new FlowHandler(flow, services(flow))))) / turns;
    yield { round: 1, row, column: 'all', value, unit: 'µs' };
    yield { round: 1, row, column: 'shown', value: timeOf(times, show) / rows.length, unit: 'µs' };
  }
}

const transform = (id, previous) => ({
  id,
  type: 'Transform',
  config: { set: { n: previous === undefined ? 1 : `{{ steps.${previous}.output.n + 1 }}` } },
});

function chain(size) {
  const ids = Array.from({ length: size }, (_, n) => `n${n}`);
  const connections = ids
    .slice(1)
    .map((to, n) => ({ from: ids[n], to, when: `steps.${ids[n]}.output.n > 0` }));
  return { nodes: ids.map((id, n) => transform(id, ids[n - 1])), connections };
}

/** Returns a flow of 8 chains. The first node in a chain follows node 0. */
function wide(size) {
  const ids = Array.from({ length: size }, (_, n) => `n${n}`);
  const previousOf = (n) => (n < 8 ? undefined : ids[n - 8]);
  return {
    nodes: ids.map((id, n) => transform(id, previousOf(n))),
    connections: ids.flatMap((to, n) => {
      if (n === 0) return [];
      const from = previousOf(n);
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

/** Plans the whole run: starts nodes as early as possible, and completes them immediately. */
function planAll(state) {
  for (;;) {
    const { starts, end } = state.next();
    if (end !== undefined) return;
    for (const path of starts) state.apply({ kind: 'entered', in: path });
    for (const path of state.working)
      state.apply({ kind: 'left', in: path, output: null, taken: allIndexes });
  }
}

/**
 * Indexes of all connections of a node, which the run takes. Each node here has fewer than 500 connections.
 */
const allIndexes = Array.from({ length: 500 }, (_, index) => index);

const services = (flow) => ({
  handlerOf: () => undefined,
  readDefinition: async () => flow,
});

async function runFlow(handler, rows = []) {
  await handler.run(job, {
    signal: new AbortController().signal,
    remainingMs: 600_000,
    state: undefined,
    steps: async () => [],
    checkpoint: async (_, { steps }) => {
      rows.push(...steps);
    },
    progress() {},
    reportRetry() {},
  });
}

const job = {
  input: 'go',
  parameters: {},
  idempotencyKey: 'k',
  trace: '',
  requester: undefined,
  agent: 'f',
  event: { id: 'e', type: 'HTTP', name: undefined, context: {} },
};

/** Returns the median duration of `work` in microseconds. */
function timeOf(repeats, work) {
  const took = Array.from({ length: repeats }, () => {
    const before = performance.now();
    work();
    return performance.now() - before;
  });
  return median(took) * 1000;
}

async function timeOfRuns(repeats, work) {
  const took = [];
  for (let n = 0; n < repeats; n += 1) {
    const before = performance.now();
    await work();
    took.push(performance.now() - before);
  }
  return median(took) * 1000;
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Bundles the flow engine of the build's working tree, to measure only the engine. */
async function bundleEngine(bench) {
  const root = join(bench.dist, '..');
  const outfile = join(bench.makeFolder(), 'engine.mjs');
  const contents = [
    "export { FlowState } from './machines/flow-run/flow-state.ts';",
    "export { flowGraph } from './actors/agents/flows/graph.ts';",
    "export { FlowHandler } from './actors/agents/flows/handler.ts';",
    "export { RunNodes } from './actors/agents/runs/node-progress.ts';",
    "export { flowDefinition } from './config/resources/definitions.ts';",
    "export { SecretValues } from './config/reader/secret-values.ts';",
  ].join('\n');
  await build({
    stdin: { contents, resolveDir: root, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    logLevel: 'error',
    // The bundled CommonJS packages call `require`.
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return import(pathToFileURL(outfile).href);
}
