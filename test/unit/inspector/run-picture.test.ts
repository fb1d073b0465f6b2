// What a page is told of the nodes of a flow and the members of a fleet, from rows of their journals.

import { describe, expect, test } from 'vitest';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import type { MemberRecord, NodeRecord } from '../../../src/http/api/run-shapes.ts';
import { RunPicture } from '../../../src/inspector/runs/run-picture.ts';
import type { RunPlan } from '../../../src/inspector/wire/run-wire.ts';

const SECRET = 'hunter2-secret';
const iso = (epochMs: number) => new Date(epochMs).toISOString();

function picture() {
  const drawn = new RunPicture(new Redactor([SECRET]));
  const told: { plan?: RunPlan; nodes: Map<string, NodeRecord>; members: Map<string, MemberRecord> } = {
    nodes: new Map(),
    members: new Map(),
  };
  let n = 0;
  return {
    told,
    take: (...rows: readonly object[]) => {
      for (const row of rows) {
        n += 1;
        drawn.take({ n, at: n * 10, text: JSON.stringify(row) });
      }
    },
    /** Places and paths of what is new. */
    news: (isOver = false) => {
      const news: string[] = [];
      for (const message of drawn.changes(isOver)) {
        if (message.kind === 'plan') told.plan = message.data;
        if (message.kind !== 'parts') continue;
        for (const node of message.data.nodes) told.nodes.set(node.place, node);
        for (const member of message.data.members) told.members.set(member.path, member);
        news.push(...message.data.nodes.map(({ place }) => place));
        news.push(...message.data.members.map(({ path }) => path));
      }
      return news;
    },
  };
}

