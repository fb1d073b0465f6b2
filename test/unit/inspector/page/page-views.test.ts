// View logic of the page: tree rows, addresses, lifelines, time series and texts.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { NodeStatus } from '../../../../actors/cluster/node-list.ts';
import {
  actorAt,
  addressOf,
  baseName,
  displayName,
  isNodeView,
  isSessionView,
  nameAt,
  nodeAddress,
  nodeAt,
  pathOf,
  SESSIONS,
  sessionAddress,
  sessionAt,
  tabs,
  triggerAddress,
  triggerAt,
  viewAt,
} from '../../../../src/inspector/page/address.ts';
import { workAt, workFigures } from '../../../../src/inspector/page/automation-figures.ts';
import { NumbersHistory, SECONDS, seriesOf } from '../../../../src/inspector/page/feed/history.ts';
import type { LogEntry } from '../../../../src/inspector/page/feed/page-state.ts';
import {
  differingFields,
  differsFromOwn,
  matchingNodes,
} from '../../../../src/inspector/page/node-differences.ts';
import { activePaths, eventText, stateText, toneOf } from '../../../../src/inspector/page/state-text.ts';
import {
  laneLabel,
  lifelines,
  MAX_ARROWS,
  MAX_LANES,
} from '../../../../src/inspector/page/tabs/lifelines.ts';
import { treeMoveFor } from '../../../../src/inspector/page/tree/keys.ts';
import { addressOfLine, TreeLines } from '../../../../src/inspector/page/tree/lines.ts';
import { treeRows } from '../../../../src/inspector/page/tree/rows.ts';
import type { ActorNode, SessionRow, WorkNumbers } from '../../../../src/inspector/wire/feed.ts';

const node = (
  id: string,
  parent: string | null,
  name: string,
  machine: string | null,
  state = 'running',
): ActorNode => ({
  id,
  parent,
  name,
  machine,
  state,
});
const actors = new Map(
  [
    node('0', null, 'gateway', 'gateway', 'serving'),
    node('1', '0', 'servers', 'supervisor', 'supervising'),
    node('2', '1', 'files#1', 'server'),
    node('3', '2', 'pool', null, 'active'),
    node('4', '1', 'bucket-1#2', 'supervisor', 'supervising'),
    node('5', '4', 'mail~3#3', 'server', 'stopped'),
  ].map((actor) => [actor.id, actor]),
);
const names = (filter: string, toggled: string[] = []) =>
  treeRows(actors, { filter, toggled: new Set(toggled) }).map(({ actor, depth }) => `${depth} ${actor.name}`);

describe('the rows of the tree', () => {
  test('show supervisors expanded and servers collapsed', () => {
    expect(names('')).toEqual(['0 gateway', '1 servers', '2 bucket-1#2', '3 mail~3#3', '2 files#1']);
  });

  test('are expanded by address, so that a restarted actor keeps its state', () => {
    expect(names('', ['~bucket-1', 'files'])).toEqual([
      '0 gateway',
      '1 servers',
      '2 bucket-1#2',
      '2 files#1',
      '3 pool',
    ]);
  });

  test('contain matches by name, state and machine with their parents and children, expanded or not', () => {
    expect(names('pool', ['~servers'])).toEqual(['0 gateway', '1 servers', '2 files#1', '3 pool']);
    expect(names('stopped server')).toEqual(['0 gateway', '1 servers', '2 bucket-1#2', '3 mail~3#3']);
    expect(names('nobody')).toEqual([]);
  });

  test('contain only the root if only sessions match the filter', () => {
    const rows = treeRows(actors, { filter: 'nobody', toggled: new Set(), isRootShown: true });
    expect(rows.map(({ actor }) => actor.name)).toEqual(['gateway']);
  });
});

