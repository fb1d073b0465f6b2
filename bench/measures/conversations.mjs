// What conversations cost that are not talked in.

import { startHandling } from '../handling-gateway.mjs';
import { load } from '../load.mjs';
import { signatureOf } from '../signed-events.mjs';

const ours = 'gateway';

export const name = 'conversations';
export const title = 'Memory per dormant conversation';
export const about = `Signed events at a trigger of type HTTP, each of a conversation of its own, until there are 100,000 of them; then
ten seconds of rest, in which the actors of the last ones end. Heap in use after a forced collection, less that of the same
process after the first 2,000. What remains of a conversation is a row in the store.`;
export const goals = [{ row: ours, column: 'heap, more', limit: 2, unit: 'MB', sense: 'at most' }];

const WARM_UP = 2_000;
const ALL = 100_000;
const REST_MS = 10_000;

export async function* run(bench) {
  const gateway = await startHandling(
    bench,
    {
      type: 'HTTP',
      config: { path: '/events', webhook_secret: `\${WEBHOOK_SECRET}`, key: 'header:x-conversation' },
      default_agent: 'nobody',
    },
    { hasProbe: true },
  );
  const body = JSON.stringify({ text: 'hello' });
  const bodies = [{ body, headers: { 'X-Hub-Signature-256': signatureOf(body) } }];
  let runs = 0;
  const post = async (seconds) => {
    runs += 1;
    const numbered = { header: 'X-Conversation', prefix: `${runs}-` };
    const { calls, errors } = await load(`${gateway.url}/events`, {
      connections: 64,
      seconds,
      bodies,
      numbered,
    });
    if (errors > 0) throw new Error(`${errors} events failed`);
    await gateway.settled(calls);
    return calls;
  };
  const rested = async () => {
    await new Promise((done) => setTimeout(done, bench.isSmoke ? 100 : REST_MS));
    return (await gateway.memory()).heapUsed / 1e6;
  };
  const upTo = async (count) => {
    for (let done = 0; done < count; ) {
      bench.progress(`${done} conversations`);
      done += bench.isSmoke ? await postOne(gateway, body) : await post(2);
    }
  };
  await upTo(bench.isSmoke ? 1 : WARM_UP);
  const before = await rested();
  await upTo(bench.isSmoke ? 3 : ALL);
  const after = await rested();
  yield { round: 1, row: ours, column: 'heap before', value: before, unit: 'MB' };
  yield { round: 1, row: ours, column: 'heap after', value: after, unit: 'MB' };
  yield { round: 1, row: ours, column: 'heap, more', value: after - before, unit: 'MB' };
  await gateway.stop();
}

let posted = 0;
async function postOne({ url, settled }, body) {
  posted += 1;
  const headers = {
    'content-type': 'application/json',
    'x-hub-signature-256': signatureOf(body),
    'x-conversation': `one-${posted}`,
  };
  const answer = await fetch(`${url}/events`, { method: 'POST', body, headers });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  await settled(1);
  return 1;
}
