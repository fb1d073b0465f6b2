// A run of an agent that is cancelled while it works (R7): whatever it has under way is told so at its socket, a model as well as a
// tool, and nothing is asked or called for it any more. When it is tried again it goes on from its journal.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
  type RunRecord,
  runAt,
  runIs,
  startModelGateway,
  toldMessages,
  toldResults,
} from '../../fixtures/agents/model-gateway.ts';
import { agent, eventually } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';
import { type ModernServer, startModernServer } from '../../fixtures/remote/modern-server.ts';
import { fault } from '../../fixtures/server/fault-servers.ts';

const A_LONG_TIME_MS = 60_000;
/** What is cancelled ends by that, and not by a deadline. */
const SOON_MS = 5_000;

let model: ModelServer;
let remote: ModernServer;
let gateway: GatewayProcess;

const wordsIn = (request: RecordedRequest) =>
  toldMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
const askedFor = (words: string) => model.requests.filter((each) => wordsIn(each) === words);

beforeAll(async () => {
  remote = await startModernServer();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = wordsIn(request);
    const n = answersSoFar(request);
    const isFirst = askedFor(words).length === 1;
    if (words === 'think' && isFirst) return { text: ['Half ', 'of it'], pauseMs: A_LONG_TIME_MS };
    if (words === 'be refused' && isFirst) return { status: 429, headers: { 'retry-after': '60' } };
    if (words === 'wait' && n === 0)
      return { calls: [{ name: 'wait', input: { ms: A_LONG_TIME_MS, label: words } }] };
    if (words === 'wait' && n === 1) return { calls: [{ name: 'cancelled' }] };
    if (words === 'hang' && n === 0) return { calls: [{ name: 'hang-silently' }] };
    return { text: `told: ${toldResults(request).join()}` };
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

/** Gives the run as it is when the cancel has been carried out, which is soon. */
async function cancelled(id: string): Promise<RunRecord> {
  const beganAt = performance.now();
  expect((await order(id, 'cancel')).status).toBe(200);
  await eventually(async () => expect((await runAt(gateway, id)).state).toBe('cancelled'));
  expect(performance.now() - beganAt).toBeLessThan(SOON_MS);
  return runAt(gateway, id);
}

const kindsOf = ({ steps }: RunRecord) => steps.map(({ kind }) => kind);

test('while its model answers: the stream is given up, and what has come of it is thrown away', async () => {
  const id = await begin('think');
  await eventually(() => expect(askedFor('think')).toHaveLength(1));
  const run = await cancelled(id);
  await eventually(() => expect(askedFor('think')[0]?.wasGivenUp).toBe(true));
  expect([kindsOf(run), run.answer]).toEqual([['begun'], null]);
  expect((await order(id, 'retry')).status).toBe(200);
  expect(await runIs(gateway, id, 'done')).toMatchObject({ answer: 'told: ', usage: { iterations: 1 } });
  expect(askedFor('think')).toHaveLength(2);
});

test('while it waits to ask its model again: it is not asked', async () => {
  const id = await begin('be refused');
  await eventually(() => expect(askedFor('be refused')).toHaveLength(1));
  expect(kindsOf(await cancelled(id))).toEqual(['begun']);
  expect(askedFor('be refused')).toHaveLength(1);
});

test('while a program that is its tool works: it is told by its id, and the call is not made again', async () => {
  const id = await begin('wait');
  await eventually(async () => expect(kindsOf(await runAt(gateway, id))).toContain('called'));
  expect(kindsOf(await cancelled(id))).toEqual(['begun', 'answer', 'called']);
  expect(askedFor('wait')).toHaveLength(1);
  expect((await order(id, 'retry')).status).toBe(200);
  const { answer, steps } = await runIs(gateway, id, 'done');
  // The tool tells what it was told.
  expect(answer).toBe('told: [{"label":"wait"}]');
  expect(steps.find(({ kind }) => kind === 'result')).toMatchObject({ tool: 'wait', state: 'interrupted' });
  expect(askedFor('wait')).toHaveLength(3);
});

test('while a remote server works: its socket is closed', async () => {
  const id = await begin('hang');
  await eventually(() => expect(remote.begun).toEqual(['hang-silently']));
  expect(remote.cancelled).toEqual([]);
  expect(kindsOf(await cancelled(id))).toEqual(['begun', 'answer', 'called']);
  await eventually(() => expect(remote.cancelled).toEqual(['hang-silently']));
  expect(askedFor('hang')).toHaveLength(1);
});

test('while its tools are listed: it ends at once', async () => {
  const id = await begin('begin', 'early');
  await eventually(async () =>
    expect((await ask(`${gateway.url}/deliveries/${encodeURIComponent(id)}`)).json.state).toBe('running'),
  );
  expect((await order(id, 'cancel')).status).toBe(200);
  await eventually(async () =>
    expect((await ask(`${gateway.url}/deliveries/${encodeURIComponent(id)}`)).json.state).toBe('ignored'),
  );
  expect(askedFor('begin')).toEqual([]);
});

test('nothing has gone wrong by that', () => {
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
});
