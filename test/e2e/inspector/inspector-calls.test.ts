// Recent calls and connected clients in the page, in a real browser, with the built program.

import { expect, test } from 'vitest';
import { apiServer, call, eventually, post, rpc } from '../../fixtures/clients/api-client.ts';
import { begin } from '../../fixtures/clients/inspected-sessions.ts';
import { listenAsk, modernStream } from '../../fixtures/clients/modern-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const setup = { servers: { api: apiServer(), other: apiServer() } };

test('the section Calls of the inspector lists calls with their results, and its filter is part of the URL', async () => {
  const first = await startGateway(setup);
  const { page, complaints } = await openPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${first.url}/inspector`);
  await page.getByRole('link', { name: 'Calls', exact: true }).click();
  await page.locator('#no-calls', { hasText: 'tools call SERVER TOOL' }).waitFor();
  const session = { 'mcp-session-id': await begin(`${first.url}/mcp`, 'editor <b>') };
  await post(`${first.url}/mcp`, call('api__echo'), session);
  await rpc(first.url, 'api', call('reject'));
  await rpc(first.url, 'other', call('fail'));
  const rows = page.locator('[data-call]');
  await eventually('the rows', async () => (await rows.count()) === 4);
  const cells = async (row: number) => rows.nth(row).locator('td').allTextContents();
  const at = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  const ms = expect.stringMatching(/^[\d.]+ m?s$/);
  expect(await cells(0)).toEqual([at, 'other', 'fail', 'protocol -32099', ms, expect.any(String), '–']);
  expect(await cells(1)).toEqual([at, 'api', 'reject', 'tool ', ms, expect.any(String), '–']);
  expect(await cells(2)).toEqual([
    ...[at, 'api', 'echo', 'ok ', ms, expect.any(String)],
    expect.stringMatching(/^editor <b> session [\w-]{8}$/),
  ]);
  expect((await cells(3))[2]).toBe('initialize');

  await page.getByRole('link', { name: 'failed', exact: true }).click();
  await eventually('the failed calls', async () => (await rows.count()) === 2);
  await page.getByLabel('Server').selectOption('other');
  await eventually('one call', async () => (await rows.count()) === 1);
  const address = new URL(page.url());
  expect(address.pathname + address.search).toBe(
    '/inspector/view/~calls/details?outcome=failed&server=other',
  );
  await page.reload();
  await eventually('the same call', async () => (await rows.count()) === 1);
  expect(await page.getByLabel('Server').inputValue()).toBe('other');

  // The list continues after a restart of the gateway.
  // The page must not notice the pause.
  await page.goto('about:blank');
  await first.stop();
  const second = await startGateway({ ...setup, folder: first.folder });
  await page.goto(`${second.url}${address.pathname}${address.search}`);
  await eventually('the call from before', async () => (await rows.count()) === 1);
  expect((await cells(0)).slice(1, 4)).toEqual(['other', 'fail', 'protocol -32099']);
  expect(complaints).toEqual([]);
  await second.stop();
});

test('the overview of the inspector lists connected clients with connection time and links to their sessions', async () => {
  const { url, stop } = await startGateway(setup);
  const { page, complaints } = await openPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(`${url}/inspector`);
  await page.locator('#no-clients').waitFor();
  await begin(`${url}/mcp`, 'editor', '1.2');
  const modern = modernStream(`${url}/mcp/api`, listenAsk({ toolsListChanged: true }));
  await modern.opened();
  const clients = page.locator('[data-client]');
  await eventually('the clients', async () => (await clients.count()) === 2);
  expect(await clients.allTextContents()).toEqual([
    expect.stringMatching(
      /^editor 1\.2 idle \/mcp · connected for \d+ s, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/,
    ),
    expect.stringMatching(/^raw 1 listening \/mcp\/api · connected for \d+ s, since /),
  ]);
  await clients.nth(0).getByRole('link').click();
  const facts = page.locator('#session');
  await facts.waitFor();
  expect(await facts.textContent()).toMatch(/connectedsince \d{4}-\d\d-\d\d \d\d:\d\d:\d\d, for \d+ s/);
  modern.drop();
  expect(complaints).toEqual([]);
  await stop();
});
