// Frames of the feed with real XState actors: content, redaction and bounds.
// Invariants: A9 in ARCHITECTURE.md; AF2 and AF3 in src/inspector/feed/actor-feed.ts.

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ActorRefFrom, assign, createActor, fromPromise, sendTo, setup } from 'xstate';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import { ActorFeed } from '../../../../src/inspector/feed/actor-feed.ts';
import { ActorNames } from '../../../../src/inspector/feed/actor-names.ts';
import type { Frame } from '../../../../src/inspector/wire/feed.ts';

const SECRET = 'sk-0123456789';
const names = new ActorNames(new Redactor([SECRET]));

const child = setup({
  types: {
    events: {} as { type: 'flip'; secret?: string } | { type: 'end' } | { type: 'note' },
    context: {} as { secret: string },
  },
}).createMachine({
  id: 'child',
  context: { secret: SECRET },
  initial: 'off',
  states: {
    off: { on: { flip: { target: 'on', actions: assign({ secret: () => `${SECRET}-2` }) } } },
    on: { initial: 'low', states: { low: {} }, on: { flip: 'off' } },
    over: { type: 'final' },
  },
  on: { end: '.over', note: {} },
});

interface Told {
  readonly event: { readonly index: number; readonly secret?: string };
}

/** Sends to a child by name. The type of `sendTo` requires statically known children. */
function toChild(make: (event: Told['event']) => object) {
  const send = sendTo as (target: unknown, event: unknown) => unknown;
  return send(
    ({ event }: Told) => `child-${event.index}`,
    ({ event }: Told) => make(event),
  ) as never;
}

/** Creates a root with `count` children; it forwards `tell` to a child. */
function parentWithChildren(count: number) {
  const machine = setup({
    types: {
      events: {} as { type: 'tell'; index: number; secret: string } | { type: 'drop'; index: number },
    },
    actors: { child, work: fromPromise(() => new Promise<void>(() => {})) },
  }).createMachine({
    id: 'family',
    invoke: [
      ...Array.from({ length: count }, (_, index) => ({ id: `child-${index}`, src: 'child' as const })),
      { id: 'work', src: 'work' as const },
    ],
    on: {
      tell: { actions: toChild(({ secret }) => ({ type: 'flip', secret })) },
      drop: { actions: toChild(() => ({ type: 'end' })) },
    },
  });
  return createActor(machine, { id: 'root' }).start();
}

type Child = ActorRefFrom<typeof child>;
const childOf = (root: ReturnType<typeof parentWithChildren>, index: number) =>
  root.getSnapshot().children[`child-${index}`] as unknown as Child;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function feedOf(root: ReturnType<typeof parentWithChildren>) {
  const feed = new ActorFeed(root, names);
  const frames: Frame[] = [];
  const leave = feed.watch((frame) => frames.push(frame));
  return { feed, frames, leave, tick: () => vi.advanceTimersByTime(100) };
}

