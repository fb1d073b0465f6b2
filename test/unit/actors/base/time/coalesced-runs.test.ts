// One turn at a time, and one that waits for all who have asked meanwhile.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CoalescedRuns } from '../../../../../actors/base/time/coalesced-runs.ts';

/** Turns that end when they are told to, with their number. */
function makeTurns() {
  const begun: { end(): void; fail(error: Error): void }[] = [];
  let running = 0;
  const turns = new CoalescedRuns<number>(() => {
    const number = begun.length + 1;
    running += 1;
    expect(running).toBe(1);
    return new Promise<number>((resolve, reject) => {
      begun.push({
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
  return { turns, begun };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  test('follow each other: who asks during one is served by the next, and so is everybody else who does', async () => {
    const { turns, begun } = makeTurns();
    const first = turns.run();
    await settle();
    const others = Array.from({ length: 100 }, () => turns.run());
    await settle();
    expect(begun).toHaveLength(1);
    begun[0]?.end();
    await expect(first).resolves.toBe(1);
    await settle();
    expect(begun).toHaveLength(2);
    const late = turns.run();
    begun[1]?.end();
    expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
    await settle();
    begun[2]?.end();
    await expect(late).resolves.toBe(3);
  });

  test('that fail are told to those who asked for them only', async () => {
    const { turns, begun } = makeTurns();
    const first = turns.run();
    await settle();
    const second = turns.run();
    begun[0]?.fail(new Error('bad'));
    await expect(first).rejects.toThrow('bad');
    await settle();
    begun[1]?.end();
    await expect(second).resolves.toBe(2);
  });

  test('whenever they are asked for and whenever they end, never overlap, and each answer is of a turn begun later', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('ask', 'end', 'fail', 'settle'), { maxLength: 40 }),
        async (steps) => {
          const { turns, begun } = makeTurns();
          const answers: Promise<void>[] = [];
          let ended = 0;
          const endOne = (how: 'end' | 'fail') => {
            const turn = begun[ended];
            if (turn === undefined) return;
            ended += 1;
            if (how === 'end') turn.end();
            else turn.fail(new Error(String(ended)));
          };
          for (const step of steps) {
            if (step === 'settle') await settle();
            else if (step !== 'ask') endOne(step);
            else {
              const before = begun.length;
              const isLater = (number: number) => expect(number).toBeGreaterThan(before);
              answers.push(turns.run().then(isLater, (error: Error) => isLater(Number(error.message))));
            }
          }
          for (let waiting = 2; waiting > 0; waiting -= 1) {
            await settle();
            while (ended < begun.length) endOne('end');
          }
          await Promise.all(answers);
        },
      ),
    );
  });
});
