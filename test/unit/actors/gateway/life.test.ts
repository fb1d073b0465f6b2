// Start and drain of gateway parts, and failed starts.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Part } from '../../../../actors/base/supervision/part.ts';
import { Life } from '../../../../actors/gateway/life.ts';

/** Records calls of all parts. */
class Bench {
  readonly life = new Life(1_000);
  readonly calls: string[] = [];

  /** Boots a part; `during` is called while it opens, and may throw. */
  readonly boot = (name: string, during: () => void = () => {}): Promise<Part> =>
    this.life.boot(name, async () => {
      this.calls.push(`open ${name}`);
      await new Promise((resolve) => setImmediate(resolve));
      during();
      return {
        onServing: () => void this.calls.push(`serving ${name}`),
        onStopping: () => void this.calls.push(`stopping ${name}`),
        drain: async () => void this.calls.push(`drain ${name}`),
        kill: () => void this.calls.push(`kill ${name}`),
      };
    });
}

test('a gateway opens each part before it constructs the next part, and drains all parts in reverse order', async () => {
  const { life, calls, boot } = new Bench();
  const started = await life.start(async () => [await boot('one'), await boot('two')]);
  expect(started).toHaveLength(2);
  expect(calls).toEqual(['open one', 'open two', 'serving one', 'serving two']);
  expect([life.isEnding, life.graceMs]).toEqual([false, 1_000]);
  await life.stop();
  expect(calls.slice(4)).toEqual(['stopping one', 'stopping two', 'drain two', 'drain one']);
  expect(life.isEnding).toBe(true);
});

describe('a failed start leaves nothing running', () => {
  const error = new Error('no');

  test('if a part cannot open', async () => {
    const { life, calls, boot } = new Bench();
    const started = life.start(async () => {
      await boot('one');
      await boot('two', () => {
        throw error;
      });
      await boot('three');
    });
    await expect(started).rejects.toBe(error);
    expect(calls).toEqual(['open one', 'open two', 'drain one']);
  });

  test('if the start function throws between two parts', async () => {
    const { life, calls, boot } = new Bench();
    const started = life.start(async () => {
      await boot('one');
      throw error;
    });
    await expect(started).rejects.toBe(error);
    expect(calls).toEqual(['open one', 'drain one']);
  });

  test('if a part fails permanently while another opens', async () => {
    const { life, calls, boot } = new Bench();
    const started = life.start(async () => {
      await boot('one');
      await boot('two', () => life.fail('one', error));
      await boot('three');
    });
    await expect(started).rejects.toBe(error);
    expect(calls).toEqual(['open one', 'open two', 'drain two', 'drain one']);
  });

  test('if the gateway is stopped while a part opens', async () => {
    const { life, calls, boot } = new Bench();
    const started = life.start(async () => {
      await boot('one');
      await boot('two', () => void life.stop());
      await boot('three');
    });
    await expect(started).rejects.toThrow('stopped while starting');
    expect(calls).toEqual(['open one', 'open two', 'stopping one', 'drain two', 'drain one']);
  });

  test('and later boots and starts are rejected with the same error', async () => {
    const { life, calls, boot } = new Bench();
    await expect(life.start(() => Promise.reject(error))).rejects.toBe(error);
    await expect(boot('late')).rejects.toBe(error);
    await expect(life.start(async () => {})).rejects.toBe(error);
    await life.stop();
    expect(calls).toEqual([]);
  });
});

test('a part that fails permanently while the gateway serves ends the gateway, which reports the error', async () => {
  const { life, calls, boot } = new Bench();
  await life.start(() => boot('one'));
  const failed = new Promise((resolve) => life.onFailed(resolve));
  const error = new Error('gone');
  life.fail('one', error);
  expect(await failed).toBe(error);
  expect(calls.slice(2)).toEqual(['drain one']);
});

test('kill() kills every open part, also during the start', async () => {
  const { life, calls, boot } = new Bench();
  await life.start(async () => {
    await boot('one');
    await boot('two', () => life.kill());
  });
  expect(calls.slice(0, 3)).toEqual(['open one', 'open two', 'kill one']);
  life.kill();
  expect(calls.slice(-2)).toEqual(['kill one', 'kill two']);
});

test('a start with any failures and stops drains each open part once, in reverse order', async () => {
  const refuse = () => {
    throw new Error('no');
  };
  const step = fc.constantFrom('boot', 'boot', 'boot', 'fail to boot', 'throw', 'fail', 'stop');
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      const { life, calls, boot } = new Bench();
      const compose = async () => {
        for (const [at, what] of steps.entries()) {
          if (what === 'boot') await boot(`p${at}`);
          else if (what === 'fail to boot') await boot(`p${at}`, refuse);
          else if (what === 'throw') throw new Error('thrown');
          else if (what === 'fail') life.fail('p0', new Error('failed'));
          else void life.stop();
        }
      };
      const end = await life.start(compose).then(
        () => 'serves',
        () => 'failed',
      );
      expect(end).toBe(steps.every((what) => what === 'boot') ? 'serves' : 'failed');
      await life.stop();
      const lines = (word: string) =>
        calls.filter((line) => line.startsWith(`${word} `)).map((line) => line.split(' ')[1]);
      const failing = steps.indexOf('fail to boot');
      const opened = lines('open').filter((name) => name !== `p${failing}`);
      expect(lines('drain')).toEqual(opened.reverse());
    }),
    { numRuns: 100 },
  );
});
