// Watchers of the inspector: they start and stop inspection and timers. Real actor system, fake streams.

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createActor, createMachine } from 'xstate';
import type { RunningAutomation } from '../../../../actors/automation/running-automation.ts';
import type { LimitUsage } from '../../../../actors/base/bounds/limit-usage.ts';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import type { GatewayRuntime } from '../../../../actors/gateway/gateway.ts';
import type { DeliveryCounts } from '../../../../actors/store/delivery.ts';
import { AutomationFigures } from '../../../../src/http/api/automation-figures.ts';
import type { HttpStream } from '../../../../src/http/listener/seam.ts';
import { Watchers } from '../../../../src/inspector/feed/watchers.ts';
import type { NumbersMessage } from '../../../../src/inspector/wire/feed.ts';
import { messagesIn } from '../../../fixtures/gateway/inspector-feed.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function server(id: string) {
  const latency = { read: () => ({ p50: null, p95: null, p99: null }) };
  const handle = { requests: 0, failed: 0, inFlight: 0, waiting: 0, isParked: false, latency };
  return { id, state: 'stopped', restarts: 0, nextRetryAt: undefined, openSince: undefined, handle };
}

/** Creates the gateway parts that watchers use. */
function gatewayOf(servers: ReturnType<typeof server>[], figures?: AutomationFigures) {
  const root = createActor(createMachine({ id: 'gateway', on: { ping: {} } })).start();
  const gateway = {
    version: '1',
    config: { inspector: { commands: false } },
    alarms: { list: [] },
    redactor: new Redactor([]),
    life: { startTime: { at: 1 }, isEnding: false, deadLetters: 0 },
    mcp: {
      servers: { all: () => servers },
      clients: {
        sessions: { size: 0, listens: 0 },
        router: { counts: { total: 0, failed: 0, tool_errors: 0, in_flight: 0 } },
      },
    },
    node: { name: 'one', cluster: undefined },
  };
  const watchers = new Watchers(gateway as unknown as GatewayRuntime, root, figures);
  return { root, watchers, inspect: vi.spyOn(root.system, 'inspect') };
}

function stream() {
  let text = '';
  const http: HttpStream = {
    isDone: false,
    bufferedBytes: 0,
    write: (chunk) => {
      text += chunk;
      return true;
    },
    onDrain: () => {},
    end: () => {
      text += '<end>';
    },
    destroy: () => {},
  };
  const numbers = () =>
    messagesIn(text).flatMap(({ kind, data }) => (kind === 'numbers' ? [data as NumbersMessage] : []));
  return { http, numbers, text: () => text };
}

const line = {
  active: 1,
  resting: 2,
  overruns: 0,
  places: 8,
  states: { busy: 1 },
  handled: 3,
  done: 3,
  ignored: 0,
  held: 0,
  deferred: 0,
  failed: 0,
  retried: 0,
  dead: 0,
  lost: 0,
  duration_ms: { p50: null, p95: null },
};

/** Creates the figures of triggers, with a simulated store. */
function automationOf(names: readonly string[], counts: () => Promise<DeliveryCounts>) {
  const triggers = names.map((name) => ({
    trigger: { name, type: 'HTTP' },
    state: 'open',
    isPaused: false,
    lastError: undefined,
    retryAt: undefined,
    counts: { handled: 0, failed: 0, lastAt: undefined },
  }));
  const usage: LimitUsage = { used: 0, max: 1, holders: [] };
  const usageOfEvents = async () => ({ waiting: usage, parked: usage });
  const operator = { triggers: () => triggers, counts, usage: usageOfEvents };
  const statsByParent = () => ({ conversations: [line], outbox: [line, line], runs: [line] });
  const limits = () => ({});
  const dispatcher = {
    stats: () => ({ conversations: line, 'outbox/repohost': line }),
    statsByParent,
    limits,
  };
  const targets = { slots: { modelCalls: { usage }, flowNodes: { usage } } };
  return {
    triggers,
    figures: new AutomationFigures({ operator, dispatcher, targets } as unknown as RunningAutomation),
  };
}

