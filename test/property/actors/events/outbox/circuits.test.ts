// Circuit breakers of the outbox (the sender of messages) on a simulated clock. A property sends messages
// during a platform outage of random length: single messages probe whether the outage has ended, and all
// messages are sent. Other tests cover single circuits.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { Circuits } from '../../../../../actors/events/outbox/circuits.ts';
import { DeliveryError } from '../../../../../actors/events/outbox/delivery-error.ts';

/** Consecutive failures that open a circuit. */
const OPEN_AFTER = 5;
/** The platform is down. */
const down = () => new DeliveryError('502', { platformCode: 502, isPlatformDown: true });
/** The platform rejects the message. */
const refused = () => new DeliveryError('400', { platformCode: 400, isFinal: true });
/** The message was not sent, because of a local rate limit. */
const unsent = () =>
  new DeliveryError('not yet', { isRateLimited: true, isUncontacted: true, retryAfterMs: 1 });

interface Outage {
  readonly fromMs: number;
  readonly lastsMs: number;
}

interface Row {
  readonly sendAtMs: number;
  readonly takesMs: number;
}

/**
 * Sends all rows to one account, until each is sent. `jitter` is the random number of all pauses. Returns the
 * number of counted failures, and the times of the requests.
 */
async function sendAll(rows: readonly Row[], { fromMs, lastsMs }: Outage, jitter: number) {
  let now = 0;
  const timers: { at: number; resume: () => void }[] = [];
  const until = (at: number) => new Promise<void>((resume) => timers.push({ at, resume }));
  const circuits = new Circuits({ log: silentLog, now: () => now, random: () => jitter });
  const requests: { from: number; to: number; isOpen: boolean }[] = [];
  let failed = 0;
  let sent = 0;
  const finished = rows.map(async ({ sendAtMs, takesMs }) => {
    await until(sendAtMs);
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
        // The circuit sets the delay of a deferred message. A failed message is retried after 500 ms.
        await until(now + (isRateLimited ? retryAfterMs : 500));
      }
    }
  });
  let isOver = false;
  const all = Promise.all(finished).finally(() => {
    isOver = true;
  });
  for (let steps = 0; !isOver; steps += 1) {
    // Advances all rows to their next timer.
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    timers.sort((a, b) => a.at - b.at);
    const next = timers.shift();
    if (next === undefined || steps > 100_000) break;
    now = next.at;
    next.resume();
  }
  if (!isOver) throw new Error('it does not end');
  await all;
  return { requests, failed, sent, endedAt: now };
}

describe('a platform outage', () => {
  const row = fc.record({
    sendAtMs: fc.integer({ min: 0, max: 20_000 }),
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
        async (rows, out, jitter) => {
          const { requests, failed, sent, endedAt } = await sendAll(rows, out, jitter);
          expect(sent).toBe(rows.length);
          // Only requests that were on their way before the circuit opened count as failures. Probes do not.
          expect(failed).toBeLessThanOrEqual(OPEN_AFTER - 1 + Math.min(rows.length, 40));
          // A probe starts when the previous one has completed.
          const probes = requests.filter(({ isOpen }) => isOpen);
          for (const [i, { from }] of probes.entries())
            if (i > 0) expect(from).toBeGreaterThanOrEqual(probes[i - 1]?.to ?? 0);
          // The longest pause between probes is a minute, plus jitter.
          expect(endedAt).toBeLessThan(Math.max(25_000, out.fromMs + out.lastsMs + 100_000));
        },
      ),
      { numRuns: 120 },
    );
  });
});

