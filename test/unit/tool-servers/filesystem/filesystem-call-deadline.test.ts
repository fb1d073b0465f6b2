import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CallGate } from '../../../../tool-servers/call-gate.ts';
import { inLine, inTime } from '../../../../tool-servers/filesystem/call-deadline.ts';
import { defineTool, type Tool } from '../../../../tool-servers/tool.ts';
import { eventually } from '../../../fixtures/clients/mcp-client.ts';

const never = () => new Promise<never>(() => {});
const signal = () => new AbortController().signal;

const hints = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false };

/** A tool whose calls do what `work` does. */
function toolOf(work: (signal: AbortSignal) => Promise<unknown>): Tool {
  return defineTool({
    name: 'test',
    title: 'Test',
    description: 'Test',
    input: z.strictObject({}),
    hints,
    run: async (_, { signal }) => {
      await work(signal);
      return { text: 'done' };
    },
  });
}

describe('a call with a time limit', () => {
  test('gives what its work gives', async () => {
    await expect(inTime({ signal: signal() }, 1_000, true, async () => 7)).resolves.toBe(7);
    const broken = async () => {
      throw new Error('as it was');
    };
    await expect(inTime({ signal: signal() }, 1_000, true, broken)).rejects.toThrow('as it was');
  });

  test('is given up when the time is over, and says whether it may have taken effect', async () => {
    let inside: AbortSignal | undefined;
    const hanging = (signal: AbortSignal) => {
      inside = signal;
      return never();
    };
    await expect(inTime({ signal: signal() }, 20, true, hanging)).rejects.toThrow(/given up\.$/);
    expect(inside?.aborted).toBe(true);
    await expect(inTime({ signal: signal() }, 20, false, never)).rejects.toThrow('is not known');
  });

  test('that is cancelled tells its work, and does not begin one', async () => {
    const cancelled = new AbortController();
    const listening = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const ended = inTime({ signal: cancelled.signal }, 10_000, true, listening);
    cancelled.abort(new Error('no longer wanted'));
    await expect(ended).rejects.toThrow('no longer wanted');
    let isBegun = false;
    const work = async () => {
      isBegun = true;
    };
    await expect(inTime({ signal: cancelled.signal }, 10_000, true, work)).rejects.toThrow(
      'no longer wanted',
    );
    expect(isBegun).toBe(false);
  });
});

describe('calls in a line', () => {
  const call = (signal = new AbortController().signal) => ({ signal, report: () => {} });

  test('one that hangs is given up, and the next has its whole time', async () => {
    const line = new CallGate(1);
    const hanging = inLine(toolOf(never), line, 100).run({}, call());
    const slow = () => new Promise((resolve) => setTimeout(resolve, 60));
    const next = inLine(toolOf(slow), line, 100).run({}, call());
    await expect(hanging).rejects.toThrow('given up');
    await expect(next).resolves.toEqual({ text: 'done' });
  });

  test('one that is cancelled keeps its place until its work has ended', async () => {
    const line = new CallGate(1);
    let end: (() => void) | undefined;
    const work = () =>
      new Promise<void>((resolve) => {
        end = resolve;
      });
    const cancelled = new AbortController();
    const first = inLine(toolOf(work), line, 10_000).run({}, call(cancelled.signal));
    let isBegun = false;
    const second = inLine(
      toolOf(async () => {
        isBegun = true;
      }),
      line,
      10_000,
    ).run({}, call());
    await eventually('the first to begin', () => end !== undefined);
    cancelled.abort(new Error('no longer wanted'));
    await nextTurn();
    expect(isBegun).toBe(false);
    end?.();
    await first;
    await second;
    expect(isBegun).toBe(true);
  });
});
