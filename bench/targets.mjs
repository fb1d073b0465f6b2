// Measured targets: this gateway by address and era (MCP with or without sessions), the bare relay, other
// gateways, and upstreams (tool servers). A target has `row` (name of the table row), `check` (correctness
// check before the load), `load` (one run of the load generator), `cpuSeconds` (of the process between client
// and server) and `stop`.

import { createServer } from 'node:net';
import { join } from 'node:path';
import { check } from './check.mjs';
import { startGateway } from './gateway.mjs';
import { load } from './load.mjs';
import { idOf, legacyCall, modernCall, modernHeaders, openSession } from './messages.mjs';
import { installPeers } from './peers/install.mjs';
import { checkPipeline, loadPipeline, startPipeline } from './pipeline.mjs';
import { startProcess, until } from './processes.mjs';

const folder = import.meta.dirname;
const upstream = (name) => join(folder, 'upstreams', name);
const packages = join(folder, 'peers', 'node_modules');

/** Rows for the compared gateways. */
export const peerRows = ['mcp-proxy 6.7.19', 'supergateway 4.0.0'];

/** Rows of calls whose client and server have different eras (MCP with or without sessions). */
export const crossingRows = [
  'gateway /mcp/:id, modern to legacy',
  'gateway /mcp, modern to legacy',
  'gateway /rpc, legacy to modern',
];

/** Row of the gateway with `log_level: debug`, which logs each call. */
export const loggedRow = 'gateway /rpc, every call logged';

/** More than the number of concurrent calls, so that concurrent ids are distinct. */
const distinctCalls = 1000;
const callNumbers = Array.from({ length: distinctCalls }, (_, n) => n);

/** Catalog entries of the stdio echoes. */
export const rawEcho = { command: process.execPath, args: [upstream('raw-echo.mjs')] };
export const sdkEcho = { command: process.execPath, args: [upstream('sdk-echo.mjs')] };
const modernEcho = { command: process.execPath, args: [upstream('modern-echo.mjs')], era: 'modern' };

/**
 * Starts a gateway with two echo servers, and returns targets for all addresses and both eras. The server
 * `echo` uses the legacy era, the server `modern` the modern era. Clients and servers of different eras are
 * combined too. In a row with a session, all connections share it.
 */
export async function ownTargets(bench) {
  const servers = { echo: rawEcho, modern: modernEcho };
  const gateway = await startGateway(bench, { servers });
  const loggingGateway = await startGateway(bench, { servers, config: { log_level: 'debug' } });
  const targetAt = (row, path, headers, bodyOf) =>
    target(gateway, row, `${gateway.url}${path}`, headers, bodyOf);
  const legacyTarget = async (row, path, tool) => {
    const headers = await openSession(`${gateway.url}${path}`);
    return targetAt(row, path, headers, (n) => legacyCall(n, tool));
  };
  const modernTarget = (row, path, tool) =>
    targetAt(row, path, modernHeaders(tool), (n) => modernCall(n, tool));
  return [
    targetAt('gateway /rpc', '/rpc', { 'X-MCP-Server': 'echo' }),
    target(loggingGateway, loggedRow, `${loggingGateway.url}/rpc`, { 'X-MCP-Server': 'echo' }),
    await legacyTarget('gateway /mcp/:id', '/mcp/echo', 'echo'),
    await legacyTarget('gateway /mcp', '/mcp', 'echo__echo'),
    modernTarget(crossingRows[0], '/mcp/echo', 'echo'),
    modernTarget(crossingRows[1], '/mcp', 'echo__echo'),
    targetAt(crossingRows[2], '/rpc', { 'X-MCP-Server': 'modern' }),
    modernTarget('gateway /mcp/:id, modern to modern', '/mcp/modern', 'echo'),
  ];
}

export async function bareRelay(bench) {
  const port = await freePort();
  const { command, args } = rawEcho;
  const relay = [join(folder, 'bare-relay.mjs'), String(port), command, ...args];
  const started = startProcess(bench.makeFolder(), process.execPath, relay);
  await until(started, 'the bare relay did not start', () => started.log().includes('listening'));
  return target(started, 'bare relay', `http://127.0.0.1:${port}/`, {});
}

/** Starts mcp-proxy, with a shared child process, like `isolation: shared` of the gateway. */
export async function mcpProxy(bench) {
  return startPeer(bench, peerRows[0], (port) => [
    join(packages, 'mcp-proxy', 'dist', 'bin', 'mcp-proxy.mjs'),
    ...['--host', '127.0.0.1', '--port', String(port), '--', rawEcho.command, ...rawEcho.args],
  ]);
}

/** Starts supergateway, with a child process per session. A preload makes it listen on loopback. */
export async function supergateway(bench) {
  const command = [rawEcho.command, ...rawEcho.args].map((part) => JSON.stringify(part)).join(' ');
  return startPeer(bench, peerRows[1], (port) => [
    ...['--import', join(folder, 'loopback.mjs'), join(packages, 'supergateway', 'dist', 'index.js')],
    ...['--stdio', command, '--outputTransport', 'streamableHttp', '--stateful'],
    ...['--sessionTimeout', '3600000', '--port', String(port), '--logLevel', 'none'],
  ]);
}

/** Starts the targets for comparison: none with `--against`, only the bare relay in a smoke run. */
export async function rivals(bench) {
  if (bench.isAlone) return [];
  if (bench.isSmoke) return [await bareRelay(bench)];
  installPeers();
  return Promise.all([bareRelay(bench), mcpProxy(bench), supergateway(bench)]);
}

/** Starts another gateway. `argsAt` returns its arguments for a port. */
async function startPeer(bench, row, argsAt) {
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

/** Returns the target for a started process. `bodyOf` returns the body of the nth call. */
function target({ cpuSeconds, stop }, row, url, headers, bodyOf = (n) => legacyCall(n)) {
  const bodies = callNumbers.map(bodyOf);
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

/** Starts a stdio server that is called directly. */
export async function direct(bench, row, { command, args }) {
  const pipeline = await startPipeline(bench, command, args);
  const calls = callNumbers.map((n) => [idOf(n), legacyCall(n)]);
  return {
    row,
    stop: pipeline.stop,
    check: ({ calls: count }) => checkPipeline(row, pipeline, calls.slice(0, count)),
    load: (options) => loadPipeline(pipeline, { calls, ...options }),
  };
}

/** Starts a remote server that is called directly. */
export async function httpEcho(bench, row) {
  const started = startProcess(bench.makeFolder(), process.execPath, [upstream('http-echo.mjs')]);
  const match = await until(started, 'the HTTP echo did not start', () =>
    /listening at (\d+)/.exec(started.log()),
  );
  return target(started, row, `http://127.0.0.1:${match[1]}/mcp`, {});
}

/** Starts the minimal relay for the remote server at `url`. */
export async function bareHttpRelay(bench, row, url) {
  const port = await freePort();
  const relay = [join(folder, 'bare-http-relay.mjs'), String(port), url];
  const started = startProcess(bench.makeFolder(), process.execPath, relay);
  await until(started, 'the bare relay did not start', () => started.log().includes('listening'));
  return target(started, row, `http://127.0.0.1:${port}/`, {});
}

/** Starts a gateway with one server, called at /rpc. */
export async function gatewayInFrontOf(bench, row, entry) {
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
