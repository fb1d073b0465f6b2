// Takes the screenshots of the inspector in docs/images, with Debian's Chromium. The gateway has several
// servers and two triggers. One server crashes, and one trigger is paused. `--dist DIR` uses another build.

import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const root = resolve(import.meta.dirname, '..');
const { values } = parseArgs({ options: { dist: { type: 'string', default: 'dist' } } });
const main = join(resolve(root, values.dist), 'main.js');
const images = join(root, 'docs', 'images');
/** Limit for the size of an image in the documents. */
const MAX_BYTES = 200_000;

/** `view` is the path of the page below /inspector. */
const shots = [
  { name: 'overview', view: '', width: 1280, height: 560, colorScheme: 'light' },
  {
    name: 'tools',
    view: '/view/everything/tools?tool=get-annotated-message',
    width: 1280,
    height: 640,
    colorScheme: 'light',
  },
  { name: 'light', view: '/view/files/log', width: 1280, height: 640, colorScheme: 'light' },
  { name: 'dark', view: '/view/files/numbers', width: 1280, height: 640, colorScheme: 'dark' },
  {
    name: 'narrow',
    view: '/view/files/sequence',
    width: 390,
    height: 844,
    colorScheme: 'light',
  },
];

const server = (name, more = {}) => ({
  command: process.execPath,
  args: [join(root, 'test/fixtures/servers', `${name}.mjs`)],
  ...more,
});
/** The crashing server is soon parked, and stays parked for the pictures. */
const restart = {
  intensity: 2,
  period_seconds: 60,
  min_backoff_ms: 50,
  max_backoff_seconds: 1,
  park_seconds: 600,
};
const servers = {
  calendar: server('echo'),
  everything: {
    command: process.execPath,
    args: [join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')],
  },
  files: server('echo', { idle_timeout_seconds: 300 }),
  mail: server('echo', { isolation: 'session' }),
  search: server('echo', { idle_timeout_seconds: 12 }),
  tickets: server('exits-at-once', { restart, env: { TOKEN: 'abc' } }),
  wiki: server('echo'),
};

const folder = mkdtempSync(join(tmpdir(), 'screenshots-'));
const settings = {
  listen_addr: '127.0.0.1:0',
  catalog_path: './catalog.yaml',
  inspector: { commands: true },
  spec: { triggers: { directory: './triggers' }, agents: { directory: './agents' } },
};
const SECRET = 'of the pictures only';
const writeResource = (kind, name, spec) => {
  mkdirSync(join(folder, `${kind}s`), { recursive: true });
  writeFileSync(
    join(folder, `${kind}s`, `${name}.yaml`),
    JSON.stringify({
      apiVersion: 'example.com/v1',
      kind: kind === 'agent' ? 'Agent' : 'Trigger',
      metadata: { name },
      spec,
    }),
  );
};
// No program listens at this address, so deliveries fail.
writeResource('agent', 'clerk', { runtime: { http: { url: 'http://127.0.0.1:9/' } } });
for (const name of ['orders', 'alerts'])
  writeResource('trigger', name, {
    type: 'HTTP',
    config: { path: `/hooks/${name}`, webhook_secret: `\${HOOK_SECRET}` },
    default_agent: 'clerk',
    retry: { attempts: 1 },
  });
writeFileSync(join(folder, 'gateway.yaml'), JSON.stringify(settings));
writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ servers }));
const gateway = spawn(process.execPath, [main, '--config', join(folder, 'gateway.yaml')], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, HOOK_SECRET: SECRET },
});
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const url = await untilReady();
  const pages = await Promise.all(shots.map((shot) => openPage(url, shot)));
  await simulateActivity(url);
  await callThroughForm(pages[shots.findIndex(({ name }) => name === 'tools')]);
  mkdirSync(images, { recursive: true });
  for (const [index, { name }] of shots.entries()) {
    const page = pages[index];
    const path = join(images, `inspector-${name}.png`);
    await page.screenshot({ path });
    const { size } = statSync(path);
    console.log(`${path}: ${Math.round(size / 1000)} kB`);
    if (size > MAX_BYTES) throw new Error(`${path} is larger than ${MAX_BYTES} bytes`);
  }
} finally {
  await browser.close();
  gateway.kill('SIGTERM');
  await once(gateway, 'close');
  rmSync(folder, { recursive: true, force: true });
}

/** Waits until the gateway is ready. Returns its URL. */
async function untilReady() {
  for await (const line of createInterface({ input: gateway.stdout })) {
    if (!line.includes('gateway is ready')) continue;
    gateway.stdout.resume();
    return `http://127.0.0.1:${JSON.parse(line).address.port}`;
  }
  throw new Error('the gateway ended before it was ready');
}

/** Logs in by a link of the operator, and opens the view. */
async function openPage(url, { view, width, height, colorScheme }) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme });
  const { path } = await (await asOperator(`${url}/inspector/links`)).json();
  await page.goto(url + path);
  await page.goto(`${url}/inspector${view}`);
  await page.locator('.row[data-name="wiki"]').waitFor();
  return page;
}

function asOperator(address) {
  const token = readFileSync(join(folder, '.gateway', 'operator-token'), 'utf8').trim();
  return fetch(address, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
}

/** Sends calls, sessions and events for about half a minute. */
async function simulateActivity(url) {
  const call = (id, name, args = {}) =>
    fetch(`${url}/rpc`, {
      method: 'POST',
      headers: { 'X-MCP-Server': id, 'Content-Type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args },
      }),
    });
  await Promise.all(['files', 'search', 'calendar'].map((id) => call(id, 'echo')));
  await fetch(`${url}/servers/everything/start`, { method: 'POST' });
  await Promise.all(['/mcp', '/mcp', '/mcp/files'].map((path) => openSession(url + path)));
  for (let second = 0; second < 24; second += 1) {
    const calls = Array.from({ length: 3 + ((second * 7) % 11) }, (_, index) =>
      call('files', 'wait', { ms: 20 + ((index * 37) % 180) }),
    );
    if (second % 4 === 0 && second < 16) calls.push(call('tickets', 'echo'));
    if (second === 20) calls.push(fetch(`${url}/servers/files/stop`, { method: 'POST' }));
    await Promise.all([...calls, sleep(1_000)]);
  }
  await Promise.all([
    sendEvent(url, 'orders', { customer: 'ann' }),
    asOperator(`${url}/triggers/alerts/pause`),
  ]);
  await call('files', 'echo');
  await sleep(1_500);
}

function sendEvent(url, name, payload) {
  const body = JSON.stringify(payload);
  const signature = createHmac('sha256', SECRET).update(body).digest('hex');
  return fetch(`${url}/hooks/${name}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Hub-Signature-256': `sha256=${signature}` },
    body,
  });
}

/** Calls a tool with an image in its result through the form. */
async function callThroughForm(page) {
  await page.getByLabel('messageType', { exact: true }).selectOption('success');
  await page.getByLabel('includeImage', { exact: true }).check();
  await page.getByRole('button', { name: 'Call', exact: true }).click();
  await page.locator('.outcome img').waitFor();
}

async function openSession(address) {
  const clientInfo = { name: 'notebook', version: '2.1' };
  const answer = await fetch(address, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
    }),
  });
  if (!answer.ok) throw new Error(`initialize failed with status ${answer.status}`);
  await answer.text();
}
