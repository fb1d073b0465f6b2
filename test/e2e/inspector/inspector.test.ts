// The page of the inspector in a real browser, with the built program and real servers.

import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { eventText } from '../../../src/inspector/feed/viewer.ts';
import { ask, eventually, rpc } from '../../fixtures/clients/api-client.ts';
import { callOnce } from '../../fixtures/clients/raw-session.ts';
import { freePort } from '../../fixtures/free-port.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { FeedReader } from '../../fixtures/gateway/inspector-feed.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const KEY = 'correct horse battery staple';
/** Documented delay of the page. */
const WITHIN_MS = 1_000;

const crashLoop = () =>
  fault('exits-at-once', {
    restart: {
      intensity: 1,
      period_seconds: 60,
      min_backoff_ms: 50,
      max_backoff_seconds: 1,
      park_seconds: 300,
    },
  });
interface ShownState {
  readonly state: string;
  readonly active: string;
  readonly at: number;
}

/** Runs in the page: records the displayed states of `echo`, with times. */
const watchEcho = `
  globalThis.seen = [];
  const look = () => {
    const state = document.querySelector('.row[data-name="echo"] .pill')?.textContent ?? '';
    const active = document.querySelector('.box.leaf.active')?.getAttribute('data-path') ?? '';
    if (seen.at(-1)?.state !== state) seen.push({ state, active, at: Date.now() });
    requestAnimationFrame(look);
  };
  look();
`;

/** Runs in the page: scrolls the tree for a second. Returns the number of frames. */
const scrollTree = `
  new Promise((resolve) => {
    const tree = document.querySelector('.tree .scroll');
    const drawn = { steps: 0, rows: 0, changes: 0 };
    const observer = new MutationObserver((changes) => {
      drawn.changes += changes.length;
    });
    observer.observe(tree, { subtree: true, childList: true, characterData: true, attributes: true });
    const step = () => {
      drawn.steps += 1;
      drawn.rows = Math.max(drawn.rows, document.querySelectorAll('.row').length);
      tree.scrollTop += 400;
      if (drawn.steps < 40) requestAnimationFrame(step);
      else resolve(drawn);
    };
    step();
  })
`;

const rowOf = (page: Page, name: string) => page.locator(`.row[data-name="${name}"]`);
const stateIn = (page: Page, name: string) => rowOf(page, name).locator('.pill').textContent();

