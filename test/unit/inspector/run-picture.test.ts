import { expect, test } from 'vitest';
import { Redactor } from '../../../actors/redact.ts';
import { RunPicture } from '../../../src/inspector/run-picture.ts';

const SECRET = 'hunter2-hunter2-hunter2';

function picture() {
  const told = new RunPicture(new Redactor([SECRET]));
  let n = 0;
  const take = (...rows: readonly object[]) => {
    for (const row of rows) told.take({ n: ++n, at: n * 1_000, text: JSON.stringify(row) });
    return told.changes(false);
  };
  return { take };
}

const flow = {
  nodes: [
    { id: 'check', type: 'Agent', config: { agent: 'a' } },
    { id: 'told', type: 'Response', config: { text: 'x' } },
  ],
  connections: [{ from: 'check', to: 'told' }],
};
const fleet = {
  agents: [{ name: 'ada' }, { name: 'ben' }],
  coordination: { mode: 'peer', consensus: { field: 'verdict' } },
};

test('RPC1 what is told of a flow is cut and has no secret, and nothing is told twice', () => {
  const { take } = picture();
  const begun = take(
    { kind: 'flow', definition: JSON.stringify(flow), input: SECRET, parameters: { key: SECRET } },
    { kind: 'entered', in: 'check' },
    { kind: 'left', in: 'check', output: { text: `${SECRET} ${'x'.repeat(5_000)}` }, taken: [0] },
  );
  expect(begun.map(({ kind }) => kind)).toEqual(['plan', 'parts']);
  const text = JSON.stringify(begun);
  expect(text).not.toContain(SECRET);
  expect(text.length).toBeLessThan(6_000);
  expect(begun[1]).toMatchObject({
    data: {
      nodes: [
        { place: 'check', state: 'done', taken: [0] },
        { place: 'told', state: 'idle' },
      ],
    },
  });
  expect(take()).toEqual([]);
  expect(take({ kind: 'entered', in: 'told' })).toMatchObject([
    { kind: 'parts', data: { nodes: [{ place: 'told', state: 'working' }] } },
  ]);
});

test('a member of a fleet has its vote, and one that failed is at work again when the run goes on', () => {
  const { take } = picture();
  take(
    { kind: 'fleet', definition: JSON.stringify(fleet), input: 'go' },
    { kind: 'entered', in: 'ada' },
    { kind: 'entered', in: 'ben' },
  );
  expect(
    take(
      { kind: 'ended', in: 'ada', text: 'yes', data: { verdict: 'ship' } },
      { kind: 'failed', in: 'ben', reason: `no ${SECRET}` },
    ),
  ).toMatchObject([
    {
      data: {
        members: [
          { name: 'ada', vote: '"ship"' },
          { name: 'ben', state: 'failed', why: 'no [redacted]' },
        ],
      },
    },
  ]);
  expect(take({ kind: 'entered', in: 'ben' })).toMatchObject([
    { data: { members: [{ name: 'ben', state: 'working', why: null, ended_at: null }] } },
  ]);
});