describe('the lines of the tree', () => {
  const rows = treeRows(actors, { filter: '', toggled: new Set() });
  const lines = (isShown: boolean, isOpen: boolean, count = 3) =>
    new TreeLines(rows, {
      isShown,
      isOpen,
      count,
      row: (index) => (index === 2 ? undefined : ({ number: 10 + index } as SessionRow)),
    });
  const addresses = (tree: ReturnType<typeof lines>) =>
    Array.from({ length: tree.length }, (_, line) => {
      const row = tree.at(line);
      return row && addressOfLine(row);
    });

  test('are the actors, then the group of sessions, then each session', () => {
    const above = ['', '~servers', '~bucket-1', 'mail', 'files'];
    expect(addresses(lines(false, true))).toEqual(above);
    expect(addresses(lines(true, false))).toEqual([...above, SESSIONS]);
    const open = lines(true, true);
    expect(addresses(open)).toEqual([...above, SESSIONS, `${SESSIONS}/10`, `${SESSIONS}/11`, undefined]);
    expect([open.lineOfSession('all'), open.lineOfSession(2), open.lineOfSession(3)]).toEqual([5, 8, -1]);
    expect(lines(true, false).lineOfSession(0)).toBe(-1);
    expect(lines(false, false).lineOfSession('all')).toBe(-1);
    expect([open.at(-1), open.at(9), lines(true, false).at(6)]).toEqual([undefined, undefined, undefined]);
  });

  test('return the index of their parent line', () => {
    const open = lines(true, true);
    expect(Array.from({ length: open.length }, (_, line) => open.parentOf(line))).toEqual([
      ...[undefined, 0, 1, 2, 1],
      ...[0, 5, 5, 5],
    ]);
  });

  test('support the usual keys of a tree', () => {
    const open = lines(true, true);
    const moves = (line: number, isFixed = false) =>
      ['ArrowUp', 'ArrowDown', 'PageDown', 'Home', 'End', 'ArrowLeft', 'ArrowRight', 'x'].map((key) => {
        const move = treeMoveFor(key, line, open, isFixed);
        return move?.kind === 'go' ? move.line : move?.address;
      });
    expect(moves(0)).toEqual([0, 1, 8, 0, 8, '~gateway', 1, undefined]);
    expect(moves(4)).toEqual([3, 5, 8, 0, 8, 1, 'files', undefined]);
    expect(moves(5)).toEqual([4, 6, 8, 0, 8, SESSIONS, 6, undefined]);
    expect(moves(5, true)).toEqual([4, 6, 8, 0, 8, 0, 6, undefined]);
    expect(moves(7)).toEqual([6, 8, 8, 0, 8, 5, undefined, undefined]);
    expect(moves(-1)).toEqual([0, 0, 8, 0, 8, undefined, undefined, undefined]);
    expect(treeMoveFor('ArrowRight', 5, lines(true, false), false)).toEqual({
      kind: 'toggle',
      address: SESSIONS,
    });
    const empty = new TreeLines([], { isShown: false, isOpen: false, count: 0, row: () => undefined });
    expect(treeMoveFor('End', -1, empty, false)).toBeUndefined();
  });

  test('have the nodes of a cluster between actors and sessions, each with its own address', () => {
    const row = (name: string, config_hash: string | null = 'abc'): NodeStatus => ({
      name,
      state: 'running',
      epoch: 1,
      version: '1',
      config_hash,
    });
    const nodes = [row('a'), row('b/c'), row('d', 'other'), row('old', null)];
    const group = { isShown: true, isOpen: true, count: 2 };
    const tree = new TreeLines(rows, { ...group, row: (index) => ({ number: index }) as SessionRow }, nodes);
    const from = rows.length;
    expect(addresses(tree).slice(from)).toEqual([
      ...['~nodes', '~nodes/a', '~nodes/b%2Fc', '~nodes/d', '~nodes/old'],
      ...[SESSIONS, `${SESSIONS}/0`, `${SESSIONS}/1`],
    ]);
    expect([undefined, 'a', 'old', 'gone'].map((name) => tree.lineOfNode(name))).toEqual([
      from,
      from + 1,
      from + 4,
      -1,
    ]);
    expect([tree.lineOfSession('all'), tree.lineOfSession(0)]).toEqual([from + 5, from + 6]);
    expect(Array.from({ length: 8 }, (_, line) => tree.parentOf(from + line))).toEqual([
      ...[0, from, from, from, from],
      ...[0, from + 5, from + 5],
    ]);
    expect(treeMoveFor('ArrowLeft', from + 2, tree, false)).toEqual({ kind: 'go', line: from });
    expect(treeMoveFor('ArrowRight', from, tree, false)).toBeUndefined();
    expect(['~nodes', nodeAddress('b/c'), '~node', 'nodes'].map(isNodeView)).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(nodeAt(viewAt(pathOf({ actor: nodeAddress('b/c'), tab: 'log' })).actor)).toBe('b/c');
    expect(actorAt('~nodes', actors)).toBeUndefined();

    expect(differingFields(nodes)).toEqual(['configuration']);
    const cluster = { nodes, own: 'b/c' };
    expect(nodes.map((each) => differsFromOwn(each, cluster))).toEqual([false, false, true, false]);
    expect(nodes.map((each) => differsFromOwn(each, { nodes, own: 'gone' }))).not.toContain(true);
    expect(matchingNodes(nodes, 'node other').map(({ name }) => name)).toEqual(['d']);
  });

  test('that are sessions have addresses that no actor uses and that are restored from their paths', () => {
    for (const actor of actors.values()) expect(sessionAt(addressOf(actor, actors))).toBeUndefined();
    expect(actorAt(SESSIONS, actors)).toBeUndefined();
    expect(viewAt(pathOf({ actor: sessionAddress(42), tab: 'log' })).actor).toBe(sessionAddress(42));
    expect(sessionAt(sessionAddress(42))).toBe(42);
    expect([SESSIONS, sessionAddress(42)].map(isSessionView)).toEqual([true, true]);
    for (const other of [
      '',
      `${SESSIONS}/`,
      `${SESSIONS}/x`,
      `files/${SESSIONS}/1`,
      'sessions',
      'sessions/1',
    ])
      expect([other, sessionAt(other), isSessionView(other)]).toEqual([other, undefined, false]);
  });
});

