// The connect view of the inspector, in a real browser: the copied text is an entry that works in the client.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { ask } from '../../fixtures/clients/api-client.ts';
import { startGateway } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const KEY = 'correct horse battery staple';
const introduction = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'copied', version: '1' },
};
const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: introduction });

/** Returns the response of the program in the entry to `initialize`. */
async function firstAnswer(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, {
    env: { ...process.env, GATEWAY_API_KEY: KEY },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.write(`${initialize}\n`);
  const [line] = await once(createInterface(child.stdout), 'line', { signal: AbortSignal.timeout(20_000) });
  const exit = once(child, 'close');
  child.stdin.end();
  await exit;
  return String(line);
}

test('the client configuration in the inspector reaches the gateway, has no key, and can be copied without clipboard access', async () => {
  const { url } = await startGateway({
    servers: { echo: fault('echo') },
    settings: { api_key: `\${THE_KEY}`, profiles: { work: { servers: ['echo'] } } },
    env: { THE_KEY: KEY },
  });
  const { page, complaints } = await openPage();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url });
  await page.goto(`${url}/inspector/view/~connect/details`);
  await page.getByLabel('API key').fill(KEY);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Connect a client' }).waitFor();
  expect(await page.getByRole('link', { name: 'Connect' }).getAttribute('aria-current')).toBe('page');

  // The file of this client supports only programs.
  await page.getByLabel('Client').selectOption('Claude Desktop');
  await page.getByLabel('Operating system').selectOption('macOS');
  await page.getByText('~/Library/Application Support/Claude/claude_desktop_config.json').waitFor();
  const program = JSON.parse((await page.locator('.copy-text pre').textContent()) ?? '');
  const { command, args } = program.mcpServers['actor-gateway'];
  expect([command, args.slice(1, 4)]).toEqual([process.execPath, ['stdio', '--url', `${url}/mcp`]]);
  expect(await firstAnswer(command, args)).toContain('"serverInfo"');

  await page.getByLabel('Client').selectOption('Cursor');
  await page.getByLabel('Servers', { exact: true }).selectOption('echo');
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByText('Copied', { exact: true }).waitFor();
  const copied = String(await page.evaluate('navigator.clipboard.readText()'));
  expect(JSON.parse(copied)).toEqual({
    mcpServers: {
      echo: {
        url: `${url}/mcp/echo`,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: as the client has it
        headers: { 'X-API-Key': '${env:GATEWAY_API_KEY}' },
      },
    },
  });
  const { echo } = JSON.parse(copied).mcpServers;
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const withKey = {
    ...headers,
    'X-API-Key': echo.headers['X-API-Key'].replace(/^\$\{env:GATEWAY_API_KEY\}$/, KEY),
  };
  expect((await ask(echo.url, { method: 'POST', headers, body: initialize })).status).toBe(401);
  const answer = await ask(echo.url, { method: 'POST', headers: withKey, body: initialize });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"serverInfo"')]);

  await page.getByLabel('Servers', { exact: true }).selectOption('profile work');
  await page.getByText(`"url": "${url}/mcp/@work"`).waitFor();

  // If no clipboard is available, as on an address without TLS, the text is selected.
  await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
  await page.getByLabel('Transport', { exact: true }).selectOption('stdio (the client starts a program)');
  await page.getByRole('button', { name: 'Copy', exact: true }).press('Enter');
  await page.getByText(/^Selected/).waitFor();
  expect(JSON.parse(String(await page.evaluate('getSelection().toString()')))).toMatchObject({
    mcpServers: { 'actor-gateway': { command: process.execPath } },
  });
  expect(await page.content()).not.toContain(KEY);
  expect(complaints.filter((each) => !each.includes('status of 401'))).toEqual([]);
});
