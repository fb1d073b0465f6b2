import { expect, test } from 'vitest';
import { RunNodes } from '../../../../../actors/agents/runs/node-progress.ts';
import { PartsOfRun } from '../../../../../actors/agents/runs/part-progress.ts';
import { Redactor } from '../../../../../actors/base/errors/redact.ts';
import { addRow, runNodes } from '../../../../fixtures/agents/run-nodes.ts';
import { flowOf } from '../../../../fixtures/automation/flow-files.ts';

const redactor = new Redactor(['hunter2-secret']);
const excerpt = (text: string, most: number) => redactor.excerpt(text, most);

/** Journal rows with times from 1,000, one second apart. */
const stepsOf = (rows: readonly object[]) =>
  rows.map((row, index) => ({ at: (index + 1) * 1_000, text: JSON.stringify(row) }));

const DEPLOY = `
  nodes:
    - { id: check, type: Agent, config: { agent: checker, input: look } }
    - { id: ask, type: Approval, config: { message: Ship it?, approvers: [ada] } }
    - { id: ship, type: HTTP, config: { url: "https://ci.example.com" }, on_error: sorry }
    - { id: sorry, type: notify, config: { text: sorry } }
    - { id: no, type: Response, config: { text: no } }
  connections:
    - { from: check, to: ask, when: steps.check.output.text == 'ok' }
    - { from: check, to: no, when: else }
    - { from: ask, to: ship, when: approved }
`;

const nodeStates = (nodes: ReturnType<typeof runNodes>) => nodes.map(({ path, state }) => `${path} ${state}`);

test('the progress of a flow shows states, times and outputs of its nodes, and why a node was skipped', async () => {
  const { definition } = await flowOf(DEPLOY);
  const rows = [
    { kind: 'flow', name: 'f', nonce: 'n', definition, parameters: {}, input: '' },
    { kind: 'entered', in: 'check' },
    { in: 'check', kind: 'begun', agent: 'checker', messages: [], tools: [] },
    { in: 'check', kind: 'ended', text: 'ok' },
    { kind: 'left', in: 'check', output: { text: 'ok hunter2-secret', data: null }, taken: [0] },
    { kind: 'entered', in: 'ask' },
    { in: 'ask', kind: 'kept', kept: 'ap1' },
    { kind: 'parked', in: 'ask', isForPeople: true, until: 99_000, ms: 92_000 },
  ];
  const nodes = runNodes(stepsOf(rows), definition, excerpt);
  expect(nodeStates(nodes)).toEqual(['check done', 'ask waiting', 'ship idle', 'sorry idle', 'no skipped']);
  expect(nodes[0]).toEqual({
    path: 'check',
    place: 'check',
    id: 'check',
    type: 'Agent',
    state: 'done',
    attempts: 1,
    startedAt: 2_000,
    endedAt: 5_000,
    tookMs: 3_000,
    taken: ['ask'],
    isForPeople: false,
    output: '{"text":"ok [redacted]","data":null}',
  });
  expect(nodes[1]).toMatchObject({ isForPeople: true, until: 99_000, startedAt: 6_000 });
  expect(nodes[3]).toMatchObject({ type: 'Response' });
  expect(nodes[4]).toMatchObject({ state: 'skipped', why: 'no connection to it was taken', attempts: 0 });
  // If there is no outcome, the run has been cancelled.
  expect(nodeStates(runNodes(stepsOf(rows), definition, excerpt, true))[1]).toBe('ask dropped');
});

test('a flow node waits with a reason before its retry, and after a failure the flow continues on the error path', async () => {
  const { definition } = await flowOf(DEPLOY);
  const nodes = new RunNodes(definition, excerpt);
  const rows = stepsOf([
    { kind: 'flow', name: 'f', nonce: 'n', definition, parameters: {}, input: '' },
    { kind: 'entered', in: 'check' },
    { kind: 'left', in: 'check', output: { text: 'ok' }, taken: [0] },
    { kind: 'entered', in: 'ask' },
    { kind: 'left', in: 'ask', output: { decision: 'approved' }, taken: [0] },
    { kind: 'entered', in: 'ship' },
    { kind: 'again', in: 'ship', reason: '503 with hunter2-secret', until: 9_000 },
    { kind: 'parked', in: 'ship', isForPeople: false, until: 9_000, ms: 2_000 },
    { kind: 'entered', in: 'ship' },
    { kind: 'failed', in: 'ship', reason: '404' },
    { kind: 'entered', in: 'sorry' },
  ]);
  for (const row of rows.slice(0, 8)) addRow(nodes, row);
  expect(nodes.list()[2]).toMatchObject({
    state: 'waiting',
    until: 9_000,
    attempts: 1,
    isForPeople: false,
    why: '503 with [redacted]',
    endedAt: undefined,
  });
  for (const row of rows.slice(8)) addRow(nodes, row);
  expect(nodes.list().slice(2)).toMatchObject([
    { state: 'failed', attempts: 2, why: '404', startedAt: 6_000, tookMs: 4_000 },
    { state: 'working', startedAt: 11_000 },
    { state: 'skipped' },
  ]);
  expect(nodes.list(true)[3]).toMatchObject({ state: 'dropped' });
});

