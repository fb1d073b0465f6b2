// One run of wrk, a load generator outside Node that is much cheaper than what it measures. Its Lua script sends the
// given bodies in turn, so that no two calls in flight have the same id and nothing can be answered from a cache.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess } from './processes.mjs';

/**
 * Sends POSTs to `url` from `connections` at once for `seconds`; each sends its next request when its answer is there.
 * `headers` is one set of them, `bodies` are the texts to send in turn, or texts with headers of their own. `numbered` is
 * the name of a header whose value is different in each request: the given beginning and a number.
 * @returns {Promise<{ callsPerSecond: number, p50Ms: number, p99Ms: number, calls: number, errors: number }>}
 *   errors: answers other than 2xx and 3xx, broken connections, and requests without an answer in 10 s.
 */
export async function load(
  url,
  { connections, seconds, headers = {}, bodies, threads = 1, method = 'POST', numbered },
) {
  const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-wrk-'));
  // The run may be interrupted while wrk runs, which ends this process at once.
  const cleanUp = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', cleanUp);
  try {
    const script = join(folder, 'load.lua');
    writeFileSync(script, luaOf(method, headers, bodies, numbered));
    const options = `-t ${threads} -c ${connections} -d ${seconds}s --timeout 10s`;
    const wrk = startProcess(folder, 'wrk', [...options.split(' '), '-s', script, url]);
    if (wrk.pid === undefined)
      throw new Error('the benchmark needs wrk, a load generator: apt-get install wrk (Debian, Ubuntu)');
    const deadline = sleep((seconds + 30) * 1000, undefined, { ref: false });
    await Promise.race([wrk.exited, deadline.then(wrk.stop)]);
    const found = /^RESULT (.*)$/m.exec(wrk.log());
    if (found === null) throw new Error(`wrk gave no result:\n${wrk.log()}`);
    const [calls, durationUs, p50Us, p99Us, errors] = found[1].split(' ').map(Number);
    return {
      callsPerSecond: (calls - errors) / (durationUs / 1e6),
      p50Ms: p50Us / 1000,
      p99Ms: p99Us / 1000,
      calls,
      errors,
    };
  } finally {
    process.off('exit', cleanUp);
    cleanUp();
  }
}

// Requests are put together once, before the load begins: a request then costs the generator one table look-up.
function luaOf(method, headers, bodies, numbered) {
  const own = bodies.map((each) => (typeof each === 'string' ? { body: each } : each));
  const rows = own.map(({ body, headers: more = {} }) => {
    const given = { 'Content-Type': 'application/json', ...headers, ...more };
    if (numbered !== undefined) given[numbered.header] = PLACE;
    const pairs = Object.entries(given).map(([name, value]) => `[${quoted(name)}] = ${quoted(value)}`);
    return `{ ${quoted(body)}, { ${pairs.join(', ')} } }`;
  });
  const request =
    numbered === undefined
      ? 'return requests[next]'
      : `count = count + 1
  local parts = requests[next]
  return parts[1] .. string.format("${numbered.prefix}%09d", count) .. parts[2]`;
  return `local rows = { ${rows.join(',\n')} }
local requests = {}
local next = 0
local count = 0
function init()
  for at, row in ipairs(rows) do
    local whole = wrk.format(${quoted(method)}, nil, row[2], row[1])
    local from, to = whole:find("${PLACE}", 1, true)
    requests[at] = from and { whole:sub(1, from - 1), whole:sub(to + 1) } or whole
  end
end
function request()
  next = next % #requests + 1
  ${request}
end
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format("RESULT %d %d %.1f %.1f %d", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), failed))
end
`;
}

/** Where the number stands until the request is sent. */
const PLACE = 'NUMBER-OF-THE-REQUEST';

/** A Lua string; every byte that is not plain ASCII is written as a number. */
function quoted(text) {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const inside = bytes.replace(/[^ !#-[\]-~]/g, (char) => `\\${String(char.charCodeAt(0)).padStart(3, '0')}`);
  return `"${inside}"`;
}
