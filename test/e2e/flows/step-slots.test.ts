// Slots of flow nodes and model calls: the steps of one flow or agent that hang use half of the slots, others
// continue, and a waiting step is visible in its run and in the statistics.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MODEL, requestMessages, startModelGateway } from '../../fixtures/agents/model-gateway.ts';
import { agent, eventually, flow } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

const SLOTS = 4;
/** Concurrent requests that one flow or agent may make. */
const SHARE = SLOTS / 2;
const RUNS = 6;

/** Requests that wait for `answerAll`, by the name of their run's target. */
const pending: { flow: ServerResponse[]; agent: (() => void)[] } = { flow: [], agent: [] };
let isHanging = true;
const site = createServer((request, response) => {
  if (isHanging && request.url === '/greedy') pending.flow.push(response);
  else response.end('{}');
});
let model: ModelServer;
let gateway: GatewayProcess;

const get = (name: string, path: string) =>
  flow(name, {
    nodes: [
      {
        id: 'get',
        type: 'HTTP',
        config: { url: `http://127.0.0.1:${(site.address() as AddressInfo).port}/${path}` },
      },
    ],
  });

beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  model = (await ModelServer.start()).answerWith(async (request) => {
    if (isHanging && requestMessages(request).some(({ content }) => content === 'greedy'))
      await new Promise<void>((resolve) => pending.agent.push(resolve));
    return { text: 'done' };
  });
  gateway = await startModelGateway(model, {
    resources: [
      get('greedy', 'greedy'),
      get('other', 'other'),
      agent('greedy', { model: MODEL }),
      agent('other', { model: MODEL }),
    ],
    settings: { limits: { flow_nodes: SLOTS, model_calls: SLOTS } },
  });
});

afterAll(async () => {
  await gateway.stop();
  await model[Symbol.asyncDispose]();
  site.close().closeAllConnections();
});

const begin = async (target: string, body: object) => {
  const headers = { 'content-type': 'application/json' };
  const options = { method: 'POST', headers, body: JSON.stringify(body) };
  return (await ask(`${gateway.url}/${target}/runs`, options)).json;
};
const slots = async () => (await ask(`${gateway.url}/stats`)).json.slots;

/** Returns the data of the first event `retry` of the run. */
async function reportOf(id: string): Promise<string> {
  const { body } = await fetch(`${gateway.url}/runs/${encodeURIComponent(id)}/events`);
  let text = '';
  for await (const piece of body ?? []) {
    text += Buffer.from(piece).toString();
    const [, data] = /event: retry\ndata: (.*)\n/.exec(text) ?? [];
    if (data !== undefined) return data;
  }
  return text;
}

test.each([
  ['flow', 'flows', 'flow_nodes', 'a flow node waits for a slot (limits.flow_nodes)'],
  ['agent', 'agents', 'model_calls', 'a model call waits for a slot (limits.model_calls)'],
] as const)(
  'the steps of one %s use half of the slots, and others continue',
  async (kind, path, figure, report) => {
    const ids: string[] = [];
    for (let n = 0; n < RUNS; n += 1)
      ids.push((await begin(`${path}/greedy`, { input: 'greedy', session: `${n}` })).id);
    await eventually(async () =>
      expect((await slots())[figure]).toEqual({ in_flight: SHARE, waiting: RUNS - SHARE, limit: SLOTS }),
    );
    expect(pending[kind]).toHaveLength(SHARE);
    for (let n = 0; n < 3; n += 1)
      expect((await begin(`${path}/other`, { input: 'x', wait_seconds: 20 })).state).toBe('done');
    expect(pending[kind]).toHaveLength(SHARE);
    const late = (await begin(`${path}/greedy`, { input: 'greedy', session: 'late' })).id;
    expect(await reportOf(late)).toContain(report);
    isHanging = false;
    for (const each of pending.flow.splice(0)) each.end('{}');
    for (const answer of pending.agent.splice(0)) answer();
    for (const id of [...ids, late])
      await eventually(async () => {
        expect((await ask(`${gateway.url}/runs/${encodeURIComponent(id)}`)).json.state).toBe('done');
      });
    expect((await slots())[figure]).toEqual({ in_flight: 0, waiting: 0, limit: SLOTS });
    isHanging = true;
  },
);
