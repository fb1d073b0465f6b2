// Triggers are paused and resumed at any of three gateways on the same database. The change applies to all.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, postHook } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';
import { startNodes } from '../../fixtures/nodes/node-group.ts';

let nodes: GatewayProcess[];
beforeAll(async () => {
  nodes = await startNodes([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
});
afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
});

const HOLDS_WITHIN_MS = 1_500;

const postEvent = (node: GatewayProcess, id: string) =>
  postHook(node.url, '/hooks/desk', { c: id, text: id }, { 'idempotency-key': id });
const at = (index: number) => {
  const node = nodes[index];
  if (node === undefined) throw new Error('three were to be started');
  return node;
};
const isPaused = async (node: GatewayProcess) => (await ask(`${node.url}/triggers/desk`)).json;
const record = async (id: string) =>
  (await ask(`${at(0).url}/deliveries/${encodeURIComponent(`http:desk/${id}`)}`)).json;

test('a pause at one node applies to all nodes within 1.5 s, and held events are handled once after a resume at another node', async () => {
  const { code } = await runMain(['triggers', 'pause', 'desk', '--url', at(0).url]);
  expect(code).toBe(0);
  const startedAt = performance.now();
  for (const node of nodes)
    await eventually(async () =>
      expect(await isPaused(node)).toMatchObject({ paused: true, state: 'paused' }),
    );
  expect(performance.now() - startedAt).toBeLessThan(HOLDS_WITHIN_MS);

  const ids = nodes.flatMap((_, index) => [0, 1, 2, 3].map((each) => `${index}-${each}`));
  await Promise.all(ids.map((id) => postEvent(at(Number(id[0])), id)));
  for (const id of ids)
    await eventually(async () => expect(await record(id)).toMatchObject({ state: 'held' }));
  // The pause survives a restart of the node, because a starting node reads it.
  expect((await ask(`${at(1).url}/stats`)).json.deliveries.held).toBe(ids.length);

  expect((await ask(`${at(2).url}/triggers/desk/resume`, { method: 'POST' })).status).toBe(200);
  const resumed = performance.now();
  for (const node of nodes)
    await eventually(async () =>
      expect(await isPaused(node)).toMatchObject({ paused: false, state: 'open' }),
    );
  expect(performance.now() - resumed).toBeLessThan(HOLDS_WITHIN_MS);
  for (const id of ids)
    await eventually(async () =>
      expect(await record(id)).toMatchObject({ state: 'done', attempts: 1, answer: `Heard: ${id}` }),
    );
  for (const index of [0, 1])
    expect(
      at(index)
        .logs()
        .filter(({ msg }) => msg === 'trigger resumed on another node'),
    ).toHaveLength(1);
});

test('all events during concurrent pauses and resumes are eventually handled', async () => {
  const ids: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    const [one, other] = [at(round % 3), at((round + 1) % 3)];
    const verb = (name: string) => (node: GatewayProcess) =>
      ask(`${node.url}/triggers/desk/${name}`, { method: 'POST' });
    await Promise.all([verb('pause')(one), verb('resume')(other)]);
    await Promise.all(
      nodes.map(async (node, index) => {
        const id = `crossed-${round}-${index}`;
        ids.push(id);
        // On a busy machine the database may not respond for a while.
        await eventually(async () => expect((await postEvent(node, id)).status).toBe(202));
      }),
    );
  }
  await ask(`${at(1).url}/triggers/desk/resume`, { method: 'POST' });
  for (const id of ids)
    await eventually(async () => expect(await record(id)).toMatchObject({ state: 'done', attempts: 1 }));
});
