// The page behind a proxy with a path prefix, in a real browser: links, login, one-time links, commands, the
// feed, and the addresses for clients.

import { createServer, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const KEY = 'correct horse battery staple';
const PREFIX = '/tools/inspector';

let gateway: GatewayProcess;
let site: string;
let closeProxy = () => {};

beforeAll(async () => {
  gateway = await startGateway({
    settings: { api_key: KEY, inspector: { commands: true } },
    servers: { echo: fault('echo') },
  });
  site = await startProxy(Number(new URL(gateway.url).port));
});

afterAll(() => closeProxy());

/** Serves only a gateway, below PREFIX. */
async function startProxy(port: number): Promise<string> {
  const proxy = createServer((incoming, response) => {
    const { url = '', method, headers } = incoming;
    if (!url.startsWith(`${PREFIX}/`)) {
      response.writeHead(404).end('another application');
      return;
    }
    const path = url.slice(PREFIX.length);
    const forwarded = request({ port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closeProxy = () => {
    proxy.closeAllConnections();
    proxy.close();
  };
  return `http://127.0.0.1:${(proxy.address() as { port: number }).port}${PREFIX}`;
}

test('behind a path prefix the login returns to the requested view, and all requests of the page keep the prefix', async () => {
  const { page, complaints } = await openPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(30_000);
  await page.goto(`${site}/inspector/view/echo/log`);
  for (const key of ['wrong', KEY]) {
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
    if (key !== KEY) await page.getByRole('alert').waitFor();
  }
  await page.locator('.row[data-name="echo"]').waitFor();
  expect(page.url()).toBe(`${site}/inspector/view/echo/log`);
  await page.getByRole('button', { name: 'Start', exact: true }).first().click();
  await page.locator('.row[data-name="echo"]', { hasText: 'running' }).waitFor();
  await page.getByRole('link', { name: 'Connect', exact: true }).click();
  await page.getByText(`${site}/mcp`).first().waitFor();
  expect(page.url()).toBe(`${site}/inspector/view/~connect/details`);
  await page.reload();
  await page.getByText(`${site}/mcp`).first().waitFor();
  await page.goto(`${site}/`);
  expect(page.url()).toBe(`${site}/inspector`);
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  expect(complaints.filter((text) => !/40[13]/.test(text))).toEqual([]);
});

test('behind a path prefix a one-time link opens the page as operator', async () => {
  const { json } = await ask(`${gateway.url}/inspector/links`, {
    method: 'POST',
    headers: { 'x-api-key': KEY },
  });
  const { page } = await openPage({ viewport: { width: 1280, height: 800 } });
  await page.goto(site + json.path);
  await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  expect(page.url()).toBe(`${site}/inspector`);
});
