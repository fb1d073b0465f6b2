// Cost of listing the tools of many servers.

import { deepStrictEqual, strictEqual } from 'node:assert';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startGateway } from '../gateway.mjs';
import { load } from '../load.mjs';
import { openSession } from '../messages.mjs';
import { postForText } from '../post.mjs';
import { startProcess, until } from '../processes.mjs';
import { startListServers, toolOf, toolsEach } from '../upstreams/list-server.mjs';

const gatewayRow = 'gateway /mcp';
const preparedRow = 'prepared buffer';

export const name = 'lists';
export const title = 'The list of all tools';
export const about = `Responses per second to \`tools/list\` at \`/mcp\`, over 1 to 1,000 servers with ${toolsEach} tools of about 400
bytes each, at 1, 16 and 64 connections.

- A page holds 1,000 tools, so the list of 1,000 servers has ten pages. Each is requested equally often, with
  the cursors that clients receive.
- The lists come from the state folder of an earlier run. No server runs or is started.
- The prepared buffer is a small program of uWebSockets.js that looks up the same bytes by the body of the
  request.
- Each response is compared with the tools of the servers, before and after the load.`;
export const tables = ['at 1:', 'at 16:', 'at 64:'];
export const compared = {
  against: preparedRow,
  columns: [columnOf(1000, 1), columnOf(1000, 16), columnOf(1000, 64)],
};
export const goals = [
  { row: gatewayRow, column: columnOf(1000, 64), against: preparedRow, factor: 0.9, sense: 'at least' },
];

export async function* run(bench) {
  // Numbers of servers. In a smoke run, 101 servers need a second page.
  const sizes = bench.isSmoke ? [1, 101] : [1, 10, 100, 1000];
  const setups = [];
  for (const size of sizes) setups.push(await setUp(bench, size));
  for (let round = 1; round <= bench.rounds; round += 1) {
    for (const { size, rows } of setups) {
      for (const connections of [1, 16, 64]) {
        for (const [row, { url, headers, bodies }] of rows) {
          const column = columnOf(size, connections);
          const value = bench.isSmoke
            ? bodies.length
            : await measureRate(url, { connections, seconds: bench.seconds, headers, bodies });
          yield { round, row, column, value, unit: 'answers/s' };
        }
      }
    }
  }
  for (const { rows, answers, stop } of setups) {
    for (const [, { url, headers, bodies }] of rows)
      for (const [at, body] of bodies.entries())
        strictEqual(await postForText(url, headers, body), answers[at]);
    await stop();
  }
}

function columnOf(size, connections) {
  const servers = size === 1 ? '1 server' : `${size.toLocaleString('en-US')} servers`;
  return `at ${connections}: ${servers}`;
}

/** Returns the responses per second. */
async function measureRate(url, options) {
  const { callsPerSecond, errors } = await load(url, options);
  if (errors > 0) throw new Error(`${errors} requests to ${url} failed`);
  return callsPerSecond;
}

/** Starts a gateway with cached lists of `size` servers, and the prepared buffer with the same responses. */
async function setUp(bench, size) {
  bench.progress(`caching the lists of ${size} servers`);
  const folder = bench.makeFolder();
  const upstream = await startListServers();
  const ids = Array.from({ length: size }, (_, at) => `server-${at}`);
  const entries = ids.map((id, at) => [id, { url: upstream.urlOf(at), era: 'legacy', isolation: 'shared' }]);
  const options = { servers: Object.fromEntries(entries), config: { list_timeout_seconds: 120 }, folder };
  // The first process fetches the lists and caches them in the state folder.
  const cachingGateway = await startGateway(bench, options);
  await listAllTools(cachingGateway, size);
  await cachingGateway.stop();
  // From here on only cached lists are available.
  await upstream.stop();

  const gateway = await startGateway(bench, options);
  const { url, headers, bodies, answers } = await listAllTools(gateway, size);
  const file = join(folder, 'answers.json');
  writeFileSync(file, JSON.stringify(bodies.map((body, at) => [body, answers[at]])));
  const buffer = startProcess(bench.makeFolder(), process.execPath, [
    join(import.meta.dirname, '../prepared-buffer.mjs'),
    file,
  ]);
  const port = await until(
    buffer,
    'the prepared buffer did not start',
    () => /listening at (\d+)/.exec(buffer.log())?.[1],
  );
  return {
    size,
    answers,
    rows: new Map([
      [gatewayRow, { url, headers, bodies }],
      [preparedRow, { url: `http://127.0.0.1:${port}/`, headers, bodies }],
    ]),
    stop: () => Promise.all([gateway.stop(), buffer.stop()]),
  };
}

/**
 * Requests all pages, and checks that every tool occurs once, in order and unchanged. Returns the requests
 * and answers.
 */
async function listAllTools(gateway, size) {
  const url = `${gateway.url}/mcp`;
  const headers = await openSession(url);
  const bodies = [];
  const answers = [];
  const tools = [];
  let cursor;
  do {
    const id = bodies.length + 1;
    const params = cursor === undefined ? {} : { params: { cursor } };
    const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list', ...params });
    const text = await postForText(url, headers, body);
    const answer = JSON.parse(text);
    strictEqual(answer.id, id);
    bodies.push(body);
    answers.push(text);
    tools.push(...answer.result.tools);
    cursor = answer.result.nextCursor;
  } while (cursor !== undefined);
  const expected = Array.from({ length: size * toolsEach }, (_, at) => {
    const server = Math.floor(at / toolsEach);
    const tool = toolOf(server, at % toolsEach);
    return { ...tool, name: `server-${server}__${tool.name}` };
  });
  deepStrictEqual(tools, expected);
  return { url, headers, bodies, answers };
}