describe('the page of the inspector', () => {
  test('opens under its content policy without errors or foreign requests, and has all views', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo'), other: fault('echo') } });
    const { page, complaints } = await openPage();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    const answer = await page.goto(`${url}/inspector`);
    expect(answer?.headers()['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    await rowOf(page, 'echo').click();
    await callOnce(url, 'echo', 'echo');
    for (const [tab, sign] of [
      ['sequence', '.sequence .message'],
      ['numbers', '.figures'],
      ['stderr', '.stderr'],
      ['details', '.details th'],
      ['log', '.entry'],
    ] as const) {
      await page.locator(`#tab-${tab}`).click();
      await page.locator(sign).first().waitFor();
      expect(new URL(page.url()).pathname).toBe(`/inspector/view/echo/${tab}`);
    }
    for (const machine of ['gateway', 'servers', 'other']) {
      await rowOf(page, machine).click();
      await page.locator('.box.active').first().waitFor();
    }
    expect(complaints).toEqual([]);
    expect(requests.filter((each) => !each.startsWith(url))).toEqual([]);
    expect(await page.locator('[style]').count()).toBeGreaterThan(0);
  });

  test('shows each state of a server start and stop within a second', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo', { idle_timeout_seconds: 4 }) } });
    const { page, complaints } = await openPage();
    await page.goto(`${url}/inspector/view/echo/log`);
    await rowOf(page, 'echo').waitFor();
    await page.evaluate(watchEcho);
    const feed = await new FeedReader(url).opened();
    expect(await stateIn(page, 'echo')).toBe('stopped');
    await callOnce(url, 'echo', 'echo');
    await feed.until('the stop', () => feed.statesOf('echo').at(-1) === 'stopped');
    const happened = feed.messages
      .flatMap((message) => (message.kind === 'frame' ? message.data.actors : []))
      .filter(({ name }) => name === 'echo#1')
      .flatMap(({ steps }) => steps)
      .filter(({ state }) => state !== null);
    expect(happened.map(({ state }) => state)).toEqual([
      'starting',
      'running',
      'idle',
      'stopping',
      'stopped',
    ]);
    const last = await eventually('the last state', async () => {
      const states = await page.evaluate<ShownState[]>('seen');
      return states.length > 1 && states.at(-1)?.state === 'stopped' ? states : undefined;
    });
    // The tree may skip a state that is shorter than a frame. The log has all states.
    for (const { state, at } of happened) {
      const first = last.slice(1).find((each) => each.at >= at - 50);
      expect((first?.at ?? Number.POSITIVE_INFINITY) - at, `${state}`).toBeLessThan(WITHIN_MS);
    }
    for (const state of ['running', 'idle'] as const) {
      const step = last.find((each) => each.state === state);
      expect(step?.active, 'the chart follows').toBe(state);
    }
    const logged = await page.locator('.entry .pill').allTextContents();
    expect(logged.reverse().filter((state) => state !== 'active')).toEqual(
      expect.arrayContaining(['starting', 'running', 'idle', 'stopping', 'stopped']),
    );
    expect(await page.locator('.arrow.lit').getAttribute('data-arrow')).toBe('stopping stopped');
    feed.close();
    expect(complaints).toEqual([]);
  });

  test('shows a server at the top after repeated crashes, with a link to its stderr lines', async () => {
    const { url } = await startGateway({ servers: { crashy: crashLoop(), echo: fault('echo') } });
    const { page, complaints } = await openPage();
    await page.goto(`${url}/inspector/view/echo/log`);
    await rowOf(page, 'crashy').waitFor();
    expect(await page.locator('#parked').count()).toBe(0);
    await eventually('the park', async () => {
      await rpc(url, 'crashy', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}');
      return (await stateIn(page, 'crashy')) === 'failed.parked';
    });
    await page.locator('#parked').waitFor();
    expect(await page.locator('#parked').textContent()).toMatch(/A server is parked.*crashy \(for \d+/);
    await page.locator('#parked a').click();
    await page.locator('.stderr').getByText('reading the settings').waitFor();
    expect(new URL(page.url()).pathname).toBe('/inspector/view/crashy/stderr');
    expect(complaints).toEqual([]);
  });

  test('survives a restart of the gateway, and shows the lost connection meanwhile', async () => {
    const settings = { listen_addr: `127.0.0.1:${await freePort()}` };
    const first = await startGateway({ servers: { echo: fault('echo') }, settings });
    const { page } = await openPage();
    await page.goto(`${first.url}/inspector/view/echo/log`);
    await callOnce(first.url, 'echo', 'echo');
    await eventually('running', async () => (await stateIn(page, 'echo')) === 'running');
    await first.stop();
    await page.locator('#lost').waitFor();
    expect(await page.locator('#lost').textContent()).toContain('Connection lost');
    await startGateway({
      servers: { echo: fault('echo'), fresh: fault('echo') },
      settings,
      folder: first.folder,
    });
    await rowOf(page, 'fresh').waitFor();
    expect(await page.locator('#lost').count()).toBe(0);
    expect(await page.locator('#restarted').textContent()).toContain('was restarted');
    expect(await stateIn(page, 'echo')).toBe('stopped');
  });

  test('has an address for each view: links, back and forward work', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const { page } = await openPage();
    const at = () => new URL(page.url()).pathname;
    await page.goto(`${url}/inspector/view/echo/numbers`);
    await page.locator('.figures').waitFor();
    expect(await page.locator('h1').textContent()).toBe('echo');
    await rowOf(page, 'servers').click();
    expect(at()).toBe('/inspector/view/~servers/numbers');
    await page.goBack();
    expect(at()).toBe('/inspector/view/echo/numbers');
    await eventually('the view before', async () => (await page.locator('h1').textContent()) === 'echo');
    await page.goForward();
    await eventually('the view after', async () => (await page.locator('h1').textContent()) === 'servers');
    await page.reload();
    await eventually('the same view', async () => (await page.locator('h1').textContent()) === 'servers');
  });

  test('can be used by the keyboard alone', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo'), other: fault('echo') } });
    const { page } = await openPage();
    await page.goto(`${url}/inspector`);
    await rowOf(page, 'echo').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('oth');
    await eventually('the filter', async () => (await page.locator('.row').count()) === 3);
    await page.keyboard.press('Tab');
    for (const key of ['End', 'ArrowUp', 'ArrowDown']) await page.keyboard.press(key);
    await eventually('the choice', async () => (await page.locator('h1').textContent()) === 'other');
    await page.locator('#tab-log').focus();
    await page.keyboard.press('ArrowRight');
    await eventually('the tab', () => new URL(page.url()).pathname.endsWith('/other/sequence'));
  });

  test('pauses, filters and clears the log', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const { page } = await openPage();
    await page.goto(`${url}/inspector/view/echo/log`);
    await rowOf(page, 'echo').waitFor();
    await callOnce(url, 'echo', 'echo');
    await page.locator('.entry').getByText('pool.ready').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    const before = await page.locator('.tabs .foot').textContent();
    await ask(`${url}/servers/echo/stop`, { method: 'POST' });
    await eventually('the stop', async () => (await stateIn(page, 'echo')) === 'stopped');
    expect(await page.locator('.tabs .foot').textContent()).toBe(before);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.entry').getByText('pool.drained').waitFor();
    await page.getByLabel('Filter the log').fill('drained');
    await eventually('one step', async () => (await page.locator('.entry').count()) === 1);
    await page.getByRole('button', { name: 'Clear' }).click();
    await eventually('no step', async () => (await page.locator('.entry').count()) === 0);
  });

  test('has buttons to start, stop and reload, only if commands are allowed', async () => {
    const plain = await startGateway({ servers: { echo: fault('echo') } });
    const { page, complaints } = await openPage();
    await page.goto(`${plain.url}/inspector/view/echo/log`);
    await page.getByText('· 1 server ·').waitFor();
    expect(await page.getByRole('button', { name: 'Start' }).count()).toBe(0);
    const ready = await startGateway({
      servers: { echo: fault('echo') },
      settings: { inspector: { commands: true } },
    });
    await page.goto(`${ready.url}/inspector/view/echo/log`);
    await page.getByRole('button', { name: 'Start' }).click();
    await eventually('running', async () => (await stateIn(page, 'echo')) === 'running');
    await page.getByRole('button', { name: 'Stop' }).click();
    await eventually('stopped', async () => (await stateIn(page, 'echo')) === 'stopped');
    ready.writeCatalog({ echo: fault('echo'), more: fault('echo') });
    await page.getByRole('button', { name: 'Reload catalog' }).click();
    await rowOf(page, 'more').waitFor();
    expect(complaints).toEqual([]);
  });

  test('accepts the API key in a form, sets a cookie that scripts cannot read, and reports a wrong key', async () => {
    const { url } = await startGateway({
      env: { THE_KEY: KEY },
      settings: { api_key: `\${THE_KEY}` },
      servers: { echo: fault('echo') },
    });
    const { page } = await openPage();
    await page.goto(`${url}/inspector/view/echo/numbers`);
    await page.getByLabel('API key').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('not the API key');
    await page.goto(`${url}/inspector/view/echo/numbers`);
    await page.getByLabel('API key').fill(KEY);
    await page.keyboard.press('Enter');
    await page.locator('.figures').waitFor();
    expect(new URL(page.url()).pathname).toBe('/inspector/view/echo/numbers');
    const [cookie] = await page.context().cookies(`${url}/inspector`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/inspector' });
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.context().clearCookies();
    await page.reload();
    await page.getByLabel('API key').waitFor();
  });

  test('draws only visible rows, so that a thousand servers stay responsive', async () => {
    const servers = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`server-${index}`, fault('echo')]),
    );
    const { url } = await startGateway({ servers });
    const { page, complaints } = await openPage();
    await page.goto(`${url}/inspector`);
    await page.getByText('1021 of 1021 actors').waitFor();
    expect(await page.locator('.row').count()).toBeLessThan(60);
    // Counts the work, not the frames per second, which depend on the load of the machine.
    const drawn = await page.evaluate<{ steps: number; rows: number; changes: number }>(scrollTree);
    expect(drawn.rows).toBeLessThan(60);
    expect(drawn.changes / drawn.steps).toBeLessThan(1_000);
    expect(complaints).toEqual([]);
  });

  test('shows dead deliveries, dropped events and a draining gateway at the top', async () => {
    const { url } = await startGateway({ servers: {} });
    const { page } = await openPage();
    const totals = {
      at: Date.now(),
      version: '1',
      started_at: 1,
      is_draining: true,
      alarms: [],
      commands: false,
      requests: { total: 0, failed: 0, tool_errors: 0, in_flight: 0 },
      sessions: 0,
      listens: 0,
      dead_letters: 3,
      viewers: 1,
      servers: [],
      gone: [],
      automation: null,
      triggers: [],
      gone_triggers: [],
    };
    const root = { id: 'x:0', parent: null, name: 'gateway', machine: 'gateway', state: 'draining.part' };
    const tree = { at: Date.now(), actors: [root], recent: [], dropped: 7, missed: 2, started_at: 1 };
    const body = eventText('tree', tree) + eventText('numbers', totals);
    await page.route('**/inspector/feed', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body }),
    );
    await page.goto(`${url}/inspector`);
    await page.locator('#dead-letters').waitFor();
    expect(await page.locator('#dead-letters').textContent()).toContain('3 dead letters');
    expect(await page.locator('.chip').textContent()).toBe(
      '7 steps dropped by the feed, 2 messages missed by this page',
    );
    await page.getByText('The gateway is stopping.').waitFor();
    await page.getByRole('button', { name: 'Mark as seen' }).click();
    await eventually(
      'the end of the dead deliveries',
      async () => (await page.locator('#dead-letters').count()) === 0,
    );
    await page.locator('#tab-details').click();
    await page.getByText('No dead letters.').waitFor();
  });

  test.each([360, 2560])('is usable at %i px without horizontal clipping', async (width) => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const { page } = await openPage({ viewport: { width, height: 800 } });
    await page.goto(`${url}/inspector/view/echo/log`);
    await rowOf(page, 'echo').waitFor();
    const overhang = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect(overhang).toBeLessThanOrEqual(0);
    for (const tab of ['log', 'sequence', 'numbers', 'stderr', 'details']) {
      await page.locator(`#tab-${tab}`).click();
      const box = await page.locator(`#tab-${tab}`).boundingBox();
      expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= width).toBe(true);
    }
  });
});
