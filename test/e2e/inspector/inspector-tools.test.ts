// Tools in the page of the inspector, in a real browser: forms from the schemas of real servers, calls, and
// malicious servers.

import { exec } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { ask, eventually } from '../../fixtures/clients/api-client.ts';
import { freePort } from '../../fixtures/free-port.ts';
import { startGateway, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';
import { everythingServer } from '../../fixtures/server/real-servers.ts';
import { openPage } from '../../fixtures/tool-servers/browser.ts';

const SECRET = 'sk-a-token-that-must-not-be-seen';
const MARKUP = '<img src=x onerror="globalThis.harm=1"><script>globalThis.harm=1</script>';
const EVERYTHING_PNG = /^data:image\/png;base64,iVBOR/;

const call = (page: Page) => page.getByRole('button', { name: 'Call', exact: true }).click();
const choose = async (page: Page, name: string) => {
  await page.getByRole('button', { name, exact: true }).click();
  await page.getByRole('heading', { name, exact: true }).waitFor();
  await page.locator('.tool-form').waitFor();
};
const headline = (page: Page) => page.locator('.outcome .headline');
const waitForText = (page: Page, text: string | RegExp) => headline(page).getByText(text).waitFor();
const giveJson = async (page: Page, args: unknown) => {
  await page.getByRole('button', { name: 'As JSON' }).click();
  await page.getByLabel('Arguments as JSON').fill(JSON.stringify(args));
};

test('the tools tab of a server shows a form for each tool schema, and results, images, errors and progress of calls', async () => {
  const { url } = await startGateway({
    servers: { everything: everythingServer },
    settings: { inspector: { commands: true } },
  });
  const { page, complaints } = await openPage();
  await page.goto(`${url}/inspector/view/everything/tools`);
  await page.getByRole('button', { name: 'Start and list tools' }).click();
  await page.getByLabel('Filter the tools').fill('GET-s');
  await page.getByText(/^2 of \d+ tools$/).waitFor();

  // By keyboard: from the list into the form, and submit.
  await page.getByRole('button', { name: 'get-sum', exact: true }).press('Enter');
  await page.getByLabel('a', { exact: true }).fill('one');
  await page.getByLabel('a', { exact: true }).press('Control+Enter');
  await page.getByText('a must be a number').waitFor();
  await page.getByText('b is required').waitFor();
  expect(await headline(page).textContent()).toBe('');
  expect(await page.evaluate('document.activeElement.id')).toBe('arg-0');
  expect(await page.getByLabel('a', { exact: true }).getAttribute('aria-describedby')).toBe(
    'arg-0-problem arg-0-words',
  );
  await page.keyboard.press('Control+A');
  await page.keyboard.type('1.5');
  await page.keyboard.press('Tab');
  await page.keyboard.type('40');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await waitForText(page, /took \d/);
  await page.locator('.outcome pre', { hasText: 'The sum of 1.5 and 40 is 41.5.' }).waitFor();
  // The address contains the tool, also when the page is reloaded.
  expect(page.url()).toBe(`${url}/inspector/view/everything/tools?tool=get-sum`);
  await page.reload();
  await page.getByLabel('a', { exact: true }).fill('1.5');
  await page.getByLabel('b', { exact: true }).fill('40');
  await page.getByLabel('b', { exact: true }).press('Control+Enter');

  // Input and result are kept while another tab is open.
  await page.locator('#tab-log').click();
  await page.locator('#tab-tools').click();
  expect(await page.getByLabel('b', { exact: true }).inputValue()).toBe('40');
  await page.locator('.outcome pre', { hasText: '41.5' }).waitFor();

  await choose(page, 'get-structured-content');
  await page.getByLabel('location', { exact: true }).selectOption('Chicago');
  await call(page);
  await page.getByRole('heading', { name: 'Structured content' }).waitFor();
  expect(await page.locator('.outcome pre').last().textContent()).toContain('"temperature": 36');

  await page.getByLabel('Filter the tools').fill('');
  await choose(page, 'get-tiny-image');
  await page.getByText('No arguments.').waitFor();
  await call(page);
  const image = page.locator('.outcome img');
  await image.waitFor();
  expect(await image.getAttribute('src')).toMatch(EVERYTHING_PNG);
  await expect
    .poll(() => page.evaluate('document.querySelector(".outcome img").naturalWidth'))
    .toBeGreaterThan(0);

  await choose(page, 'get-annotated-message');
  await page.getByLabel('messageType', { exact: true }).selectOption('error');
  await page.getByLabel('includeImage', { exact: true }).check();
  await call(page);
  await page.locator('.outcome img').waitFor();

  await choose(page, 'get-resource-links');
  expect(await page.getByLabel('count', { exact: true }).inputValue()).toBe('3');
  await page.getByLabel('count', { exact: true }).fill('11');
  await call(page);
  await page.getByText('count must be at most 10').waitFor();
  await page.getByLabel('count', { exact: true }).fill('2');
  await call(page);
  await page.locator('.outcome').getByText('Link to a resource').nth(1).waitFor();

  await choose(page, 'trigger-long-running-operation');
  await page.getByLabel('duration', { exact: true }).fill('60');
  await page.getByLabel('steps', { exact: true }).fill('240');
  await call(page);
  await waitForText(page, /\d+ of 240/);
  expect(await page.getByRole('progressbar').getAttribute('max')).toBe('240');
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await waitForText(page, /cancelled after \d+ ms/);
  await eventually('the call is over', async () => (await ask(`${url}/stats`)).json.requests.in_flight === 0);
  expect(complaints).toEqual([]);
});

test('the tools tab shows server output as limited plain text without secrets, and leaving it cancels the call', async () => {
  const schema = {
    type: 'object',
    properties: {
      [MARKUP]: { type: 'string', description: `${MARKUP}\u202egnp.exe`, default: MARKUP },
      ['__proto__']: { type: 'string' },
      constructor: {
        type: 'string',
        pattern: '^(a+)+$',
        default: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!',
      },
      deep: { $ref: '#/properties/deep' },
      list: { type: 'array', items: { type: 'integer' } },
      nested: { type: 'object', properties: { flag: { type: 'boolean' } }, required: ['flag'] },
    },
  };
  const names = ['result', 'meta', 'hang', 'crash', 'nope', `a/b ${MARKUP}`, '../../../reload'];
  const tools = [
    ...names.map((name) => ({
      name,
      title: MARKUP,
      description: `${MARKUP}\u0007\u001b[2J`,
      inputSchema: name === 'meta' ? schema : { type: 'object' },
    })),
    { name: 'wrong', inputSchema: 5 },
    {
      name: 'wide',
      inputSchema: {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`p${at}`, {}])),
      },
    },
  ];
  const { url, logs } = await startGateway({
    servers: { evil: fault('described', { env: { TOOLS: JSON.stringify(tools), TOKEN: `\${TOKEN}` } }) },
    env: { TOKEN: SECRET },
    settings: { inspector: { commands: true } },
  });
  await ask(`${url}/servers/evil/start`, { method: 'POST' });
  const { page, complaints } = await openPage();
  await page.goto(`${url}/inspector/view/evil/tools`);
  for (const { name } of tools) {
    const visibleName = name.length > 200 ? `${name.slice(0, 200)}…` : name;
    await choose(page, visibleName);
  }
  await choose(page, 'wide');
  await page.getByLabel('Arguments as JSON').waitFor();
  await choose(page, 'meta');
  expect(await page.getByLabel(MARKUP.slice(0, 100), { exact: false }).inputValue()).toBe(MARKUP);
  await page.getByText('\\u202egnp.exe').waitFor();
  await page.getByText('\\u0007\\u001b[2J').waitFor();
  await page.getByText(/Checked by the server only: .*pattern/).waitFor();
  await page.getByLabel('list', { exact: true }).fill('1\ntwo');
  await call(page);
  await page.getByText('list line 2 must be a number').waitFor();
  await page.getByLabel('list', { exact: true }).fill('1\n2');
  await call(page);
  await waitForText(page, 'succeeded');

  await choose(page, 'result');
  const result = async (args: unknown) => {
    await page.getByRole('button', { name: 'Reset' }).click();
    await giveJson(page, { result: args });
    await call(page);
    await waitForText(page, /took/);
    return (await page.locator('.outcome').textContent()) ?? '';
  };
  const link = { type: 'resource_link', name: MARKUP, uri: 'javascript:alert(1)', description: MARKUP };
  const svg = { type: 'image', mimeType: 'image/svg+xml', data: 'PHN2Zz48L3N2Zz4=' };
  const html = { type: 'image', mimeType: 'image/png', data: '"><script>globalThis.harm=1</script>' };
  const text = await result({
    isError: true,
    content: [
      { type: 'text', text: `${MARKUP} ${SECRET} \u202e` },
      link,
      svg,
      html,
      null,
      5,
      { type: 'text', text: 'x'.repeat(300_000) },
    ],
    structuredContent: { __proto__: null, key: SECRET, [MARKUP]: [[[MARKUP]]] },
  });
  expect(text).toContain('the tool reported an error');
  expect(text).toContain('javascript:alert(1)');
  expect(text).toContain('200000 more characters');
  expect(text).toContain('image of type image/svg+xml, 11 bytes: unsupported type');
  expect(text).toContain('invalid Base64');
  expect(text).toContain('[redacted]');
  expect(text).not.toContain(SECRET);
  expect(text).not.toContain('\u202e');
  expect(await page.locator('.outcome a, .outcome img, .outcome script, .tools-tab a').count()).toBe(0);
  expect(await result({ content: 'none', isError: 'perhaps' })).toContain('Empty result');
  expect(await result(5)).toContain('ERR_UPSTREAM_PROTOCOL');

  await choose(page, 'nope');
  await call(page);
  await waitForText(page, /error -32602: no tool nope/);
  await choose(page, 'crash');
  await call(page);
  await waitForText(page, /error ERR_/);
  await choose(page, '../../../reload');
  await call(page);
  await waitForText(page, /error -32602/);
  expect(await page.evaluate('globalThis.harm')).toBeUndefined();
  expect(complaints).toEqual([]);

  await choose(page, 'hang');
  await call(page);
  await waitForText(page, /^Calling hang/);
  const inFlight = async () => (await ask(`${url}/stats`)).json.requests.in_flight;
  await eventually('the call is running', async () => (await inFlight()) === 1);
  await page.goto('about:blank');
  await eventually('it was cancelled', async () => (await inFlight()) === 0);
  expect(logs().filter(({ msg }) => msg === 'called a tool from the inspector').length).toBeGreaterThan(5);
});

