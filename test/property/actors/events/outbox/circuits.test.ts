// Sending during a platform outage, on a simulated clock: each message is retried at the given time, and
// after its own pause if it failed itself.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';

const OPEN_AFTER = 5;
const down = () => new DeliveryError('502', { platformCode: 502, isPlatformDown: true });
const refused = () => new DeliveryError('400', { platformCode: 400, isFinal: true });
const unsent = () =>
  new DeliveryError('not yet', { isRateLimited: true, isUncontacted: true, retryAfterMs: 1 });

interface Outage {
  readonly fromMs: number;
  readonly lastsMs: number;
}

interface Row {
  readonly at: number;
  readonly takesMs: number;
}

/** Sends all rows. Returns the number of failed attempts per row, and the times of the requests. */
async function sendAll(rows: readonly Row[], { fromMs, lastsMs }: Outage, chance: number) {
  let now = 0;
  const due: { at: number; go: () => void }[] = [];
  const until = (time: number) => new Promise<void>((go) => due.push({ at: time, go }));
  const circuits = new Circuits({ log: silentLog, now: () => now, random: () => chance });
  const requests: { from: number; to: number; isOpen: boolean }[] = [];
  let opened = 0;
  let failed = 0;
  let sent = 0;
  const finished = rows.map(async ({ at, takesMs }) => {
    await until(at);
    for (let isSent = false; !isSent; ) {
      try {
        await circuits.run('a', async () => {
          const request = {
            from: now,
            to: Number.POSITIVE_INFINITY,
            isOpen: circuits.status('a') !== undefined,
          };
          requests.push(request);
          await until(now + takesMs);
          request.to = now;
          if (now >= fromMs && now < fromMs + lastsMs) throw down();
        });
        isSent = true;
        sent += 1;
      } catch (error) {
        const { isRateLimited, retryAfterMs = 0 } = error as DeliveryError;
        if (!isRateLimited) failed += 1;
        if (circuits.status('a')?.state === 'open') opened += 1;
        await until(now + (isRateLimited ? retryAfterMs : 500));
      }
    }
  });
  let isOver = false;
  const all = Promise.all(finished).finally(() => {
    isOver = true;
  });
  for (let steps = 0; !isOver; steps += 1) {
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    due.sort((a, b) => a.at - b.at);
    const next = due.shift();
    if (next === undefined || steps > 100_000) break;
    now = next.at;
    next.go();
  }
  if (!isOver) throw new Error('it does not end');
  await all;
  return { requests, failed, sent, opened, endedAt: now };
}

describe('a platform outage', () => {
  const row = fc.record({
    at: fc.integer({ min: 0, max: 20_000 }),
    takesMs: fc.integer({ min: 1, max: 900 }),
  });
  const outage = fc.record({
    fromMs: fc.integer({ min: 0, max: 5_000 }),
    lastsMs: fc.integer({ min: 0, max: 1_800_000 }),
  });

  test('causes single probes at growing intervals, and all messages are sent soon after the outage', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 40 }),
        outage,
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (rows, out, chance) => {
          const { requests, failed, sent, endedAt } = await sendAll(rows, out, chance);
          expect(sent).toBe(rows.length);
          // Counts messages that were sent before the circuit opened. Probes do not count. Their pauses
          // double up to a minute.
          expect(failed).toBeLessThanOrEqual(OPEN_AFTER - 1 + Math.min(rows.length, 40));
          const probing = requests.filter(({ isOpen }) => isOpen);
          for (const [i, { from }] of probing.entries())
            if (i > 0) expect(from).toBeGreaterThanOrEqual(probing[i - 1]?.to ?? 0);
          expect(endedAt).toBeLessThan(Math.max(25_000, out.fromMs + out.lastsMs + 100_000));
        },
      ),
      { numRuns: 120 },
    );
  });
});

