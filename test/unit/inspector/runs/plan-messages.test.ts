// Messages about the nodes of a flow and the members (agents) of a fleet, created from the rows of a journal
// (the stored steps of a run).

import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import type { MemberRecord, NodeRecord } from '../../../../src/http/api/run-shapes.ts';
import { PlanMessages } from '../../../../src/inspector/runs/plan-messages.ts';
import type { RunPlan } from '../../../../src/inspector/wire/run.ts';

const SECRET = 'hunter2-secret';
const iso = (epochMs: number) => new Date(epochMs).toISOString();

function picture() {
  const drawn = new PlanMessages(new Redactor([SECRET]));
  const receivedPicture: {
    plan?: RunPlan;
    nodes: Map<string, NodeRecord>;
    members: Map<string, MemberRecord>;
  } = {
    nodes: new Map(),
    members: new Map(),
  };
  let n = 0;
  return {
    receivedPicture,
    take: (...rows: readonly object[]) => {
      for (const row of rows) {
        n += 1;
        drawn.add({ n, at: n * 10, text: JSON.stringify(row) });
      }
    },
    /** Returns the paths of nodes and members in new messages. */
    newPaths: (isOver = false) => {
      const newPaths: string[] = [];
      for (const message of drawn.takeChanges(isOver)) {
        if (message.kind === 'plan') receivedPicture.plan = message.data;
        if (message.kind !== 'parts') continue;
        for (const node of message.data.nodes) receivedPicture.nodes.set(node.place, node);
        for (const member of message.data.members) receivedPicture.members.set(member.path, member);
        newPaths.push(...message.data.nodes.map(({ place }) => place));
        newPaths.push(...message.data.members.map(({ path }) => path));
      }
      return newPaths;
    },
  };
}

const flowRow = (definition: object) => ({
  kind: 'flow',
  name: 'f',
  nonce: 'x',
  definition: JSON.stringify(definition),
  parameters: { key: SECRET },
  input: `Look at ${SECRET}`,
});
const fleetRow = (more: object = {}) => ({
  kind: 'fleet',
  name: 'review',
  nonce: 'x',
  input: 'Look.',
  definition: JSON.stringify({
    agents: [
      { name: 'ada', weight: 2 },
      { name: 'ben', agent: 'clerk', tier: 2, role: 'manager' },
    ],
    coordination: { mode: 'peer', consensus: { field: 'verdict' } },
  }),
  ...more,
});
const two = {
  nodes: [
    { id: 'a', type: 'agent', description: 'First.', on_error: 'c' },
    { id: 'b', type: 'Approval' },
    { id: 'c', type: 'Response' },
  ],
  connections: [
    { from: 'a', to: 'b', when: 'steps.a.output.ok' },
    { from: 'b', to: 'c', when: 'approved' },
  ],
};

