// How much longer the first call to a stopped server takes through the gateway.

import { answerFault } from '../check.mjs';
import { startGateway } from '../gateway.mjs';
import { idOf, legacyCall } from '../messages.mjs';
import { startPipeline } from '../pipeline.mjs';
import { postForText } from '../post.mjs';
import { rawEcho, sdkEcho } from '../targets.mjs';

const minRounds = 10;
const added = { fresh: 'added, first ever', known: 'added, known' };
const upstreams = [
  ['raw echo', rawEcho],
  ['SDK echo', sdkEcho],
];

export const name = 'first-call';
export const title = 'The first call to a stopped server';
export const about = `One call at \`/rpc\` to a stopped server, without other load.

- "Directly": a small client starts the same server and sends \`initialize\`, \`tools/list\` and the call, in
  sequence.
- "First ever": the gateway has never started the server.
- "Known": the gateway started it before, so it has its lists and knows its era.
- "Added": the difference within a round.
- At least ${minRounds} rounds, after an uncounted one.`;
export const goals = upstreams.flatMap(([row]) =>
  Object.values(added).map((column) => ({ row, column, limit: 10, unit: 'ms', sense: 'at most' })),
);

export async function* run(bench) {
  const rounds = bench.isSmoke ? 1 : Math.max(minRounds, bench.rounds);
  const servers = {};
  // A separate server for each round, because the gateway caches the lists of servers that have run. ROUND
  // makes the entries different.
  for (const [row, entry] of upstreams)
    for (let round = 0; round <= rounds; round += 1)
      servers[idFor(row, round)] = { ...entry, env: { ROUND: String(round) } };
  const gateway = await startGateway(bench, { servers });
  try {
    for (let round = bench.isSmoke ? 1 : 0; round <= rounds; round += 1)
      for (const [row, { command, args }] of upstreams) {
        const id = idFor(row, round);
        const direct = await timeOf(() => callDirectly(bench, command, args, round));
        const fresh = await timeOf(() => callThrough(gateway, id, round));
        await stopServer(gateway, id);
        const known = await timeOf(() => callThrough(gateway, id, round));
        await stopServer(gateway, id);
        if (round === 0) continue;
        const sample = (column, value) => ({ round, row, column, value, unit: 'ms' });
        yield sample('directly', direct);
        yield sample('first ever', fresh);
        yield sample('known', known);
        yield sample(added.fresh, fresh - direct);
        yield sample(added.known, known - direct);
      }
  } finally {
    await gateway.stop();
  }
}

function idFor(row, round) {
  return `${row.replace(' ', '-')}-${round}`;
}

/**
 * Returns the duration of `work` in milliseconds. `work` may return a cleanup function, which is not
 * measured.
 */
async function timeOf(work) {
  const startedAt = performance.now();
  const clearUp = await work();
  const ms = performance.now() - startedAt;
  await clearUp?.();
  return ms;
}

async function callDirectly(bench, command, args, n) {
  const pipeline = await startPipeline(bench, command, args);
  await pipeline.request('list', JSON.stringify({ jsonrpc: '2.0', id: 'list', method: 'tools/list' }));
  verify(n, await pipeline.request(idOf(n), legacyCall(n)));
  return pipeline.stop;
}

async function callThrough({ url }, id, n) {
  verify(n, JSON.parse(await postForText(`${url}/rpc`, { 'X-MCP-Server': id }, legacyCall(n))));
}

function verify(n, answer) {
  const fault = answerFault(n, answer);
  if (fault !== undefined) throw new Error(`${fault}: ${JSON.stringify(answer)}`);
}

async function stopServer({ url }, id) {
  const answer = await fetch(`${url}/servers/${id}/stop`, { method: 'POST' });
  if (!answer.ok) throw new Error(`the server did not stop: ${answer.status} ${await answer.text()}`);
}
