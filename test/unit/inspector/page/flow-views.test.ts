// Views of flows and of fleets (several agents that answer one event together): arrows, states and texts.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MemberRecord, NodeRecord } from '../../../../src/http/api/run-shapes.ts';
import type { FleetPlan, GraphRecord } from '../../../../src/http/api/target-shapes.ts';
import { flowAt, flowView, pathOf, sectionAt, viewAt } from '../../../../src/inspector/page/address.ts';
import { fleetText, votesText } from '../../../../src/inspector/page/flow/fleet-text.ts';
import { arrowLabel, arrowState, partsOf } from '../../../../src/inspector/page/flow/graph.ts';
import {
  arrowReason,
  memberState,
  nodeLine,
  summary,
  waitingFor,
} from '../../../../src/inspector/page/flow/node-text.ts';

const node: NodeRecord = {
  place: 'a',
  path: 'a',
  id: 'a',
  type: 'HTTP',
  state: 'working',
  attempts: 1,
  turn: null,
  until: null,
  for_people: false,
  approval: null,
  why: null,
  started_at: null,
  ended_at: null,
  took_ms: null,
  taken: null,
  input: null,
  output: null,
};

const ids = 'abcdefgh'.split('');
/** Random graphs without cycles: connections follow the order of ids. */
const graphs = (depth: number): fc.Arbitrary<GraphRecord> =>
  fc.integer({ min: 1, max: ids.length }).chain((count) =>
    fc.record({
      nodes: fc.tuple(
        ...ids.slice(0, count).map((id, index) =>
          fc
            .record({
              id: fc.constant(id),
              type: fc.constantFrom('Agent', 'HTTP'),
              description: fc.constant(null),
              on_error: index + 1 < count ? fc.constantFrom(null, ids[count - 1] ?? null) : fc.constant(null),
              inside: depth === 0 ? fc.constant(null) : fc.option(graphs(depth - 1)),
            })
            .map(({ inside, ...plain }) => (inside === null ? plain : { ...plain, inside })),
        ),
      ),
      connections: fc.array(
        fc
          .tuple(fc.nat(count - 1), fc.nat(count - 1), fc.constantFrom(null, 'approved', 'x > 1'))
          .filter(([from, to]) => from < to)
          .map(([from, to, when]) => ({ from: ids[from] ?? '', to: ids[to] ?? '', when })),
        { maxLength: count === 1 ? 0 : 12 },
      ),
    }),
  );

describe('the graph of a flow', () => {
  test('has a node for each node of the definition, and an arrow for each connection and on_error', () => {
    const count = ({ nodes, connections }: GraphRecord): readonly [number, number] =>
      nodes.reduce<readonly [number, number]>(
        ([boxes, arrows], { inside, on_error }) => {
          const [more, leading] = inside === undefined ? [0, 0] : count(inside);
          return [boxes + 1 + more, arrows + leading + (on_error === null ? 0 : 1)];
        },
        [0, connections.length],
      );
    fc.assert(
      fc.property(graphs(1), (graph) => {
        const parts = partsOf(graph);
        expect([parts.nodes.length, parts.arrows.length]).toEqual(count(graph));
      }),
      { numRuns: 40 },
    );
  });

  test('shows for each arrow whether it was taken, and why not', () => {
    const { arrows } = partsOf({
      nodes: ['a', 'b', 'c'].map((id) => {
        return { id, type: 'HTTP', description: null, on_error: id === 'a' ? 'c' : null };
      }),
      connections: [
        { from: 'a', to: 'b', when: 'approved' },
        { from: 'a', to: 'c', when: 'x'.repeat(60) },
      ],
    });
    const as = (more: Partial<NodeRecord>) => new Map([['a', { ...node, ...more }]]);
    const states = (more: Partial<NodeRecord>) => arrows.map((arrow) => arrowState(arrow, as(more)));
    const arrowTexts = (more: Partial<NodeRecord>) => arrows.map((arrow) => arrowReason(arrow, as(more)));
    expect(states({})).toEqual(['open', 'open', 'open']);
    expect(states({ state: 'done', taken: ['b'] })).toEqual(['taken', 'untaken', 'untaken']);
    expect(states({ state: 'failed' })).toEqual(['untaken', 'untaken', 'taken']);
    expect(states({ state: 'skipped' })).toEqual(['untaken', 'untaken', 'untaken']);
    expect(arrowTexts({})[0]).toBe('pending');
    expect(arrowTexts({ state: 'failed' })).toEqual([
      'not taken: the node failed',
      'not taken: the node failed',
      'taken: the node failed',
    ]);
    expect(arrowTexts({ state: 'done', taken: ['c'] })).toEqual([
      ...['not taken: approved is false', 'taken', 'not taken: the node did not fail'],
    ]);
    expect(arrowTexts({ state: 'skipped' })[0]).toBe('not taken: the node was skipped');
    expect(arrowTexts({ state: 'dropped' })[0]).toBe('not taken: the node did not finish');
    expect(arrows.map(arrowLabel)).toEqual([
      ['approved'],
      ['x'.repeat(18), `${'x'.repeat(17)}…`],
      ['on error'],
    ]);
  });
});

