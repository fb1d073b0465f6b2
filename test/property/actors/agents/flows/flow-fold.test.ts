// State of a flow run (FlowProgress, RunNodes) after random rows of its journal (the stored steps), also in
// impossible orders. Applying the rows one by one and reading all rows together have the same result. The
// incrementally updated values equal values that are computed from all nodes.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FlowProgress } from '../../../../../actors/agents/flows/progress.ts';
import { RunNodes } from '../../../../../actors/agents/runs/node-progress.ts';
import type { FlowRow } from '../../../../../machines/flow-run/rows.ts';
import { addRow, runNodes } from '../../../../fixtures/agents/run-nodes.ts';
import { flowOf } from '../../../../fixtures/automation/flow-files.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';

// A flow with an error path (`rescue`), and a loop within a loop.
const flow = await flowOf(`
  nodes:
    - { id: a, type: Transform, config: { set: { n: 1 } }, on_error: rescue }
    - { id: rescue, type: Join, config: { strategy: any } }
    - id: outer
      type: Loop
      config:
        while: "true"
        max: 9
        nodes:
          - { id: x, type: Transform, config: { set: { n: 1 } } }
          - id: inner
            type: Loop
            config: { while: "true", max: 9, nodes: [{ id: y, type: Wait, config: { seconds: 1 } }, { id: stop, type: End }], connections: [{ from: y, to: stop }] }
          - { id: stop, type: End }
        connections: [{ from: x, to: inner }, { from: x, to: stop }]
    - { id: b, type: Join }
    - { id: end, type: End }
  connections: [{ from: a, to: b }, { from: outer, to: b }, { from: rescue, to: b }, { from: b, to: end }]`);

const iterations = [1, 2, 3];
/** Path prefix and node ids of the flow itself, and of the iterations of both loops. */
const flowBodies = [
  { prefix: '', ids: ['a', 'rescue', 'outer', 'b', 'end'] },
  ...iterations.map((n) => ({ prefix: `outer#${n}/`, ids: ['x', 'inner', 'stop'] })),
  ...iterations.flatMap((n) =>
    iterations.map((m) => ({ prefix: `outer#${n}/inner#${m}/`, ids: ['y', 'stop'] })),
  ),
];
const paths = flowBodies.flatMap(({ prefix, ids }) => ids.map((id) => prefix + id));
const endPaths = paths.filter((path) => /end$|stop$/.test(path));

/** Node path. Some paths match no node of the flow. */
const arbPath = fc.oneof(fc.constantFrom(...paths), fc.constantFrom('nowhere', 'outer#9/x', 'a/member'));
/** A journal row of any kind. `until` is in epoch milliseconds. */
const arbRow: fc.Arbitrary<FlowRow> = fc.oneof(
  { weight: 4, arbitrary: arbPath.map((path): FlowRow => ({ kind: 'entered', in: path })) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(arbPath, fc.jsonValue(), fc.subarray([0, 1]))
      .map(([path, output, taken]): FlowRow => ({ kind: 'left', in: path, output, taken })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...paths.filter((path) => /outer$|inner$/.test(path))),
        fc.constantFrom(...iterations),
      )
      .map(([path, n]): FlowRow => ({ kind: 'turn', in: path, n })),
  },
  arbPath.map((path): FlowRow => ({ kind: 'failed', in: path, reason: `failed at ${path}` })),
  arbPath.map((path): FlowRow => ({ kind: 'again', in: path, reason: 'not yet', until: 5 })),
  arbPath.map((path): FlowRow => ({ kind: 'waits', in: path, until: 7 })),
  arbPath.map((path): FlowRow => ({ kind: 'retried', in: path })),
  fc
    .constantFrom(...endPaths)
    .map((path): FlowRow => ({ kind: 'left', in: path, output: 1, taken: [], isEnd: true })),
);

/** Rows from a run inside the inner loop. Random rows follow. */
const nestedLoopRows: readonly FlowRow[] = [
  { kind: 'entered', in: 'outer' },
  { kind: 'turn', in: 'outer', n: 1 },
  { kind: 'entered', in: 'outer#1/x' },
  { kind: 'left', in: 'outer#1/x', output: { n: 1 }, taken: [0] },
  { kind: 'entered', in: 'outer#1/inner' },
  { kind: 'turn', in: 'outer#1/inner', n: 1 },
];

