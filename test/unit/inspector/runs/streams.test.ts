// Limits and refusals of run streams.

import { expect, test, vi } from 'vitest';
import { RunFeed } from '../../../../actors/agents/runs/feed.ts';
import type { RunningAutomation } from '../../../../actors/automation/running-automation.ts';
import { NotFoundError, OverloadedError } from '../../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import type { GatewayRuntime } from '../../../../actors/gateway/gateway.ts';
import { anonymous, operator } from '../../../../actors/identity/principal.ts';
import { RunStreams } from '../../../../src/inspector/runs/streams.ts';

function streams() {
  const feed = new RunFeed();
  const automation = {
    feed,
    store: { steps: async () => [] },
    runs: {
      run: async (id: string) => {
        if (id === 'unknown') throw new NotFoundError('there is no run "unknown"');
        return { delivery: { id, key: 'k', failures: [] }, name: 'a', stepCount: 0 };
      },
    },
  };
  const gateway = { redactor: new Redactor([]) } as unknown as GatewayRuntime;
  const begin = vi.fn(() => ({
    isDone: false,
    bufferedBytes: 0,
    write: () => true,
    onDrain: () => {},
    end: vi.fn(),
    destroy: () => {},
  }));
  const own = new RunStreams(gateway, undefined);
  return {
    feed,
    begin,
    watch: (id: string, principal = anonymous) =>
      own.watch(automation as unknown as RunningAutomation, id, principal, begin),
  };
}

test('at most 64 event streams of runs are open for one principal; a closed stream frees its slot, and a refused stream receives no response', async () => {
  const { watch, begin, feed } = streams();
  const leaves: (() => void)[] = [];
  for (let n = 0; n < 64; n += 1) leaves.push(await watch(`r${n % 3}`));
  await expect(watch('r1')).rejects.toThrow(OverloadedError);
  expect([begin.mock.calls.length, feed.watchers]).toEqual([64, 64]);
  leaves.pop()?.();
  leaves.push(await watch('r1'));
  // Programs without the operator token leave slots for the operator.
  leaves.push(await watch('r1', operator), await watch('r2', operator));
  for (const leave of leaves) leave();
  expect(feed.watchers).toBe(0);
});

test('a stream of an unknown run is refused before it begins', async () => {
  const { watch, begin } = streams();
  await expect(watch('unknown')).rejects.toThrow(NotFoundError);
  expect(begin).not.toHaveBeenCalled();
});

test('a stream opened while the gateway stops ends immediately and uses no slot', async () => {
  vi.useFakeTimers();
  try {
    const { watch, begin, feed } = streams();
    feed.close();
    await watch('r1');
    await vi.advanceTimersByTimeAsync(250);
    expect(begin.mock.results[0]?.value.end).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
