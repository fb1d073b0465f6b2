// The gateway killed by SIGKILL at the moment when a model receives the results of calls with effects: the
// results are on disk.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
  requestMessages,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { storedRowsIn } from '../../fixtures/agents/stored-rows.ts';
import { agent } from '../../fixtures/automation/automation.ts';
import { ask, JSON_TYPE } from '../../fixtures/clients/api-client.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

const PROCESSES = 6;
const AT_ONCE = 3;

let model: ModelServer;
let shop: ReportedCalls;
/** Called with the run's input when its model receives results. */
const kills = new Map<string, () => void>();

beforeAll(async () => {
  shop = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    const input = requestMessages(request).find(({ role }) => role === 'user')?.content ?? '';
    if (answersSoFar(request) === 0)
      return { calls: ['pay', 'look'].map((name) => ({ name, input: { for: input } })) };
    kills.get(input)?.();
    return { text: 'too late', delayMs: 60_000 };
  });
});
afterAll(() => shop[Symbol.dispose]());

async function killAtResults(input: string): Promise<readonly string[]> {
  const folder = temporaryFolder();
  const clerk = agent('clerk', { model: MODEL, mcp_servers: [shop.entry('shop')] });
  const gateway = await startModelGateway(model, { folder, resources: [clerk] });
  kills.set(input, () => void gateway.stop('SIGKILL'));
  const headers = { 'content-type': JSON_TYPE };
  await ask(`${gateway.url}/agents/clerk/runs`, { method: 'POST', headers, body: JSON.stringify({ input }) });
  await gateway.exited;
  return storedRowsIn(folder).flatMap((row) => (row.kind === 'result' ? [row.text] : []));
}

test('results of tool calls are already on disk when the model receives them', async () => {
  const inputs = Array.from({ length: PROCESSES }, (_, n) => `run ${n}`);
  const next = inputs.values();
  const results: (readonly string[])[] = [];
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const input of next) results.push(await killAtResults(input));
  });
  await Promise.all(workers);
  expect(results.map((each) => each.toSorted())).toEqual(inputs.map(() => ['look done', 'pay done']));
});
