// Memory of dormant conversations: conversations without work, which exist only in the store. The figure is
// the total for about 100,000 conversations.

import { startHandling } from '../handling-gateway.mjs';
import { load } from '../load.mjs';
import { signatureOf } from '../signed-events.mjs';

const gatewayRow = 'gateway';

export const name = 'conversations';
export const title = 'Memory of 100,000 dormant conversations';
export const about = `100,000 signed events at a trigger of type HTTP, each in a separate conversation, then ten seconds of rest, in
which the last actors stop. Total heap in use after a forced collection, minus the heap of the same process
before these events. 2,000 other events run first. A dormant conversation is only a row in the store.`;
export const goals = [{ row: gatewayRow, column: 'heap growth', limit: 2, unit: 'MB', sense: 'at most' }];

const WARM_UP_COUNT = 2_000;
const MEASURED_COUNT = 100_000;
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
  /** Posts under load, each event in a new conversation. Returns the number of events. */
  const postFor = async (seconds) => {
    runs += 1;
    const numbered = { header: 'X-Conversation', prefix: `${runs}-` };
    const { calls, errors } = await load(`${gateway.url}/events`, {
      connections: 64,
      seconds,
      bodies,
      numbered,
    });
    if (errors > 0) throw new Error(`${errors} events failed`);
    await gateway.whenHandled(calls);
    return calls;
  };
  const heapAfterRest = async () => {
    await new Promise((done) => setTimeout(done, bench.isSmoke ? 100 : REST_MS));
    return (await gateway.memory()).heapUsed / 1e6;
  };
  /** Posts at least `count` further events. */
  const postAtLeast = async (count) => {
    for (let posted = 0; posted < count; ) {
      bench.progress(`${posted} conversations`);
      posted += bench.isSmoke ? await postOne(gateway, body) : await postFor(2);
    }
  };
  await postAtLeast(bench.isSmoke ? 1 : WARM_UP_COUNT);
  const before = await heapAfterRest();
  await postAtLeast(bench.isSmoke ? 3 : MEASURED_COUNT);
  const after = await heapAfterRest();
  yield { round: 1, row: gatewayRow, column: 'heap before', value: before, unit: 'MB' };
  yield { round: 1, row: gatewayRow, column: 'heap after', value: after, unit: 'MB' };
  yield { round: 1, row: gatewayRow, column: 'heap growth', value: after - before, unit: 'MB' };
  await gateway.stop();
}

let smokeCount = 0;

/** Posts one event without a load generator. Returns 1. */
async function postOne({ url, whenHandled }, body) {
  smokeCount += 1;
  const headers = {
    'content-type': 'application/json',
    'x-hub-signature-256': signatureOf(body),
    'x-conversation': `one-${smokeCount}`,
  };
  const answer = await fetch(`${url}/events`, { method: 'POST', body, headers });
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  await whenHandled(1);
  return 1;
}