const flowRow = (definition: object) => ({
  ...{ kind: 'flow', name: 'f', nonce: 'x', definition: JSON.stringify(definition) },
  ...{ parameters: { key: SECRET }, input: `Look at ${SECRET}` },
});
const fleetRow = (more: object = {}) => ({
  ...{ kind: 'fleet', name: 'review', nonce: 'x', input: 'Look.' },
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
  test('has its plan once, without secrets, and then what has changed (RND3)', () => {
    const { take, news, told } = picture();
    expect(news()).toEqual([]);
    take(flowRow(two));
    expect(news()).toEqual(['a', 'b', 'c']);
    expect(told.plan).toEqual({
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
    expect(news()).toEqual([]);
    take({ kind: 'entered', in: 'a' });
    expect(news()).toEqual(['a']);
    expect(told.nodes.get('a')).toMatchObject({
      state: 'working',
      attempts: 1,
      started_at: iso(20),
      output: null,
    });
    take({ in: 'a', kind: 'begun', messages: [{ role: 'user', text: `Check ${SECRET}.` }] });
    take({ kind: 'left', in: 'a', output: { ok: true, why: SECRET }, taken: [0] });
    expect(news()).toEqual(['a']);
    expect(told.nodes.get('a')).toMatchObject({
      ...{ state: 'done', taken: ['b'], input: 'Check [redacted].', ended_at: iso(40), took_ms: 20 },
      output: '{"ok":true,"why":"[redacted]"}',
    });
  });

  test('says for whom a node waits, what became of it, and what a run that is over never reached', () => {
    const { take, news, told } = picture();
    take(flowRow(two), { kind: 'entered', in: 'a' }, { kind: 'left', in: 'a', output: null, taken: [0] });
    take({ kind: 'entered', in: 'b' }, { in: 'b', kind: 'kept', kept: 'approval-1' });
    take({ kind: 'parked', in: 'b', isForPeople: true, until: 99, ms: 50 });
    news();
    expect(told.nodes.get('b')).toMatchObject({
      ...{ state: 'waiting', for_people: true, until: iso(99), approval: 'approval-1' },
    });
    expect(news(true)).toEqual(['b']);
    expect([told.nodes.get('b')?.state, told.nodes.get('c')?.state]).toEqual(['dropped', 'idle']);
  });

  test('takes back what has come of a failure once the run goes on', () => {
    const { take, news, told } = picture();
    take(flowRow(two), { kind: 'entered', in: 'a' }, { kind: 'left', in: 'a', output: 'A', taken: [0] });
    take({ kind: 'entered', in: 'b' }, { kind: 'failed', in: 'b', reason: `Not ${SECRET}.` });
    news(true);
    expect(told.nodes.get('b')).toMatchObject({ state: 'failed', why: 'Not [redacted].' });
    take({ kind: 'retried', in: 'b' });
    news();
    expect([told.nodes.get('a'), told.nodes.get('b')]).toMatchObject([
      { state: 'done', output: 'A' },
      { state: 'working', output: null, taken: null },
    ]);
  });

  test('has the last turn of a loop, and nothing of those before', () => {
    const { take, news, told } = picture();
    const inner = [{ id: 'look', type: 'Fleet' }];
    take(flowRow({ nodes: [{ id: 'poll', type: 'Loop', config: { nodes: inner, connections: [] } }] }));
    take({ kind: 'entered', in: 'poll', items: ['one', SECRET] });
    for (const n of [1, 2]) {
      const path = `poll#${n}/look`;
      take({ kind: 'turn', in: 'poll', n }, { kind: 'entered', in: path }, fleetRow({ in: path }));
      take({ in: `${path}/ada`, kind: 'entered' });
      news();
      expect(told.nodes.get('poll/look')).toMatchObject({
        path,
        state: 'working',
        output: null,
        input: 'Look.',
      });
      expect(told.members.get(`${path}/ada`)?.state).toBe('working');
      take({ kind: 'left', in: path, output: `Saw ${n}.`, taken: [] });
    }
    take({ kind: 'left', in: 'poll', output: { count: 2 }, taken: [] });
    news();
    expect(told.nodes.get('poll')).toMatchObject({
      turn: 2,
      state: 'done',
      input: '["one","[redacted]"]',
    });
    expect(told.nodes.get('poll/look')).toMatchObject({ state: 'done', output: 'Saw 2.' });
    expect(told.members.get('poll#2/look/ada')?.state).toBe('dropped');
  });

  test('is none where the definition cannot be read, or the run is of anything else', () => {
    const { take, news, told } = picture();
    take({ kind: 'begun', messages: [] });
    expect([news(), told.plan]).toEqual([[], undefined]);
    take({ kind: 'flow', name: 'f', definition: '{', parameters: 4 });
    expect(news()).toEqual([]);
    expect(told.plan).toEqual({ input: '', parameters: [], flow: null, fleet: null });
  });
});

describe('the picture of a fleet', () => {
  test('has its members with what they voted for, and asks again whoever had failed', () => {
    const { take, news, told } = picture();
    take(fleetRow());
    expect(news()).toEqual(['ada', 'ben']);
    expect(told.plan?.fleet).toEqual({
      ...{ mode: 'peer', vote: { field: 'verdict', algorithm: 'majority', min_votes: 1 }, aggregation: null },
      members: [
        { name: 'ada', agent: 'ada', weight: 2, manager: false, tier: 1 },
        { name: 'ben', agent: 'clerk', weight: 1, manager: true, tier: 2 },
      ],
    });
    take({ kind: 'entered', in: 'ada' }, { kind: 'entered', in: 'ben' });
    take({ kind: 'ended', in: 'ada', text: `Yes, ${SECRET}.`, data: { verdict: SECRET } });
    take({ kind: 'failed', in: 'ben', reason: 'gone' });
    news();
    expect([...told.members.values()]).toMatchObject([
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
    news();
    expect([...told.members.values()]).toMatchObject([
      { state: 'done' },
      { state: 'working', why: null, ended_at: null },
    ]);
    news(true);
    expect(told.members.get('ben')?.state).toBe('dropped');
  });

  test('has a member that its manager asks at work with each question, and done with each answer', () => {
    const { take, news, told } = picture();
    take(fleetRow(), { kind: 'entered', in: 'ben' });
    const states = (...rows: readonly object[]) =>
      rows.map((row) => {
        take(row);
        news();
        return told.members.get('ada')?.state;
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
    expect(told.members.get('ada')?.why).toBe('gone');
  });
});