test('a retry of a failed flow resets the failed node and the nodes stopped by its failure', async () => {
  const { definition } = await flowOf(`
  nodes:
    - { id: a, type: Tool, config: { server: s, tool: t } }
    - { id: ask, type: Approval, config: { message: Well?, approvers: [ada] } }
    - { id: b, type: Join }
  connections: [{ from: a, to: b }, { from: ask, to: b }]`);
  const nodes = new RunNodes(definition, excerpt);
  const rows = [
    { kind: 'entered', in: 'a' },
    { kind: 'entered', in: 'ask' },
    { kind: 'parked', in: 'ask', isForPeople: true, until: 50_000 },
    { kind: 'failed', in: 'a', reason: 'no' },
  ];
  for (const row of stepsOf(rows)) addRow(nodes, row);
  expect(nodeStates(nodes.list(true))).toEqual(['a failed', 'ask dropped', 'b idle']);
  addRow(nodes, { at: 20_000, text: JSON.stringify({ kind: 'retried', in: 'a' }) });
  expect(nodeStates(nodes.list())).toEqual(['a working', 'ask waiting', 'b idle']);
  addRow(nodes, { at: 21_000, text: JSON.stringify({ kind: 'left', in: 'a', output: {}, taken: [0] }) });
  expect(nodes.list()[0]).toMatchObject({ state: 'done', why: undefined, startedAt: 1_000, endedAt: 21_000 });
});

const POLL = `
  nodes:
    - { id: poll, type: Loop, config: { while: "true", nodes: [
        { id: look, type: Transform, config: { set: { n: "{{ index }}" } } },
        { id: each, type: Loop, config: { over: "[1]", nodes: [{ id: end, type: End }] } },
        { id: late, type: Wait, config: { seconds: 60 } } ],
        connections: [{ from: look, to: each }, { from: look, to: late }] } }
    - { id: told, type: Response, config: { text: x } }
  connections: [{ from: poll, to: told }]
`;

test('the progress of a loop in a flow shows its last iteration, also after the loop has ended', async () => {
  const { definition } = await flowOf(POLL);
  const iteration = (n: number) => [
    { kind: 'turn', in: 'poll', n },
    { kind: 'entered', in: `poll#${n}/look` },
    { kind: 'left', in: `poll#${n}/look`, output: { n }, taken: [0, 1] },
    { kind: 'entered', in: `poll#${n}/each`, items: [1] },
    { kind: 'turn', in: `poll#${n}/each`, n: 1 },
    { kind: 'entered', in: `poll#${n}/each#1/end` },
    { kind: 'left', in: `poll#${n}/each#1/end`, output: null, taken: [], isEnd: true },
    { kind: 'left', in: `poll#${n}/each`, output: {}, taken: [] },
    { kind: 'entered', in: `poll#${n}/late` },
  ];
  const nodes = new RunNodes(definition, excerpt);
  expect(nodeStates(nodes.list())).toEqual([
    ...['poll idle', 'poll#1/look idle', 'poll#1/each idle', 'poll#1/each#1/end idle', 'poll#1/late idle'],
    'told idle',
  ]);
  const first = [{ kind: 'entered', in: 'poll' }, ...iteration(1)];
  for (const row of stepsOf(first)) addRow(nodes, row);
  addRow(nodes, {
    at: 20_000,
    text: JSON.stringify({ kind: 'left', in: 'poll#1/late', output: {}, taken: [] }),
  });
  for (const row of stepsOf(iteration(2))) addRow(nodes, row);
  const second = ['poll#2/look done', 'poll#2/each done', 'poll#2/each#1/end done'];
  expect(nodeStates(nodes.list())).toEqual(['poll working', ...second, 'poll#2/late working', 'told idle']);
  addRow(nodes, { at: 30_000, text: JSON.stringify({ kind: 'failed', in: 'poll', reason: 'no' }) });
  expect(nodeStates(nodes.list())).toEqual(['poll failed', ...second, 'poll#2/late dropped', 'told skipped']);
  expect(nodes.list()[1]).toMatchObject({ place: 'poll/look', output: '{"n":2}', taken: ['each', 'late'] });
  expect(nodes.list()[0]).toMatchObject({ turn: 2 });
});

test('the progress of a flow with an unreadable definition has no nodes', () => {
  expect(runNodes(stepsOf([{ kind: 'entered', in: 'a' }]), 'no JSON', excerpt)).toEqual([]);
  expect(
    runNodes([{ at: 1, text: 'no JSON' }], '{"nodes":[7,{"id":"a","type":"What"}]}', excerpt),
  ).toMatchObject([{ id: 'a', type: 'What', state: 'idle' }]);
});

