// Statistics of triggers and agents cover the whole cluster, at any node, including stopped nodes.

import { expect, test } from 'vitest';
import { eventually, postHook } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { desk, startNodes } from '../../fixtures/nodes/node-group.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

const postEvent = (node: GatewayProcess, id: string) =>
  postHook(node.url, '/hooks/desk', { c: id, text: id }, { 'idempotency-key': id });

async function statisticsAt(node: GatewayProcess) {
  const { handled, refused_requests, last_event_at } = (await ask(`${node.url}/triggers/desk`)).json;
  const { triggers, agents, deliveries, node: name } = (await ask(`${node.url}/stats`)).json;
  return {
    name,
    handled,
    last_event_at,
    refused: refused_requests?.count ?? 0,
    inStats: triggers.desk.handled,
    runs: agents.desk.runs,
    queued: deliveries.queued,
  };
}

test('statistics are the sum of all nodes, and survive stops, kills and restarts of nodes', async () => {
  const resources = desk(temporaryFolder());
  const url = await newDatabase();
  const settings = { store: { postgres: { url } } };
  const start = async (name: string) => {
    const [node] = await startNodes([{ name, resources, settings }]);
    if (node === undefined) throw new Error('one was to be started');
    return node;
  };
  let [a, b, c] = [await start('a'), await start('b'), await start('c')];
  const expectCounts = async (
    nodes: readonly GatewayProcess[],
    handledCount: number,
    refusedCount: number,
  ) => {
    for (const node of nodes)
      await eventually(async () =>
        expect(await statisticsAt(node)).toMatchObject({
          handled: handledCount,
          refused: refusedCount,
          inStats: handledCount,
          runs: handledCount,
          queued: 0,
          last_event_at: expect.any(String),
        }),
      );
  };
  let count = 0;
  const sayTo = async (nodes: readonly GatewayProcess[], each: number) => {
    for (let round = 0; round < each; round += 1)
      for (const node of nodes) {
        const id = `event-${count++}`;
        // On a busy machine the database may not respond for a while.
        await eventually(async () => expect((await postEvent(node, id)).status).toBe(202));
      }
  };

  await sayTo([a, b, c], 5);
  await ask(`${a.url}/hooks/desk`, {
    method: 'POST',
    body: '{}',
    headers: { 'x-hub-signature-256': 'sha256=0' },
  });
  await expectCounts([a, b, c], 15, 1);
  expect((await statisticsAt(b)).name).toBe('b');

  // A node that stops reports all counts. A killed node's unreported counts are lost.
  await sayTo([c], 3);
  await c.stop();
  await expectCounts([a, b], 18, 1);
  await b.stop('SIGKILL');
  await sayTo([a], 2);
  await expectCounts([a], 20, 1);

  [b, c] = [await start('b'), await start('c')];
  await expectCounts([a, b, c], 20, 1);
  await sayTo([b, c], 2);
  await expectCounts([a, b, c], 24, 1);
  await Promise.all([a, b, c].map((node) => node.stop()));
  a = await start('a');
  await expectCounts([a], 24, 1);
  await a.stop();
});
