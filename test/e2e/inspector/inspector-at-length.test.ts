// The inspector under load: the page in a real browser during many events, for a long time, with memory
// limits for page and gateway.

import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { eventText } from '../../../src/inspector/feed/viewer.ts';
import {
  httpAgent,
  postHook,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { ask, eventually } from '../../fixtures/clients/api-client.ts';
import { runConcurrently } from '../../fixtures/clients/crowd.ts';
import { begin, listOf, numbersOf } from '../../fixtures/clients/inspected-sessions.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { FeedReader } from '../../fixtures/gateway/inspector-feed.ts';
import { fault, quick } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';
import { watchPage } from '../../fixtures/tool-servers/watched-page.ts';

const SERVERS = 1_000;
const SESSIONS = 10_000;
/** The servers, the root, the supervisor of servers, and its four buckets of servers. */
const ACTORS = SERVERS + 1 + 1 + 4;
/** Clients in the overview, which requests them every two seconds. */
const MAX_SHOWN = 100;
/** Rows of the tree in a window of 900 px, with overscan. */
const MAX_ROWS = 60;
/** Longest task of the page, in CPU time. Drawing all rows would exceed it. */
const MAX_TASK_MS = 250;

/** Process memory, in MB. */
function memoryOf(pid: number): number {
  const [, kb = ''] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kb) / 1024;
}

const EVENTS = 2_000;
const CONVERSATIONS = 1_000;
const MAX_AUTOMATION_ROWS = 80;
const MAX_PAGE_MB = 20;
const MAX_GATEWAY_MB = 250;
/** Maximum feed size for a single viewer. */
const MAX_FEED_MB = 20;

const KEY_FIELD = 'customer';
const hook = trigger('orders', {
  type: 'HTTP',
  config: { path: '/hooks/orders', webhook_secret: SECRET, key: `body:${KEY_FIELD}` },
  default_agent: 'clerk',
  retry: { attempts: 2, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1, factor: 2 },
});

async function post(gateway: GatewayProcess, customer: string, text: string): Promise<void> {
  const answer = await postHook(gateway.url, '/hooks/orders', { [KEY_FIELD]: customer, text });
  expect(answer.status).toBe(202);
}

const rowOf = (page: Page, name: string) => page.locator(`.row[data-name="${name}"]`);

/** Returns a feed of one thousand frames of thirty servers, as text. */
function longFeed(round: number): string {
  const at = Date.now();
  const nodes = Array.from({ length: 30 }, (_, index) => ({
    id: `x:${index + 1}`,
    parent: 'x:0',
    name: `server-${index}#${index}`,
    machine: 'server',
    state: 'running',
  }));
  const root = { id: 'x:0', parent: null, name: 'gateway', machine: 'gateway', state: 'serving' };
  const tree = { at, actors: [root, ...nodes], recent: [], dropped: 0, missed: 0, started_at: 1 };
  const frames = Array.from({ length: 1_000 }, (_, count) => {
    const steps = [
      { n: count, event: `step-${round}-${count}`, source: null, state: 'running', at: at + count },
    ];
    return eventText('frame', {
      at,
      actors: nodes.map((node) => ({ ...node, isGone: false, steps })),
      dropped: 0,
    });
  });
  return eventText('tree', tree) + frames.join('');
}

/** Runs in the page: scrolls through the whole tree, about a window per frame. Returns the duration. */
const scrollThrough = `
  new Promise((resolve) => {
    const tree = document.querySelector('.tree .scroll');
    const began = performance.now();
    const step = () => {
      tree.scrollTop += 1_000;
      if (tree.scrollTop + tree.clientHeight < tree.scrollHeight - 1) requestAnimationFrame(step);
      else resolve(performance.now() - began);
    };
    tree.scrollTop = 0;
    step();
  })
`;

