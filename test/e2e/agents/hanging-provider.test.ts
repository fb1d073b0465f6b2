// A model provider that hangs, with many agents, each of them below its own share: it leaves slots for model
// calls and conversations of an agent with another provider.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { requestMessages } from '../../fixtures/agents/model-gateway.ts';
import { agent, eventually, startAutomation } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

const SLOTS = 8;
const AGENTS = 24;

let hanging: ModelServer;
let healthy: ModelServer;
let gateway: GatewayProcess;
const answers: (() => void)[] = [];

const providerAt = ({ url }: ModelServer) => ({
  type: 'openai-compatible',
  base_url: `${url}/v1`,
  api_key: 'x',
});

beforeAll(async () => {
  hanging = (await ModelServer.start()).answerWith(async () => {
    await new Promise<void>((resolve) => answers.push(resolve));
    return { text: 'late' };
  });
  healthy = (await ModelServer.start()).answerWith((request) => ({
    text: `heard ${requestMessages(request).at(-1)?.content}`,
  }));
  gateway = await startAutomation({
    resources: [
      ...Array.from({ length: AGENTS }, (_, n) => agent(`hangs${n}`, { model: 'slow:m' })),
      agent('works', { model: 'fast:m' }),
    ],
    settings: {
      providers: { slow: providerAt(hanging), fast: providerAt(healthy) },
      limits: { model_calls: SLOTS },
      deliveries: { concurrency: 2 * SLOTS },
    },
  });
});

afterAll(async () => {
  for (const answer of answers.splice(0)) answer();
  await gateway.stop('SIGKILL');
  for (const each of [hanging, healthy]) await each[Symbol.asyncDispose]();
});

const begin = async (name: string, body: object) => {
  const headers = { 'content-type': 'application/json' };
  const options = { method: 'POST', headers, body: JSON.stringify(body) };
  return (await ask(`${gateway.url}/agents/${name}/runs`, options)).json;
};

test('a provider that hangs leaves slots for agents of another provider, however many agents use it', async () => {
  for (let n = 0; n < AGENTS; n += 1) await begin(`hangs${n}`, { input: 'x' });
  await eventually(() => expect(answers.length).toBeGreaterThanOrEqual(SLOTS / 2));
  for (let n = 0; n < 5; n += 1) {
    const run = await begin('works', { input: `${n}`, session: `${n}`, wait_seconds: 30 });
    expect([run.state, run.answer]).toEqual(['done', `heard ${n}`]);
  }
  expect(answers).toHaveLength(SLOTS / 2);
}, 120_000);
