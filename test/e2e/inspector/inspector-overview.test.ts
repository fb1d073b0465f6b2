// The first view of the page and its deliveries, the way of a browser to them, and the links that outlive a wrong key: in a real
// browser, with the built program, in which something of every kind is wrong.

import { describe, expect, test } from 'vitest';
import { eventually, SECRET } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { LARGE, startTroubled } from '../../fixtures/gateway/troubled-gateway.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const KEY = 'correct horse battery staple';
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

async function open() {
  const opened = await openPage({ viewport: { width: 1280, height: 800 } });
  opened.page.setDefaultTimeout(30_000);
  return opened;
}

describe('the first view of the page', () => {
  test('says what is wrong before anything else, and leads to each, to dead deliveries and their replay', async () => {
    const { gateway, mend } = await startTroubled();
    const { page, complaints } = await open();
    await page.goto(`${gateway.url}/`);
    expect(new URL(page.url()).pathname).toBe('/inspector');
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    const wrong = page.locator('[data-wrong]');
    await eventually(async () => expect(await wrong.count()).toBe(7));
    const told = await wrong.allTextContents();
    expect(told.map((text) => text.split(' ')[0])).toEqual([
      ...['server', 'trigger', 'trigger', 'dead', 'dead', 'failed', 'approval'],
    ]);
    // In one place: no banner says it once more.
    expect(await page.getByRole('alert').filter({ visible: true }).count()).toBe(0);
    expect(told[0]).toMatch(/tickets.*parked.*exited with code 4.*left alone for 9 min/s);
    expect(told[1]).toMatch(/elsewhere.*failed.*(EADDRINUSE|in use)/is);
    expect(told[2]).toMatch(/alerts.*paused/s);
    expect(told[3]).toMatch(/http:orders\/.*of orders: .*answered 500/s);
    expect(told[5]).toMatch(/oncall.*failed.*local:tiny answered 401/s);
    const headings = await page.locator('.overview h2').allTextContents();
    expect(headings).toEqual(['What is wrong', 'Servers', 'Triggers', 'Newest runs']);
    expect(await page.locator('.overview .lines').allTextContents()).toEqual([
      expect.stringMatching(/files running 1 request.*tickets failed/),
      expect.stringMatching(/alerts paused.*orders open/),
      expect.stringMatching(/oncall failed.*oncall done.*shop waiting/),
    ]);
    // What changes is seen without anybody doing anything.
    await ask(`${gateway.url}/triggers/alerts/resume`, { method: 'POST' });
    await eventually(async () => expect(await wrong.count()).toBe(6));

    await page.getByRole('link', { name: 'deliveries' }).first().click();
    const lines = page.locator('[data-delivery]');
    await eventually(async () => expect(await lines.count()).toBeGreaterThan(3));
    await page.getByLabel('Filter by state or trigger').fill('dead orders');
    await eventually(async () => expect(await lines.count()).toBe(2));
    expect(page.url()).toMatch(/\/inspector\/view\/~deliveries\/details\?state=dead&trigger=orders$/);
    // The newest first: the one with the large body came before it.
    await lines.nth(1).getByRole('link').click();
    await page.locator('#body-cut', { hasText: `${Math.round(LARGE / 1000)} k bytes` }).waitFor();
    await lines.nth(0).getByRole('link').click();
    const shown = page.locator('#delivery');
    await shown.getByText('"customer": "ann"').waitFor();
    expect(await shown.locator('pre').textContent()).toContain('"key": "[redacted]"');
    expect(await shown.textContent()).not.toContain(SECRET);
    expect(await shown.textContent()).toMatch(/attempt 1.*answered 500.*attempt 2.*answered 500/s);
    mend();
    const address = page.url();
    await shown.getByRole('button', { name: 'Replay' }).press('Enter');
    await shown.locator('.pill', { hasText: 'done' }).waitFor();
    await shown.getByText('Done.', { exact: true }).waitFor();
    await eventually(async () => expect(await lines.count()).toBe(1));
    await lines.nth(0).getByRole('link').click();
    await shown.getByRole('button', { name: 'Discard' }).click();
    await shown.locator('.pill', { hasText: 'ignored' }).waitFor();
    await page.locator('#no-deliveries', { hasText: 'none of these' }).waitFor();
    await page.goto(address);
    await shown.locator('.pill', { hasText: 'done' }).waitFor();
    expect(await page.getByLabel('Filter by state or trigger').inputValue()).toBe('dead orders');
    expect(complaints).toEqual([]);
  });

  test('pages through the deliveries, and acts on none where it may not', async () => {
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
    await page.getByRole('link', { name: 'From the newest' }).click();
    await page.locator(`[data-delivery="${json.deliveries[0].id}"]`).getByRole('link').click();
    await page.locator('#delivery', { hasText: 'set inspector.commands: true' }).waitFor();
    expect(await page.locator('#delivery button').count()).toBe(0);
    const path = `${gateway.url}/inspector/api/deliveries/${encodeURIComponent(json.deliveries[0].id)}`;
    expect((await ask(`${path}/replay`, { method: 'POST' })).status).toBe(403);
    expect((await ask(`${gateway.url}/inspector/api/deliveries/nobody`)).status).toBe(404);
    expect((await ask(`${gateway.url}/inspector/api/deliveries?state=no`)).status).toBe(400);
    expect(complaints).toEqual([]);
  });

  test('says why a list is empty, and what to do about it', async () => {
    const { url } = await startGateway({ servers: {} });
    const { page, complaints } = await open();
    await page.goto(`${url}/inspector`);
    await page.getByText('Nothing: no server or trigger has failed').waitFor();
    await page.locator('#no-servers', { hasText: 'catalog_path of gateway.yaml' }).waitFor();
    await page.locator('#no-triggers', { hasText: 'spec.triggers.directory in gateway.yaml' }).waitFor();
    await page.locator('#no-newest-runs', { hasText: 'spec.agents.directory in gateway.yaml' }).waitFor();
    await page.locator('#no-steps', { hasText: 'Nothing has happened' }).waitFor();
    await page.getByLabel('Filter the tree').fill('nobody');
    await page.locator('#no-actors').waitFor();
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await page.getByText('This gateway has no triggers, so nothing is delivered').waitFor();
    expect(complaints).toEqual([]);
  });
});

describe('the way to the page', () => {
  test('FRD1: leads browsers, and nobody else, from / to the inspector, or says that it is off', async () => {
    const on = await startGateway({ settings: { api_key: KEY }, servers: { echo: fault('echo') } });
    const led = await ask(`${on.url}/`, { headers: html });
    expect([led.status, led.headers.location]).toEqual([303, '/inspector']);
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }])
      expect((await ask(`${on.url}/`, { headers })).status).toBe(401);
    expect((await ask(`${on.url}/`, { method: 'POST', headers: html })).status).toBe(401);
    const off = await startGateway({
      settings: { api_key: KEY, inspector: { enabled: false } },
      servers: { echo: fault('echo') },
    });
    const told = await ask(`${off.url}/`, { headers: html });
    expect([told.status, told.headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8']);
    expect(told.text).toMatch(/inspector, is off here.*inspector\.enabled/s);
  });

  test('keeps the view that a link names, with its filter or its tool, through a wrong key', async () => {
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
    expect([forged.status, forged.headers.location]).toEqual([303, '/inspector']);
  });
});
