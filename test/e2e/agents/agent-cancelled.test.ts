// Cancelling a working agent run: the current request to a model or tool is aborted at its socket, and no
// further request is made. A retry resumes from the journal.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  expectRunState,
  MODEL,
  type RunRecord,
  requestMessages,
  requestToolResults,
  runAt,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { agent, eventually } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';
import { type ModernServer, startModernServer } from '../../fixtures/remote/modern-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const A_LONG_TIME_MS = 60_000;
/** Below all deadlines: a request that stops within this time was cancelled and did not time out. */
const SOON_MS = 5_000;

let model: ModelServer;
let remote: ModernServer;
let gateway: GatewayProcess;

const wordsIn = (request: RecordedRequest) =>
  requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
const requestsFor = (words: string) => model.requests.filter((each) => wordsIn(each) === words);

beforeAll(async () => {
  remote = await startModernServer();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = wordsIn(request);
    const n = answersSoFar(request);
    const isFirst = requestsFor(words).length === 1;
    if (words === 'think' && isFirst) return { text: ['Half ', 'of it'], pauseMs: A_LONG_TIME_MS };
    if (words === 'be refused' && isFirst) return { status: 429, headers: { 'retry-after': '60' } };
    if (words === 'wait' && n === 0)
      return { calls: [{ name: 'wait', input: { ms: A_LONG_TIME_MS, label: words } }] };
    if (words === 'wait' && n === 1) return { calls: [{ name: 'cancelled' }] };
    if (words === 'hang' && n === 0) return { calls: [{ name: 'hang-silently' }] };
    return { text: `told: ${requestToolResults(request).join()}` };
  });
  const servers = [
    { name: 'desk', ...fault('echo') },
    { name: 'remote', url: remote.local.url(), era: 'modern' },
  ];
  gateway = await startModelGateway(model, {
    resources: [
      agent('clerk', { model: MODEL, mcp_servers: servers, tools: ['wait', 'cancelled', 'hang-silently'] }),
      agent('early', { model: MODEL, mcp_servers: [{ name: 'silent', ...fault('hangs-at-list') }] }),
    ],
  });
});

afterAll(async () => {
  await gateway.stop();
  await remote.close();
});

async function begin(input: string, name = 'clerk'): Promise<string> {
  const { status, json } = await ask(`${gateway.url}/agents/${name}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input }),
  });
  expect(status).toBe(202);
  return json.id;
}

const order = (id: string, verb: 'cancel' | 'retry') =>
  ask(`${gateway.url}/runs/${encodeURIComponent(id)}/${verb}`, { method: 'POST' });

/** Cancels a run. Returns the record of the cancelled run. */
async function cancelRun(id: string): Promise<RunRecord> {
  const beganAt = performance.now();
  expect((await order(id, 'cancel')).status).toBe(200);
  await eventually(async () => expect((await runAt(gateway, id)).state).toBe('cancelled'));
  expect(performance.now() - beganAt).toBeLessThan(SOON_MS);
  return runAt(gateway, id);
}

const kindsOf = ({ steps }: RunRecord) => steps.map(({ kind }) => kind);

test('cancelling an agent run while the model answers aborts the stream and discards the partial answer', async () => {
  const id = await begin('think');
  await eventually(() => expect(requestsFor('think')).toHaveLength(1));
  const run = await cancelRun(id);
  await eventually(() => expect(requestsFor('think')[0]?.wasCancelled).toBe(true));
  expect([kindsOf(run), run.answer]).toEqual([['begun'], null]);
  expect((await order(id, 'retry')).status).toBe(200);
  expect(await expectRunState(gateway, id, 'done')).toMatchObject({
    answer: 'told: ',
    usage: { iterations: 1 },
  });
  expect(requestsFor('think')).toHaveLength(2);
});

test('cancelling an agent run that waits for a model retry prevents the retry', async () => {
  const id = await begin('be refused');
  await eventually(() => expect(requestsFor('be refused')).toHaveLength(1));
  expect(kindsOf(await cancelRun(id))).toEqual(['begun']);
  expect(requestsFor('be refused')).toHaveLength(1);
});

test('cancelling during a local tool call sends the call id to the program, and the call is not repeated', async () => {
  const id = await begin('wait');
  await eventually(async () => expect(kindsOf(await runAt(gateway, id))).toContain('called'));
  expect(kindsOf(await cancelRun(id))).toEqual(['begun', 'answer', 'called']);
  expect(requestsFor('wait')).toHaveLength(1);
  expect((await order(id, 'retry')).status).toBe(200);
  const { answer, steps } = await expectRunState(gateway, id, 'done');
  // The tool returns the notifications that it received.
  expect(answer).toBe('told: [{"label":"wait"}]');
  expect(steps.find(({ kind }) => kind === 'result')).toMatchObject({ tool: 'wait', state: 'interrupted' });
  expect(requestsFor('wait')).toHaveLength(3);
});

test('cancelling during a call of a remote server closes the socket', async () => {
  const id = await begin('hang');
  await eventually(() => expect(remote.begun).toEqual(['hang-silently']));
  expect(remote.cancelled).toEqual([]);
  expect(kindsOf(await cancelRun(id))).toEqual(['begun', 'answer', 'called']);
  await eventually(() => expect(remote.cancelled).toEqual(['hang-silently']));
  expect(requestsFor('hang')).toHaveLength(1);
});

test('cancelling while tools are listed ends the run immediately', async () => {
  const id = await begin('begin', 'early');
  await eventually(async () =>
    expect((await ask(`${gateway.url}/deliveries/${encodeURIComponent(id)}`)).json.state).toBe('running'),
  );
  expect((await order(id, 'cancel')).status).toBe(200);
  await eventually(async () =>
    expect((await ask(`${gateway.url}/deliveries/${encodeURIComponent(id)}`)).json.state).toBe('ignored'),
  );
  expect(requestsFor('begin')).toEqual([]);
});

test('the cancelled runs of all tests in this file have logged no error', () => {
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
});
