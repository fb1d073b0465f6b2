// The parts of the page about flows and fleets that decide what is to be seen: which arrows there are and how they look, and words.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MemberRecord, NodeRecord } from '../../../../src/http/api/run-shapes.ts';
import type { FleetPlan, GraphRecord } from '../../../../src/http/api/target-shapes.ts';
import { flowAt, flowView, pathOf, sectionAt, viewAt } from '../../../../src/inspector/page/address.ts';
import { placedGraph } from '../../../../src/inspector/page/chart/chart-layout.ts';
import { fleetWords, votesText } from '../../../../src/inspector/page/flow/fleet-words.ts';
import {
  arrowLabel,
  arrowState,
  dotted,
  graphOfFlow,
  partsOf,
} from '../../../../src/inspector/page/flow/flow-graph.ts';
import {
  arrowWords,
  memberState,
  nodeLine,
  nodeWaits,
  summary,
} from '../../../../src/inspector/page/flow/node-words.ts';

const node: NodeRecord = {
  ...{ place: 'a', path: 'a', id: 'a', type: 'HTTP', state: 'working', attempts: 1, turn: null, until: null },
  ...{ for_people: false, approval: null, why: null, started_at: null, ended_at: null, took_ms: null },
  ...{ taken: null, input: null, output: null },
};

const ids = 'abcdefgh'.split('');
/** Connections lead on in the order of the ids, so there is no cycle. */
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
  test('has a box for each node, in that of its loop, and an arrow for each connection and each on_error (FGR1)', () => {
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
        const chart = placedGraph('f', graphOfFlow(parts));
        const byPath = new Map(chart.boxes.map((box) => [box.path, box]));
        for (const { place, loop } of parts.nodes) {
          const box = byPath.get(dotted(place));
          const around = loop === null ? undefined : byPath.get(dotted(loop));
          expect(box).toBeDefined();
          if (box === undefined || around === undefined) continue;
          expect(box.x).toBeGreaterThanOrEqual(around.x);
          expect(box.y + box.height).toBeLessThanOrEqual(around.y + around.height);
        }
        for (const arrow of chart.arrows) {
          expect(arrow.points.length).toBeGreaterThan(1);
          for (const { x, y } of arrow.points) expect(Number.isFinite(x + y)).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  });

  test('says of each arrow whether it was taken, and why not', () => {
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
    const words = (more: Partial<NodeRecord>) => arrows.map((arrow) => arrowWords(arrow, as(more)));
    expect(states({})).toEqual(['open', 'open', 'open']);
    expect(states({ state: 'done', taken: ['b'] })).toEqual(['taken', 'untaken', 'untaken']);
    expect(states({ state: 'failed' })).toEqual(['untaken', 'untaken', 'taken']);
    expect(states({ state: 'skipped' })).toEqual(['untaken', 'untaken', 'untaken']);
    expect(words({})[0]).toBe('not decided yet');
    expect(words({ state: 'failed' })).toEqual([
      'not taken: it failed',
      'not taken: it failed',
      'taken: it failed',
    ]);
    expect(words({ state: 'done', taken: ['c'] })).toEqual([
      ...['not taken: approved does not hold', 'taken', 'not taken: it did not fail'],
    ]);
    expect(words({ state: 'skipped' })[0]).toBe('not taken: it was skipped');
    expect(words({ state: 'dropped' })[0]).toBe('not taken: it came to no end');
    expect(arrows.map(arrowLabel)).toEqual(['approved', `${'x'.repeat(33)}…`, 'on error']);
  });
});

describe('words about nodes and members', () => {
  test('say how a node stands, and for what it waits', () => {
    const line = (more: Partial<NodeRecord>) => nodeLine({ ...node, ...more }, false, 1_000);
    expect(nodeLine(undefined, false, 0)).toBe('');
    expect(line({ state: 'idle' })).toBe('');
    expect([line({}), line({ attempts: 2 })]).toEqual(['▸ running', '▸ running · try 2']);
    expect(line({ state: 'done', took_ms: 40 })).toBe('✓ done · 40 ms');
    expect(line({ state: 'skipped', took_ms: 40 })).toBe('– skipped');
    const waits = { state: 'waiting', until: '1970-01-01T00:01:01.000Z' } as const;
    expect([line(waits), line({ ...waits, for_people: true })]).toEqual([
      ...['… waiting · 60 s', '… waiting for people'],
    ]);
    const why = (more: Partial<NodeRecord>, type = 'Wait') => nodeWaits({ ...node, ...more }, type, 1_000);
    expect(why({})).toBeUndefined();
    expect(why(waits)).toBe('its time to come, in 60 s');
    expect(why({ ...waits, why: 'no' }, 'HTTP')).toBe('the next attempt, in 60 s');
    expect(why({ ...waits, for_people: true })).toBe('somebody to decide, for 60 s at the most');
    expect(summary([node, undefined, { ...node, state: 'done' }], true)).toBe(
      '3 nodes · 1 running · 1 not reached · 1 done',
    );
  });

  test('say how a fleet decides, and how the vote stands', () => {
    const member = (name: string, weight = 1, tier = 1) => {
      return { name, agent: null, weight, manager: false, tier };
    };
    const fleet: FleetPlan = {
      ...{ mode: 'tiered', vote: { field: 'ok', algorithm: 'weighted', min_votes: 2 }, aggregation: null },
      members: [member('first'), member('ada', 2, 2), member('ben', 1.5, 2)],
    };
    const row = (name: string, vote: string | null): MemberRecord => ({
      ...{ path: name, name, state: 'done', why: null, vote, output: null },
      ...{ started_at: null, ended_at: null, took_ms: null },
    });
    expect(fleetWords(fleet)).toBe(
      '3 members: tier by tier, each is told what the one before it said; a vote on ok: more than half of all weight, 2 votes at least',
    );
    expect(fleetWords({ ...fleet, mode: 'peer', vote: null, aggregation: 'merge' })).toContain('all answers');
    expect(votesText(fleet, [])).toBe('No vote on ok yet.');
    expect(votesText(fleet, [row('first', 'true'), row('ada', 'true'), row('ben', null)])).toBe(
      'Votes on ok: true 2 of 3.5 of all weight',
    );
    expect(votesText({ ...fleet, vote: null }, [])).toBeUndefined();
    expect((['idle', 'dropped', 'working'] as const).map((state) => memberState({ state }, true))).toEqual([
      ...['not asked', 'not needed', 'running'],
    ]);
  });

  test('the address of a flow is its own, whatever its name', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), (name) => {
        const { actor } = viewAt(pathOf(flowView(name)));
        expect([flowAt(actor), sectionAt(actor)]).toEqual([name, 'agents']);
      }),
    );
  });
});
