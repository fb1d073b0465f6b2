// Operator actions while events arrive, handlers fail, files change and the process stops or is killed.
// Pause, resume, replay and discard never lose or forget an event, and never run two events of a conversation
// in parallel.

import { expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { seeded } from '../../fixtures/seeded.ts';

const EVENTS = 60;
const CONVERSATIONS = 8;
const STEPS = 150;
const STOP_EVERY = 40;

interface DeliveryList {
  readonly deliveries: readonly { readonly id: string; readonly state: string }[];
}

test('despite random operator actions, stops and kills, every event reaches a final state, in order of its conversation', async () => {
  const random = seeded(11);
  const draw = (below: number) => Math.floor(random() * below);

  const running = new Set<string>();
  const overlaps: string[] = [];
  /** Events per conversation, in the order of first attempts. */
  const attemptsByConversation = new Map<string, number[]>();
  const program = await startAgent(async ({ body }, count) => {
    const { c, n } = body.event.payload as { c: string; n: number };
    if (running.has(c)) overlaps.push(`${c} at ${n}`);
    running.add(c);
    const before = attemptsByConversation.get(c) ?? [];
    if (!before.includes(n)) attemptsByConversation.set(c, [...before, n]);
    await new Promise((done) => setTimeout(done, count % 7));
    running.delete(c);
    return count % 11 === 0 ? { status: 500 } : { text: 'ok' };
  });
  const resources = (attempts: number) => [
    trigger('orders', {
      type: 'HTTP',
      config: { path: '/hooks/orders', webhook_secret: SECRET, key: 'body:c' },
      default_agent: 'orders',
      retry: { attempts, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1 },
    }),
    httpAgent('orders', program.url),
  ];
  let gateway: GatewayProcess = await startAutomation({ resources: resources(3) });
  const { folder } = gateway;
  const api = (path: string, method = 'POST') =>
    fetch(`${gateway.url}${path}`, { method }).then(
      async (answer) => ({ status: answer.status, body: (await answer.json()) as unknown }),
      () => undefined,
    );
  const listed = async (states: string) => {
    const answer = await api(`/deliveries?state=${states}&limit=1000`, 'GET');
    return answer?.status === 200 ? (answer.body as DeliveryList).deliveries : [];
  };

  let isOver = false;
  const acknowledged: string[] = [];
  async function send(c: string): Promise<void> {
    for (let n = 0; n < EVENTS && !isOver; n += 1) {
      for (;;) {
        const id = `${c}-${n}`;
        const answer = await postHook(
          gateway.url,
          '/hooks/orders',
          { c, n },
          { 'idempotency-key': id },
        ).catch(() => undefined);
        await answer?.arrayBuffer().catch(() => undefined);
        if (answer?.ok === true) break;
        await new Promise((done) => setTimeout(done, 10));
      }
      acknowledged.push(`${c}-${n}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }
  const names = Array.from({ length: CONVERSATIONS }, (_, at) => `c${at}`);
  const sending = Promise.all(names.map(send));

  const some = async (states: string) => {
    const deliveries = await listed(states);
    return deliveries[draw(Math.max(1, deliveries.length))]?.id;
  };
  const faults: unknown[] = [];
  for (let step = 1; step <= STEPS; step += 1) {
    if (step % STOP_EVERY === 0) {
      await gateway.stop(draw(2) === 0 ? 'SIGKILL' : 'SIGTERM');
      running.clear();
      gateway = await startAutomation({ folder });
    }
    const kind = draw(8);
    let answer: Awaited<ReturnType<typeof api>>;
    if (kind <= 1) answer = await api('/triggers/orders/pause');
    else if (kind <= 3) answer = await api('/triggers/orders/resume');
    else if (kind <= 5) {
      const id = await some('done,dead');
      if (id !== undefined) answer = await api(`/deliveries/${encodeURIComponent(id)}/replay`);
    } else if (kind === 6) {
      const id = await some('queued,held,retrying,running');
      if (id !== undefined) answer = await api(`/deliveries/${encodeURIComponent(id)}/discard`);
    } else {
      writeResources(folder, resources(2 + draw(3)));
      answer = await api('/admin/reload');
    }
    if (answer !== undefined && ![200, 202, 409].includes(answer.status)) faults.push({ kind, answer });
    await new Promise((done) => setTimeout(done, draw(40)));
  }
  isOver = true;
  await sending;
  expect(faults).toEqual([]);
  expect((await api('/triggers/orders/resume'))?.status).toBe(200);
  await eventually(async () => expect(await listed('queued,running,retrying,held')).toEqual([]), 60_000);
  const response = await fetch(`${gateway.url}/deliveries?limit=1000`);
  const ids = new Set(((await response.json()) as DeliveryList).deliveries.map(({ id }) => id));
  expect(acknowledged.filter((id) => !ids.has(`http:orders/${id}`))).toEqual([]);
  expect(overlaps).toEqual([]);
  for (const [c, order] of attemptsByConversation) expect(order, c).toEqual([...order].sort((a, b) => a - b));
}, 300_000);