describe('the actor feed of the inspector', () => {
  test('reports a step once, with event, sender and new state', () => {
    const root = parentWithChildren(2);
    const { frames, tick } = feedOf(root);
    root.send({ type: 'tell', index: 1, secret: SECRET });
    expect(frames).toEqual([]);
    tick();
    expect(frames).toHaveLength(1);
    const childRecord = frames[0]?.actors.find(({ name }) => name === 'child-1');
    expect(childRecord).toMatchObject({
      parent: root.sessionId,
      machine: 'child',
      state: { on: 'low' },
      isGone: false,
      steps: [{ event: 'flip', source: root.sessionId, state: { on: 'low' } }],
    });
    tick();
    expect(frames).toHaveLength(1);
  });

  test('reports a step without a state if the state did not change', () => {
    const root = parentWithChildren(1);
    const { frames, tick } = feedOf(root);
    childOf(root, 0).send({ type: 'note' });
    tick();
    expect(frames[0]?.actors[0]?.steps).toMatchObject([{ event: 'note', source: null, state: null }]);
  });

  test('numbers steps in the order of their events, so that a cause precedes its effects', () => {
    const root = parentWithChildren(1);
    const { feed, tick } = feedOf(root);
    root.send({ type: 'tell', index: 0, secret: '' });
    tick();
    expect(feed.tree().recent.map(({ event }) => event)).toEqual(['tell', 'flip']);
  });

  test('uses the time of the event, so that times are in the order of the steps', () => {
    const root = parentWithChildren(1);
    const { feed, tick } = feedOf(root);
    let clock = 0;
    const now = vi.spyOn(Date, 'now').mockImplementation(() => ++clock);
    try {
      for (let round = 0; round < 5; round += 1) root.send({ type: 'tell', index: 0, secret: '' });
      tick();
      const times = feed.tree().recent.map(({ at }) => at);
      expect(times).toHaveLength(10);
      expect(times).toEqual([...times].sort((a, b) => a - b));
    } finally {
      now.mockRestore();
    }
  });

  test('sends at most ten frames a second, each actor once in each', () => {
    const root = parentWithChildren(3);
    const { frames } = feedOf(root);
    for (let round = 0; round < 100; round += 1) {
      root.send({ type: 'tell', index: round % 3, secret: '' });
      vi.advanceTimersByTime(10);
    }
    expect(frames.length).toBeLessThanOrEqual(10);
    for (const { actors } of frames) expect(new Set(actors.map(({ id }) => id)).size).toBe(actors.length);
  });

  test('reports that an ended actor is gone, and removes it from the tree', () => {
    const root = parentWithChildren(2);
    const { feed, frames, tick } = feedOf(root);
    root.send({ type: 'drop', index: 0 });
    tick();
    expect(frames[0]?.actors.find(({ name }) => name === 'child-0')).toMatchObject({
      isGone: true,
      state: 'over',
    });
    expect(feed.tree().actors.map(({ name }) => name)).toEqual(['root', 'child-1', 'work']);
  });

  test('shows the status of an actor that has no state machine', () => {
    const { feed } = feedOf(parentWithChildren(0));
    expect(feed.tree().actors[1]).toMatchObject({ name: 'work', machine: null, state: 'active' });
  });

  test('drops steps beyond its bounds and counts them (AF3)', () => {
    const root = parentWithChildren(1);
    const { feed, frames, tick } = feedOf(root);
    for (let round = 0; round < 50; round += 1) childOf(root, 0).send({ type: 'note' });
    tick();
    expect(frames[0]?.actors[0]?.steps).toHaveLength(16);
    expect(frames[0]?.dropped).toBe(34);
    expect([feed.tree().dropped, feed.unseen]).toEqual([34, 0]);
  });

  test('omits more than 2,000 actors per frame, and counts them (AF3)', () => {
    const root = parentWithChildren(2_050);
    const { feed, frames, tick } = feedOf(root);
    for (let index = 0; index < 2_050; index += 1) childOf(root, index).send({ type: 'note' });
    tick();
    expect(frames[0]?.actors).toHaveLength(2_000);
    expect([frames[0]?.dropped, feed.unseen]).toEqual([50, 50]);
  });

  test('reports at most 8,000 steps per frame, but the state of every actor (AF3)', () => {
    const root = parentWithChildren(1_000);
    const { feed, frames, tick } = feedOf(root);
    for (let round = 0; round < 10; round += 1)
      for (let index = 0; index < 1_000; index += 1) childOf(root, index).send({ type: 'flip' });
    tick();
    expect(frames[0]?.actors).toHaveLength(1_000);
    expect(frames[0]?.actors.flatMap(({ steps }) => steps)).toHaveLength(8_000);
    expect([feed.tree().dropped, feed.unseen]).toEqual([2_000, 0]);
    for (let index = 0; index < 1_000; index += 1) childOf(root, index).send({ type: 'note' });
    tick();
    expect(frames[1]?.actors.flatMap(({ steps }) => steps)).toHaveLength(1_000);
  });

  test('keeps the last 1,024 steps, however long it runs (AF3)', () => {
    const root = parentWithChildren(1);
    const { feed, tick } = feedOf(root);
    for (let round = 0; round < 2_000; round += 1) {
      childOf(root, 0).send({ type: 'note' });
      if (round % 10 === 0) tick();
    }
    tick();
    expect(feed.tree().recent).toHaveLength(1_024);
  });

  test('inspects no actors before the first watcher and after the last', () => {
    const root = parentWithChildren(1);
    const inspect = vi.spyOn(root.system, 'inspect');
    const feed = new ActorFeed(root, names);
    root.send({ type: 'tell', index: 0, secret: '' });
    expect([inspect.mock.calls.length, vi.getTimerCount(), feed.watchers]).toEqual([0, 0, 0]);
    const leave = [feed.watch(() => {}), feed.watch(() => {})];
    expect([inspect.mock.calls.length, feed.watchers]).toEqual([1, 2]);
    const { unsubscribe } = inspect.mock.results[0]?.value ?? {};
    expect(unsubscribe).toBeTypeOf('function');
    for (const each of leave) each();
    root.send({ type: 'tell', index: 0, secret: '' });
    expect([vi.getTimerCount(), feed.watchers, feed.tree().recent.length]).toEqual([0, 0, 0]);
  });

  test('shows only context members declared by the machine, as short texts or numbers', () => {
    const machine = setup({ types: { context: {} as Record<string, unknown> } }).createMachine({
      id: 'named',
      meta: { inspect: ['count', 'isReady', 'word', 'whole', 'gone'] },
      context: { count: 3, isReady: true, word: 'x'.repeat(1000), whole: { of: SECRET }, key: SECRET },
    });
    const root = createActor(machine).start();
    const { actors } = new ActorFeed(root, names).tree();
    expect(actors[0]?.context).toEqual({ count: 3, isReady: true, word: 'x'.repeat(200) });
    root.stop();
  });

  test('reports types and states, never a context or payload (AF2, A9)', () => {
    const commands = fc.array(
      fc.record({ index: fc.nat({ max: 3 }), isDrop: fc.boolean(), pause: fc.nat({ max: 150 }) }),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(commands, (list) => {
        const root = parentWithChildren(4);
        const { feed, frames, leave, tick } = feedOf(root);
        const ended = new Set<number>();
        for (const { index, isDrop, pause } of list) {
          // XState ignores events for stopped actors, with a warning.
          if (ended.has(index)) continue;
          if (isDrop) ended.add(index);
          if (isDrop) root.send({ type: 'drop', index });
          else root.send({ type: 'tell', index, secret: SECRET });
          vi.advanceTimersByTime(pause);
        }
        tick();
        const text = JSON.stringify([feed.tree(), frames]);
        expect(text).not.toContain('sk-');
        expect(text).not.toContain('context');
        for (const { actors } of frames) {
          expect(new Set(actors.map(({ id }) => id)).size).toBe(actors.length);
          for (const { steps } of actors) expect(steps.length).toBeLessThanOrEqual(16);
        }
        // The last frame of each actor agrees with the tree.
        const actorIds = new Set(feed.tree().actors.map(({ id }) => id));
        const last = new Map(frames.flatMap(({ actors }) => actors.map((actor) => [actor.id, actor.isGone])));
        for (const [id, isGone] of last) expect(actorIds.has(id)).toBe(!isGone);
        leave();
        root.stop();
      }),
    );
  });
});
