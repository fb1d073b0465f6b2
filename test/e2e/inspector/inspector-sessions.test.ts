// Client sessions in the inspector: visible and hidden fields, and the page in a real browser.

import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import type { SessionPosition } from '../../../src/inspector/wire/feed.ts';
import { ask, eventually } from '../../fixtures/clients/api-client.ts';
import { runConcurrently } from '../../fixtures/clients/crowd.ts';
import { begin, listOf, numbersOf } from '../../fixtures/clients/inspected-sessions.ts';
import { listenAsk, modernStream } from '../../fixtures/clients/modern-client.ts';
import { RawSession } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEnginesInTurn } from '../../fixtures/gateway/http-engines.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const SECRET = 'sk-a-token-that-must-not-be-seen';
describe.each(httpEnginesInTurn)('the sessions of the inspector on %s', (engine) => {
  test('are listed with number, state and activity, but without credentials', async () => {
    const { url } = await startGateway({
      http: engine,
      servers: { echo: fault('echo', { env: { TOKEN: SECRET } }) },
    });
    const ids = [await begin(`${url}/mcp`, 'editor', '1.2'), await begin(`${url}/mcp`, `<${SECRET}>`)];
    const listener = await RawSession.open(url, '/mcp/echo');
    const stream = await listener.listen();
    const modern = modernStream(`${url}/mcp`, listenAsk({ toolsListChanged: true }));
    await modern.opened();
    const caller = await RawSession.open(url, '/mcp/echo');
    const call = caller.call('wait', { ms: 60_000 }).catch(() => undefined);
    ids.push(listener.id, caller.id);
    await eventually('the call', async () => (await listOf(url, '?filter=calling')).matching === 1);

    const { status, text, headers, json } = await ask(`${url}/inspector/sessions`);
    expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
    expect(json).toMatchObject({
      total: 5,
      matching: 5,
      from: 0,
      sessions: [
        { number: 1, client: 'editor', version: '1.2', endpoint: '/mcp', era: 'legacy', state: 'idle' },
        { number: 2, client: '<[redacted]>', endpoint: '/mcp', streams: 0, in_flight: 0 },
        { number: 3, endpoint: '/mcp/echo', state: 'listening', streams: 1, in_flight: 0 },
        { number: 4, endpoint: '/mcp', era: 'modern', protocol_version: '2026-07-28', state: 'listening' },
        { number: 5, endpoint: '/mcp/echo', era: 'legacy', state: 'calling', streams: 0, in_flight: 1 },
      ],
    });
    for (const id of ids) expect(text).not.toContain(id.slice(0, 8));
    expect(text).not.toContain(SECRET);

    const page = (await ask(`${url}/inspector/sessions/4?filter=listening`)).json as SessionPosition;
    expect([page.session.era, page.index]).toEqual(['modern', 1]);
    modern.drop();
    await eventually('its end', async () => (await ask(`${url}/inspector/sessions/4`)).status === 404);
    expect((await listOf(url, '?from=2&count=2')).sessions.map(({ number }) => number)).toEqual([3, 5]);
    for (const query of ['?from=-1', '?from=x', '?count=201', '?count=1.5'])
      expect([query, (await ask(`${url}/inspector/sessions${query}`)).status]).toEqual([query, 400]);
    for (const path of ['0', 'x', '1e0', '', '1/2'])
      expect([path, (await ask(`${url}/inspector/sessions/${path}`)).status]).toEqual([path, 404]);
    await caller.end();
    await call;
    stream.stop();
    await stream.ended;
  });
});

const waitForTitle = (page: Page, title: string) =>
  eventually(title, async () => (await page.locator('h1').textContent()) === title);
const at = (page: Page) => new URL(page.url()).pathname;
describe('the sessions in the tree of the inspector', () => {
  test('can be reached by keyboard from the first to the last, and each has a URL', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    await runConcurrently(1_000, 8, async (number) => {
      await begin(`${url}/mcp`, `client-${number}`);
    });
    const { page, complaints } = await openPage();
    await page.goto(`${url}/inspector`);
    const tree = page.getByRole('tree');
    await page.getByText('sessions (1,000)').waitFor();
    await tree.focus();
    await page.keyboard.press('End');
    await waitForTitle(page, 'sessions');
    expect(await page.locator('[data-session]').count(), 'the keyboard passes by').toBe(0);
    await page.keyboard.press('ArrowRight');
    await page.locator('[data-session="1"]').waitFor();
    await page.keyboard.press('ArrowRight');
    await waitForTitle(page, 'session 1');
    await page.keyboard.press('ArrowDown');
    await waitForTitle(page, 'session 2');
    await page.keyboard.press('End');
    await waitForTitle(page, 'session 1000');
    expect(at(page)).toBe('/inspector/view/~sessions/1000/log');
    await page.keyboard.press('PageUp');
    await waitForTitle(page, 'session 990');
    await page.reload();
    await page.locator('.row.selected[data-session="990"]').waitFor();
    expect(await page.locator('#session').textContent()).toMatch(/clientclient-\d+ 1\.0endpoint\/mcp/);
    await tree.focus();
    await page.keyboard.press('ArrowUp');
    await waitForTitle(page, 'session 989');
    await page.keyboard.press('ArrowLeft');
    await waitForTitle(page, 'sessions');
    await page.keyboard.press('ArrowLeft');
    await eventually('a folded group', async () => (await page.locator('[data-session]').count()) === 0);
    await page.keyboard.press('ArrowLeft');
    await waitForTitle(page, 'gateway');
    for (const [key, title] of [
      ['End', 'sessions'],
      ['Home', 'gateway'],
    ] as const) {
      await page.keyboard.press(key);
      await waitForTitle(page, title);
    }
    expect(complaints).toEqual([]);
  });

  test('are updated live, and a session that has ended is reported', async () => {
    const { url } = await startGateway({ servers: { echo: fault('echo') } });
    const first = await RawSession.open(url, '/mcp');
    const second = await RawSession.open(url, '/mcp/echo');
    const { page } = await openPage();
    await page.goto(`${url}/inspector/view/~sessions/2/numbers`);
    const pill = page.locator('[data-session="2"] .pill');
    await pill.waitFor();
    await page.locator('.figures').waitFor();
    const stream = await second.listen();
    await eventually('listening', async () => (await pill.textContent()) === 'listening');
    await begin(`${url}/mcp`, 'latecomer');
    await page.locator('[data-session="3"]').getByText('latecomer').waitFor();
    expect(await first.end()).toBe(204);
    await eventually('the others', async () => (await numbersOf(page)).join() === '2,3');
    await page.getByRole('link', { name: '/mcp/echo' }).click();
    await waitForTitle(page, 'echo');
    await page.goBack();
    stream.stop();
    await stream.ended;
    expect(await second.end()).toBe(204);
    await page.getByText('no such session; it may have ended').waitFor();
    await eventually('the last one', async () => (await numbersOf(page)).join() === '3');
  });
});