describe('under load', () => {
  test('ten thousand sessions and a thousand servers leave the page responsive while they change', async () => {
    const servers = Object.fromEntries(
      Array.from({ length: SERVERS }, (_, index) => [`server-${index}`, quick()]),
    );
    // A client address can use half of the sessions.
    const { url } = await startGateway({ servers, settings: { limits: { sessions: 2 * SESSIONS } } });
    await runConcurrently(SESSIONS, 16, async (number) => {
      await begin(`${url}/mcp`, number === 7_000 ? 'needle' : `client-${number % 7}`);
    });
    const { page, complaints } = await openPage();
    const requestTimes: number[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      const isOfTree = searchParams.get('count') !== String(MAX_SHOWN);
      if (pathname === '/inspector/sessions' && isOfTree) requestTimes.push(Date.now());
    });
    await page.goto(`${url}/inspector`);
    await page.getByText(`${ACTORS} of ${ACTORS} actors`).waitFor();
    const watched = await watchPage(page);
    expect(requestTimes, 'nothing is asked while the group is folded').toEqual([]);
    await page.getByRole('link', { name: '10 k sessions' }).click();
    await page.getByText('sessions (10,000)').waitFor();
    await page.locator('[data-session="1"]').waitFor();
    expect(new URL(page.url()).pathname).toBe('/inspector/view/~sessions/log');

    let isOver = false;
    let cycles = 0;
    const events = runConcurrently(4, 4, async (number) => {
      for (let round = 0; !isOver; round += 1) {
        const server = `${url}/servers/server-${number * 100 + (round % 50)}`;
        await ask(`${server}/start`, { method: 'POST' });
        await ask(`${server}/stop`, { method: 'POST' });
        cycles += 1;
      }
    });
    await eventually('events in the log', async () => (await page.locator('.entry').count()) > 8);
    const before = { asked: requestTimes.length, cycles };
    const tookMs = await page.evaluate<number>(scrollThrough);
    await eventually('the last session', async () => (await numbersOf(page)).includes(SESSIONS));
    const during = { asked: requestTimes.length - before.asked, cycles: cycles - before.cycles };
    const { mostRows, longestTaskMs } = await watched();
    isOver = true;
    await events;
    expect(mostRows).toBeLessThan(MAX_ROWS);
    expect(longestTaskMs).toBeLessThan(MAX_TASK_MS);
    expect(during.cycles).toBeGreaterThan(0);
    expect(during.asked).toBeGreaterThan(0);
    // The page sends one request at a time, 50 ms apart, not one per frame. The last requests may follow the
    // scrolling.
    expect(during.asked).toBeLessThan(tookMs / 50 + 10);

    await page.getByLabel('Filter the tree').fill('needle');
    await page.getByText(`1 of ${ACTORS} actors, 1 of 10000 sessions`).waitFor();
    expect(await page.locator('.row').count()).toBe(3);
    await page.getByLabel('Filter the tree').fill('client-3 idle');
    const matching = (await listOf(url, '?filter=client-3+idle')).matching;
    await page.getByText(`${matching} of 10000 sessions`).waitFor();
    await eventually('hits', async () => (await numbersOf(page)).length > 10);
    expect(await page.locator('.row').count()).toBeLessThan(MAX_ROWS);
    await page.getByLabel('Filter the tree').fill('server-99');
    await eventually(
      'eleven servers',
      async () => (await page.locator('.row[data-name^="server-99"]').count()) === 11,
    );
    await page.getByLabel('Filter the tree').fill('no such thing');
    await eventually('no row', async () => (await page.locator('.row').count()) === 0);
    expect(complaints).toEqual([]);
  }, 300_000);

  test('events of many conversations slow down neither the open page nor the gateway', async () => {
    const program = await startAgent(() => ({ text: 'ok' }));
    const gateway = await startAutomation({
      resources: [hook, httpAgent('clerk', program.url)],
    });
    const { page, complaints } = await openPage();
    page.setDefaultTimeout(40_000);
    await page.goto(`${gateway.url}/inspector`);
    await post(gateway, 'first', 'event');
    await rowOf(page, 'conversations').locator('.fold', { hasText: '▸' }).click();
    const watched = await watchPage(page);
    const cdp = await page.context().newCDPSession(page);
    const usedMb = async () => {
      await cdp.send('HeapProfiler.collectGarbage');
      return (await cdp.send('Runtime.getHeapUsage')).usedSize / 2 ** 20;
    };
    const before = { page: await usedMb(), gateway: memoryOf(gateway.pid) };
    const feed = await new FeedReader(gateway.url).opened();
    let next = 0;
    const sender = async () => {
      for (let number = next++; number < EVENTS; number = next++)
        await post(gateway, `customer-${number % CONVERSATIONS}`, `event ${number}`);
    };
    await Promise.all(Array.from({ length: 16 }, sender));
    await expect
      .poll(async () => (await ask(`${gateway.url}/stats`)).json, { timeout: 60_000 })
      .toMatchObject({
        triggers: { orders: { state: 'open', handled: EVENTS + 1, failed: 0 } },
        deliveries: { queued: 0, running: 0, retrying: 0, held: 0, dead: 0 },
      });
    const { mostRows, longestTaskMs } = await watched();
    expect(mostRows).toBeGreaterThan(20);
    expect(mostRows).toBeLessThan(MAX_AUTOMATION_ROWS);
    expect(longestTaskMs).toBeLessThan(MAX_TASK_MS);
    expect((await usedMb()) - before.page).toBeLessThan(MAX_PAGE_MB);
    expect(memoryOf(gateway.pid) - before.gateway).toBeLessThan(MAX_GATEWAY_MB);
    expect(feed.reader.text.length / 2 ** 20).toBeLessThan(MAX_FEED_MB);
    feed.close();
    // The log of the page is full: it keeps the last 2,000 steps (MAX_LOG). The tree shows no conversations
    // after they are idle.
    await page.locator('.tabs .foot', { hasText: '2000 of 2000 steps' }).waitFor();
    await rowOf(page, 'conversations').click();
    await page.locator('#tab-numbers').click();
    await page.locator('.figures', { hasText: `handled${EVENTS + 1}failed` }).waitFor();
    await expect
      .poll(() => page.locator('.row[data-machine="conversation"]').count(), { timeout: 60_000 })
      .toBe(0);
    expect(complaints).toEqual([]);
  }, 300_000);

  test('a long event feed needs no more memory in the page than a short one', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const { page } = await openPage();
    let round = 0;
    // Each request receives a feed of 30,000 steps, after which the page reconnects.
    await page.route('**/inspector/feed', async (route) => {
      await route.fulfill({ contentType: 'text/event-stream', body: longFeed(round) });
      round += 1;
    });
    await page.goto(`${url}/inspector/view/server-1/log`);
    const cdp = await page.context().newCDPSession(page);
    const usedMb = async () => {
      await cdp.send('HeapProfiler.collectGarbage');
      return (await cdp.send('Runtime.getHeapUsage')).usedSize / 2 ** 20;
    };
    const expectRounds = async (rounds: number) => {
      await eventually(`round ${rounds}`, () => round >= rounds, 60_000);
      const last = `step-${rounds - 1}-999`;
      await page.locator('.entry').getByText(last, { exact: true }).first().waitFor();
      return await usedMb();
    };
    const early = await expectRounds(2);
    const late = await expectRounds(6);
    expect(late - early).toBeLessThan(4);
    expect(await page.locator('.tabs .foot').textContent()).toBe('2000 of 2000 steps');
  });
});
