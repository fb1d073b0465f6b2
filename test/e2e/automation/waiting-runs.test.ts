// Runs that wait for a time or a person, more than `deliveries.max_waiting`: webhooks, schedules, operators
// and decisions are accepted, and no trigger or conversation can use a whole limit.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  eventually,
  flow,
  postHook,
  SECRET,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const MAX_WAITING = 6;
const MAX_PARKED = 12;
/** Share of a single trigger, which has many conversations. */
const MOST_OF_TRIGGER = MAX_PARKED / 2;
/** Share of a single conversation. */
const MOST_OF_CONVERSATION = MAX_PARKED / 3;
const DAY_SECONDS = 86_400;

const site = createServer((_, response) => response.writeHead(503).end());
beforeAll(() => new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve)));
afterAll(() => void site.close());

const last = { id: 'last', type: 'Response', config: { text: 'over' } };
const flowOf = (name: string, node: object) =>
  flow(name, { nodes: [{ id: 'first', ...node }, last], connections: [{ from: 'first', to: 'last' }] });
const hook = (name: string, target: string) =>
  trigger(name, {
    type: 'HTTP',
    config: { path: `/hooks/${name}`, webhook_secret: SECRET, key: 'header:x-conversation' },
    commands: { go: { flow: target } },
  });

const resources = () => [
  flowOf('wait', { type: 'Wait', config: { seconds: DAY_SECONDS } }),
  flowOf('retry', {
    type: 'HTTP',
    config: { url: `http://127.0.0.1:${(site.address() as AddressInfo).port}` },
    retry: { attempts: 2, min_backoff_seconds: DAY_SECONDS, max_backoff_seconds: DAY_SECONDS },
  }),
  flowOf('ask', { type: 'Approval', config: { message: 'x', approvers: ['ada'] } }),
  flow('answer', { nodes: [last] }),
  ...['wait', 'retry', 'ask', 'answer'].map((name) => hook(name, name)),
  trigger('tick', {
    type: 'Schedule',
    config: { cron: '* * * * * *' },
    commands: { tick: { flow: 'answer' } },
  }),
];

const start = (folder: string, limits = {}) =>
  startAutomation({
    folder,
    resources: resources(),
    settings: { deliveries: { max_waiting: MAX_WAITING, ...limits } },
  });

const post = async (gateway: GatewayProcess, name: string, n: number) => {
  const { status } = await postHook(
    gateway.url,
    `/hooks/${name}`,
    { command: 'go', n },
    { 'x-conversation': `${n}` },
  );
  expect([name, n, status]).toEqual([name, n, 202]);
};
const counts = async ({ url }: GatewayProcess) => (await ask(`${url}/stats`)).json.deliveries;
const waitForWaiting = (gateway: GatewayProcess, waiting: number) =>
  eventually(async () => expect((await counts(gateway)).waiting).toBe(waiting), 20_000);
const deliveriesOf = async ({ url }: GatewayProcess, query: string) =>
  (await ask(`${url}/deliveries?limit=100&${query}`)).json.deliveries;

/** Sends an operator's request. */
const operate = (gateway: GatewayProcess, path: string, body: object) => {
  const headers = { 'content-type': 'application/json' };
  return ask(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
};

/** Checks that webhooks, schedules and commands work. */
async function expectAccepted(gateway: GatewayProcess, n: number): Promise<void> {
  await post(gateway, 'answer', n);
  const run = await operate(gateway, '/flows/answer/runs', { input: 'x', wait_seconds: 20 });
  expect([run.status, run.json.answer]).toEqual([200, 'over']);
  const before = (await deliveriesOf(gateway, 'trigger=tick&state=done'))[0]?.id;
  await eventually(async () => {
    expect((await deliveriesOf(gateway, 'trigger=tick&state=done'))[0]?.id).not.toBe(before);
  }, 20_000);
}

test.concurrent('runs that wait do not use the capacity for waiting events, also after a restart', async () => {
  const folder = temporaryFolder();
  let gateway = await start(folder);
  const names = ['wait', 'retry', 'ask'];
  for (let n = 0; n < MAX_WAITING; n += 1) {
    for (const name of names) await post(gateway, name, n);
    await waitForWaiting(gateway, names.length * (n + 1));
  }
  await expectAccepted(gateway, 0);
  await gateway.stop();
  gateway = await start(folder);
  await expectAccepted(gateway, 1);
  const { approvals } = (await ask(`${gateway.url}/approvals?state=pending`)).json;
  expect(approvals).toHaveLength(MAX_WAITING);
  const { id, run } = approvals[0];
  expect((await operate(gateway, `/approvals/${id}/approve`, {})).status).toBe(200);
  await eventually(async () => {
    expect((await ask(`${gateway.url}/runs/${encodeURIComponent(run)}`)).json.state).toBe('done');
  }, 20_000);
  await waitForWaiting(gateway, names.length * MAX_WAITING - 1);
  await gateway.stop();
}, 90_000);

test.concurrent.each([
  ['trigger', (n: number) => n, MOST_OF_TRIGGER],
  ['conversation', () => 0, MOST_OF_CONVERSATION],
])(
  'a single %s cannot use all parked runs: its run fails with the limit named',
  async (_, of, most) => {
    const gateway = await start(temporaryFolder(), { max_parked: MAX_PARKED });
    for (let n = 0; n < most; n += 1) {
      await postHook(gateway.url, '/hooks/wait', { command: 'go', n }, { 'x-conversation': `${of(n)}` });
      await waitForWaiting(gateway, n + 1);
    }
    await postHook(gateway.url, '/hooks/wait', { command: 'go' }, { 'x-conversation': `${of(most)}` });
    await eventually(async () => {
      const [refused] = await deliveriesOf(gateway, 'trigger=wait&state=retrying');
      expect(refused?.note).toMatch(/too many runs of its trigger.* wait .deliveries\.max_parked: 12/);
    }, 20_000);
    expect((await counts(gateway)).waiting).toBe(most);
    await post(gateway, 'ask', 1);
    await waitForWaiting(gateway, most + 1);
    await expectAccepted(gateway, 2);
    await gateway.stop();
  },
  90_000,
);

test.concurrent('a noisy webhook gets 503 with the limit named, and other triggers are accepted', async () => {
  const folder = temporaryFolder();
  let gateway = await start(folder, { max_waiting: 2 * MAX_WAITING });
  expect((await operate(gateway, '/triggers/wait/pause', {})).status).toBe(200);
  for (let n = 0; n < MAX_WAITING; n += 1) await post(gateway, 'wait', n);
  const postMore = () =>
    postHook(gateway.url, '/hooks/wait', { command: 'go' }, { 'x-conversation': 'more' });
  const refused = await postMore();
  expect(refused.status).toBe(503);
  expect(await refused.text()).toMatch(/6 of \d+ are events of http:wait \(deliveries\.max_waiting: 12\)/);
  const { limits } = (await ask(`${gateway.url}/stats`)).json;
  expect(limits['deliveries.max_waiting']).toMatchObject({
    max: 2 * MAX_WAITING,
    holders: expect.arrayContaining([{ name: 'http:wait', used: MAX_WAITING }]),
  });
  await expectAccepted(gateway, 0);
  await gateway.stop();
  gateway = await start(folder, { max_waiting: 2 * MAX_WAITING });
  expect((await postMore()).status).toBe(503);
  await expectAccepted(gateway, 1);
  await gateway.stop();
}, 90_000);
