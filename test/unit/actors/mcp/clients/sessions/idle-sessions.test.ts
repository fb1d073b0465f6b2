// The order in which idle sessions are unloaded from memory at the limit of sessions, and the work that the
// refusal of a new session causes.

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../../../../actors/base/errors/log.ts';
import type { ClientExchange } from '../../../../../../actors/mcp/clients/exchange.ts';
import { ClientSession } from '../../../../../../actors/mcp/clients/sessions/session.ts';
import { Sessions } from '../../../../../../actors/mcp/clients/sessions/sessions.ts';
import { runs } from '../../../../../fixtures/property-runs.ts';

const IDLE_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function newSessions(maxSessions: number, areStored = true) {
  const sessions = new Sessions({ maxSessions, idleMs: IDLE_MS, log: silentLog, onEnd: () => {}, areStored });
  const create = (name: string, client = '10.0.0.1') => {
    vi.advanceTimersByTime(1);
    return sessions.create({
      ...{ target: undefined, protocolVersion: '2025-06-18', clientInfo: {}, capabilities: {}, client },
      principal: { kind: 'token', name },
    });
  };
  return { sessions, create };
}

/** Starts a request of the session; the returned function completes it. */
function use(session: ClientSession): () => void {
  vi.advanceTimersByTime(1);
  const exchange = { previous: undefined, next: undefined, fail: () => {} } as unknown as ClientExchange;
  session.begin(exchange);
  return () => {
    vi.advanceTimersByTime(1);
    session.finish(exchange);
  };
}

test('at the session limit the longest unused session of the same owner is unloaded first', () => {
  const { sessions, create } = newSessions(8);
  const other = create('bob', '10.0.0.2');
  const own = Array.from({ length: 4 }, () => create('ada'));
  use(own[0] as ClientSession)();
  create('ada');
  create('ada');
  expect(other.isEnded).toBe(false);
  expect(own.map(({ isEnded }) => isEnded)).toEqual([false, true, true, false]);
  sessions.close();
});

test('a session is not unloaded during a request, neither at the session limit nor after a long time, but afterwards', () => {
  const { sessions, create } = newSessions(4);
  const busy = create('ada');
  const finish = use(busy);
  for (let count = 0; count < 6; count += 1) create('ada');
  expect(busy.isEnded).toBe(false);
  vi.advanceTimersByTime(2 * IDLE_MS);
  expect([busy.isEnded, sessions.size]).toEqual([false, 1]);
  finish();
  vi.advanceTimersByTime(2 * IDLE_MS);
  expect([busy.isEnded, sessions.size]).toEqual([true, 0]);
  sessions.close();
});

test('a refusal at the session limit costs the same for ten sessions and for ten thousand', () => {
  const checks = [10, 10_000].map((maxSessions) => {
    const { sessions, create } = newSessions(maxSessions);
    const isInUse = vi.spyOn(ClientSession.prototype, 'isInUse', 'get');
    for (;;) {
      try {
        use(create('ada'));
      } catch {
        break;
      }
    }
    isInUse.mockClear();
    expect(() => create('ada')).toThrow('limits.sessions');
    const count = isInUse.mock.calls.length;
    isInUse.mockRestore();
    sessions.close();
    return count;
  });
  expect(checks).toEqual([0, 0]);
});

test('a new session is refused only if no other session can be unloaded, and a session in use is never unloaded', () => {
  const step = fc.record({
    do: fc.constantFrom('create' as const, 'begin' as const, 'finish' as const, 'idle' as const),
    owner: fc.nat({ max: 3 }),
    at: fc.nat({ max: 30 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, areStored) => {
      const { sessions, create } = newSessions(8, areStored);
      const created: ClientSession[] = [];
      const open = new Map<ClientSession, (() => void)[]>();
      for (const { do: action, owner, at } of steps) {
        const alive = created.filter(({ isEnded }) => !isEnded);
        const session = alive[at % Math.max(1, alive.length)];
        if (action === 'create') {
          try {
            created.push(create(owner & 1 ? 'ada' : 'bob', owner & 2 ? '10.0.0.1' : '10.0.0.2'));
          } catch {
            expect([...sessions.all()].some(({ isStored, isInUse }) => isStored && !isInUse)).toBe(false);
          }
        } else if (action === 'idle') {
          vi.advanceTimersByTime(2 * IDLE_MS);
          expect([...sessions.all()].every(({ isInUse }) => isInUse)).toBe(true);
        } else if (session !== undefined) {
          if (action === 'begin') open.set(session, [...(open.get(session) ?? []), use(session)]);
          else open.get(session)?.pop()?.();
        }
        for (const [used, requests] of open) expect(used.isEnded && requests.length > 0).toBe(false);
        expect(sessions.size).toBe(created.filter(({ isEnded }) => !isEnded).length);
      }
      sessions.close();
    }),
    { numRuns: runs(300) },
  );
});