describe('the address of a view', () => {
  test('leads to the same actor after the actor was restarted', () => {
    for (const actor of actors.values()) {
      const address = addressOf(actor, actors);
      expect(actorAt(address, actors)).toBe(actor);
    }
    expect(actorAt('', actors)?.name).toBe('gateway');
    expect(actorAt('nobody', actors)).toBeUndefined();
    expect([baseName('mail~3#3'), baseName('a.b-c#12'), baseName('pool')]).toEqual(['mail', 'a.b-c', 'pool']);
  });

  test('is unique for any server ids', () => {
    const ids = ['gateway', 'servers', 'bucket-1', 'sessions', 'pool', 'bootPart'];
    const crowd = new Map(actors);
    for (const [index, id] of ids.entries()) {
      crowd.set(`s${index}`, node(`s${index}`, '1', `${id}#${index + 10}`, 'server'));
      crowd.set(`p${index}`, node(`p${index}`, `s${index}`, 'pool', null, 'active'));
    }
    crowd.set('boot', node('boot', '0', 'bootPart', null, 'active'));
    const addresses = [...crowd.values()].map((actor) => addressOf(actor, crowd));
    expect(new Set([...addresses, SESSIONS]).size).toBe(crowd.size + 1);
    for (const actor of crowd.values()) expect(actorAt(addressOf(actor, crowd), crowd)).toBe(actor);
    for (const id of ids) expect(actorAt(id, crowd)?.machine).toBe('server');
    expect([nameAt('~servers'), nameAt('servers'), nameAt('gateway')]).toEqual([
      ...['servers', 'servers', 'gateway'],
    ]);
  });

  test('is restored from its path, for any actor name', () => {
    const name = fc
      .string({ minLength: 1 })
      .filter((text) => !text.includes('/') && !/[\uD800-\uDFFF]/.test(text));
    const path = fc.array(name, { maxLength: 3 }).map((parts) => parts.join('/'));
    fc.assert(
      fc.property(path, fc.constantFrom(...tabs), (actor, tab) => {
        expect(viewAt(pathOf({ actor, tab }))).toEqual({ actor, tab });
      }),
    );
  });

  test('is unique for any trigger names and conversation keys', () => {
    const crowd = new Map(actors);
    const names = ['servers', 'gateway', 'files', 'sessions', 'open', 'a~3'];
    const keys = [
      'conversation/http/a',
      'conversation/http/a/run',
      'conversation/http/a%2Frun',
      'outbox/a//b',
    ];
    crowd.set('ts', node('ts', '0', 'triggers', 'supervisor', 'supervising'));
    crowd.set('cs', node('cs', '0', 'conversations', null, 'active'));
    for (const [index, name] of names.entries()) {
      crowd.set(`t${index}`, node(`t${index}`, 'ts', `${name}#${index}`, 'trigger', 'open'));
      crowd.set(`o${index}`, node(`o${index}`, `t${index}`, 'open', null, 'active'));
    }
    for (const [index, key] of [
      ...keys,
      'conversation/http/..',
      'conversation/repo/a#7',
      'conversation/http/x~3',
    ].entries()) {
      crowd.set(`k${index}`, node(`k${index}`, 'cs', `${key}#${index}`, 'conversation', 'ready'));
      crowd.set(`r${index}`, node(`r${index}`, `k${index}`, 'run', null, 'active'));
    }
    const addresses = [...crowd.values()].map((actor) => addressOf(actor, crowd));
    expect(new Set(addresses).size).toBe(crowd.size);
    for (const actor of crowd.values()) {
      const address = addressOf(actor, crowd);
      expect(actorAt(address, crowd)).toBe(actor);
      const path = pathOf({ actor: address, tab: 'log' });
      // Browsers remove dot segments from paths.
      expect(viewAt(new URL(path, 'http://gateway/').pathname)).toEqual({ actor: address, tab: 'log' });
    }
    for (const name of names) expect(triggerAt(triggerAddress(name))).toBe(name);
    expect([triggerAt('~triggers'), triggerAt('servers'), triggerAt('~trigger/a/open')]).toEqual([
      ...[undefined, undefined, undefined],
    ]);
  });

  test('is displayed as the name of the actor or trigger, without the prefix and the number of the start', () => {
    const key = node('k', 'cs', 'conversation/repohost/acme/site#7#12', 'conversation');
    expect(displayName(key.name)).toBe('repohost/acme/site#7');
    expect(nameAt(addressOf(key, new Map()))).toBe('repohost/acme/site#7');
    expect(nameAt(triggerAddress('orders'))).toBe('orders');
    expect(laneLabel(key.name)).toBe('…ost/acme/site#7');
    expect(laneLabel('a-server-with-a-long-name#1')).toBe('a-server-with-a…');
  });

  test('without a tab selects the log tab, and without an actor selects the root', () => {
    for (const path of ['/inspector', '/inspector/', '/inspector/view/', '/elsewhere'])
      expect(viewAt(path)).toEqual({ actor: '', tab: 'log' });
    expect(viewAt('/inspector/view/files')).toEqual({ actor: 'files', tab: 'log' });
    expect(viewAt('/inspector/view/%zz/numbers')).toEqual({ actor: '%zz', tab: 'numbers' });
  });
});