const job = aJob();
const input = { parameters: {}, input: 'go' };

/** Returns all progress data read by flow runs. */
function summaryOf(progress: FlowProgress) {
  const { state } = progress;
  const nodes = paths.map((path) => [
    path,
    state.stateOf(path),
    state.progressOf(path),
    state.outputOf(path),
    progress.hasEnded(path),
    progress.resultsOf(path).values,
  ]);
  return { next: state.next(), working: state.working, nodes };
}

/** Compares incrementally updated values with values computed from the states and outputs of all nodes. */
function checkFromScratch(progress: FlowProgress): void {
  const { state } = progress;
  const working = paths.filter((path) => ['working', 'waiting'].includes(state.stateOf(path)?.state ?? ''));
  const steps = flowBodies.map(({ prefix, ids }) => {
    const values = progress.valuesAt(prefix + ids[0], job, input).steps as Readonly<Record<string, unknown>>;
    return JSON.stringify(ids.map((id) => values[id]));
  });
  const expectedSteps = flowBodies.map(({ prefix, ids }) =>
    JSON.stringify(
      ids.map((id) => {
        const node = state.stateOf(prefix + id);
        const output = state.outputOf(prefix + id) ?? null;
        return { state: node?.state ?? 'idle', output, error: node?.why ?? '' };
      }),
    ),
  );
  // `jsonLength` is the length of the loop results as JSON.
  const results = paths.map((path) => progress.resultsOf(path));
  expect({
    working: [...state.working].sort(),
    steps,
    lengths: results.map(({ jsonLength }) => jsonLength),
  }).toEqual({
    working: working.sort(),
    steps: expectedSteps,
    lengths: results.map(({ values }) => JSON.stringify(values).length),
  });
}

it('journal rows applied one by one yield the same flow state as all rows together', () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(arbRow, { maxLength: 40 }), (isInNestedLoop, randomRows) => {
      const rows: FlowRow[] = [];
      const progress = new FlowProgress(flow);
      for (const row of [...(isInNestedLoop ? nestedLoopRows : []), ...randomRows]) {
        rows.push(row);
        // A retry resets failed nodes, so the state is recomputed from all rows.
        if (row.kind === 'retried') progress.recompute(rows);
        else progress.apply(row);
        checkFromScratch(progress);
      }
      const whole = new FlowProgress(flow);
      whole.recompute(rows);
      expect(summaryOf(progress)).toEqual(summaryOf(whole));
    }),
    { numRuns: 150 },
  );
});

it('row-by-row updates show the same nodes as one computation from all rows, and a completed node stays completed', () => {
  const excerpt = (text: string, maxChars: number) => text.slice(0, maxChars);
  fc.assert(
    fc.property(fc.boolean(), fc.array(arbRow, { maxLength: 40 }), (isInNestedLoop, randomRows) => {
      const all = [...(isInNestedLoop ? nestedLoopRows : []), ...randomRows];
      const steps = all.map((row, at) => ({ at, text: JSON.stringify(row) }));
      const runNodesByRow = new RunNodes(flow.definition, excerpt);
      const progress = new FlowProgress(flow);
      /** Last known states of the nodes since the last retry. */
      const lastStates = new Map<string, string>();
      for (const [index, step] of steps.entries()) {
        addRow(runNodesByRow, step);
        const row = all[index] as FlowRow;
        const rows = all.slice(0, index + 1);
        if (row.kind === 'retried') {
          lastStates.clear();
          progress.recompute(rows);
        } else progress.apply(row);
        for (const path of paths) {
          const { state } = progress.state.stateOf(path) ?? {};
          if (state !== undefined) lastStates.set(path, state);
        }
        const shownNodes = runNodesByRow.list();
        expect(shownNodes).toEqual(runNodes(steps.slice(0, index + 1), flow.definition, excerpt));
        // The list shows each node of a loop in its latest iteration. A node that completed is never shown as
        // running again.
        for (const { path, state } of shownNodes)
          if (['done', 'failed'].includes(lastStates.get(path) ?? ''))
            expect([path, state]).toEqual([path, lastStates.get(path)]);
      }
    }),
    { numRuns: 100 },
  );
});
