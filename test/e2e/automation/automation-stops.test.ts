// Webhooks while the gateway starts or stops: every acknowledged event is handled, and the request of an
// accepted event always gets a response.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { freePort } from '../../fixtures/free-port.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const hook = (config: object = {}) => ({
  type: 'HTTP',
  config: { path: '/hooks/orders', webhook_secret: SECRET, ...config },
  default_agent: 'orders',
});

/** Agent that answers when the test releases it. */
async function slowAgent() {
  let isHanging = true;
  const waiting: (() => void)[] = [];
  const program = await startAgent(async () => {
    if (isHanging) await new Promise<void>((resolve) => waiting.push(resolve));
    return { text: 'at last' };
  });
  const release = () => {
    isHanging = false;
    for (const resolve of waiting) resolve();
  };
  return { program, letGo: release };
}

describe('while the gateway stops', () => {
  test.each(['on the listener of the trigger', 'on the listener of the gateway'])(
    'a request %s that waits for an answer is told that its event is stored, which the next start handles',
    async (listener) => {
      const { program, letGo } = await slowAgent();
      const port = listener.startsWith('on its own') ? await freePort() : undefined;
      const resources = [
        trigger('orders', hook({ respond: 'sync', ...(port === undefined ? {} : { port }) })),
        httpAgent('orders', program.url),
      ];
      const gateway = await startAutomation({ resources, settings: { shutdown_seconds: 2 } });
      const url = port === undefined ? gateway.url : `http://127.0.0.1:${port}`;
      const waiting = postHook(url, '/hooks/orders', { n: 1 }, { 'idempotency-key': 'n1' });
      await eventually(() => expect(program.requests).toHaveLength(1));
      const stopped = gateway.stop();
      const answer = await waiting;
      expect([answer.status, await answer.json()]).toMatchObject([202, { id: 'http:orders/n1' }]);
      expect(await stopped).toBe(0);
      letGo();
      const next = await startAutomation({ folder: gateway.folder });
      await eventually(async () => {
        const delivery = await fetch(`${next.url}/deliveries/http%3Aorders%2Fn1`);
        expect(await delivery.json()).toMatchObject({ state: 'done', answer: 'at last' });
      });
    },
  );

  test('new events are accepted and handled after the next start', async () => {
    const { program, letGo } = await slowAgent();
    const resources = [
      trigger('orders', hook({ respond: 'sync' })),
      trigger('more', hook({ path: '/hooks/more' })),
      httpAgent('orders', program.url),
    ];
    const gateway = await startAutomation({ resources, settings: { shutdown_seconds: 5 } });
    const waiting = postHook(gateway.url, '/hooks/orders', { n: 1 });
    await eventually(() => expect(program.requests).toHaveLength(1));
    const stopped = gateway.stop();
    await eventually(async () => expect((await fetch(`${gateway.url}/health`)).status).toBe(503));
    const late = await postHook(gateway.url, '/hooks/more', { n: 2 }, { 'idempotency-key': 'late' });
    expect(late.status).toBe(202);
    await waiting;
    await stopped;
    letGo();
    const next = await startAutomation({ folder: gateway.folder });
    await eventually(async () => {
      const delivery = await fetch(`${next.url}/deliveries/http%3Amore%2Flate`);
      expect(await delivery.json()).toMatchObject({ state: 'done' });
    });
  });
});

test('while the gateway starts, a webhook request is refused or gets 503 until it is accepted, but never 404', async () => {
  const program = await startAgent();
  const port = await freePort();
  const many = Array.from({ length: 200 }, (_, n) =>
    trigger(`more-${n}`, hook({ path: `/hooks/more-${n}` })),
  );
  const resources = [trigger('orders', hook()), httpAgent('orders', program.url), ...many];
  const started = startAutomation({ resources, settings: { listen_addr: `127.0.0.1:${port}` } });
  const statuses: (number | 'refused')[] = [];
  await eventually(async () => {
    const answer = await postHook(`http://127.0.0.1:${port}`, '/hooks/orders', { n: statuses.length }).catch(
      () => undefined,
    );
    statuses.push(answer?.status ?? 'refused');
    expect(answer?.status).toBe(202);
  });
  await started;
  expect(statuses[0]).not.toBe(202);
  expect(statuses.filter((status) => !['refused', 503, 202].includes(status as number | string))).toEqual([]);
});

test('after a SIGHUP during the start of the gateway, every trigger accepts events', async () => {
  const folder = temporaryFolder();
  const program = await startAgent();
  const resources = [trigger('orders', hook()), httpAgent('orders', program.url)];
  const started = startAutomation({ folder, resources });
  const pid = await eventually(() => {
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
    const processId = children.find((each) => readFileSync(`/proc/${each}/cmdline`, 'utf8').includes(folder));
    if (processId === undefined) throw new Error('the process has not begun');
    return Number(processId);
  });
  for (let isListening = false; !isListening; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const caught = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
    isListening = (BigInt(`0x${caught}`) & 1n) === 1n;
  }
  process.kill(pid, 'SIGHUP');
  const gateway = await started;
  await eventually(async () =>
    expect((await postHook(gateway.url, '/hooks/orders', { n: 1 })).status).toBe(202),
  );
});
