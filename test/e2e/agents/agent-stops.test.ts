// Stops and reloads of a gateway during a run: the run continues with the definition of the start and the
// secrets of the current environment.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  answersSoFar,
  expectRunState,
  fromVariable,
  MODEL,
  MODEL_KEY,
  offeredTools,
  requestMessages,
  requestToolResults,
  startModelGateway,
  storedAndLoggedText,
} from '../../fixtures/agents/model-gateway.ts';
import { agent, eventually, writeResources } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const A_LONG_TIME_MS = 60_000;

async function begin({ url }: GatewayProcess, input: string): Promise<string> {
  const { status, json } = await ask(`${url}/agents/clerk/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input }),
  });
  expect(status).toBe(202);
  return json.id;
}

/** Lines written by a server to a file. */
const linesOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []);

const system = (request: RecordedRequest | undefined) =>
  request && requestMessages(request).find(({ role }) => role === 'system')?.content;

test.concurrent('a gateway stop during a model response is not counted as an attempt: the response is requested again after the start', async () => {
  const [model, folder] = [await ModelServer.start(), temporaryFolder()];
  const clerk = agent('clerk', { model: MODEL });
  const first = await startModelGateway(model, { folder, resources: [clerk] });
  model.answerWith(() => ({ text: ['Half ', 'of it'], pauseMs: A_LONG_TIME_MS }));
  const id = await begin(first, 'why?');
  await eventually(() => expect(model.requests).toHaveLength(1));
  const beganAt = performance.now();
  expect(await first.stop()).toBe(0);
  expect(performance.now() - beganAt).toBeLessThan(10_000);
  await eventually(() => expect(model.requests[0]?.wasCancelled).toBe(true));
  model.answerWith(() => ({ text: 'The whole of it.' }));
  const second = await startModelGateway(model, { folder });
  const run = await expectRunState(second, id, 'done');
  expect(run).toMatchObject({ answer: 'The whole of it.', attempts: 1, usage: { iterations: 1 } });
  expect(run.steps.map(({ kind }) => kind)).toEqual(['begun', 'answer', 'ended']);
  expect(model.requests).toHaveLength(2);
  expect(model.requests[1]?.body).toEqual(model.requests[0]?.body);
});

test.concurrent('a tool call interrupted by a gateway stop is not repeated: the model is told that the outcome is unknown', async () => {
  const [model, folder] = [await ModelServer.start(), temporaryFolder()];
  const calls = join(folder, 'calls');
  const desk = { name: 'desk', ...fault('echo', { env: { CALLS: calls } }) };
  const clerk = agent('clerk', { model: MODEL, mcp_servers: [desk], tools: ['wait'] });
  const first = await startModelGateway(model, { folder, resources: [clerk] });
  model.answerWith((request) =>
    answersSoFar(request) === 0
      ? { calls: [{ name: 'wait', input: { ms: A_LONG_TIME_MS, label: 'made' } }] }
      : { text: `It said: ${requestToolResults(request)[0]}` },
  );
  const id = await begin(first, 'wait for it');
  await eventually(() => expect(linesOf(calls)).toEqual(['made']));
  const beganAt = performance.now();
  expect(await first.stop()).toBe(0);
  expect(performance.now() - beganAt).toBeLessThan(10_000);
  const second = await startModelGateway(model, { folder });
  const run = await expectRunState(second, id, 'done');
  expect(run).toMatchObject({
    attempts: 1,
    answer: expect.stringMatching(/Outcome unknown.*may have happened/),
  });
  expect(run.steps.map(({ kind }) => kind)).toEqual([
    'begun',
    'answer',
    'called',
    'result',
    'answer',
    'ended',
  ]);
  expect(run.steps[3]).toMatchObject({ state: 'interrupted', tool: 'wait' });
  expect(linesOf(calls)).toEqual(['made']);
  expect(model.requests).toHaveLength(2);
});

test.concurrent('an agent run keeps its definition after a reload and a restart, uses the new value of a secret, and stores no secret', async () => {
  const [model, folder] = [await ModelServer.start(), temporaryFolder()];
  const calls = join(folder, 'calls');
  const listed = [{ name: 'look', inputSchema: { type: 'object' } }];
  const env = {
    CALLS: calls,
    TOOLS: JSON.stringify(listed),
    TOKEN: fromVariable('DESK_TOKEN'),
  };
  // Lists the tools of TOOLS, and appends each call with the token to the file CALLS.
  const desk = { name: 'desk', ...fault('claims', { env }) };
  const old = agent('clerk', { model: MODEL, system_prompt: 'By the old words.', mcp_servers: [desk] });
  const tokens = ['first-token-of-the-desk-8Hq', 'second-token-of-the-desk-3Wn'] as const;
  const first = await startModelGateway(model, { folder, resources: [old], env: { DESK_TOKEN: tokens[0] } });
  let isSlow = true;
  model.answerWith((request) => {
    const n = answersSoFar(request);
    if (n === 1 && isSlow) return { text: 'never', delayMs: A_LONG_TIME_MS };
    if (n < 2 && offeredTools(request).includes('look')) return { calls: [{ name: 'look' }] };
    return { text: 'Looked.' };
  });
  const id = await begin(first, 'look twice');
  await eventually(() => expect(model.requests).toHaveLength(2));
  writeResources(folder, [agent('clerk', { model: MODEL, system_prompt: 'By the new words.' })]);
  expect((await ask(`${first.url}/admin/reload`, { method: 'POST' })).status).toBe(200);
  // New runs use the new file; the old run continues.
  const other = await begin(first, 'look');
  expect(await expectRunState(first, other, 'done')).toMatchObject({ answer: 'Looked.' });
  expect(system(model.requests[2])).toContain('By the new words.');
  expect(offeredTools(model.requests[2] as RecordedRequest)).toEqual([]);
  expect(model.requests[1]?.wasCancelled).toBe(false);
  expect(await first.stop()).toBe(0);
  isSlow = false;
  const second = await startModelGateway(model, { folder, env: { DESK_TOKEN: tokens[1] } });
  const run = await expectRunState(second, id, 'done');
  expect(run).toMatchObject({ answer: 'Looked.', attempts: 1, usage: { iterations: 3, tool_calls: 2 } });
  expect(model.requests).toHaveLength(5);
  for (const n of [0, 1, 3, 4]) {
    expect(system(model.requests[n])).toContain('By the old words.');
    expect(offeredTools(model.requests[n] as RecordedRequest)).toEqual(['look']);
  }
  const noted = linesOf(calls).map((line) => JSON.parse(line));
  expect(noted.map(({ token }) => token)).toEqual(tokens);
  expect(new Set(noted.map(({ _meta }) => _meta['actor-gateway/key'])).size).toBe(2);
  // Stored rows, logs and model requests, during the run and later.
  const texts = JSON.stringify([model.requests.map(({ body }) => body), run]);
  const expectNoSecret = () => {
    const all = [storedAndLoggedText(second), first.text(), texts].join('\n');
    expect(all).toContain('By the old words.');
    for (const secret of [...tokens, MODEL_KEY]) expect(all).not.toContain(secret);
  };
  expectNoSecret();
  expect(await second.stop()).toBe(0);
  expectNoSecret();
});
