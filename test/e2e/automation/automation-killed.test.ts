// Accepted events are not lost: the program is killed at random moments while signed events arrive, and
// restarted in the same folder. Every acknowledged event is handled, in the order of the conversation.

import { expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';

const EVENTS = 10_000;
const CONVERSATIONS = 40;
const KILLS = 6;

test('acknowledged events are handled in order after kill -9, and repeated agent requests keep their idempotency key', async () => {
  // An effect happens at the first request. The key identifies repetitions.
  const effects = new Map<string, number[]>();
  const keys = new Set<string>();
  const program = await startAgent(({ headers, body }) => {
    const key = String(headers['idempotency-key']);
    const { c, n } = body.event.payload as { c: string; n: number };
    if (!keys.has(key)) effects.set(c, [...(effects.get(c) ?? []), n]);
    keys.add(key);
    return { text: '' };
  });
  const resources = [
    trigger('orders', {
      type: 'HTTP',
      config: { path: '/hooks/orders', webhook_secret: SECRET, key: 'body:c' },
      default_agent: 'orders',
    }),
    httpAgent('orders', program.url),
  ];
  let gateway: GatewayProcess = await startAutomation({ resources });
  const { folder } = gateway;
  let count = 0;

  /** Sends a conversation's events. Repeats each with the same key until it is acknowledged. */
  async function send(c: string): Promise<void> {
    for (let n = 0; n < EVENTS / CONVERSATIONS; n += 1) {
      for (;;) {
        const answer = await postHook(
          gateway.url,
          '/hooks/orders',
          { c, n },
          { 'idempotency-key': `${c}-${n}` },
        ).catch(() => undefined);
        await answer?.arrayBuffer().catch(() => undefined);
        if (answer?.ok === true) break;
        await new Promise((done) => setTimeout(done, 5));
      }
      count += 1;
    }
  }

  const names = Array.from({ length: CONVERSATIONS }, (_, at) => `c${at}`);
  const sending = Promise.all(names.map(send));
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const until = Math.floor(((kill - Math.random()) * EVENTS) / (KILLS + 1));
    await eventually(() => expect(count).toBeGreaterThanOrEqual(until), 120_000);
    await gateway.stop('SIGKILL');
    gateway = await startAutomation({ folder });
  }
  await sending;
  const open = 'queued,running,retrying,held,dead,ignored';
  await eventually(async () => {
    const answer = await fetch(`${gateway.url}/deliveries?state=${open}&limit=1000`);
    expect(((await answer.json()) as { deliveries: unknown[] }).deliveries).toEqual([]);
  }, 60_000);
  const inOrder = Array.from({ length: EVENTS / CONVERSATIONS }, (_, n) => n);
  for (const name of names) expect(effects.get(name), name).toEqual(inOrder);
}, 300_000);

test('seven kills in a row do not count as failures of a slow agent: the event is handled when the agent answers', async () => {
  let requestCount = 0;
  let isHanging = true;
  const program = await startAgent(async () => {
    requestCount += 1;
    if (isHanging) await new Promise(() => {});
    return { text: '' };
  });
  const retry = { attempts: 2, min_backoff_seconds: 1, max_backoff_seconds: 1 };
  const resources = [
    trigger('orders', {
      type: 'HTTP',
      config: { path: '/hooks/orders', webhook_secret: SECRET },
      default_agent: 'orders',
      retry,
    }),
    httpAgent('orders', program.url),
  ];
  let gateway = await startAutomation({ resources });
  const { folder } = gateway;
  expect((await postHook(gateway.url, '/hooks/orders', { n: 1 })).status).toBe(202);
  for (let kill = 1; kill <= 7; kill += 1) {
    // The event runs at the first three starts. Afterwards the pauses are longer than the interval of the
    // kills.
    if (kill <= 3) await eventually(() => expect(requestCount).toBe(kill));
    await gateway.stop('SIGKILL');
    gateway = await startAutomation({ folder });
  }
  isHanging = false;
  await eventually(async () => {
    const { deliveries } = (await (await fetch(`${gateway.url}/deliveries`)).json()) as {
      deliveries: { state: string; attempts: number; crashes: number }[];
    };
    expect(deliveries).toMatchObject([{ state: 'done', attempts: 4, crashes: 3 }]);
  }, 30_000);
});