describe('texts about nodes and members', () => {
  test('describe the state of a node and its wait', () => {
    const line = (more: Partial<NodeRecord>) => nodeLine({ ...node, ...more }, false, 1_000);
    expect(nodeLine(undefined, false, 0)).toBe('');
    expect(line({ state: 'idle' })).toBe('');
    expect([line({}), line({ attempts: 2 })]).toEqual(['▸ running', '▸ running · attempt 2']);
    expect(line({ state: 'done', took_ms: 40 })).toBe('✓ done · 40 ms');
    expect(line({ state: 'skipped', took_ms: 40 })).toBe('– skipped');
    const waitingState = { state: 'waiting', until: '1970-01-01T00:01:01.000Z' } as const;
    expect([line(waitingState), line({ ...waitingState, for_people: true })]).toEqual([
      ...['… waiting · 60 s', '… waiting for people'],
    ]);
    const why = (more: Partial<NodeRecord>, type = 'Wait') => waitingFor({ ...node, ...more }, type, 1_000);
    expect(why({})).toBeUndefined();
    expect(why(waitingState)).toBe('its scheduled time, in 60 s');
    expect(why({ ...waitingState, why: 'no' }, 'HTTP')).toBe('next attempt, in 60 s');
    expect(why({ ...waitingState, for_people: true })).toBe('a decision, for at most 60 s');
    expect(summary([node, undefined, { ...node, state: 'done' }], true)).toBe(
      '3 nodes · 1 running · 1 not reached · 1 done',
    );
  });

  test('describe the decision of a fleet and its votes', () => {
    const member = (name: string, weight = 1, tier = 1) => {
      return { name, agent: null, weight, manager: false, tier };
    };
    const fleet: FleetPlan = {
      mode: 'tiered',
      vote: { field: 'ok', algorithm: 'weighted', min_votes: 2 },
      aggregation: null,
      members: [member('first'), member('ada', 2, 2), member('ben', 1.5, 2)],
    };
    const row = (name: string, vote: string | null): MemberRecord => ({
      path: name,
      name,
      state: 'done',
      why: null,
      vote,
      output: null,
      started_at: null,
      ended_at: null,
      took_ms: null,
    });
    expect(fleetText(fleet)).toBe(
      '3 members: tier by tier, each receives the responses of the previous tier; vote on ok: majority of weights, at least 2 votes',
    );
    expect(fleetText({ ...fleet, mode: 'peer', vote: null, aggregation: 'merge' })).toContain(
      'responses are merged',
    );
    expect(votesText(fleet, [])).toBe('No vote on ok yet.');
    expect(votesText(fleet, [row('first', 'true'), row('ada', 'true'), row('ben', null)])).toBe(
      'Votes on ok: true 2 of 3.5 of the total weight',
    );
    expect(votesText({ ...fleet, vote: null }, [])).toBeUndefined();
    expect((['idle', 'dropped', 'working'] as const).map((state) => memberState({ state }, true))).toEqual([
      ...['not started', 'not needed', 'running'],
    ]);
  });

  test('the address of a flow is unique for any name', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (name) => {
        const { actor } = viewAt(pathOf(flowView(name)));
        expect([flowAt(actor), sectionAt(actor)]).toEqual([name, 'agents']);
      }),
    );
  });
});