describe('the picture of a flow', () => {
  test('is sent as one redacted plan, followed by changes only', () => {
    const { take, newPaths, receivedPicture } = picture();
    expect(newPaths()).toEqual([]);
    take(flowRow(two));
    expect(newPaths()).toEqual(['a', 'b', 'c']);
    expect(receivedPicture.plan).toEqual({
      input: 'Look at [redacted]',
      parameters: [['key', '[redacted]']],
      fleet: null,
      flow: {
        nodes: [
          { id: 'a', type: 'Agent', description: 'First.', on_error: 'c' },
          { id: 'b', type: 'Approval', description: null, on_error: null },
          { id: 'c', type: 'Response', description: null, on_error: null },
        ],
        connections: [
          { from: 'a', to: 'b', when: 'steps.a.output.ok' },
          { from: 'b', to: 'c', when: 'approved' },
        ],
      },
    });
    expect(newPaths()).toEqual([]);
    take({ kind: 'entered', in: 'a' });
    expect(newPaths()).toEqual(['a']);
    expect(receivedPicture.nodes.get('a')).toMatchObject({
      state: 'working',
      attempts: 1,
      started_at: iso(20),
      output: null,
    });
    take({ in: 'a', kind: 'begun', messages: [{ role: 'user', text: `Check ${SECRET}.` }] });
    take({ kind: 'left', in: 'a', output: { ok: true, why: SECRET }, taken: [0] });
    expect(newPaths()).toEqual(['a']);
    expect(receivedPicture.nodes.get('a')).toMatchObject({
      state: 'done',
      taken: ['b'],
      input: 'Check [redacted].',
      ended_at: iso(40),
      took_ms: 20,
      output: '{"ok":true,"why":"[redacted]"}',
    });
  });

  test('shows the wait for approvers, the outcome of the node, and nodes that the run did not reach', () => {
    const { take, newPaths, receivedPicture } = picture();
    take(flowRow(two), { kind: 'entered', in: 'a' }, { kind: 'left', in: 'a', output: null, taken: [0] });
    take({ kind: 'entered', in: 'b' }, { in: 'b', kind: 'kept', kept: 'approval-1' });
    take({ kind: 'parked', in: 'b', isForPeople: true, until: 99, ms: 50 });
    newPaths();
    expect(receivedPicture.nodes.get('b')).toMatchObject({
      state: 'waiting',
      for_people: true,
      until: iso(99),
      approval: 'approval-1',
    });
    expect(newPaths(true)).toEqual(['b']);
    expect([receivedPicture.nodes.get('b')?.state, receivedPicture.nodes.get('c')?.state]).toEqual([
      'dropped',
      'idle',
    ]);
  });

  test('shows a failed node as working again when the run continues there, and keeps the completed nodes', () => {
    const { take, newPaths, receivedPicture } = picture();
    take(flowRow(two), { kind: 'entered', in: 'a' }, { kind: 'left', in: 'a', output: 'A', taken: [0] });
    take({ kind: 'entered', in: 'b' }, { kind: 'failed', in: 'b', reason: `Not ${SECRET}.` });
    newPaths(true);
    expect(receivedPicture.nodes.get('b')).toMatchObject({ state: 'failed', why: 'Not [redacted].' });
    take({ kind: 'retried', in: 'b' });
    newPaths();
    expect([receivedPicture.nodes.get('a'), receivedPicture.nodes.get('b')]).toMatchObject([
      { state: 'done', output: 'A' },
      { state: 'working', output: null, taken: null },
    ]);
  });

  test('contains only the last iteration of a loop', () => {
    const { take, newPaths, receivedPicture } = picture();
    const inner = [{ id: 'look', type: 'Fleet' }];
    take(flowRow({ nodes: [{ id: 'poll', type: 'Loop', config: { nodes: inner, connections: [] } }] }));
    take({ kind: 'entered', in: 'poll', items: ['one', SECRET] });
    for (const n of [1, 2]) {
      const path = `poll#${n}/look`;
      take({ kind: 'turn', in: 'poll', n }, { kind: 'entered', in: path }, fleetRow({ in: path }));
      take({ in: `${path}/ada`, kind: 'entered' });
      newPaths();
      expect(receivedPicture.nodes.get('poll/look')).toMatchObject({
        path,
        state: 'working',
        output: null,
        input: 'Look.',
      });
      expect(receivedPicture.members.get(`${path}/ada`)?.state).toBe('working');
      take({ kind: 'left', in: path, output: `Saw ${n}.`, taken: [] });
    }
    take({ kind: 'left', in: 'poll', output: { count: 2 }, taken: [] });
    newPaths();
    expect(receivedPicture.nodes.get('poll')).toMatchObject({
      turn: 2,
      state: 'done',
      input: '["one","[redacted]"]',
    });
    expect(receivedPicture.nodes.get('poll/look')).toMatchObject({ state: 'done', output: 'Saw 2.' });
    expect(receivedPicture.members.get('poll#2/look/ada')?.state).toBe('dropped');
  });

  test('is absent if the definition is unreadable or the run is not a flow', () => {
    const { take, newPaths, receivedPicture } = picture();
    take({ kind: 'begun', messages: [] });
    expect([newPaths(), receivedPicture.plan]).toEqual([[], undefined]);
    take({ kind: 'flow', name: 'f', definition: '{', parameters: 4 });
    expect(newPaths()).toEqual([]);
    expect(receivedPicture.plan).toEqual({ input: '', parameters: [], flow: null, fleet: null });
  });
});

describe('the picture of a fleet', () => {
  test('shows the members with their votes, and a failed member as working after its retry', () => {
    const { take, newPaths, receivedPicture } = picture();
    take(fleetRow());
    expect(newPaths()).toEqual(['ada', 'ben']);
    expect(receivedPicture.plan?.fleet).toEqual({
      mode: 'peer',
      vote: { field: 'verdict', algorithm: 'majority', min_votes: 1 },
      aggregation: null,
      members: [
        { name: 'ada', agent: 'ada', weight: 2, manager: false, tier: 1 },
        { name: 'ben', agent: 'clerk', weight: 1, manager: true, tier: 2 },
      ],
    });
    take({ kind: 'entered', in: 'ada' }, { kind: 'entered', in: 'ben' });
    take({ kind: 'ended', in: 'ada', text: `Yes, ${SECRET}.`, data: { verdict: SECRET } });
    take({ kind: 'failed', in: 'ben', reason: 'gone' });
    newPaths();
    expect([...receivedPicture.members.values()]).toMatchObject([
      {
        state: 'done',
        vote: '"[redacted]"',
        output: 'Yes, [redacted].',
        started_at: iso(20),
        ended_at: iso(40),
      },
      { state: 'failed', why: 'gone', vote: null },
    ]);
    take({ kind: 'retried', in: 'ada' }, { kind: 'retried', in: 'ben' });
    newPaths();
    expect([...receivedPicture.members.values()]).toMatchObject([
      { state: 'done' },
      { state: 'working', why: null, ended_at: null },
    ]);
    newPaths(true);
    expect(receivedPicture.members.get('ben')?.state).toBe('dropped');
  });

  test('shows a member as working after each question of its manager, and as done after each answer', () => {
    const { take, newPaths, receivedPicture } = picture();
    take(fleetRow(), { kind: 'entered', in: 'ben' });
    const states = (...rows: readonly object[]) =>
      rows.map((row) => {
        take(row);
        newPaths();
        return receivedPicture.members.get('ada')?.state;
      });
    expect(
      states(
        { kind: 'entered', in: 'ada/1' },
        { in: 'ada/1', kind: 'begun', messages: [] },
        { kind: 'parked', in: 'ada/1', isForPeople: true },
        { kind: 'ended', in: 'ada/1', text: 'One.' },
        { kind: 'entered', in: 'ada/2' },
        { kind: 'failed', in: 'ada/2', reason: 'gone' },
      ),
    ).toEqual(['working', 'working', 'waiting', 'done', 'working', 'failed']);
    expect(receivedPicture.members.get('ada')?.why).toBe('gone');
  });
});
