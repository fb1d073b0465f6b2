// The state machine of a connection: chart as text, pauses, and random events with well-behaved runs.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createActor, fromCallback, SimulatedClock } from 'xstate';
import { type DirectedGraphNode, toDirectedGraph } from 'xstate/graph';
import {
  type ConnectionEvent,
  type ConnectionInput,
  connectionMachine,
} from '../../../machines/connection.ts';
import { type ConnectionFailure, connectionPause, isVisible } from '../../../machines/connection-failure.ts';

const connectionLoss: ConnectionFailure = { kind: 'transient', reason: 'cut' };
const refused: ConnectionFailure = { kind: 'refused', reason: 'Unauthorized' };

/** Starts a machine with runs that the test controls. */
function bench() {
  const clock = new SimulatedClock();
  const runs: { isOver: boolean; wasAskedToClose: boolean; tell(event: ConnectionEvent): void }[] = [];
  const states: string[] = [];
  const logic = connectionMachine.provide({
    actors: {
      run: fromCallback<{ type: 'close' }, ConnectionInput>(({ sendBack, receive }) => {
        const run = { isOver: false, wasAskedToClose: false, tell: sendBack };
        runs.push(run);
        receive(() => {
          run.wasAskedToClose = true;
        });
        return () => {
          run.isOver = true;
        };
      }),
    },
    actions: { announce: (_, { state }) => void states.push(state) },
  });
  const input = { key: 'k', generation: 1, now: () => clock.now(), random: () => 0 };
  const actor = createActor(logic, { clock, input }).start();
  return {
    actor,
    clock,
    runs,
    states,
    state: () => actor.getSnapshot().value,
    pauseMs: () => actor.getSnapshot().context.pauseMs,
    live: () => runs.filter(({ isOver }) => !isOver),
    tell: (event: ConnectionEvent) => runs.at(-1)?.tell(event),
  };
}

function lines(node: DirectedGraphNode): string[] {
  const own = node.edges.map(({ source, target, label, transition: { guard } }) => {
    const when = guard === undefined ? '' : ` [${typeof guard === 'string' ? guard : 'guard'}]`;
    return `${source.id} -- ${label.text}${when} --> ${target.id}`.replaceAll('connection.', '');
  });
  return [...own, ...node.children.flatMap(lines)];
}

describe('the state chart of a connection', () => {
  test('has exactly the transitions of the snapshot', () => {
    expect(lines(toDirectedGraph(connectionMachine)).join('\n')).toMatchInlineSnapshot(`
      "connection -- wanted --> connection
      connecting -- opened --> connected
      connecting -- lost [isVisible] --> failed
      connecting -- lost --> backingOff
      connecting -- renew --> closing
      connecting -- unwanted --> closing
      connecting -- shutdown --> closing
      connected -- lost [isVisible] --> failed
      connected -- lost --> backingOff
      connected -- renew --> closing
      connected -- unwanted --> closing
      connected -- shutdown --> closing
      backingOff -- due --> connecting
      backingOff -- start --> connecting
      backingOff -- renew --> connecting
      backingOff -- unwanted --> ended
      backingOff -- shutdown --> ended
      failed -- due --> connecting
      failed -- start --> connecting
      failed -- renew --> connecting
      failed -- unwanted --> ended
      failed -- shutdown --> ended
      closing -- closed [isWantedAgain] --> connecting
      closing -- closed --> ended
      closing -- lost [isWantedAgain] --> connecting
      closing -- lost --> ended
      closing -- unwanted --> closing
      closing -- shutdown --> closing"
    `);
  });
});