describe('the lifelines of a sequence diagram', () => {
  const entry = (n: number, name: string, sourceName: string | null): LogEntry => ({
    n,
    actor: name,
    name,
    machine: null,
    source: sourceName,
    sourceName,
    event: `event-${n}`,
    state: null,
    at: n,
  });

  test('are connected by arrows from the sender to the receiver, oldest first', () => {
    const { lanes, arrows } = lifelines([entry(1, 'files#1', null), entry(2, 'pool', 'files#1')]);
    expect(lanes).toEqual(['outside', 'files#1', 'pool']);
    expect(arrows.map(({ from, to, event }) => [from, to, event])).toEqual([
      [0, 1, 'event-1'],
      [1, 2, 'event-2'],
    ]);
  });

  test('contain only events of one actor if it is selected', () => {
    const log = [entry(1, 'a', 'b'), entry(2, 'c', 'd'), entry(3, 'd', 'a')];
    expect(lifelines(log, new Set(['a'])).arrows.map(({ n }) => n)).toEqual([1, 3]);
  });

  test('are limited in number, as are the arrows, and each arrow connects existing lifelines', () => {
    const name = fc.integer({ min: 0, max: 30 }).map(String);
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.option(name)), { maxLength: 200 }), (pairs) => {
        const { lanes, arrows } = lifelines(pairs.map(([to, from], n) => entry(n, to, from)));
        expect(lanes.length).toBeLessThanOrEqual(MAX_LANES + 1);
        expect(new Set(lanes).size).toBe(lanes.length);
        expect(arrows).toHaveLength(Math.min(pairs.length, MAX_ARROWS));
        for (const { from, to } of arrows) {
          expect(lanes[from]).toBeDefined();
          expect(lanes[to]).toBeDefined();
        }
      }),
    );
  });
});

