// The inspector in a real browser, with the built program and problems of every kind: its overview, its
// deliveries, the redirect from `/`, and links to its views that work after a wrong key was entered.

import { describe, expect, test } from 'vitest';
import { eventually, SECRET } from '../../fixtures/automation/automation.ts';
import {
  ask,
  EventReader,
  initialize,
  introduction,
  message,
  post,
} from '../../fixtures/clients/api-client.ts';
import { callOnce } from '../../fixtures/clients/raw-session.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { LARGE, startTroubled } from '../../fixtures/gateway/troubled-gateway.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const KEY = 'correct horse battery staple';
/** Rows of the problems, except for stalls, which any loaded machine causes. */
const PROBLEMS = '[data-wrong]:not([data-wrong="alarm event_loop_stalled"])';
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

/** Opens a browser page. `complaints` collects the errors of its console and its scripts. */
async function open() {
  const opened = await openPage({ viewport: { width: 1280, height: 800 } });
  opened.page.setDefaultTimeout(30_000);
  return opened;
}

describe('the overview of the page', () => {
  test('shows problems first, each with a link, and dead deliveries with a replay button', async () => {
    const { gateway, mend } = await startTroubled();
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/`);
    expect(new URL(page.url()).pathname).toBe('/inspector');
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    const wrongElements = page.locator(PROBLEMS);
    await eventually(async () => expect(await wrongElements.count()).toBe(7));
    const messages = await wrongElements.allTextContents();
    expect(messages.map((text) => text.split(' ')[0])).toEqual([
      ...['approval', 'server', 'trigger', 'trigger', 'dead', 'dead', 'failed'],
    ]);
    // Shown once: no banner repeats it.
    expect(await page.getByRole('alert').filter({ visible: true }).count()).toBe(0);
    expect(messages[1]).toMatch(/tickets.*parked.*exited with code 4.*parked for 9 min/s);
    expect(messages[2]).toMatch(/elsewhere.*failed.*(EADDRINUSE|in use)/is);
    expect(messages[3]).toMatch(/alerts.*paused/s);
    expect(messages[4]).toMatch(/http:orders\/.*trigger orders: .*answered 500/s);
    expect(messages[6]).toMatch(/oncall.*failed.*local:tiny answered 401/s);
    const headings = await page.locator('.overview h2').allTextContents();
    expect(headings).toEqual(['Problems', 'Servers', 'Connected clients', 'Triggers', 'Newest runs']);
    expect(await page.locator('.overview .lines').allTextContents()).toEqual([
      expect.stringMatching(/files running 1 request.*tickets failed/),
      expect.stringMatching(/alerts paused.*orders open/),
      expect.stringMatching(/oncall failed.*oncall done.*shop waiting/),
    ]);
    // Changes appear immediately.
    await ask(`${gateway.url}/triggers/alerts/resume`, { method: 'POST' });
    await eventually(async () => expect(await wrongElements.count()).toBe(6));

    await page.getByRole('link', { name: 'deliveries' }).first().click();
    const lines = page.locator('[data-delivery]');
    await eventually(async () => expect(await lines.count()).toBeGreaterThan(3));
    await page.getByLabel('Filter by state or trigger').fill('dead orders');
    await eventually(async () => expect(await lines.count()).toBe(2));
    expect(page.url()).toMatch(/\/inspector\/view\/~deliveries\/details\?state=dead&trigger=orders$/);
    // Newest first. The delivery with the large body is older.
    await lines.nth(1).getByRole('link').click();
    await page.locator('#body-cut', { hasText: `${Math.round(LARGE / 1000)} k bytes` }).waitFor();
    await lines.nth(0).getByRole('link').click();
    const view = page.locator('#delivery');
    await view.getByText('"customer": "ann"').waitFor();
    expect(await view.locator('pre').textContent()).toContain('"key": "[redacted]"');
    expect(await view.textContent()).not.toContain(SECRET);
    expect(await view.textContent()).toMatch(/attempt 1.*answered 500.*attempt 2.*answered 500/s);
    mend();
    const address = page.url();
    await view.getByRole('button', { name: 'Replay' }).press('Enter');
    await view.locator('.pill', { hasText: 'done' }).waitFor();
    await view.getByText('Done.', { exact: true }).waitFor();
    await eventually(async () => expect(await lines.count()).toBe(1));
    await lines.nth(0).getByRole('link').click();
    await view.getByRole('button', { name: 'Discard' }).click();
    await view.locator('.pill', { hasText: 'ignored' }).waitFor();
    await page.locator('#no-deliveries', { hasText: 'No deliveries match' }).waitFor();
    await page.goto(address);
    await view.locator('.pill', { hasText: 'done' }).waitFor();
    expect(await page.getByLabel('Filter by state or trigger').inputValue()).toBe('dead orders');
    expect(complaints).toEqual([]);
  });

  test('shows the alarms of the gateway first, and in a banner of other views, until they end', async () => {
    const settings = { limits: { sessions: 1 }, inspector: { commands: true } };
    const restart = { intensity: 1, period_seconds: 60, min_backoff_ms: 50, park_seconds: 600 };
    const catalog = { echo: fault('echo'), tickets: fault('exits-at-once', { restart }) };
    const gateway = await startGateway({ settings, servers: catalog });
    for (let round = 0; round < 3; round += 1) await callOnce(gateway.url, 'tickets', 'echo');
    const address = `${gateway.url}/mcp`;
    // An idle session would make room for the next one.
    const stream = new EventReader(address, { headers: await initialize(address) });
    await stream.opened();
    for (let n = 0; n < 2; n += 1) await post(address, message('initialize', introduction('2025-06-18')));
    gateway.writeCatalog({ ...catalog, echo: { ...fault('echo'), comand: 'x' } });
    await ask(`${gateway.url}/admin/reload`, { method: 'POST' });
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector`);
    const rows = page.locator(PROBLEMS);
    await eventually(async () => expect(await rows.count()).toBe(3));
    expect(await rows.allTextContents()).toEqual([
      expect.stringMatching(
        /^gateway configuration_invalid error.*catalog\.yaml:.*comand.*correct the files, then reload \(for \d+ s\)$/,
      ),
      expect.stringMatching(
        /^gateway requests_refused warning.*raise limits\.sessions \(2 times, for \d+ s\)$/,
      ),
      expect.stringMatching(/^server tickets parked/),
    ]);
    await page.goto(`${gateway.url}/inspector/view/echo/log`);
    const banner = page.locator('#alarms');
    await banner.getByText(/^\d alarms: configuration_invalid, .*requests_refused/).waitFor();
    gateway.writeCatalog(catalog);
    await ask(`${gateway.url}/admin/reload`, { method: 'POST' });
    await banner.getByText(/^\d alarms?: (?!configuration_invalid).*requests_refused/).waitFor();
    await banner.getByRole('link', { name: 'Show' }).click();
    await eventually(async () => expect(await rows.count()).toBe(2));
    expect(complaints).toEqual([]);
    stream.drop();
  });

  test('pages through the deliveries, and offers no actions if the viewer lacks the permission', async () => {
    const { gateway } = await startTroubled({ commands: false });
    const { json } = await ask(`${gateway.url}/inspector/api/deliveries?limit=2`);
    expect(json.deliveries.length).toBe(2);
    const { json: rest } = await ask(`${gateway.url}/inspector/api/deliveries?before=${json.next_before}`);
    const seqs = [...json.deliveries, ...rest.deliveries].map(({ seq }: { seq: number }) => seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => b - a));
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/inspector/view/~deliveries/details?before=${json.next_before}`);
    await page.locator(`[data-delivery="${rest.deliveries[0].id}"]`).waitFor();
    expect(await page.locator(`[data-delivery="${json.deliveries[0].id}"]`).count()).toBe(0);
    await page.getByRole('link', { name: 'Newest' }).click();
    await page.locator(`[data-delivery="${json.deliveries[0].id}"]`).getByRole('link').click();
    await page.locator('#delivery', { hasText: 'set inspector.commands: true' }).waitFor();
    expect(await page.locator('#delivery button').count()).toBe(0);
    const path = `${gateway.url}/inspector/api/deliveries/${encodeURIComponent(json.deliveries[0].id)}`;
    expect((await ask(`${path}/replay`, { method: 'POST' })).status).toBe(403);
    expect((await ask(`${gateway.url}/inspector/api/deliveries/nobody`)).status).toBe(404);
    expect((await ask(`${gateway.url}/inspector/api/deliveries?state=no`)).status).toBe(400);
    expect(complaints).toEqual([]);
  });

  test('explains an empty list, with a remedy', async () => {
    const { url } = await startGateway({ servers: {} });
    const { page, complaints } = await open();
    await page.goto(`${url}/inspector`);
    await page.getByText('No problems: no alarms').waitFor();
    await page.locator('#no-servers', { hasText: 'catalog_path of gateway.yaml' }).waitFor();
    await page.locator('#no-triggers', { hasText: 'spec.triggers.directory in gateway.yaml' }).waitFor();
    await page.locator('#no-newest-runs', { hasText: 'spec.agents.directory in gateway.yaml' }).waitFor();
    await page.locator('#no-steps', { hasText: 'No events since' }).waitFor();
    await page.getByLabel('Filter the tree').fill('nobody');
    await page.locator('#no-actors').waitFor();
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await page.getByText('This gateway has no triggers, so there are no deliveries').waitFor();
    expect(complaints).toEqual([]);
  });
});

describe('addresses of the inspector', () => {
  test('the path / redirects only browsers to the inspector, and reports if the inspector is disabled', async () => {
    const on = await startGateway({ settings: { api_key: KEY }, servers: { echo: fault('echo') } });
    const response = await ask(`${on.url}/`, { headers: html });
    expect([response.status, response.headers.location]).toEqual([303, 'inspector']);
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }])
      expect((await ask(`${on.url}/`, { headers })).status).toBe(401);
    expect((await ask(`${on.url}/`, { method: 'POST', headers: html })).status).toBe(401);
    const off = await startGateway({
      settings: { api_key: KEY, inspector: { enabled: false } },
      servers: { echo: fault('echo') },
    });
    const disabled = await ask(`${off.url}/`, { headers: html });
    expect([disabled.status, disabled.headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8']);
    expect(disabled.text).toMatch(/inspector, is off.*inspector\.enabled/s);
  });
});

describe('a link to a view of the inspector', () => {
  test('keeps its filter or tool, even after a wrong key was entered', async () => {
    const { url } = await startGateway({
      settings: { api_key: KEY },
      servers: { echo: fault('echo') },
    });
    for (const [view, heading] of [
      ['/inspector/view/~deliveries/details?state=dead&trigger=a%22b', 'Deliveries'],
      ['/inspector/view/echo/tools?tool=say+%22it%22', 'say "it"'],
    ] as const) {
      const { page } = await open();
      await page.goto(url + view);
      for (const key of ['wrong', 'wrong again', KEY]) {
        await page.getByLabel('API key').fill(key);
        await page.keyboard.press('Enter');
        if (key !== KEY) await page.getByRole('alert').waitFor();
      }
      await page.getByRole('heading', { name: heading }).waitFor();
      expect(page.url()).toBe(url + view);
    }
    const forged = await ask(`${url}/inspector/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ key: KEY, view: '//evil.example/inspector/view/x/log' }).toString(),
    });
    expect([forged.status, forged.headers.location]).toEqual([303, '../inspector']);
  });
});