describe('a circuit breaker', () => {
  const setUp = () => {
    const clock = { now: 1_000 };
    const lines: string[] = [];
    const log = {
      ...silentLog,
      warn: (_: object, message: string) => void lines.push(message),
      info: (_: object, message: string) => void lines.push(message),
    };
    const circuits = new Circuits({ log, now: () => clock.now, random: () => 0 });
    /** Resolves with `own error` if the message fails with `error`, or with the delay in milliseconds. */
    const sendFailing = (error: Error, account = 'a') =>
      circuits
        .run(account, () => Promise.reject(error))
        .then(
          () => 'sent',
          (thrown: Error) => (thrown === error ? 'own error' : (thrown as DeliveryError).retryAfterMs),
        );
    return { clock, circuits, sendFailing, lines, send: () => circuits.run('a', async () => 'sent') };
  };

  test('opens after consecutive failures with a log line, and closes after any response of the platform', async () => {
    const { clock, circuits, sendFailing, lines, send } = setUp();
    // A success or a rejection by the platform resets the consecutive failures.
    for (let i = 1; i < OPEN_AFTER; i += 1) await sendFailing(down());
    await send();
    for (let i = 1; i < OPEN_AFTER; i += 1) await sendFailing(down());
    await sendFailing(refused());
    for (let i = 1; i < OPEN_AFTER; i += 1) await sendFailing(down());
    expect(circuits.status('a')).toBeUndefined();
    expect(await sendFailing(down())).toBe('own error');
    expect(circuits.status('a')).toEqual({ state: 'open', since: 1_000, lastError: '502', retryAt: 2_000 });
    expect(await sendFailing(down())).toBe(1_000);
    // Another account is not affected.
    expect(await sendFailing(refused(), 'b')).toBe('own error');
    clock.now = 2_000;
    expect(circuits.status('a')).toEqual({
      state: 'halfOpen',
      since: 1_000,
      lastError: '502',
      retryAt: undefined,
    });
    // A failed probe doubles the pause.
    expect(await sendFailing(down())).toBe(2_000);
    expect(circuits.status('a')).toMatchObject({ state: 'open', retryAt: 4_000 });
    expect(await sendFailing(down())).toBe(2_000);
    clock.now = 4_000;
    expect(await sendFailing(refused())).toBe('own error');
    expect(circuits.status('a')).toBeUndefined();
    expect(lines).toEqual([
      'a platform does not respond; sending to it is suspended',
      'a platform responds again',
    ]);
  });

  test('counts a failed probe as a delivery attempt only if its message may have arrived', async () => {
    const { clock, circuits, sendFailing } = setUp();
    for (let i = 0; i < OPEN_AFTER; i += 1) expect(await sendFailing(down())).toBe('own error');
    for (const pauseMs of [2_000, 4_000, 8_000]) {
      clock.now = circuits.status('a')?.retryAt ?? 0;
      expect(await sendFailing(down())).toBe(pauseMs);
    }
    clock.now = circuits.status('a')?.retryAt ?? 0;
    expect(
      await sendFailing(new DeliveryError('cut', { isPlatformDown: true, isOutcomeUnknown: true })),
    ).toBe('own error');
    expect(circuits.status('a')).toMatchObject({ state: 'open', lastError: 'cut' });
  });

  test('opens once for all concurrent failures, with the pause of the first failure', async () => {
    const { circuits } = setUp();
    /** Functions that let a pending request fail. */
    const failPending: (() => void)[] = [];
    const sending = Array.from({ length: 20 }, () =>
      circuits
        .run('a', () => new Promise<void>((_, reject) => failPending.push(() => reject(down()))))
        .catch(() => {}),
    );
    for (const fail of failPending) fail();
    await Promise.all(sending);
    expect(circuits.status('a')).toMatchObject({ state: 'open', retryAt: 2_000 });
  });

  test('ignores errors of messages that never reached the platform, and uses the next message as the probe', async () => {
    const { clock, circuits, sendFailing, send } = setUp();
    for (let i = 0; i < 3 * OPEN_AFTER; i += 1) await sendFailing(unsent());
    // An error without `platformCode` occurred before the request, for example while rendering the message.
    for (let i = 0; i < 3 * OPEN_AFTER; i += 1)
      await sendFailing(new DeliveryError('cannot be rendered', { isFinal: true }));
    expect(circuits.status('a')).toBeUndefined();
    for (let i = 0; i < OPEN_AFTER; i += 1) await sendFailing(down());
    clock.now = 3_000;
    expect(await sendFailing(unsent())).toBe('own error');
    expect(circuits.status('a')?.state).toBe('halfOpen');
    expect(await send()).toBe('sent');
  });

  test('makes another probe if a probe never returns', async () => {
    const { clock, circuits, sendFailing, send } = setUp();
    for (let i = 0; i < OPEN_AFTER; i += 1) await sendFailing(down());
    clock.now = 3_000;
    void circuits.run('a', () => new Promise(() => {}));
    expect(await sendFailing(down())).toBe(1_000);
    // A probe's deadline has passed.
    clock.now = 100_000;
    expect(await send()).toBe('sent');
  });

  test('is separate for each service of an account, and the account shows the first open circuit', async () => {
    const { clock, circuits } = setUp();
    const sendFailingTo = (service: string) =>
      circuits.run('a', () => Promise.reject(down()), service).catch((error: DeliveryError) => error.message);
    const send = (service?: string) => circuits.run('a', async () => 'sent', service);
    for (let i = 0; i < OPEN_AFTER; i += 1) await sendFailingTo('one.example');
    expect(await sendFailingTo('one.example')).toContain('sending for a at one.example is suspended');
    expect(await send('other.example')).toBe('sent');
    expect(await send()).toBe('sent');
    clock.now = 1_500;
    for (let i = 0; i < OPEN_AFTER; i += 1) await sendFailingTo('third.example');
    expect(circuits.status('a')).toMatchObject({ state: 'open', since: 1_000 });
    expect(circuits.status('a at one.example')).toBeUndefined();
    clock.now = 2_000;
    expect(await send('one.example')).toBe('sent');
    expect(circuits.status('a')).toMatchObject({ since: 1_500 });
    // The number of stored services is limited, like the number of accounts.
    for (let i = 0; i < 1_000; i += 1) await sendFailingTo(`${i}.example`);
    expect(circuits.status('a')).toBeUndefined();
  });

  test('is kept in memory for a limited number of accounts', async () => {
    const { circuits, sendFailing } = setUp();
    for (let i = 0; i < OPEN_AFTER; i += 1) await sendFailing(down(), 'first');
    expect(circuits.status('first')).toBeDefined();
    for (let i = 0; i < 1_000; i += 1) await sendFailing(down(), `${i}`);
    expect(circuits.status('first')).toBeUndefined();
  });
});
