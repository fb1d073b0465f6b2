// Triggers in `top`: waiting events, problems, and the lines that triggers and servers share.

import { expect, test } from 'vitest';
import { topFrame } from '../../../../src/cli/top/frame.ts';
import type { GatewaySample } from '../../../../src/cli/top/sample.ts';
import type { DeliveryRecord } from '../../../../src/http/api/delivery-shapes.ts';
import type { ServerStats } from '../../../../src/http/api/server-shapes.ts';
import type { Stats } from '../../../../src/http/api/stats-shapes.ts';
import type { TriggerRecord } from '../../../../src/http/api/trigger-shapes.ts';
import { plain } from '../../../../src/terminal/paint.ts';

type TriggerStats = NonNullable<Stats['triggers']>[string];

const trigger = (more: Partial<TriggerStats> = {}): TriggerStats => ({
  state: 'open',
  paused: false,
  blocked_by: null,
  handled: 1,
  failed: 0,
  connection: null,
  circuit: null,
  ...more,
});

const delivery = (state: DeliveryRecord['state'], of: string, note: string | null = null) =>
  ({
    state,
    trigger: null,
    id: `http:${of}/7`,
    conversation: 'conversation/http/x/y',
    note,
  }) as DeliveryRecord;

function frame(
  triggers: Readonly<Record<string, TriggerStats>>,
  { deliveries = [], isWhole = true }: { deliveries?: readonly DeliveryRecord[]; isWhole?: boolean } = {},
  { height, width, servers = 1 }: { height?: number; width?: number; servers?: number } = {},
) {
  const server = {
    state: 'running',
    requests: 0,
    failed: 0,
    in_flight: 0,
    waiting: 0,
    restarts: 0,
    uptime_seconds: 1,
    latency_ms: { p50: null, p95: null, p99: null },
  } as ServerStats;
  const record = { name: 'lost', connection: { last_error: 'no\nroute' } } as TriggerRecord;
  const sample: GatewaySample = {
    at: 0,
    stats: {
      uptime_seconds: 5,
      alarms: [],
      requests: { total: 0, failed: 0, tool_errors: 0, in_flight: 0 },
      sessions: 0,
      listens: 0,
      servers: Object.fromEntries(Array.from({ length: servers }, (_, at) => [`s${at}`, server])),
      triggers,
    },
    troubles: new Map(),
    waiting: [],
    approvals: new Map(),
    backlog: { deliveries, isWhole },
    triggers: new Map([['lost', record]]),
  };
  return topFrame(sample, undefined, {
    ...{ address: 'http://a', order: 'id', paint: plain, height, width },
    lost: undefined,
    hasRestarted: false,
    keys: '',
  });
}

const rowsBelowServers = (lines: readonly string[]) =>
  lines
    .slice(lines.indexOf('') + 1)
    .join('\n')
    .split('\n\n')[1]
    ?.split('\n') ?? [];

test('top lists triggers by name with their waiting events; triggers with problems are first, with reasons', () => {
  const triggers = {
    alerts: trigger(),
    calm: trigger(),
    busy: trigger(),
    held: trigger({ state: 'paused', paused: true }),
    lost: trigger({ connection: 'backingOff' }),
  };
  const deliveries = [
    delivery('queued', 'busy'),
    delivery('running', 'busy'),
    delivery('held', 'held'),
    delivery('retrying', 'alerts', 'late'),
    delivery('dead', 'alerts', 'gone'),
    delivery('dead', 'alerts', 'gone before'),
    delivery('queued', 'nobody'),
  ];
  const lines = rowsBelowServers(frame(triggers, { deliveries }));
  expect(lines.map((line) => line.replace(/ +/g, ' '))).toEqual([
    'TRIGGER STATE WAITING RUNNING DEAD HANDLED FAILED',
    'alerts open 1 0 2 1 0',
    ' 1 being retried: late; 2 dead: gone',
    'held paused 1 0 0 1 0',
    ' paused, 1 held; "triggers resume held" releases them',
    'lost open 0 0 0 1 0',
    ' not connected (backingOff): no route',
    'busy open 1 1 0 1 0',
    'calm open 0 0 0 1 0',
  ]);
  const [, first = ''] = rowsBelowServers(frame(triggers, { deliveries, isWhole: false }));
  expect(first).toMatch(/^alerts +open +1\+ +0 +2\+ +1 +0$/);
});

test.each([6, 8, 10, 16, 24, 60])(
  'a frame of top with triggers fits into a window of %i lines, and no line is wider',
  (height) => {
    const triggers = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`t${at}`, trigger()]));
    const deliveries = [delivery('dead', 't3', 'x'.repeat(200))];
    const lines = frame(triggers, { deliveries }, { height, width: 60, servers: 20 });
    expect(lines.length).toBeLessThanOrEqual(height);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
    if (height >= 16) expect(lines.some((line) => line.startsWith('t3 '))).toBe(true);
    if (height === 24) expect(lines.filter((line) => /^and \d+ more$/.test(line))).toHaveLength(2);
  },
);

test('a frame of top for a gateway without triggers has no lines below the servers', () => {
  expect(frame({}).at(-1)).toMatch(/^s0 /);
});
