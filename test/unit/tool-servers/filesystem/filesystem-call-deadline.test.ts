import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CallGate } from '../../../../tool-servers/call-gate.ts';
import { runWithDeadline, withDeadline } from '../../../../tool-servers/filesystem/call-deadline.ts';
import { defineTool, type ServerTool } from '../../../../tool-servers/tool.ts';
import { eventually } from '../../../fixtures/clients/mcp-client.ts';

const hangForever = () => new Promise<never>(() => {});
const signal = () => new AbortController().signal;

const hints = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false };

/** A tool whose calls run `work`. */
function toolOf(work: (signal: AbortSignal) => Promise<unknown>): ServerTool {
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
  test('returns the result of its work', async () => {
    await expect(runWithDeadline({ signal: signal() }, 1_000, true, async () => 7)).resolves.toBe(7);
    const broken = async () => {
      throw new Error('as it was');
    };
    await expect(runWithDeadline({ signal: signal() }, 1_000, true, broken)).rejects.toThrow('as it was');
  });

  test('is aborted at its time limit, and reports whether it may have taken effect', async () => {
    let inside: AbortSignal | undefined;
    const hanging = (signal: AbortSignal) => {
      inside = signal;
      return hangForever();
    };
    await expect(runWithDeadline({ signal: signal() }, 20, true, hanging)).rejects.toThrow(/aborted\.$/);
    expect(inside?.aborted).toBe(true);
    await expect(runWithDeadline({ signal: signal() }, 20, false, hangForever)).rejects.toThrow('is unknown');
  });

  test('that is cancelled aborts its work, or does not start it', async () => {
    const cancelled = new AbortController();
    const listening = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const ended = runWithDeadline({ signal: cancelled.signal }, 10_000, true, listening);
    cancelled.abort(new Error('no longer wanted'));
    await expect(ended).rejects.toThrow('no longer wanted');
    let hasStarted = false;
    const work = async () => {
      hasStarted = true;
    };
    await expect(runWithDeadline({ signal: cancelled.signal }, 10_000, true, work)).rejects.toThrow(
      'no longer wanted',
    );
    expect(hasStarted).toBe(false);
  });
});

describe('queued calls', () => {
  const call = (signal = new AbortController().signal) => ({ signal, report: () => {} });

  test('continue after a hanging call with their full time limit', async () => {
    const line = new CallGate(1);
    const hanging = withDeadline(toolOf(hangForever), line, 100).run({}, call());
    const slow = () => new Promise((resolve) => setTimeout(resolve, 60));
    const next = withDeadline(toolOf(slow), line, 100).run({}, call());
    await expect(hanging).rejects.toThrow('aborted');
    await expect(next).resolves.toEqual({ text: 'done' });
  });

  test('wait for a cancelled call until its work has ended', async () => {
    const line = new CallGate(1);
    let end: (() => void) | undefined;
    const work = () =>
      new Promise<void>((resolve) => {
        end = resolve;
      });
    const cancelled = new AbortController();
    const first = withDeadline(toolOf(work), line, 10_000).run({}, call(cancelled.signal));
    let hasStarted = false;
    const second = withDeadline(
      toolOf(async () => {
        hasStarted = true;
      }),
      line,
      10_000,
    ).run({}, call());
    await eventually('the first call to start', () => end !== undefined);
    cancelled.abort(new Error('no longer wanted'));
    await nextTurn();
    expect(hasStarted).toBe(false);
    end?.();
    await first;
    await second;
    expect(hasStarted).toBe(true);
  });
});
