import { describe, expect, test } from 'vitest';
import { type ScreenState, topFrame } from '../../../../src/cli/top/frame.ts';
import { orderAfter, orderNames } from '../../../../src/cli/top/order.ts';
import { type GatewaySample, MAX_TROUBLES, type ServerFailure } from '../../../../src/cli/top/sample.ts';
import type { ServerStats } from '../../../../src/http/api/server-shapes.ts';
import { plain } from '../../../../src/terminal/paint.ts';

const view: ScreenState = {
  address: 'http://127.0.0.1:8080',
  order: 'activity',
  paint: plain,
  height: undefined,
  width: undefined,
  lost: undefined,
  hasRestarted: false,
  keys: '',
};

function server(more: Partial<ServerStats> = {}): ServerStats {
  return {
    state: 'running',
    requests: 0,
    failed: 0,
    tool_errors: 0,
    in_flight: 0,
    waiting: 0,
    restarts: 0,
    uptime_seconds: 1,
    installing: null,
    latency_ms: { p50: null, p95: null, p99: null },
    ...more,
  };
}

function sample(
  at: number,
  servers: Readonly<Record<string, ServerStats>>,
  troubles: Readonly<Record<string, ServerFailure>> = {},
): GatewaySample {
  const total = Object.values(servers).reduce((sum, { requests }) => sum + requests, 0);
  const requests = { total, failed: 0, tool_errors: 0, in_flight: 0 };
  const stats = { uptime_seconds: 5, alarms: [], requests, sessions: 0, listens: 0, servers };
  return {
    at,
    stats,
    troubles: new Map(Object.entries(troubles)),
    waiting: [],
    approvals: new Map(),
    backlog: { deliveries: [], isWhole: true },
    triggers: new Map(),
  };
}

const rowsOf = (lines: readonly string[]) => lines.slice(4);
const idsOf = (lines: readonly string[]) => rowsOf(lines).map((line) => line.split(' ')[0]);

describe('a frame of top', () => {
  test('uses the singular for one session', () => {
    const { stats, ...rest } = sample(1_000, {});
    const [head] = topFrame({ ...rest, stats: { ...stats, sessions: 1, listens: 2 } }, undefined, view);
    expect(head).toMatch(/ {2}1 session {2}2 listening$/);
  });

  test('shows requests per second between two samples, for the gateway and for each server', () => {
    const before = sample(1_000, { a: server({ requests: 10 }), b: server({ requests: 5 }) });
    const now = sample(3_000, { a: server({ requests: 10 }), b: server({ requests: 30 }), new: server() });
    const lines = topFrame(now, before, view);
    expect(lines[0]).toContain('  12.5 requests/s  ');
    expect(rowsOf(lines).map((line) => line.split(/ +/).slice(0, 3))).toEqual([
      ['b', 'running', '12.5'],
      ['a', 'running', '0.0'],
      ['new', 'running', '-'],
    ]);
  });

  test('shows no rate across a restart, when counters decrease', () => {
    const lines = topFrame(
      sample(2_000, { a: server({ requests: 1 }) }),
      sample(1_000, { a: server({ requests: 9 }) }),
      view,
    );
    expect(lines[0]).toContain('  - requests/s  ');
  });

  test('sorts by activity: rate, then calls, then state', () => {
    const before = sample(0, {
      asleep: server({ state: 'stopped' }),
      calls: server(),
      fast: server(),
      idle: server(),
    });
    const now = sample(1_000, {
      asleep: server({ state: 'stopped' }),
      idle: server({ state: 'idle' }),
      calls: server({ waiting: 2 }),
      fast: server({ requests: 3 }),
    });
    expect(idsOf(topFrame(now, before, view))).toEqual(['fast', 'calls', 'idle', 'asleep']);
  });

  test.each(orderNames)('sorted by %s has failed servers at the top', (order) => {
    const bad = server({ state: 'failed', latency_ms: { p50: null, p95: null, p99: null } });
    const good = server({ requests: 9, failed: 9, restarts: 9, latency_ms: { p50: 1, p95: 1, p99: 1 } });
    expect(idsOf(topFrame(sample(0, { a: good, z: bad }), undefined, { ...view, order }))).toEqual([
      'z',
      'a',
    ]);
  });

  test('names the command that shows the reasons of failed servers beyond the display limit', () => {
    const ids = Array.from({ length: MAX_TROUBLES + 1 }, (_, at) => `s${String(at).padStart(2, '0')}`);
    const trouble = { isParked: false, nextRetryAt: null, reason: 'gone' };
    const now = sample(
      0,
      Object.fromEntries(ids.map((id) => [id, server({ state: 'failed' })])),
      Object.fromEntries(ids.slice(0, MAX_TROUBLES).map((id) => [id, trouble])),
    );
    expect(topFrame(now, undefined, view).at(-1)).toBe('    "servers show s20" shows the reason');
  });

  test('shows that a server is being installed', () => {
    const installing = { program: 'npx', is_waiting: false, seconds: 3, lines: 9, last_line: null };
    const now = sample(0, { a: server({ state: 'starting', installing }) });
    expect(rowsOf(topFrame(now, undefined, view))).toEqual([expect.stringMatching(/^a +installing /)]);
  });

  test('shows for a failed server whether it is parked, its next retry and the reason', () => {
    const failed = server({ state: 'failed' });
    const nextRetryAt = new Date(Date.now() + 90_500).toISOString();
    const reason = 'exited with\ncode \u001b[31m4';
    const now = sample(
      0,
      { a: failed, b: failed, c: failed },
      { a: { isParked: true, nextRetryAt, reason }, b: { isParked: false, nextRetryAt: null, reason } },
    );
    expect(rowsOf(topFrame(now, undefined, view))).toEqual([
      expect.stringMatching(/^a +PARKED /),
      expect.stringMatching(/^ +next try in 1m 3[01]s: exited with code 4$/),
      expect.stringMatching(/^b +FAILED /),
      expect.stringMatching(/^ +next try with the next request: exited/),
      expect.stringMatching(/^c +FAILED /),
    ]);
    const narrow = topFrame(now, undefined, { ...view, height: 8, width: 40 });
    expect(rowsOf(narrow).map((line) => line.slice(0, 16).trim())).toEqual([
      expect.stringMatching(/^a +PARKED/),
      'next try in',
      'and 2 more',
    ]);
  });

  test.each([1, 4, 5, 6, 10, 103, 104, 200])('has at most %i lines in a window of this height', (height) => {
    const servers = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`s${at}`, server()]));
    const lines = topFrame(sample(0, servers), undefined, { ...view, height, width: 60 });
    expect(lines.length).toBe(Math.min(height, 104));
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
    if (height === 10) expect(lines.at(-1)).toBe('and 95 more');
    if (height >= 104) expect(lines.join('\n')).not.toContain(' more');
  });

  test('keeps the last values of an unresponsive gateway, with a notice', () => {
    const connectionLoss = { seconds: 65, reason: 'nobody listens' };
    const lines = topFrame(sample(0, { a: server() }), undefined, {
      ...view,
      lost: connectionLoss,
      width: 80,
    });
    expect(lines[2]).toMatch(/^NO RESPONSE for 1m 05s, .*retrying: nobody listens$/);
    expect(idsOf(lines)).toEqual(['a']);
  });
});

test('the sort orders of top form a cycle', () => {
  const orders = orderNames.map((_, at) => orderNames.slice(0, at).reduce(orderAfter, 'activity' as const));
  expect(new Set(orders).size).toBe(orderNames.length);
  expect(orderAfter(orderNames.at(-1) ?? 'id')).toBe('activity');
});