test('the tools tab shows how to enable calls: a setting, a restart and a login link; after these steps calls succeed', async () => {
  const folder = temporaryFolder();
  const port = await freePort();
  const file = join(folder, 'my gateway.yaml');
  writeFileSync(file, `listen_addr: 127.0.0.1:${port}\ncatalog_path: ./catalog.yaml\n`);
  const setup = { folder, servers: { echo: fault('echo') }, args: ['--config', file] };
  const before = await startGateway(setup);
  await ask(`${before.url}/servers/echo/start`, { method: 'POST' });
  const { page } = await openPage({}, { isWatcher: true });
  const tab = `${before.url}/inspector/view/echo/tools?tool=echo`;
  await page.goto(tab);
  const text = (label: string) => page.getByLabel(label, { exact: true }).locator('pre').textContent();
  const setting = await text('Setting');
  const command = await text('Command that prints the link');
  expect(await page.locator('.call-setup code').first().textContent()).toBe(file);
  appendFileSync(file, `${setting}\n`);
  await before.stop();
  const after = await startGateway(setup);
  expect(after.url).toBe(before.url);

  await page.goto(tab);
  await page.getByText('This page is read only.').waitFor();
  expect(await text('Command that prints the link')).toBe(command);
  const { stdout } = await promisify(exec)(`${command}`, { cwd: '/' });
  await page.goto(/http\S+/.exec(stdout)?.[0] ?? '');
  await page.goto(tab);
  await call(page);
  await waitForText(page, /^echo: succeeded/);
});