describe('a connection', () => {
  test('is retried forever with increasing pauses, which reset after a stable connection', () => {
    const { clock, state, tell, pauseMs, runs } = bench();
    const pauses: number[] = [];
    for (let count = 0; count < 12; count += 1) {
      expect(state()).toBe('connecting');
      tell({ type: 'lost', failure: connectionLoss });
      expect(state()).toBe('backingOff');
      pauses.push(pauseMs());
      clock.increment(pauseMs() - 1);
      expect(state()).toBe('backingOff');
      clock.increment(1);
    }
    expect(pauses).toEqual([
      250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000,
    ]);
    tell({ type: 'opened' });
    clock.increment(9_999);
    tell({ type: 'lost', failure: connectionLoss });
    expect(pauseMs()).toBe(30_000);
    clock.increment(30_000);
    tell({ type: 'opened' });
    clock.increment(10_000);
    tell({ type: 'lost', failure: connectionLoss });
    expect(pauseMs()).toBe(250);
    expect(runs).toHaveLength(14);
  });

  test('that is refused once the platform is reachable again retries with the shortest pause', () => {
    const { clock, state, tell, pauseMs } = bench();
    for (let count = 0; count < 12; count += 1) {
      tell({ type: 'lost', failure: connectionLoss });
      clock.increment(pauseMs());
    }
    tell({ type: 'opened' });
    tell({ type: 'lost', failure: refused });
    expect(state()).toBe('failed');
    expect(pauseMs()).toBe(2_000);
    clock.increment(2_000);
    tell({ type: 'lost', failure: refused });
    expect(pauseMs()).toBe(4_000);
  });

  test('that the platform refuses is failed, keeps the reason during retries, and clears it once connected', () => {
    const { actor, clock, state, tell, pauseMs, states } = bench();
    const reason = () => actor.getSnapshot().context.failure?.reason;
    tell({ type: 'lost', failure: refused });
    expect([state(), reason()]).toEqual(['failed', 'Unauthorized']);
    clock.increment(pauseMs());
    expect([state(), reason()]).toEqual(['connecting', 'Unauthorized']);
    tell({ type: 'opened' });
    expect([state(), reason()]).toEqual(['connected', undefined]);
    expect(states).toEqual(['connecting', 'failed', 'connecting', 'connected']);
  });

  test('with a new credential closes before it reopens, and reopens immediately if it was waiting', () => {
    const { actor, state, runs, tell } = bench();
    tell({ type: 'opened' });
    actor.send({ type: 'renew' });
    expect([state(), runs[0]?.wasAskedToClose, runs.length]).toEqual(['closing', true, 1]);
    tell({ type: 'closed' });
    expect([state(), runs[0]?.isOver, runs.length]).toEqual(['connecting', true, 2]);
    tell({ type: 'lost', failure: refused });
    actor.send({ type: 'renew' });
    expect([state(), runs.length]).toEqual(['connecting', 3]);
  });

  test('that is wanted again while it closes is reopened afterwards', () => {
    const { actor, state, tell } = bench();
    actor.send({ type: 'unwanted' });
    actor.send({ type: 'wanted' });
    expect(state()).toBe('closing');
    tell({ type: 'closed' });
    expect(state()).toBe('connecting');
    actor.send({ type: 'unwanted' });
    actor.send({ type: 'wanted' });
    actor.send({ type: 'shutdown' });
    tell({ type: 'closed' });
    expect(state()).toBe('ended');
  });

  test('has at most one run, ends when requested, and otherwise keeps retrying, for any events', () => {
    const event = fc.constantFrom<ConnectionEvent | 'time'>(
      { type: 'opened' },
      { type: 'lost', failure: connectionLoss },
      { type: 'lost', failure: refused },
      { type: 'closed' },
      { type: 'start' },
      { type: 'renew' },
      { type: 'unwanted' },
      { type: 'wanted' },
      'time',
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        const { actor, clock, live, state, tell } = bench();
        let isWanted = true;
        for (const each of events) {
          const before = state();
          if (each === 'time') clock.increment(200_000);
          else if (['opened', 'lost', 'closed'].includes(each.type)) {
            // A run can only report `closed` after a request to close.
            if (live().length === 0 || (each.type === 'closed' && before !== 'closing')) continue;
            tell(each);
          } else actor.send(each);
          if (state() === 'ended') break;
          if (typeof each === 'object' && (each.type === 'wanted' || each.type === 'unwanted'))
            isWanted = each.type === 'wanted';
          const isRunning = ['connecting', 'connected', 'closing'].includes(String(state()));
          expect(live()).toHaveLength(isRunning ? 1 : 0);
          if (!isWanted) expect(state()).toBe('closing');
        }
        if (state() === 'closing') tell({ type: 'closed' });
        if (state() !== 'ended') {
          clock.increment(200_000);
          expect(['connecting', 'connected']).toContain(state());
          actor.send({ type: 'shutdown' });
          tell({ type: 'closed' });
        }
        expect([state(), live()]).toEqual(['ended', []]);
      }),
    );
  });
});

describe('a pause between two attempts to connect', () => {
  test('grows to a maximum, is never 0, and never shorter than requested', () => {
    const failure = fc.record({
      kind: fc.constantFrom('transient', 'conflict', 'refused'),
      reason: fc.constant(''),
      retryAfterMs: fc.option(fc.integer({ min: -5, max: 10_000_000 }), { nil: undefined }),
    });
    fc.assert(
      fc.property(
        failure,
        fc.integer({ min: 1, max: 10_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (each, count, random) => {
          const pause = connectionPause(each, count, random);
          expect(pause).toBeGreaterThanOrEqual(250);
          expect(pause).toBeGreaterThanOrEqual(Math.min(3_600_000, each.retryAfterMs ?? 0));
          expect(pause).toBeLessThanOrEqual(4_500_000);
          expect(connectionPause(each, count + 1, random)).toBeGreaterThanOrEqual(pause);
        },
      ),
    );
  });

  test('is visible to users after a conflict or a refusal, but not after a transient loss', () => {
    const kinds = (['transient', 'conflict', 'refused'] as const).filter((kind) =>
      isVisible({ kind, reason: '' }),
    );
    expect(kinds).toEqual(['conflict', 'refused']);
  });
});
