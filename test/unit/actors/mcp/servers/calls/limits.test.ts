// Limits of a request under any sequence of progress, questions and waits, compared with a simulation that
// counts every second. The total pause is bounded for any number of questions.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CallLimits, MAX_PAUSE_MS } from '../../../../../../actors/mcp/servers/calls/limits.ts';

const SECOND = 1_000;
const timeoutMs = 20 * SECOND;
const maxMs = 60 * SECOND;

/** Counts the running time second by second. */
class Simulation {
  readonly open = new Set<number>();
  silentMs = 0;
  runningMs = 0;
  pausedMs = 0;

  get isDue(): boolean {
    return this.silentMs >= timeoutMs || this.runningMs >= maxMs;
  }

  pass(): void {
    if (this.open.size > 0 && this.pausedMs < MAX_PAUSE_MS) {
      this.pausedMs += SECOND;
      this.silentMs = 0;
    } else {
      this.silentMs += SECOND;
      this.runningMs += SECOND;
    }
  }

  ask(question: number): void {
    if (this.open.size === 0) this.silentMs = 0;
    this.open.add(question);
  }

  answer(question: number): void {
    if (this.open.delete(question) && this.open.size === 0) this.silentMs = 0;
  }
}

const question = fc.integer({ min: 0, max: 2 });
const step = fc.oneof(
  fc.record({ do: fc.constantFrom('ask', 'answer'), question }),
  fc.record({ do: fc.constant('progress') }),
  fc.record({ do: fc.constant('wait'), seconds: fc.integer({ min: 1, max: 19 }) }),
  fc.record({ do: fc.constant('wait'), seconds: fc.integer({ min: 100, max: 700 }) }),
);

test('the time limits of a request do not count pauses, up to ten minutes in total', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const keys = [{}, {}, {}];
      const limits = new CallLimits({ timeoutMs, maxMs }, 0);
      const simulation = new Simulation();
      let now = 0;
      for (const one of steps) {
        if ('question' in one) {
          const key = keys[one.question] as object;
          if (one.do === 'ask') limits.pause(key, now);
          else limits.resume(key, now);
          simulation[one.do as 'ask' | 'answer'](one.question);
        } else if ('seconds' in one) {
          for (let n = 0; n < one.seconds && !simulation.isDue; n += 1) {
            now += SECOND;
            simulation.pass();
            // Faster than one `expect` for each second.
            if (limits.dueAt <= now !== simulation.isDue) expect.fail(`due at ${limits.dueAt}, now ${now}`);
          }
        } else {
          limits.touch(now);
          simulation.silentMs = 0;
        }
        if (simulation.isDue) break;
      }
      expect(limits.dueAt).toBeLessThanOrEqual(maxMs + MAX_PAUSE_MS);
    }),
    { numRuns: 300 },
  );
});

test('a server that sends questions without end extends the limits of a request by ten minutes at most', () => {
  const limits = new CallLimits({ timeoutMs, maxMs }, 0);
  let now = 0;
  while (now < limits.dueAt) {
    const key = {};
    limits.pause(key, now);
    now += SECOND;
    limits.resume(key, now);
  }
  expect(now).toBe(maxMs + MAX_PAUSE_MS);
});

test('a request that awaits a task has only the total time limit, which pauses during questions as well', () => {
  const key = {};
  const limits = new CallLimits({ timeoutMs, maxMs }, 0);
  limits.awaitTask();
  expect(limits.dueAt).toBe(maxMs);
  limits.pause(key, SECOND);
  expect(limits.dueAt).toBe(maxMs + MAX_PAUSE_MS);
  limits.resume(key, 31 * SECOND);
  expect(limits.dueAt).toBe(maxMs + 30 * SECOND);
});
