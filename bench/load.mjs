// Runs wrk, a load generator that needs little processor time. A Lua script sends different bodies in
// rotation: concurrent calls have different ids, and no cache can answer them.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess } from './processes.mjs';

/**
 * Sends POST requests to `url` for `seconds` with `connections` connections, with one open request per
 * connection. `bodies` are texts, or texts with additional headers (`{ body, headers }`), sent in rotation.
 * `numbered` is a header with a different value per request: prefix and number.
 * @returns {Promise<{ callsPerSecond: number, p50Ms: number, p99Ms: number, calls: number, errors: number }>}
 * errors: responses other than 2xx and 3xx, broken connections, and requests unanswered for 10 s.
 */
export async function load(
  url,
  { connections, seconds, headers = {}, bodies, threads = 1, method = 'POST', numbered },
) {
  const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-wrk-'));
  // Ctrl-C exits the process without the `finally` below.
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
    const match = /^RESULT (.*)$/m.exec(wrk.log());
    if (match === null) throw new Error(`wrk printed no result:\n${wrk.log()}`);
    const [calls, durationUs, p50Us, p99Us, errors] = match[1].split(' ').map(Number);
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

// Returns the Lua script. Requests are assembled before the load starts, so that sending costs only a table
// lookup.
function luaOf(method, headers, bodies, numbered) {
  const entries = bodies.map((each) => (typeof each === 'string' ? { body: each } : each));
  const rows = entries.map(({ body, headers: more = {} }) => {
    const allHeaders = { 'Content-Type': 'application/json', ...headers, ...more };
    if (numbered !== undefined) allHeaders[numbered.header] = PLACEHOLDER;
    const pairs = Object.entries(allHeaders).map(
      ([name, value]) => `[${luaString(name)}] = ${luaString(value)}`,
    );
    return `{ ${luaString(body)}, { ${pairs.join(', ')} } }`;
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
    local whole = wrk.format(${luaString(method)}, nil, row[2], row[1])
    local from, to = whole:find("${PLACEHOLDER}", 1, true)
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

/** Placeholder of the request number. */
const PLACEHOLDER = 'NUMBER-OF-THE-REQUEST';

/**
 * Returns a Lua string literal. Quotes, backslashes and bytes outside printable ASCII are escaped as numbers.
 */
function luaString(text) {
  const bytes = Buffer.from(text, 'utf8').toString('latin1');
  const escaped = bytes.replace(
    /[^ !#-[\]-~]/g,
    (char) => `\\${String(char.charCodeAt(0)).padStart(3, '0')}`,
  );
  return `"${escaped}"`;
}