describe('watchers of the inspector', () => {
  test('start the inspection when the first one connects, and stop it when the last one leaves', () => {
    const { root, watchers, inspect } = gatewayOf([]);
    root.send({ type: 'ping' });
    expect([inspect.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0]);
    const leaving = [watchers.watch(stream().http), watchers.watch(stream().http)];
    expect(inspect).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(1);
    for (const leave of leaving) leave();
    root.send({ type: 'ping' });
    expect(vi.getTimerCount()).toBe(0);
    watchers.watch(stream().http)();
    expect([inspect.mock.calls.length, vi.getTimerCount()]).toEqual([2, 0]);
  });

  test('receive the statistics of a server only if they have changed', () => {
    const firstServer = server('one');
    const { watchers } = gatewayOf([firstServer, server('two')]);
    const { http, numbers } = stream();
    watchers.watch(http);
    vi.advanceTimersByTime(2_000);
    firstServer.handle.requests = 5;
    vi.advanceTimersByTime(1_000);
    vi.advanceTimersByTime(1_000);
    expect(numbers().map(({ servers }) => servers.map(({ id }) => id))).toEqual([
      ['one', 'two'],
      ['one', 'two'],
      [],
      ['one'],
      [],
    ]);
  });

  test('receive the final state of a server after a brief change, even if they connected during the change', () => {
    const firstServer = server('one');
    const { watchers } = gatewayOf([firstServer]);
    watchers.watch(stream().http);
    vi.advanceTimersByTime(1_500);
    firstServer.state = 'running';
    const { http, numbers } = stream();
    watchers.watch(http);
    firstServer.state = 'stopped';
    vi.advanceTimersByTime(1_000);
    expect(numbers().map(({ servers }) => servers[0]?.state)).toEqual(['running', 'stopped']);
  });

  test('receive the removal of a server from the catalog', () => {
    const servers = [server('one'), server('two')];
    const { watchers } = gatewayOf(servers);
    const { http, numbers } = stream();
    watchers.watch(http);
    vi.advanceTimersByTime(1_000);
    servers.pop();
    vi.advanceTimersByTime(1_000);
    expect(numbers().at(-1)?.gone).toEqual(['two']);
  });

  test('receive the statistics of a trigger only if they have changed, and always the number of dead deliveries', async () => {
    let dead = 0;
    const none = { queued: 0, running: 0, retrying: 0, held: 0, waiting: 0 };
    const { triggers, figures } = automationOf(['a', 'b'], async () => ({ ...none, dead }));
    const { watchers } = gatewayOf([], figures);
    const { http, numbers } = stream();
    watchers.watch(http);
    await vi.advanceTimersByTimeAsync(2_000);
    dead = 4;
    Object.assign(triggers[1] ?? {}, { state: 'failed', lastError: 'the port is taken' });
    await vi.advanceTimersByTimeAsync(1_000);
    triggers.shift();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(numbers().map((each) => each.triggers.map(({ name, state }) => `${name} ${state}`))).toEqual([
      ['a open', 'b open'],
      ['a open', 'b open'],
      [],
      ['b failed'],
      [],
    ]);
    expect(numbers().at(-1)?.gone_triggers).toEqual(['a']);
    expect(numbers().map(({ automation }) => automation?.deliveries?.dead)).toEqual([undefined, 0, 0, 0, 4]);
  });

  test('do not wait for an unresponsive store, and receive its failure', async () => {
    let requestCount = 0;
    const { figures } = automationOf([], () => {
      requestCount += 1;
      return new Promise(() => {});
    });
    const { watchers } = gatewayOf([], figures);
    const { http, numbers } = stream();
    const leave = watchers.watch(http);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(numbers()).toHaveLength(11);
    expect(numbers().at(-1)?.automation).toMatchObject({
      deliveries: null,
      works: [
        { name: 'conversations', active: 1 },
        { name: 'outbox', active: 2, places: 16 },
        { name: 'runs', active: 1 },
      ],
    });
    expect(requestCount).toBe(1);
    leave();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('are notified that the gateway drains (stops) before their streams end', () => {
    const { watchers } = gatewayOf([]);
    const { http, numbers, text } = stream();
    watchers.watch(http);
    watchers.close();
    expect(numbers().at(-1)?.is_draining).toBe(true);
    expect(text().endsWith('<end>')).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
