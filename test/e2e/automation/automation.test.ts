// An event through the whole program: from the signed request to the handled event, and to the records that
// an operator sees.
// Invariant A3 is in ARCHITECTURE.md.

import { describe, expect, test } from 'vitest';
import type { DeliveryRecord } from '../../../src/http/api/delivery-shapes.ts';
import {
  agent,
  eventually,
  httpAgent,
  postHook,
  postRepoEvent,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
  writeResources,
} from '../../fixtures/automation/automation.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

const json = async (url: string, method = 'GET') =>
  (await fetch(url, { method })).json() as Promise<Record<string, never>>;

async function deliveriesOf(url: string): Promise<readonly Pick<DeliveryRecord, 'id' | 'state'>[]> {
  return (await json(`${url}/deliveries`)).deliveries ?? expect.unreachable('a list without deliveries');
}

const hook = (more: object = {}) => ({
  type: 'HTTP',
  config: { path: '/hooks/orders', webhook_secret: SECRET, ...more },
  default_agent: 'orders',
});

const fast = { attempts: 3, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1, factor: 2 };

describe('an event of a signed webhook', () => {
  test('is acknowledged once durable, and handled once (A3)', async () => {
    const program = await startAgent();
    const gateway = await startAutomation({
      resources: [trigger('orders', hook()), httpAgent('orders', program.url)],
    });
    const answer = await postHook(gateway.url, '/hooks/orders', { text: 'one' }, { 'idempotency-key': 'a1' });
    expect(answer.status).toBe(202);
    const secondResponse = await postHook(
      gateway.url,
      '/hooks/orders',
      { text: 'one' },
      { 'idempotency-key': 'a1' },
    );
    expect([secondResponse.status, await secondResponse.json()]).toEqual([
      200,
      { id: 'http:orders/a1', status: 'duplicate' },
    ]);
    await eventually(async () => {
      expect(await json(`${gateway.url}/deliveries/http%3Aorders%2Fa1`)).toMatchObject({
        state: 'done',
        trigger: 'orders',
        attempts: 1,
        answer: 'heard: one',
        body: { text: '{"text":"one"}' },
      });
    });
    expect(program.requests).toHaveLength(1);
    expect(program.requests[0]?.headers['idempotency-key']).toBe('http:orders/a1');
  });

  test('is handled again with an equal body under another id, because the sender signs no id', async () => {
    const program = await startAgent();
    const gateway = await startAutomation({
      resources: [trigger('orders', hook()), httpAgent('orders', program.url)],
    });
    for (const id of ['r1', 'r2', 'r2', 'r3'])
      await postHook(gateway.url, '/hooks/orders', { text: 'down' }, { 'idempotency-key': id });
    await eventually(() => expect(program.requests).toHaveLength(3));
    expect(await json(`${gateway.url}/triggers/orders`)).toMatchObject({
      duplicate_events: { count: 1, last_at: expect.any(String), last_id: 'http:orders/r2' },
    });
    const { stdout } = await runMain(['triggers', 'show', 'orders', '--url', gateway.url], {
      env: { GATEWAY_API_KEY: '' },
      cwd: gateway.folder,
    });
    expect(stdout).toMatch(/^duplicates +1 event, last at .*\(http:orders\/r2\)$/m);
  });

  test('is not handled again if its signed body is replayed under another id in the window, unless it is dead', async () => {
    let isBroken = true;
    const program = await startAgent(() => (isBroken ? { status: 400 } : { text: 'fine' }));
    const repo = { type: 'RepoHost', config: { webhook_secret: SECRET }, default_agent: 'orders' };
    const gateway = await startAutomation({
      resources: [
        trigger('orders', hook({ replay_window_seconds: 300 })),
        trigger('reviews', repo),
        httpAgent('orders', program.url),
      ],
    });
    const payload = { action: 'opened', issue: { number: 7 }, repository: { full_name: 'a/b' } };
    const sendUnder = async (id: string) => {
      const headers = { 'idempotency-key': id };
      const event = await postHook(gateway.url, '/hooks/orders', { text: 'one' }, headers);
      const repoEvent = await postRepoEvent(gateway.url, 'issues', payload, { id });
      return [event.status, repoEvent.status];
    };
    const states = async () => (await deliveriesOf(gateway.url)).map(({ id, state }) => [id, state]);
    const all = (state: string) => [
      ['repohost:reviews/r1', state],
      ['http:orders/r1', state],
    ];
    expect(await sendUnder('r1')).toEqual([202, 202]);
    await eventually(async () => expect(await states()).toEqual(all('dead')));
    isBroken = false;
    expect(await sendUnder('r2')).toEqual([202, 202]);
    await eventually(async () => expect(await states()).toEqual(all('done')));
    expect(await sendUnder('r3')).toEqual([200, 200]);
    expect(await states()).toEqual(all('done'));
    expect(program.requests).toHaveLength(4);
  });

  test('is rejected with 401 and leaves no trace if one byte differs from the signed body', async () => {
    const program = await startAgent();
    const gateway = await startAutomation({
      resources: [trigger('orders', hook()), httpAgent('orders', program.url)],
    });
    const rejectedResponse = await postHook(
      gateway.url,
      '/hooks/orders',
      { a: 1 },
      { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` },
    );
    expect(rejectedResponse.status).toBe(401);
    expect((await fetch(`${gateway.url}/hooks/orders`, { method: 'POST', body: '{}' })).status).toBe(401);
    expect((await fetch(`${gateway.url}/hooks/orders`)).status).toBe(405);
    expect((await fetch(`${gateway.url}/hooks/other`, { method: 'POST' })).status).toBe(404);
    expect(await json(`${gateway.url}/deliveries`)).toEqual({ deliveries: [], next_before: null });
  });

  test('needs neither the API key nor a known Host', async () => {
    const program = await startAgent();
    const gateway = await startAutomation({
      resources: [trigger('orders', hook({ respond: 'sync' })), httpAgent('orders', program.url)],
      settings: { api_key: 'key-of-the-api' },
    });
    const answer = await postHook(
      gateway.url,
      '/hooks/orders',
      { text: 'hello' },
      { origin: 'https://elsewhere.example' },
    );
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { status: 'done', answer: 'heard: hello' },
    ]);
    expect((await fetch(`${gateway.url}/deliveries`)).status).toBe(401);
  });

  test('is retried after a failure, becomes dead after the last attempt, and runs again when it is replayed', async () => {
    let isBroken = true;
    const program = await startAgent(() => (isBroken ? { status: 500 } : { text: 'fine' }));
    const gateway = await startAutomation({
      resources: [trigger('orders', { ...hook(), retry: fast }), httpAgent('orders', program.url)],
    });
    await postHook(gateway.url, '/hooks/orders', { n: 1 }, { 'idempotency-key': 'b1' });
    const path = `${gateway.url}/deliveries/http%3Aorders%2Fb1`;
    await eventually(async () => expect(await json(path)).toMatchObject({ state: 'dead', attempts: 3 }));
    expect(program.requests).toHaveLength(3);
    isBroken = false;
    expect(await json(`${path}/replay`, 'POST')).toMatchObject({ id: 'http:orders/b1' });
    await eventually(async () => expect(await json(path)).toMatchObject({ state: 'done', answer: 'fine' }));
    expect((await fetch(`${path}/discard`, { method: 'POST' })).status).toBe(409);
  });

  test('waits while the trigger is paused, also across a restart, and is handled in order', async () => {
    const program = await startAgent();
    const resources = [trigger('orders', hook()), httpAgent('orders', program.url)];
    const gateway = await startAutomation({ resources });
    expect(await json(`${gateway.url}/triggers/orders/pause`, 'POST')).toMatchObject({
      state: 'paused',
      paused: true,
    });
    for (const n of [1, 2, 3])
      expect((await postHook(gateway.url, '/hooks/orders', { text: `n${n}` })).status).toBe(202);
    await eventually(async () =>
      expect((await json(`${gateway.url}/deliveries?state=held`)).deliveries).toHaveLength(1),
    );
    await gateway.stop();
    const next = await startAutomation({ folder: gateway.folder });
    expect(await json(`${next.url}/triggers/orders`)).toMatchObject({ paused: true });
    expect(program.requests).toHaveLength(0);
    await json(`${next.url}/triggers/orders/resume`, 'POST');
    await eventually(() =>
      expect(program.requests.map(({ body }) => body.input)).toEqual(['n1', 'n2', 'n3']),
    );
    expect(program.requests[2]?.body.history.map(({ text }) => text)).toEqual([
      'n1',
      'heard: n1',
      'n2',
      'heard: n2',
    ]);
  });

  test('that matches no rule is recorded as ignored, with the reason', async () => {
    const gateway = await startAutomation({
      resources: [
        trigger('issues', {
          type: 'RepoHost',
          config: { webhook_secret: SECRET },
          commands: { 'issues.opened': { agent: 'nobody' } },
        }),
        agent('nobody', { runtime: { http: { url: 'http://127.0.0.1:9/' } } }),
      ],
    });
    const payload = {
      action: 'closed',
      issue: { number: 7 },
      repository: { full_name: 'a/b' },
      sender: { login: 'x' },
    };
    const answer = await postRepoEvent(gateway.url, 'issues', payload, { id: 'c1' });
    expect(answer.ok).toBe(true);
    await eventually(async () =>
      expect(await json(`${gateway.url}/deliveries/repohost%3Aissues%2Fc1`)).toMatchObject({
        state: 'ignored',
        attempts: 1,
      }),
    );
  });
});

test('a request to an unknown address is answered with the list of triggers or the format of a delivery id', async () => {
  const program = await startAgent();
  const gateway = await startAutomation({
    resources: [trigger('orders', hook()), httpAgent('orders', program.url)],
  });
  const at = async (path: string) => {
    const answer = await fetch(gateway.url + path, { method: 'POST' });
    return [answer.status, ((await answer.json()) as { message: string }).message];
  };
  for (const path of ['/hooks/orders/', '/deliveries/'])
    expect(await at(path)).toEqual([
      404,
      `no route for "${path}"; MCP clients use /mcp, browsers /inspector, GET /servers lists the servers, and GET /triggers the triggers`,
    ]);
  for (const path of ['/deliveries/http:orders/a1', '/deliveries/http:orders/a1/replay'])
    expect(await at(path)).toEqual([
      404,
      `no route for "${path}"; percent-encode the delivery id as one path segment (%2F for a slash)`,
    ]);
});

describe('trigger files', () => {
  test('with an error stop the start with exit code 2 and a list of all problems', async () => {
    const bad = startAutomation({
      resources: [
        trigger('orders', {
          type: 'HTTP',
          config: { path: 'orders', methds: ['POST'] },
          default_agent: 'nobody',
        }),
      ],
    });
    await expect(bad).rejects.toThrow(/orders\.yaml:1:\d+: .*path[\s\S]*did you mean methods\?[\s\S]*nobody/);
  });

  test('are reloaded when they change; if one is invalid, the previous version stays in use', async () => {
    const program = await startAgent();
    const agents = httpAgent('orders', program.url);
    const gateway = await startAutomation({
      isWatched: true,
      resources: [trigger('orders', hook()), agents],
    });
    writeResources(gateway.folder, [
      trigger('orders', hook()),
      trigger('more', { ...hook({ path: '/hooks/more' }) }),
      agents,
    ]);
    await eventually(async () => expect((await postHook(gateway.url, '/hooks/more', {})).status).toBe(202));
    // The invalid file keeps the previous version, and the valid file changes.
    writeResources(gateway.folder, [
      trigger('orders', { type: 'HTTP' }),
      trigger('more', { ...hook({ path: '/hooks/less' }) }),
      agents,
    ]);
    await eventually(() => expect(gateway.text()).toMatch(/changed files have errors/));
    await eventually(async () => expect((await postHook(gateway.url, '/hooks/less', {})).status).toBe(202));
    expect((await postHook(gateway.url, '/hooks/orders', {})).status).toBe(202);
    writeResources(gateway.folder, [trigger('orders', hook()), agents]);
    await eventually(async () =>
      expect((await postHook(gateway.url, '/hooks/less', {})).status).not.toBe(202),
    );
  });
});
