// Triggers, conversations and deliveries in the inspector: the page in a real browser, the built program,
// real requests.

import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, test } from 'vitest';
import {
  agent,
  eventually,
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { FeedReader } from '../../fixtures/gateway/inspector-feed.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const env = { HOOK_SECRET: SECRET };
const KEY_FIELD = 'customer';

const hook = (name: string, retry: object = {}) =>
  trigger(name, {
    type: 'HTTP',
    config: { path: `/hooks/${name}`, webhook_secret: `\${HOOK_SECRET}`, key: `body:${KEY_FIELD}` },
    default_agent: 'clerk',
    retry: { attempts: 2, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1, factor: 2, ...retry },
  });

const post = async (gateway: GatewayProcess, customer: string, text: string, name = 'orders') => {
  const answer = await postHook(gateway.url, `/hooks/${name}`, { [KEY_FIELD]: customer, text });
  expect(answer.status).toBe(202);
};

const rowOf = (page: Page, name: string) => page.locator(`.row[data-name="${name}"]`);
const stateIn = (page: Page, name: string) => rowOf(page, name).locator('.pill').textContent();
/** Expands a row once it has children. */
const unfold = (page: Page, name: string) => rowOf(page, name).locator('.fold', { hasText: '▸' }).click();
const pathOf = (page: Page) => new URL(page.url()).pathname;

/** Waits at most ten seconds for any element. */
async function open() {
  const opened = await openPage();
  opened.page.setDefaultTimeout(40_000);
  return opened;
}

const sockets = new Set<Server>();
afterAll(() => {
  for (const server of sockets) server.close();
});

/** Returns a port that another listener uses. */
async function takenPort(): Promise<number> {
  const server = createServer();
  sockets.add(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

describe('triggers in the inspector', () => {
  test('are in the tree with their conversations, with chart, log and counters', async () => {
    let release = () => {};
    const gate = new Promise<void>((open) => {
      release = open;
    });
    const program = await startAgent(async ({ body }) => {
      await gate;
      return { text: body.input };
    });
    const gateway = await startAutomation({
      env,
      resources: [hook('orders'), hook('servers'), httpAgent('clerk', program.url)],
    });
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector`);
    expect(await stateIn(page, 'orders')).toBe('open');
    await rowOf(page, 'orders').click();
    expect(pathOf(page)).toBe('/inspector/view/~trigger/orders/log');
    await page.locator('.box.active[data-path="open"]').waitFor();
    // A trigger and a gateway actor can share a name.
    await page.locator('.row[data-name="servers"][data-machine="trigger"]').click();
    expect(await page.locator('h1').textContent()).toBe('servers');
    await page.locator('.box.active[data-path="open"]').waitFor();

    await post(gateway, 'alice/..', 'one');
    await unfold(page, 'conversations');
    const name = 'conversation/http/orders/alice/..';
    await rowOf(page, name).waitFor();
    expect(await rowOf(page, name).locator('.name').textContent()).toBe('http/orders/alice/..');
    // A long run is a separate actor.
    await eventually(async () => expect(await stateIn(page, name)).toBe('busy.handling'));
    await unfold(page, name);
    await rowOf(page, 'run').waitFor();
    await rowOf(page, name).click();
    await page.locator('.box.active[data-path="busy.handling"]').waitFor();
    expect(await page.locator('h1').textContent()).toBe('http/orders/alice/..');
    const address = page.url();
    release();
    await page.locator('.box.active[data-path="ready"]').waitFor();
    await page.goto(address);
    await page.locator('.box.active[data-path="ready"]').waitFor();
    await page.locator('.entry', { hasText: 'http/orders/alice/..' }).first().waitFor();
    await page.locator('#tab-sequence').click();
    await post(gateway, 'alice/..', 'two');
    await page
      .locator('.sequence .lane', { hasText: /orders\/alice/ })
      .first()
      .waitFor();

    await rowOf(page, 'conversations').click();
    await page.locator('#tab-numbers').click();
    await page.locator('.figures', { hasText: /handled2/ }).waitFor();
    await page.goto(`${gateway.url}/inspector/view/~trigger/orders/numbers`);
    await page.locator('.figures', { hasText: /handled2failed attempts0/ }).waitFor();
    await page.locator('#tab-details').click();
    await page.locator('.details', { hasText: /typeHTTP/ }).waitFor();
    await rowOf(page, 'outbox').click();
    await page.locator('.empty', { hasText: 'Each child has one' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('that failed or are paused are shown at the top, like dead deliveries', async () => {
    const program = await startAgent(() => ({ status: 500 }));
    const port = await takenPort();
    const config = { path: '/own', webhook_secret: `\${HOOK_SECRET}`, port, host: '127.0.0.1' };
    const gateway = await startAutomation({
      env,
      resources: [
        hook('orders'),
        trigger('elsewhere', { type: 'HTTP', config, default_agent: 'clerk' }),
        httpAgent('clerk', program.url),
      ],
    });
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector/view/~gateway/log`);
    await page.locator('#failed-triggers a', { hasText: 'elsewhere' }).click();
    await page.locator('.pill.bad', { hasText: 'failed' }).first().waitFor();
    await page.locator('.details', { hasText: /last error.*EADDRINUSE|last error.*in use/i }).waitFor();
    expect(await page.locator('#paused-triggers, #dead-deliveries').count()).toBe(0);
    await ask(`${gateway.url}/triggers/orders/pause`, { method: 'POST' });
    await page.locator('#paused-triggers', { hasText: 'orders' }).waitFor();
    await eventually(async () => expect(await stateIn(page, 'orders')).toBe('paused'));
    expect(await rowOf(page, 'orders').locator('.pill.warn').count()).toBe(1);
    await ask(`${gateway.url}/triggers/orders/resume`, { method: 'POST' });
    await page.locator('#paused-triggers').waitFor({ state: 'detached' });

    await post(gateway, 'bob', 'one');
    await page.locator('#dead-deliveries', { hasText: '1 dead delivery' }).waitFor();
    await page.locator('#dead-deliveries a').click();
    await page.locator('[data-delivery]', { hasText: /http:orders\/.*dead.*2 attempts/ }).waitFor();
    expect(new URL(page.url()).search).toBe('?state=dead');
    await page.locator('#dead-deliveries button').click();
    await page.locator('#dead-deliveries').waitFor({ state: 'detached' });
    // The overview lists these itself, above the previous view.
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.locator('[data-wrong]').first().waitFor();
    await page.getByRole('link', { name: 'Actors', exact: true }).click();
    // Any loaded machine causes an alarm about stalls.
    expect(await page.locator('.banner:not(#alarms)').count()).toBe(1);
    await post(gateway, 'bob', 'two');
    await page.locator('#dead-deliveries', { hasText: '2 dead deliveries' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('show parked (waiting) deliveries with the reason and the expiry time', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'later.script');
    writeFileSync(file, '- { answer: Yes., wait_ms: 36000000 }');
    const gateway = await startAutomation({
      folder,
      env,
      resources: [hook('orders'), agent('clerk', { model: `scripted:${file}` })],
    });
    await post(gateway, 'dora', 'remind me');
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector/view/~conversations/details`);
    await page
      .locator('.details', { hasText: /http:orders\/.*orders, for .*http:orders\/.*, for at most \d+ h/ })
      .waitFor();
    await page.goto(`${gateway.url}/inspector/view/~outbox/numbers`);
    await page.locator('.figures', { hasText: /deliveries waiting1/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('show the current attempt of a conversation', async () => {
    let release = () => {};
    const gate = new Promise<void>((open) => {
      release = open;
    });
    const program = await startAgent(async (_, count) => {
      if (count === 1) return { status: 500 };
      await gate;
      return {};
    });
    const gateway = await startAutomation({
      env,
      resources: [hook('orders'), httpAgent('clerk', program.url)],
    });
    const { page } = await open();
    await page.goto(`${gateway.url}/inspector`);
    await post(gateway, 'carol', 'again');
    await unfold(page, 'conversations');
    await rowOf(page, 'conversation/http/orders/carol')
      .locator('.notice', { hasText: 'attempt 2' })
      .waitFor();
    release();
    await rowOf(page, 'conversation/http/orders/carol').locator('.notice').waitFor({ state: 'detached' });
  });

  test('are paused and resumed with buttons, which exist only if commands are allowed', async () => {
    const resources = [hook('orders'), httpAgent('clerk', 'http://127.0.0.1:9/')];
    const plain = await startAutomation({ env, resources });
    const { page, complaints } = await open();
    await page.goto(`${plain.url}/inspector/view/~trigger/orders/log`);
    await page.locator('.box.active[data-path="open"]').waitFor();
    expect(await page.getByRole('button', { name: 'Pause', exact: true }).count()).toBe(0);
    const refusal = await ask(`${plain.url}/inspector/api/triggers/orders/pause`, { method: 'POST' });
    expect([refusal.status, refusal.json.message]).toEqual([
      403,
      expect.stringContaining('inspector.commands'),
    ]);
    const ready = await startAutomation({ env, resources, settings: { inspector: { commands: true } } });
    await page.goto(`${ready.url}/inspector/view/~trigger/orders/log`);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.locator('.box.active[data-path="paused"]').waitFor();
    expect((await ask(`${ready.url}/triggers/orders`)).json).toMatchObject({ paused: true });
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.locator('.box.active[data-path="open"]').waitFor();
    for (const path of [
      'triggers/nobody/pause',
      'triggers/orders/stop',
      'triggers/orders',
      'servers/orders/start',
    ])
      expect((await ask(`${ready.url}/inspector/api/${path}`, { method: 'POST' })).status, path).toBe(404);
    expect(complaints).toEqual([]);
  });

  test('are shown with secrets in conversation keys redacted, and with long keys truncated', async () => {
    const program = await startAgent(({ body }) => (/die/.test(body.input) ? { status: 500 } : {}));
    const gateway = await startAutomation({
      env,
      settings: { inspector: { stately: true } },
      resources: [hook('orders'), httpAgent('clerk', program.url)],
    });
    const feed = await new FeedReader(gateway.url).opened();
    const stately = new AbortController();
    const other = await fetch(`${gateway.url}/inspector/stately`, { signal: stately.signal });
    let feedText = '';
    const reading = (async () => {
      for await (const chunk of other.body ?? []) feedText += Buffer.from(chunk).toString();
    })().catch(() => {});
    const long = 'x'.repeat(190);
    await post(gateway, `of ${SECRET}`, 'one');
    await post(gateway, `${long}-1`, 'two');
    await post(gateway, `${long}-2`, 'die');
    await feed.until('the end of all three', ({ numbers }) =>
      numbers.some(
        ({ automation }) => automation?.deliveries?.dead === 1 && (automation.works[0]?.handled ?? 0) >= 4,
      )
        ? true
        : undefined,
    );
    await eventually(async () => {
      const { json } = await ask(`${gateway.url}/inspector/api/deliveries?state=dead`);
      expect(json.deliveries).toMatchObject([{ trigger: 'orders', attempts: 2 }]);
    });
    const { text } = feed.reader;
    expect(text).toContain('conversation/http/orders/of [redacted] (');
    expect(text).toMatch(/conversation\/http\/orders\/x{90,100}… \(\d+\)#\d+/);
    stately.abort();
    await reading;
    expect(feedText).toContain('of [redacted] (');
    for (const each of [text, feedText, (await ask(`${gateway.url}/inspector/dead-letters`)).text]) {
      expect(each).not.toContain(SECRET);
      expect(each).not.toContain('x'.repeat(121));
    }
    feed.close();
  });
});
