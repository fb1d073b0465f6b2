import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TypingIndicators } from '../../../../../actors/events/outbox/typing-indicators.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('a typing indicator', () => {
  test('is repeated before it expires, until the run ends', async () => {
    const show = vi.fn(async () => {});
    const end = new TypingIndicators({ afterMs: 300 }).begin('bot', 5_000, show);
    await pass(200);
    expect(show).toHaveBeenCalledTimes(0);
    await pass(300);
    expect(show).toHaveBeenCalledTimes(1);
    await pass(8_500);
    expect(show).toHaveBeenCalledTimes(3);
    end();
    await pass(20_000);
    expect(show).toHaveBeenCalledTimes(3);
  });

  test('is not shown for a very short run, and leaves no timer', async () => {
    const show = vi.fn(async () => {});
    new TypingIndicators().begin('bot', 5_000, show)();
    expect(vi.getTimerCount()).toBe(0);
    await pass(10_000);
    expect(show).not.toHaveBeenCalled();
  });

  test('starts later on platforms with a delay, and never if the answer comes earlier', async () => {
    const typing = new TypingIndicators({ afterMs: 300 });
    const show = vi.fn(async () => {});
    const end = typing.begin('bot', 5_000, show, 2_500);
    await pass(2_400);
    expect(show).not.toHaveBeenCalled();
    await pass(300);
    expect(show).toHaveBeenCalledTimes(1);
    end();
  });

  test('that fails, immediately or later, does not affect the run', async () => {
    const typing = new TypingIndicators();
    const late = vi.fn(() => Promise.reject(new Error('no')));
    const early = vi.fn(() => {
      throw new Error('no');
    });
    const ends = [typing.begin('bot', 1_000, late), typing.begin('bot', 1_000, early)];
    typing.once('bot', late);
    await pass(3_000);
    expect(late.mock.calls.length).toBeGreaterThan(2);
    expect(early.mock.calls.length).toBeGreaterThan(1);
    for (const end of ends) end();
  });

  test('whose call hangs is aborted, is not called twice at a time, and leaves slots for other platforms', async () => {
    const typing = new TypingIndicators({ maxCalls: 8 });
    const signals: AbortSignal[] = [];
    const hang = vi.fn((signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<void>(() => {});
    });
    const endFunctions = Array.from({ length: 20 }, () => typing.begin('hangs', 1_000, hang));
    await pass(2_000);
    expect(hang).toHaveBeenCalledTimes(4);
    const other = vi.fn(async () => {});
    typing.once('other', other);
    expect(other).toHaveBeenCalledTimes(1);
    await pass(9_000);
    expect(signals[0]?.aborted).toBe(true);
    for (const end of endFunctions) end();
    await pass(20_000);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await sleep(0);
  });
});