describe('a circuit', () => {
  const setUp = () => {
    const clock = { now: 1_000 };
    const lines: string[] = [];
    const log = {
      ...silentLog,
      warn: (_: object, message: string) => void lines.push(message),
      info: (_: object, message: string) => void lines.push(message),
    };
    const circuits = new Circuits({ log, now: () => clock.now, random: () => 0 });
    const fails = (error: Error, account = 'a') =>
      circuits
        .run(account, () => Promise.reject(error))
        .then(
          () => 'sent',
          (thrown: Error) => (thrown === error ? 'asked' : (thrown as DeliveryError).retryAfterMs),
        );
    return { clock, circuits, fails, lines, works: () => circuits.run('a', async () => 'sent') };
  };

  test('opens after consecutive failures with a log line, and closes after any response of the platform', async () => {
    const { clock, circuits, fails, lines, works } = setUp();
    for (let i = 1; i < OPEN_AFTER; i += 1) await fails(down());
    await works();
    for (let i = 1; i < OPEN_AFTER; i += 1) await fails(down());
    await fails(refused());
    for (let i = 1; i < OPEN_AFTER; i += 1) await fails(down());
    expect(circuits.status('a')).toBeUndefined();
    expect(await fails(down())).toBe('asked');
    expect(circuits.status('a')).toEqual({ state: 'open', since: 1_000, lastError: '502', retryAt: 2_000 });
    expect(await fails(down())).toBe(1_000);
    expect(await fails(refused(), 'b')).toBe('asked');
    clock.now = 2_000;
    expect(circuits.status('a')).toEqual({
      state: 'halfOpen',
      since: 1_000,
      lastError: '502',
      retryAt: undefined,
    });
    expect(await fails(down())).toBe(2_000);
    expect(circuits.status('a')).toMatchObject({ state: 'open', retryAt: 4_000 });
    expect(await fails(down())).toBe(2_000);
    clock.now = 4_000;
    expect(await fails(refused())).toBe('asked');
    expect(circuits.status('a')).toBeUndefined();
    expect(lines).toEqual([
      'a platform does not respond; sending to it is suspended',
      'a platform responds again',
    ]);
  });

  test('counts an attempt for a probe that may have arrived, and none for one that did not', async () => {
    const { clock, circuits, fails } = setUp();
    for (let i = 0; i < OPEN_AFTER; i += 1) expect(await fails(down())).toBe('asked');
    for (const pauseMs of [2_000, 4_000, 8_000]) {
      clock.now = circuits.status('a')?.retryAt ?? 0;
      expect(await fails(down())).toBe(pauseMs);
    }
    clock.now = circuits.status('a')?.retryAt ?? 0;
    expect(await fails(new DeliveryError('cut', { isPlatformDown: true, isOutcomeUnknown: true }))).toBe(
      'asked',
    );
    expect(circuits.status('a')).toMatchObject({ state: 'open', lastError: 'cut' });
  });

  test('opens once for all concurrent failures, with the pause of the first', async () => {
    const { circuits } = setUp();
    const fail: (() => void)[] = [];
    const sending = Array.from({ length: 20 }, () =>
      circuits
        .run('a', () => new Promise<void>((_, reject) => fail.push(() => reject(down()))))
        .catch(() => {}),
    );
    for (const each of fail) each();
    await Promise.all(sending);
    expect(circuits.status('a')).toMatchObject({ state: 'open', retryAt: 2_000 });
  });

  test('ignores messages that were not sent, and uses the next message as the probe', async () => {
    const { clock, circuits, fails, works } = setUp();
    for (let i = 0; i < 3 * OPEN_AFTER; i += 1) await fails(unsent());
    for (let i = 0; i < 3 * OPEN_AFTER; i += 1) await fails(new DeliveryError('no form', { isFinal: true }));
    expect(circuits.status('a')).toBeUndefined();
    for (let i = 0; i < OPEN_AFTER; i += 1) await fails(down());
    clock.now = 3_000;
    expect(await fails(unsent())).toBe('asked');
    expect(circuits.status('a')?.state).toBe('halfOpen');
    expect(await works()).toBe('sent');
  });

  test('makes another probe if a probe never returns', async () => {
    const { clock, circuits, fails, works } = setUp();
    for (let i = 0; i < OPEN_AFTER; i += 1) await fails(down());
    clock.now = 3_000;
    void circuits.run('a', () => new Promise(() => {}));
    expect(await fails(down())).toBe(1_000);
    clock.now = 100_000;
    expect(await works()).toBe('sent');
  });

  test('is separate for each service of an account, and the account shows the first open circuit', async () => {
    const { clock, circuits } = setUp();
    const fail = (service: string) =>
      circuits.run('a', () => Promise.reject(down()), service).catch((error: DeliveryError) => error.message);
    const works = (service?: string) => circuits.run('a', async () => 'sent', service);
    for (let i = 0; i < OPEN_AFTER; i += 1) await fail('one.example');
    expect(await fail('one.example')).toContain('sending for a at one.example is suspended');
    expect(await works('other.example')).toBe('sent');
    expect(await works()).toBe('sent');
    clock.now = 1_500;
    for (let i = 0; i < OPEN_AFTER; i += 1) await fail('third.example');
    expect(circuits.status('a')).toMatchObject({ state: 'open', since: 1_000 });
    expect(circuits.status('a at one.example')).toBeUndefined();
    clock.now = 2_000;
    expect(await works('one.example')).toBe('sent');
    expect(circuits.status('a')).toMatchObject({ since: 1_500 });
    // The number of stored services is limited, like the number of accounts.
    for (let i = 0; i < 1_000; i += 1) await fail(`${i}.example`);
    expect(circuits.status('a')).toBeUndefined();
  });

  test('is stored for a limited number of accounts', async () => {
    const { circuits, fails } = setUp();
    for (let i = 0; i < OPEN_AFTER; i += 1) await fails(down(), 'first');
    expect(circuits.status('first')).toBeDefined();
    for (let i = 0; i < 1_000; i += 1) await fails(down(), `${i}`);
    expect(circuits.status('first')).toBeUndefined();
  });
});
