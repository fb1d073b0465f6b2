// How much longer the first call to a stopped server takes through the gateway than without it.

import { answerTo } from '../ask.mjs';
import { answerFault } from '../check.mjs';
import { startGateway } from '../gateway.mjs';
import { idOf, legacyCall } from '../messages.mjs';
import { startPipeline } from '../pipeline.mjs';
import { rawEcho, sdkEcho } from '../targets.mjs';

const minRounds = 10;
const added = { fresh: 'added, first ever', known: 'added, known' };
const upstreams = [
  ['raw echo', rawEcho],
  ['SDK echo', sdkEcho],
];

export const name = 'first-call';
export const title = 'The first call to a stopped server';
export const about = `One call at \`/rpc\` to a server that does not run, with no other work about. Directly means that a small client starts the
same server, sends \`initialize\`, \`tools/list\` and the call, one after the other, and has its answer. "First ever" is a server
the gateway has never started; "known" is one it has started before, so that it has its lists and knows which era it speaks.
What is added is the difference of the two within a round. At least ${minRounds} rounds, after one that is not counted.`;
export const goals = upstreams.flatMap(([row]) =>
  Object.values(added).map((column) => ({ row, column, limit: 10, unit: 'ms', sense: 'at most' })),
);

export async function* run(bench) {
  const rounds = bench.isSmoke ? 1 : Math.max(minRounds, bench.rounds);
  const servers = {};
  // A server of its own for each round: one that was started once is known for ever.
  for (const [row, entry] of upstreams)
    for (let round = 0; round <= rounds; round += 1)
      servers[idFor(row, round)] = { ...entry, env: { ROUND: String(round) } };
  const gateway = await startGateway(bench, { servers });
  try {
    for (let round = bench.isSmoke ? 1 : 0; round <= rounds; round += 1)
      for (const [row, { command, args }] of upstreams) {
        const id = idFor(row, round);
        const direct = await timed(() => callDirectly(bench, command, args, round));
        const fresh = await timed(() => callThrough(gateway, id, round));
        await stopServer(gateway, id);
        const known = await timed(() => callThrough(gateway, id, round));
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

/** Milliseconds until the work is done; what has to be cleared up after it is not counted. */
async function timed(work) {
  const startedAt = performance.now();
  const clearUp = await work();
  const ms = performance.now() - startedAt;
  await clearUp?.();
  return ms;
}

async function callDirectly(bench, command, args, n) {
  const pipeline = await startPipeline(bench, command, args);
  await pipeline.ask('list', JSON.stringify({ jsonrpc: '2.0', id: 'list', method: 'tools/list' }));
  verify(n, await pipeline.ask(idOf(n), legacyCall(n)));
  return pipeline.stop;
}

async function callThrough({ url }, id, n) {
  verify(n, JSON.parse(await answerTo(`${url}/rpc`, { 'X-MCP-Server': id }, legacyCall(n))));
}

function verify(n, answer) {
  const fault = answerFault(n, answer);
  if (fault !== undefined) throw new Error(`${fault}: ${JSON.stringify(answer)}`);
}

async function stopServer({ url }, id) {
  const answer = await fetch(`${url}/servers/${id}/stop`, { method: 'POST' });
  if (!answer.ok) throw new Error(`the server did not stop: ${answer.status} ${await answer.text()}`);
}
