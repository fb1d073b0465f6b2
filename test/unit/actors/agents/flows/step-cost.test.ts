// The cost of a flow step (calls of engine functions) must not depend on earlier rows or other nodes.

import { Session } from 'node:inspector/promises';
import { expect, it, vi } from 'vitest';
import { FlowHandler } from '../../../../../actors/agents/flows/handler.ts';
import { RunNodes } from '../../../../../actors/agents/runs/node-progress.ts';
import { freeSlots } from '../../../../fixtures/agents/free-slots.ts';
import { addRow } from '../../../../fixtures/agents/run-nodes.ts';
import { flowOf } from '../../../../fixtures/automation/flow-files.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KillableRun } from '../../../../fixtures/automation/killable-run.ts';

const engine = /(?:machines\/flow-run|actors\/(?:flows|parts|runs))\//;

/** Counts calls of engine functions during `work`. */
async function callsIn(work: () => Promise<void>): Promise<number> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url }) => engine.test(url))
      .flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]?.count ?? 0))
      .reduce((sum, count) => sum + count, 0);
  } finally {
    session.disconnect();
  }
}

const chain = (size: number): string =>
  [
    'nodes:',
    ...Array.from({ length: size }, (_, n) => {
      const set = n === 0 ? '1' : `"{{ steps.n${n - 1}.output.n + 1 }}"`;
      return `  - { id: n${n}, type: Transform, config: { set: { n: ${set} } } }`;
    }),
    'connections:',
    ...Array.from(
      { length: size - 1 },
      (_, n) => `  - { from: n${n}, to: n${n + 1}, when: "steps.n${n}.output.n > 0" }`,
    ),
  ]
    .map((line) => `  ${line}`)
    .join('\n');

const loop = (iterations: number): string => `
  nodes:
    - id: each
      type: Loop
      config: { while: "index < ${iterations}", max: 900, nodes: [{ id: one, type: Transform, config: { set: { n: "{{ index }}" } } }] }`;

interface RowCost {
  readonly rows: number;
  /** Function calls per journal row. */
  readonly calls: number;
  /** Characters of written JSON per row. */
  readonly characters: number;
}

/** Runs a flow and adds all journal rows to a view. */
async function costOf(spec: string): Promise<RowCost> {
  const flow = await flowOf(spec);
  const run = new KillableRun();
  const stringify = vi.spyOn(JSON, 'stringify');
  try {
    const calls = await callsIn(async () => {
      const services = { slots: freeSlots, handlerOf: () => undefined, readDefinition: async () => flow };
      await run.attempt(new FlowHandler(flow, services), aJob());
      const runNodes = new RunNodes(flow.definition, (text, most) => text.slice(0, most));
      for (const [index, text] of run.steps.entries()) addRow(runNodes, { at: index, text });
    });
    const characters = stringify.mock.results.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
    const rows = run.steps.length;
    return { rows, calls: calls / rows, characters: characters / rows };
  } finally {
    stringify.mockRestore();
  }
}

it('the cost of a flow step does not depend on the number of earlier journal rows', async () => {
  const [short, long] = [await costOf(loop(20)), await costOf(loop(320))];
  expect(long.rows).toBeGreaterThan(900);
  expect(long.calls).toBeLessThan(short.calls * 1.1);
  expect(long.characters).toBeLessThan(short.characters * 1.2);
});

it('the cost of a flow step does not depend on the number of other nodes', async () => {
  const [short, long] = [await costOf(chain(20)), await costOf(chain(100))];
  expect(long.calls).toBeLessThan(short.calls * 1.1);
});