test('without inspector.commands the page shows tools but refuses calls; with it the size of a call is limited', async () => {
  const { url } = await startGateway({
    servers: { echo: fault('echo', { tools: { deny: ['crash*'] } }) },
    settings: { inspector: { enabled: true } },
  });
  const { page } = await openPage();
  await page.goto(`${url}/inspector/view/echo/tools`);
  await page.getByText('The tools are unknown').waitFor();
  expect(await page.getByRole('button', { name: 'Start and list tools' }).count()).toBe(0);
  await ask(`${url}/servers/echo/start`, { method: 'POST' });
  await page.getByRole('button', { name: 'echo', exact: true }).click();
  await page.getByText('Calls from this page are off.').waitFor();
  await page.getByText('schema of the arguments').waitFor();
  expect(await page.getByRole('button', { name: 'Call', exact: true }).count()).toBe(0);
  const at = (path: string) => `${url}/inspector/servers/echo/tools${path}`;
  const posted = await ask(at('/echo/call'), { method: 'POST', body: '{"arguments":{}}' });
  expect([posted.status, posted.json.message]).toEqual([403, expect.stringContaining('inspector.commands')]);
  expect((await ask(at('?filter=crash'))).json.tools).toEqual([]);
  expect((await ask(at('/crash'))).status).toBe(404);

  const open = await startGateway({
    servers: { echo: fault('echo') },
    settings: { inspector: { commands: true } },
  });
  const to = (tool: string, body: string, server = 'echo') =>
    ask(`${open.url}/inspector/servers/${server}/tools/${tool}/call`, { method: 'POST', body });
  for (const body of ['', '5', 'null', '{}', '{"arguments":[]}', '{"arguments"'])
    expect((await to('echo', body)).status, body).toBe(400);
  expect((await to('echo', JSON.stringify({ arguments: { big: 'x'.repeat(1_000_000) } }))).status).toBe(400);
  expect((await to('echo', '{"arguments":{}}', 'nobody')).status).toBe(404);
  expect((await to('none', '{"arguments":{}}')).text).toContain('"code":"-32602"');
  const leaving = Array.from({ length: 16 }, () => new AbortController());
  const pendingCalls = leaving.map(({ signal }) =>
    ask(`${open.url}/inspector/servers/echo/tools/wait/call`, {
      method: 'POST',
      body: '{"arguments":{"ms":600000}}',
      signal,
    }).catch((error: Error) => error.name),
  );
  const inFlight = async () => (await ask(`${open.url}/stats`)).json.requests.in_flight;
  await eventually('all wait', async () => (await inFlight()) === 16);
  expect((await to('echo', '{"arguments":{}}')).status).toBe(503);
  for (const each of leaving) each.abort();
  expect(new Set(await Promise.all(pendingCalls))).toEqual(new Set(['AbortError']));
  await eventually('none waits', async () => (await inFlight()) === 0);
  expect((await to('echo', '{"arguments":{}}')).status).toBe(200);
  const foreign = {
    method: 'POST' as const,
    headers: { origin: 'http://evil.example' },
    body: '{"arguments":{}}',
  };
  expect((await ask(`${open.url}/inspector/servers/echo/tools/echo/call`, foreign)).status).toBe(403);
});