test('the progress of a fleet of agents shows the states and answers of its members', () => {
  const definition = JSON.stringify({ members: ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name })) });
  const rows = [
    { kind: 'asked', approval: 'before' },
    { kind: 'fleet', name: 'f', nonce: 'n', definition, input: 'x' },
    { kind: 'entered', in: 'a' },
    { kind: 'entered', in: 'b' },
    { kind: 'entered', in: 'c' },
    { in: 'a', kind: 'ended', text: 'yes hunter2-secret' },
    { kind: 'failed', in: 'b', reason: 'no model' },
    { kind: 'parked', in: 'c', isForPeople: true },
    { kind: 'entered', in: 'd' },
    { kind: 'dropped', in: 'd' },
    { in: 'd', kind: 'answer', text: 'too late', calls: [] },
  ];
  const parts = new PartsOfRun(excerpt);
  expect(parts.list(false)).toEqual({});
  for (const step of stepsOf(rows)) parts.add(step);
  expect(parts.list(false).members).toMatchObject([
    { name: 'a', state: 'done', output: 'yes [redacted]', tookMs: 3_000 },
    { name: 'b', state: 'failed', why: 'no model' },
    { name: 'c', state: 'waiting', startedAt: 5_000 },
    { name: 'd', state: 'dropped' },
    { name: 'e', state: 'idle' },
  ]);
  parts.add({ at: 20_000, text: JSON.stringify({ kind: 'retried', in: 'b' }) });
  expect(parts.list(false).members?.[1]).toMatchObject({ state: 'working', why: undefined });
  expect(parts.list(true).members?.[2]).toMatchObject({ state: 'dropped' });
});

test('a fleet member is done after each answer, and works again after the next question of the manager', () => {
  const definition = JSON.stringify({ members: [{ name: 'manager' }, { name: 'a' }] });
  const rows = [
    { kind: 'fleet', name: 'f', nonce: 'n', definition, input: 'x' },
    { kind: 'entered', in: 'a/1' },
    { kind: 'ended', in: 'a/1', text: 'One.' },
    { kind: 'entered', in: 'a/2' },
    { kind: 'failed', in: 'a/2', reason: 'gone' },
  ];
  const parts = new PartsOfRun(excerpt);
  const states = stepsOf(rows).map((step) => {
    parts.add(step);
    return parts.list(false).members?.[1]?.state;
  });
  expect(states).toEqual(['idle', 'working', 'done', 'working', 'failed']);
  expect(parts.list(true).members?.[1]).toMatchObject({ why: 'gone', tookMs: 3_000 });
});

test('the progress of a flow shows inputs of nodes, approvals, and the fleet members of the current loop iteration', () => {
  const inside = { nodes: [{ id: 'look', type: 'Fleet' }], connections: [] };
  const definition = JSON.stringify({
    nodes: [
      { id: 'each', type: 'Loop', config: inside },
      { id: 'ask', type: 'Approval' },
    ],
  });
  const fleet = JSON.stringify({
    agents: [{ name: 'ada' }, { name: 'ben' }],
    coordination: { mode: 'peer', consensus: { field: 'ok' } },
  });
  const parts = new PartsOfRun(excerpt, 12);
  const add = (...rows: readonly object[]) => {
    for (const step of stepsOf(rows)) parts.add(step);
    return parts.list(false);
  };
  const nodes = () => Object.fromEntries((parts.list(false).nodes ?? []).map((node) => [node.path, node]));
  expect(add({ kind: 'flow', definition })).not.toHaveProperty('members');
  for (const n of [1, 2]) {
    const path = `each#${n}/look`;
    if (n === 1) add({ kind: 'entered', in: 'each', items: ['hunter2-secret', 'b'] });
    add({ kind: 'turn', in: 'each', n }, { kind: 'entered', in: path });
    add({ kind: 'fleet', in: path, definition: fleet, input: 'a long question' });
    add({ kind: 'ended', in: `${path}/ada`, text: 'x'.repeat(20), data: { ok: true } });
    expect(nodes()).toMatchObject({
      each: { input: '["[redacted]…', turn: n },
      [path]: { state: 'working', input: 'a long quest…', approval: undefined },
    });
    expect(parts.list(false).members).toMatchObject([
      { path: `${path}/ada`, name: 'ada', state: 'done', vote: 'true', output: `${'x'.repeat(12)}…` },
      { path: `${path}/ben`, state: 'idle' },
    ]);
    add({ kind: 'entered', in: `${path}/ben` });
    expect(parts.list(false).members?.[1]?.state).toBe('working');
    add({ kind: 'left', in: path, output: { ok: true }, taken: [] });
    expect(parts.list(false).members?.[1]?.state).toBe('dropped');
  }
  add({ kind: 'entered', in: 'ask' }, { kind: 'kept', in: 'ask', kept: 'approval-1' });
  expect(nodes().ask).toMatchObject({ approval: 'approval-1', state: 'working' });
});
