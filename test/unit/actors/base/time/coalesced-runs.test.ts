// Runs one at a time. All requests during a run share the next run.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CoalescedRuns } from '../../../../../actors/base/time/coalesced-runs.ts';

/** Creates numbered runs, completed by the test. */
function makeTurns() {
  const started: { end(): void; fail(error: Error): void }[] = [];
  let running = 0;
  const turns = new CoalescedRuns<number>(() => {
    const number = started.length + 1;
    running += 1;
    expect(running).toBe(1);
    return new Promise<number>((resolve, reject) => {
      started.push({
        end: () => {
          running -= 1;
          resolve(number);
        },
        fail: (error) => {
          running -= 1;
          reject(error);
        },
      });
    });
  });
  return { turns, started };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('CoalescedRuns', () => {
  test('starts one run after the other: all calls during a run share the next run', async () => {
    const { turns, started } = makeTurns();
    const first = turns.run();
    await settle();
    const others = Array.from({ length: 100 }, () => turns.run());
    await settle();
    expect(started).toHaveLength(1);
    started[0]?.end();
    await expect(first).resolves.toBe(1);
    await settle();
    expect(started).toHaveLength(2);
    const late = turns.run();
    started[1]?.end();
    expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
    await settle();
    started[2]?.end();
    await expect(late).resolves.toBe(3);
  });

  test('rejects only the calls of a failed run', async () => {
    const { turns, started } = makeTurns();
    const first = turns.run();
    await settle();
    const second = turns.run();
    started[0]?.fail(new Error('bad'));
    await expect(first).rejects.toThrow('bad');
    await settle();
    started[1]?.end();
    await expect(second).resolves.toBe(2);
  });

  test('never overlaps runs for any sequence of calls and ends, and each call gets a run started after it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('ask', 'end', 'fail', 'settle'), { maxLength: 40 }),
        async (steps) => {
          const { turns, started } = makeTurns();
          const answers: Promise<void>[] = [];
          let ended = 0;
          const endOne = (how: 'end' | 'fail') => {
            const turn = started[ended];
            if (turn === undefined) return;
            ended += 1;
            if (how === 'end') turn.end();
            else turn.fail(new Error(String(ended)));
          };
          for (const step of steps) {
            if (step === 'settle') await settle();
            else if (step !== 'ask') endOne(step);
            else {
              const before = started.length;
              const isLater = (number: number) => expect(number).toBeGreaterThan(before);
              answers.push(turns.run().then(isLater, (error: Error) => isLater(Number(error.message))));
            }
          }
          for (let waiting = 2; waiting > 0; waiting -= 1) {
            await settle();
            while (ended < started.length) endOne('end');
          }
          await Promise.all(answers);
        },
      ),
    );
  });
});
