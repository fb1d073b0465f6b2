// `npm run cold-npx`: starts a gateway with many public servers by npx, in an empty HOME. Prints when each
// server is listed, and fails if a startable server is not listed, a folder of npx is damaged, or a server is
// announced more than once. Needs the npm registry and about 2 GB in the folder for temporary files.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '32' }, minutes: { type: 'string', default: '45' } },
});

/** Packages of public servers. Most start without an account and arguments. */
const packages = [
  '@mastra/mcp-docs-server @eslint/mcp @knip/mcp mcp-echarts @upstash/context7-mcp @antv/mcp-server-chart',
  '@modelcontextprotocol/server-everything @modelcontextprotocol/server-memory',
  '@modelcontextprotocol/server-sequential-thinking @playwright/mcp chrome-devtools-mcp mcp-mermaid @mui/mcp',
  '@sveltejs/mcp @shopify/dev-mcp @notionhq/notion-mcp-server exa-mcp-server firecrawl-mcp tavily-mcp nx-mcp',
  'mcp-server-kubernetes kubernetes-mcp-server @browsermcp/mcp mcp-server-code-runner puppeteer-mcp-server',
  'duckduckgo-mcp-server @executeautomation/playwright-mcp-server @magicuidesign/mcp mcp-server-commands',
  '@wonderwhy-er/desktop-commander mcp-hello-world @brave/brave-search-mcp-server',
].flatMap((line) => line.split(' '));
const names = packages.slice(0, Number(values.count));

const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-cold-'));
const startedAt = performance.now();
const elapsedSeconds = () => Math.round((performance.now() - startedAt) / 1000);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const idOf = (name) => name.replace(/[^a-z0-9]+/gi, '-').replace(/^-/, '');
const servers = Object.fromEntries(names.map((name) => [idOf(name), { command: 'npx', args: ['-y', name] }]));
writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ servers }));
writeFileSync(
  join(folder, 'gateway.yaml'),
  JSON.stringify({ listen_addr: '127.0.0.1:0', catalog_path: './catalog.yaml' }),
);

const main = resolve(import.meta.dirname, '../dist/main.js');
const gateway = spawn(process.execPath, [main, '--config', join(folder, 'gateway.yaml')], {
  env: { PATH: process.env.PATH, HOME: folder },
  stdio: ['ignore', 'pipe', 'pipe'],
});
let output = '';
for (const stream of [gateway.stdout, gateway.stderr])
  stream.on('data', (chunk) => {
    output += chunk;
  });
const closed = new Promise((done) => gateway.once('close', done));
while (!output.includes('gateway is ready')) await sleep(100);
const url = `http://127.0.0.1:${/"port":(\d+)/.exec(output)?.[1]}`;

let notificationCount = 0;
const client = new Client({ name: 'cold-npx', version: '1' });
client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
  notificationCount += 1;
});
await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', url)));
/** Ids of the servers whose tools are in the list. */
const listed = new Set();
/** Reads the list, and returns the number of servers that are new in it. */
const readList = async () => {
  const { tools } = await client.listTools(undefined, { timeout: 120_000 });
  const countBefore = listed.size;
  for (const name of Object.keys(servers))
    if (!listed.has(name) && tools.some((tool) => tool.name.startsWith(`${name}__`))) {
      listed.add(name);
      console.log(`${String(elapsedSeconds()).padStart(5)} s  ${name}`);
    }
  return listed.size - countBefore;
};
await readList();
const firstCount = listed.size;
let announcedCount = 0;
const unlistedServers = async () => {
  const response = await fetch(new URL('/servers', url));
  return (await response.json()).servers.filter((server) => !listed.has(server.id));
};
const deadline = performance.now() + Number(values.minutes) * 60_000;
let handledCount = notificationCount;
while (performance.now() < deadline) {
  if (notificationCount > handledCount) {
    handledCount = notificationCount;
    announcedCount += await readList();
  }
  // A server that fails after its installation cannot start. A failed installation, with `could not be
  // installed` in the error, is tried again.
  const hasFailed = ({ state, last_error }) => state === 'failed' && !/installed/.test(last_error?.message);
  if ((await unlistedServers()).every(hasFailed)) break;
  await sleep(1000);
}

const missing = await unlistedServers();
for (const { id, state, installing, last_error } of missing)
  console.log(
    `not listed: ${id}, ${installing ? 'installing' : state}: ${last_error?.message ?? 'no error'}`,
  );
await client.close();
gateway.kill();
await closed;
// A damaged folder has packages, but no lock file, which npm writes last. npx does not use the folders that
// the gateway has renamed. npm empties the folder when an installation fails.
const cache = join(folder, '.npm/_npx');
const damaged = readdirSync(cache).filter(
  (name) =>
    !name.includes('.unfinished-') &&
    existsSync(join(cache, name, 'node_modules')) &&
    !existsSync(join(cache, name, 'node_modules/.package-lock.json')),
);
console.log(
  `${listed.size} of ${names.length} listed after ${elapsedSeconds()} s: ${firstCount} in the first list, ` +
    `${announcedCount} by ${notificationCount} notifications; ${damaged.length} damaged folders of npx`,
);
const isFailed =
  damaged.length > 0 || notificationCount > names.length || missing.some(({ state }) => state === 'starting');
if (!isFailed) rmSync(folder, { recursive: true, force: true });
else console.log(`log and cache: ${folder}`);
process.exitCode = isFailed ? 1 : 0;
