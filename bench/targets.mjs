// What can be called: this gateway at each address and in each era, the bare relay, other gateways, an upstream itself.
// A target has a `row` in the tables, `check` for the pass before the load, `load` for one run of it, and `cpuSeconds` of
// the process that stands between. Each process is started once and serves the whole measure.

import { createServer } from 'node:net';
import { join } from 'node:path';
import { check } from './check.mjs';
import { startGateway } from './gateway.mjs';
import { load } from './load.mjs';
import { idOf, legacyCall, modernCall, modernHeaders, openSession } from './messages.mjs';
import { installPeers } from './peers/install.mjs';
import { checkPipeline, loadPipeline, startPipeline } from './pipeline.mjs';
import { startProcess, until } from './processes.mjs';

const here = import.meta.dirname;
const upstream = (name) => join(here, 'upstreams', name);
const packages = join(here, 'peers', 'node_modules');

/** Rows of the other gateways. */
export const peerRows = ['mcp-proxy 6.7.19', 'supergateway 4.0.0'];

/** Rows of the crossings of the eras. */
export const crossingRows = [
  'gateway /mcp/:id, modern to legacy',
  'gateway /mcp, modern to legacy',
  'gateway /rpc, legacy to modern',
];

/** `log_level: debug` writes a line for each call. */
export const loggedRow = 'gateway /rpc, every call logged';

/** More than are ever in flight, so that no two of those have the same id. */
const distinctCalls = 1000;
const inTurn = Array.from({ length: distinctCalls }, (_, n) => n);

/** Catalog entries of the stdio echoes. */
export const rawEcho = { command: process.execPath, args: [upstream('raw-echo.mjs')] };
export const sdkEcho = { command: process.execPath, args: [upstream('sdk-echo.mjs')] };
const modernEcho = { command: process.execPath, args: [upstream('modern-echo.mjs')], era: 'modern' };

/**
 * One gateway with the raw echo behind it, at all addresses in both eras. The echo speaks the legacy era, so the modern
 * rows are crossings but for the last one; another echo speaks the modern era alone. Each row with a session has one
 * session for all its connections.
 */
export async function ownTargets(bench) {
  const servers = { echo: rawEcho, modern: modernEcho };
  const gateway = await startGateway(bench, { servers });
  const talkative = await startGateway(bench, { servers, config: { log_level: 'debug' } });
  const at = (row, path, headers, bodyOf) => target(gateway, row, `${gateway.url}${path}`, headers, bodyOf);
  const legacy = async (row, path, tool) => {
    const headers = await openSession(`${gateway.url}${path}`);
    return at(row, path, headers, (n) => legacyCall(n, tool));
  };
  const modern = (row, path, tool) => at(row, path, modernHeaders(tool), (n) => modernCall(n, tool));
  return [
    at('gateway /rpc', '/rpc', { 'X-MCP-Server': 'echo' }),
    target(talkative, loggedRow, `${talkative.url}/rpc`, { 'X-MCP-Server': 'echo' }),
    await legacy('gateway /mcp/:id', '/mcp/echo', 'echo'),
    await legacy('gateway /mcp', '/mcp', 'echo__echo'),
    modern(crossingRows[0], '/mcp/echo', 'echo'),
    modern(crossingRows[1], '/mcp', 'echo__echo'),
    at(crossingRows[2], '/rpc', { 'X-MCP-Server': 'modern' }),
    modern('gateway /mcp/:id, modern to modern', '/mcp/modern', 'echo'),
  ];
}

export async function bareRelay(bench) {
  const port = await freePort();
  const { command, args } = rawEcho;
  const relay = [join(here, 'bare-relay.mjs'), String(port), command, ...args];
  const started = startProcess(bench.makeFolder(), process.execPath, relay);
  await until(started, 'the bare relay did not start', () => started.log().includes('listening'));
  return target(started, 'bare relay', `http://127.0.0.1:${port}/`, {});
}

/** One child for everybody, as ours with `isolation: shared`. */
export async function mcpProxy(bench) {
  return peer(bench, peerRows[0], (port) => [
    join(packages, 'mcp-proxy', 'dist', 'bin', 'mcp-proxy.mjs'),
    ...['--host', '127.0.0.1', '--port', String(port), '--', rawEcho.command, ...rawEcho.args],
  ]);
}

/** One child per session; it knows no address to listen on, so it is helped to loopback. */
export async function supergateway(bench) {
  const command = [rawEcho.command, ...rawEcho.args].map((part) => JSON.stringify(part)).join(' ');
  return peer(bench, peerRows[1], (port) => [
    ...['--import', join(here, 'loopback.mjs'), join(packages, 'supergateway', 'dist', 'index.js')],
    ...['--stdio', command, '--outputTransport', 'streamableHttp', '--stateful'],
    ...['--sessionTimeout', '3600000', '--port', String(port), '--logLevel', 'none'],
  ]);
}

/** All that ours is compared with; in a smoke run only what the project brings itself. None where it is alone. */
export async function rivals(bench) {
  if (bench.isAlone) return [];
  if (bench.isSmoke) return [await bareRelay(bench)];
  installPeers();
  return Promise.all([bareRelay(bench), mcpProxy(bench), supergateway(bench)]);
}

async function peer(bench, row, argsAt) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const started = startProcess(bench.makeFolder(), process.execPath, argsAt(port));
  await until(started, `${row} did not start`, () =>
    fetch(url).then(
      (answer) => answer.text().then(() => true),
      () => false,
    ),
  );
  return target(started, row, url, await openSession(url));
}

function target({ cpuSeconds, stop }, row, url, headers, bodyOf = (n) => legacyCall(n)) {
  const bodies = inTurn.map(bodyOf);
  return {
    row,
    url,
    cpuSeconds,
    stop,
    check: (options) => check({ row, url, headers, bodyOf }, options),
    async load(options) {
      const result = await load(url, { headers, bodies, ...options });
      if (result.errors > 0)
        throw new Error(`${row}: ${result.errors} of ${result.calls} calls failed under load`);
      return result;
    },
  };
}

/** A stdio server without anything before it. */
export async function direct(bench, row, { command, args }) {
  const pipeline = await startPipeline(bench, command, args);
  const calls = inTurn.map((n) => [idOf(n), legacyCall(n)]);
  return {
    row,
    stop: pipeline.stop,
    check: ({ calls: count }) => checkPipeline(row, pipeline, calls.slice(0, count)),
    load: (options) => loadPipeline(pipeline, { calls, ...options }),
  };
}

/** A remote server without anything before it. */
export async function httpEcho(bench, row) {
  const started = startProcess(bench.makeFolder(), process.execPath, [upstream('http-echo.mjs')]);
  const found = await until(started, 'the HTTP echo did not start', () =>
    /listening at (\d+)/.exec(started.log()),
  );
  return target(started, row, `http://127.0.0.1:${found[1]}/mcp`, {});
}

/** The least between a client and a remote server; `url` is the server's. */
export async function bareHttpRelay(bench, row, url) {
  const port = await freePort();
  const relay = [join(here, 'bare-http-relay.mjs'), String(port), url];
  const started = startProcess(bench.makeFolder(), process.execPath, relay);
  await until(started, 'the bare relay did not start', () => started.log().includes('listening'));
  return target(started, row, `http://127.0.0.1:${port}/`, {});
}

/** A gateway before one server, called at /rpc. */
export async function gatewayBefore(bench, row, entry) {
  const gateway = await startGateway(bench, { servers: { echo: entry } });
  return target(gateway, row, `${gateway.url}/rpc`, { 'X-MCP-Server': 'echo' });
}

function freePort() {
  return new Promise((done, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}