describe('the history of the statistics', () => {
  const sample = (at: number, requests: number, in_flight = 0) => ({
    at,
    requests,
    failed: 0,
    in_flight,
    waiting: 0,
    p95: null,
  });

  test('is a series per second, computed from the received samples', () => {
    const series = seriesOf([sample(1_000, 10, 1), sample(3_000, 14, 2)], 5_000, 5);
    expect(series.perSecond).toEqual([null, 0, 4, 0, 0]);
    expect(series.inFlight).toEqual([1, 1, 2, 2, 2]);
  });

  test('keeps the samples of five minutes, and the last sample before them', () => {
    const history = new NumbersHistory();
    for (let second = 0; second < 2_000; second += 1) history.add('files', sample(second * 1_000, second));
    expect(history.samples('files').length).toBeLessThanOrEqual(SECONDS + 1);
    const sparse = new NumbersHistory();
    for (const at of [0, 1_000, 900_000, 901_000]) sparse.add('files', sample(at, 1));
    expect(sparse.samples('files').map(({ at }) => at)).toEqual([1_000, 900_000, 901_000]);
  });
});

describe('the texts of the inspector', () => {
  test('describe nested states', () => {
    expect(stateText({ failed: 'parked' })).toBe('failed.parked');
    expect(activePaths({ failed: 'parked' })).toEqual(['failed', 'failed.parked']);
    expect(toneOf({ failed: 'parked' })).toBe('bad');
    expect(toneOf('something new')).toBe('off');
    expect([toneOf('paused'), toneOf('open')]).toEqual(['warn', 'good']);
    expect([toneOf({ busy: 'handling' }), toneOf({ busy: 'overrun' })]).toEqual(['busy', 'bad']);
  });

  test("describe XState's internal events", () => {
    expect(eventText('xstate.done.actor.0.gateway.booting.part')).toBe('part done');
    expect(eventText('xstate.error.actor.servers')).toBe('servers failed');
    expect(eventText('xstate.init')).toBe('init');
    expect(eventText('pool.ready')).toBe('pool.ready');
  });
});

test('the inspector finds the statistics of a work queue by the address of its actor', () => {
  const none = { done: 0, ignored: 0, held: 0, deferred: 0, failed: 0, retried: 0, dead: 0, lost: 0 };
  const work = (name: string, handled: number): WorkNumbers => ({
    ...none,
    name,
    active: 1,
    resting: 0,
    overruns: 0,
    places: 8,
    handled,
    duration_ms: { p50: null, p95: null },
  });
  const totals = { deliveries: null, limits: {}, works: [work('conversations', 1), work('flow runs/a', 7)] };
  const actor = { name: 'flow runs/a', machine: null, parent: '0' };
  const totalsRow = workAt(totals, addressOf(actor, actors));
  expect(totalsRow && workFigures(totals, totalsRow)).toEqual(expect.arrayContaining([['handled', '7']]));
  expect([workAt(totals, '~servers'), workAt(null, '~conversations')]).toEqual([undefined, undefined]);
});
