import { describe, expect, test } from 'vitest';
import { inTime } from '../../tool-servers/filesystem/call-deadline.ts';

const never = () => new Promise<never>(() => {});
const signal = () => new AbortController().signal;

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

  test('ends when it is cancelled, even before it begins', async () => {
    const cancelled = new AbortController();
    const ended = inTime({ signal: cancelled.signal }, 10_000, true, never);
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
