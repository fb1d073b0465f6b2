// The inspector on a non-loopback address, with a key and no allowed_origins: form and buttons work, in a
// real browser and for each HTTP engine, and foreign origins have no access.

import { describe, expect, test } from 'vitest';
import { ask, eventually } from '../../fixtures/clients/api-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { httpEngines } from '../../fixtures/gateway/http-engines.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const KEY = 'correct horse battery staple';
/** The system resolves this address to 127.0.0.1, but the gateway treats it as public, with no Host check. */
const PUBLIC_ADDRESS = '0x7f000001:0';

const gatewayOn = (http: (typeof httpEngines)[number]) =>
  startGateway({
    http,
    env: { THE_KEY: KEY },
    settings: { listen_addr: PUBLIC_ADDRESS, api_key: `\${THE_KEY}`, inspector: { commands: true } },
    servers: { echo: fault('echo') },
  });

describe.each(httpEngines)('beyond loopback on %s', (http) => {
  test('the inspector on a public address accepts the API key in its form, and its buttons work without allowed_origins', async () => {
    const { port } = await gatewayOn(http);
    const { page, complaints } = await openPage();
    await page.goto(`http://127.0.0.1:${port}/inspector/view/echo/log`);
    complaints.splice(0);
    await page.getByLabel('API key').fill(KEY);
    await page.keyboard.press('Enter');
    await page.locator('.row[data-name="echo"]').waitFor();
    const state = () => page.locator('.row[data-name="echo"] .pill').textContent();
    await page.getByRole('button', { name: 'Start' }).click();
    await eventually('the start', async () => (await state()) === 'running');
    await page.getByRole('button', { name: 'Stop' }).click();
    await eventually('the stop', async () => (await state()) === 'stopped');
    expect(complaints).toEqual([]);
  });

  test('pages of other origins, and pages using DNS rebinding, cannot send POST requests to the inspector', async () => {
    const { url } = await gatewayOn(http);
    const enter = (headers: Readonly<Record<string, string>>, key: string) =>
      ask(`${url}/inspector/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({ key }).toString(),
      });
    const own = { host: 'gw.example', origin: 'http://gw.example' };
    const entered = await enter(own, KEY);
    expect(entered.status).toBe(303);
    expect(entered.headers['access-control-allow-origin']).toBeUndefined();
    const cookie = entered.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? '';
    const post = (path: string, headers: Readonly<Record<string, string>>) =>
      ask(url + path, { method: 'POST', headers });
    const start = '/inspector/api/servers/echo/start';
    expect((await post(start, { ...own, cookie })).json).toMatchObject({ id: 'echo', state: 'running' });
    const rebound = { host: 'evil.example', origin: 'http://evil.example' };
    expect((await enter(rebound, 'a guess')).status).toBe(403);
    expect((await post(start, rebound)).status).toBe(403);
    for (const headers of [
      { ...own, origin: 'http://evil.example', cookie },
      { ...own, origin: 'http://gw.example:3000', cookie },
      { ...own, 'sec-fetch-site': 'cross-site', cookie },
    ])
      expect([headers, (await post('/inspector/api/servers/echo/stop', headers)).status]).toEqual([
        headers,
        403,
      ]);
    expect((await post('/servers/echo/stop', { ...own, cookie })).status).toBe(403);
    const { json } = await ask(`${url}/servers/echo`, { headers: { 'x-api-key': KEY } });
    expect(json.state).toBe('running');
  });
});
