// Modern clients with legacy servers: a question during a call becomes the result of the client's request,
// and the call continues when the client retries. The other direction is in era-bridge-back.test.ts.

import { existsSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio, type RemoteBothEras } from '../../fixtures/both-eras/start.ts';
import { latch } from '../../fixtures/clients/api-client.ts';
import {
  type ModernAnswer,
  type ModernAsk,
  type More,
  modern,
  resultOf,
  toolCall,
} from '../../fixtures/clients/modern-client.ts';
import { details, http, isAlive, json, stats, until } from '../../fixtures/clients/raw-session.ts';
import {
  everythingOverHttp,
  everythingOverStdio,
  type RemoteEverything,
} from '../../fixtures/everything/start.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

type RemoteSession = ReturnType<RemoteEverything['sessions']>[number];

let gateway: GatewayProcess;
let remote: RemoteEverything;
let remoteBoth: RemoteBothEras;

const clients: Client[] = [];
const script = (name: string) => `${import.meta.dirname}/../../fixtures/servers/${name}`;
const puppet = { command: process.execPath, args: [script('puppet.mjs')], isolation: 'session' };

beforeAll(async () => {
  remote = await everythingOverHttp();
  remoteBoth = await bothErasOverHttp();
  gateway = await startGateway({
    servers: {
      local: { ...everythingOverStdio(), isolation: 'session' },
      remote: { url: remote.url },
      pinned: { ...bothErasOverStdio(), isolation: 'session', era: 'legacy', forward_roots: true },
      'pinned-remote': { url: remoteBoth.url, era: 'legacy', forward_roots: true },
      shared: everythingOverStdio(),
      puppet,
      two: { ...puppet, pool: { max: 2 } },
      hasty: { ...puppet, request_timeout_seconds: 1 },
      lazy: { ...puppet, idle_timeout_seconds: 1 },
    },
  });
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
});

const at = (id: string) => `${gateway.url}/mcp/${id}`;

const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
/** Sends a request from a client with most capabilities, unless the test sets others. */
const send = (address: string, request: ModernAsk, leaving?: { signal: AbortSignal }) =>
  modern(address, { ...request, meta: { clientCapabilities: capabilities, ...request.meta } }, leaving);

function call(server: string, name: string, args: object = {}, more: More = {}): Promise<ModernAnswer> {
  return send(at(server), toolCall(name, args, more));
}

/** Makes the puppet perform these steps; a retry continues the call. */
function callWithSteps(server: string, steps: readonly object[], more: More = {}): Promise<ModernAnswer> {
  return call(server, 'do', { steps }, more);
}

async function linesOf(server: string): Promise<{ pid: number; heard: string[] }> {
  return resultOf(await call(server, 'heard')) as { pid: number; heard: string[] };
}

/** Two steps, after which the gateway has read all earlier messages. */
const seenBy = (note: string) => [{ ask: 'ping' }, { note }];

const elicit = { ask: 'elicitation/create', params: { message: 'Name?', requestedSchema: {} } };
const sample = { ask: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
const accepted = (name: string) => ({ action: 'accept', content: { name } });
const questionsOf = ({ result }: ModernAnswer) => Object.keys(result?.inputRequests ?? {});

/** Retry fields with the state and these answers. */
const retry = (requestState: unknown, inputResponses?: object) => ({
  params: { requestState, inputResponses },
});
/** Retry fields with the same answer to all questions. */
const answerQuestion = (question: ModernAnswer, answer: unknown) =>
  retry(question.result.requestState, Object.fromEntries(questionsOf(question).map((key) => [key, answer])));

/** All messages except the answer. */
const earlierIn = ({ messages }: ModernAnswer) => messages.slice(0, -1);
const progressIn = (answer: ModernAnswer) =>
  earlierIn(answer).map(({ params }) => [params?.progressToken, params?.progress]);

async function connect(id: string, name = 'v2'): Promise<Client> {
  const client = new Client(
    { name, version: '1' },
    {
      capabilities,
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => ({
    action: 'accept',
    content: { said: `${name} on ${params.message}` },
  }));
  client.setRequestHandler('sampling/createMessage', async () => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: `${name} sampled` },
  }));
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: `file:///${name}` }] }));
  clients.push(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(id === '' ? `${gateway.url}/mcp` : at(id))));
  return client;
}

async function textOf(client: Client, name: string, args: Record<string, unknown> = {}): Promise<unknown> {
  const { content } = await client.callTool({ name, arguments: args });
  return JSON.parse((content as { text: string }[])[0]?.text ?? 'null');
}

const elicitation = (text: string) => ({ action: 'accept', content: { said: text } });

describe.each(['local', 'remote'])('a modern SDK client of a legacy server (%s)', (id) => {
  test('receives questions and sampling requests, but no roots requests', async () => {
    const client = await connect(id);
    expect(await textOf(client, 'elicit', { message: 'm1' })).toEqual({ answer: elicitation('v2 on m1') });
    expect(await textOf(client, 'sample')).toMatchObject({ answer: { content: { text: 'v2 sampled' } } });
    expect(await textOf(client, 'list-roots')).toMatchObject({ refused: { code: -32601 } });
  });

  test('gets the answers to its calls among many concurrent clients', async () => {
    const names = ['ann', 'bob', 'cy'];
    const everyone = await Promise.all(names.map((name) => connect(id, name)));
    await Promise.all(
      everyone.flatMap((client, index) =>
        [1, 2, 3].map(async (n) => {
          const answer = elicitation(`${names[index]} on ${names[index]}${n}`);
          expect(await textOf(client, 'elicit', { message: `${names[index]}${n}` })).toEqual({ answer });
        }),
      ),
    );
  });
});

describe.each(['pinned', 'pinned-remote'])('a legacy and modern server used as legacy (%s)', (id) => {
  test('asks several questions in parallel and in sequence', async () => {
    const client = await connect(id);
    const sampleResult = { model: 'm', role: 'assistant', content: { type: 'text', text: 'v2 sampled' } };
    const answers = {
      q0: elicitation('v2 on Question 0'),
      q1: sampleResult,
      q2: { roots: [{ uri: 'file:///v2' }] },
    };
    expect(await textOf(client, 'ask-many')).toMatchObject({ answers });
    expect(await textOf(client, 'ask-rounds', { kinds: ['elicit', 'sample', 'roots'] })).toMatchObject({
      answers,
    });
    expect(await textOf(client, 'come-back')).toMatchObject({ rounds: 3 });
  });

  test('asks the client also during requests for prompts and resources', async () => {
    const client = await connect(id);
    const prompt = await client.getPrompt({ name: 'test_input_required_result_prompt' });
    expect(JSON.stringify(prompt.messages)).toContain('v2 on Which context?');
    const { contents } = await client.readResource({ uri: 'test://secret' });
    expect(JSON.stringify(contents)).toContain('v2 on The word?');
  });

  test('reports progress around a question with the token of the current request', async () => {
    const first = await call(id, 'report-and-ask', {}, { meta: { progressToken: 'one' } });
    expect(progressIn(first)).toEqual([
      ['one', 1],
      ['one', 2],
    ]);
    expect(first.result).toMatchObject({ resultType: 'input_required' });
    const retryRequest = { ...answerQuestion(first, accepted('a')), meta: { progressToken: 2 }, id: '2' };
    const second = await call(id, 'report-and-ask', {}, retryRequest);
    expect(progressIn(second)).toEqual([
      [2, 3],
      [2, 4],
    ]);
    expect(second.messages.at(-1)?.id).toBe(2);
    expect(resultOf(second)).toMatchObject({ answers: { answer: accepted('a') } });
  });
});

describe('a question of a legacy server to a modern client', () => {
  test('is forwarded unchanged, and so is the answer', async () => {
    const first = await callWithSteps('puppet', [
      { ask: 'sampling/createMessage', id: 'odd é\u2028', params: { messages: [], 'x-extra': { n: 1.5 } } },
    ]);
    expect(first.status).toBe(200);
    expect(String(first.headers['content-type'])).toContain('application/json');
    expect(first.result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        'input-1': { method: 'sampling/createMessage', params: { messages: [], 'x-extra': { n: 1.5 } } },
      },
      requestState: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/),
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'puppet', version: '1.0.0' } },
    });
    const steps = [
      { ask: 'sampling/createMessage', id: 'odd é\u2028', params: { messages: [], 'x-extra': { n: 1.5 } } },
    ];
    // A different key order or spacing does not change the identity of the request.
    const body = `{ "steps" : [ {"params":${JSON.stringify(steps[0]?.params)},"id":${JSON.stringify(steps[0]?.id)},"ask":"sampling/createMessage"}]}`;
    const inputResponses = { extra: {}, 'input-1': { model: 'é', deep: { b: 1, a: [null] } }, 'input-2': 5 };
    const params = { name: 'do', requestState: first.result.requestState, inputResponses };
    const second = await send(at('puppet'), { method: 'tools/call', params, rawArguments: body });
    expect(resultOf(second)).toEqual([{ model: 'é', deep: { b: 1, a: [null] } }]);
    const line = (await linesOf('puppet')).heard.find((each) => each.includes('odd'));
    expect(line).toBe(
      '{"jsonrpc":"2.0","id":"odd é\u2028","result":{"model":"é","deep":{"b":1,"a":[null]}}}',
    );
  });

  test('that opens a URL has the modern format, also if it is sent as an error', async () => {
    const page = (url: string) => ({ mode: 'url', message: 'Sign in', elicitationId: 'e', url });
    const meta = { clientCapabilities: { elicitation: { form: {}, url: {} } } };
    const steps = [{ ask: 'elicitation/create', params: page('https://a/') }];
    const questions = await callWithSteps('puppet', steps, { meta });
    expect(questions.result.inputRequests['input-1'].params).toEqual({
      mode: 'url',
      message: 'Sign in',
      url: 'https://a/',
    });
    const retryRequest = { meta, ...answerQuestion(questions, { action: 'accept' }) };
    expect(resultOf(await callWithSteps('puppet', steps, retryRequest))).toEqual([{ action: 'accept' }]);
    const error = {
      code: -32042,
      message: 'first',
      data: { elicitations: [page('https://b/'), page('https://c/')] },
    };
    const refusal = await callWithSteps('puppet', [{ error }], { meta });
    expect(refusal.result).toEqual({
      resultType: 'input_required',
      inputRequests: {
        'url-1': {
          method: 'elicitation/create',
          params: { mode: 'url', message: 'Sign in', url: 'https://b/' },
        },
        'url-2': {
          method: 'elicitation/create',
          params: { mode: 'url', message: 'Sign in', url: 'https://c/' },
        },
      },
      _meta: expect.anything(),
    });
    // A retry with no state is a new call.
    const answers = { meta, ...answerQuestion(refusal, { action: 'accept' }) };
    expect((await callWithSteps('puppet', [{ error }], answers)).result?.resultType).toBe('input_required');
    // A client without URL support receives the error.
    expect((await callWithSteps('puppet', [{ error }])).error).toEqual(error);
    const senseless = { ...error, data: { elicitations: [1, null] } };
    expect((await callWithSteps('puppet', [{ error: senseless }], { meta })).error).toEqual(senseless);
  });

  test('without an answer is repeated, together with newer questions', async () => {
    const steps = [
      { asks: [elicit, sample] },
      { ms: 150 },
      { ...elicit, params: { message: 'late', requestedSchema: {} }, isAwaited: false },
    ];
    const first = await callWithSteps('puppet', steps);
    expect(questionsOf(first)).toEqual(['input-1', 'input-2']);
    const answered = ({ result }: ModernAnswer, inputResponses?: object) =>
      callWithSteps('puppet', steps, retry(result.requestState, inputResponses));
    // A value that is no object is no answer.
    const again = await answered(first, { 'input-2': null });
    expect(questionsOf(again)).toEqual(expect.arrayContaining(['input-1', 'input-2']));
    expect(again.result.requestState).not.toBe(first.result.requestState);
    const none = await answered(again);
    expect(none.result?.resultType).toBe('input_required');
    const partly = await answered(none, { 'input-2': { model: 'm' } });
    expect(questionsOf(partly)).not.toContain('input-2');
    let last = await answered(partly, { 'input-1': { action: 'decline' } });
    expect(last.result.inputRequests['input-3'].params.message).toBe('late');
    last = await answered(last, { 'input-3': { action: 'cancel' } });
    expect(resultOf(last)).toEqual([{ action: 'decline' }, { model: 'm' }, { action: 'cancel' }]);
  });

  test('that the server withdraws is no longer asked', async () => {
    const [gate, withdrawn] = [latch(), latch().path];
    const steps = [
      {
        asks: [
          { ...elicit, id: 'w' },
          { ...sample, id: 's' },
        ],
      },
      { gate: gate.path },
      { withdraw: 'w' },
      ...seenBy(withdrawn),
      { wait: 's' },
      { answer: '{"content":[]}' },
    ];
    const first = await callWithSteps('puppet', steps);
    expect(questionsOf(first)).toHaveLength(2);
    gate.open();
    await until('the withdrawal', () => existsSync(withdrawn));
    const answers = { 'input-1': accepted('x'), 'input-2': { model: 'm' } };
    const second = await callWithSteps('puppet', steps, retry(first.result.requestState, answers));
    expect(second.result).toMatchObject({ resultType: 'complete', content: [] });
    expect((await linesOf('puppet')).heard.filter((line) => line.includes('"id":"w"'))).toEqual([]);
  });

  test('is rejected if the server ends the call before the client answers', async () => {
    const first = await callWithSteps('puppet', [{ ...elicit, id: 'open' }]);
    const gate = latch();
    const steps = [
      { ...elicit, id: 'never', isAwaited: false },
      { gate: gate.path },
      { answer: '{"content":[],"n":1}' },
    ];
    const question = await callWithSteps('puppet', steps);
    gate.open();
    await until('the refusal', async () =>
      (await linesOf('puppet')).heard.some((line) => line.includes('"never"') && line.includes('-32000')),
    );
    const last = await callWithSteps('puppet', steps, answerQuestion(question, accepted('late')));
    expect(last.result).toMatchObject({ resultType: 'complete', n: 1 });
    await callWithSteps('puppet', [{ ...elicit, id: 'open' }], answerQuestion(first, {}));
  });

  test('without the declared capability is rejected, and the call continues', async () => {
    const meta = { clientCapabilities: { sampling: {} } };
    const answer = await callWithSteps('puppet', [elicit, { ask: 'x/unknown' }, { ask: 'roots/list' }], {
      meta,
    });
    const refusal = { error: { code: -32601, message: expect.any(String) } };
    expect(resultOf(answer)).toEqual([refusal, refusal, refusal]);
  });
});

describe('a requestState', () => {
  const steps = [elicit, sample];

  test('continues only the same request; a retry with a wrong state or request leaves the call open', async () => {
    const first = await callWithSteps('puppet', steps);
    const right = answerQuestion(first, accepted('x'));
    const state: string = first.result.requestState;
    const invalidValues: Promise<ModernAnswer>[] = [
      callWithSteps('puppet', steps, retry(`${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}`)),
      callWithSteps('puppet', steps, retry('nonsense')),
      callWithSteps('puppet', steps, retry('')),
      callWithSteps('puppet', [sample, elicit], right),
      callWithSteps('two', steps, right),
      call('puppet', 'pid', {}, right),
      send(at('puppet'), {
        method: 'prompts/get',
        params: { name: 'do', arguments: { steps }, requestState: state },
      }),
    ];
    for (const { error, status } of await Promise.all(invalidValues)) {
      expect(error?.code).toBe(-32602);
      expect(status).toBe(200);
    }
    const second = await callWithSteps('puppet', steps, right);
    expect(second.result.inputRequests).toMatchObject({ 'input-2': { method: 'sampling/createMessage' } });
    const result = await callWithSteps('puppet', steps, right);
    expect(result.error?.code).toBe(-32602);
    const last = await callWithSteps('puppet', steps, answerQuestion(second, { model: 'm' }));
    expect(resultOf(last)).toEqual([accepted('x'), { model: 'm' }]);
  });

  test('that is sent twice in parallel continues the call once', async () => {
    const first = await callWithSteps('puppet', [elicit]);
    const retryRequest = answerQuestion(first, accepted('once'));
    const both = await Promise.all([
      callWithSteps('puppet', [elicit], retryRequest),
      callWithSteps('puppet', [elicit], retryRequest),
    ]);
    expect(both.filter(({ error }) => error?.code === -32602)).toHaveLength(1);
    const [one] = both.filter(({ result }) => result !== undefined);
    expect(one && resultOf(one)).toEqual([accepted('once')]);
  });

  test('of a call with a dead server returns the error, and the next call works', async () => {
    const gate = latch();
    const steps = [{ ...elicit, isAwaited: false }, { gate: gate.path }, { exit: 3 }];
    const wasNoted = () =>
      gateway.logs().some(({ msg, server }) => msg === 'connection ended unexpectedly' && server === 'two');
    const first = await callWithSteps('two', steps);
    gate.open();
    await until('the end of the process', wasNoted);
    const retryRequest = answerQuestion(first, accepted('x'));
    const second = await callWithSteps('two', steps, retryRequest);
    expect(second.error?.code).toBe(-32000);
    expect(second.status).toBe(200);
    expect((await callWithSteps('two', steps, retryRequest)).error?.code).toBe(-32602);
    expect((await callWithSteps('two', [{ answer: '{"content":[]}' }])).result?.resultType).toBe('complete');
  });
});

describe('a call that waits for an answer of its client', () => {
  test('has no deadline until its client sends the answer', async () => {
    const steps = [{ ...elicit }, { ms: 3000 }];
    const first = await callWithSteps('hasty', steps);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const startedAt = performance.now();
    const second = await callWithSteps('hasty', steps, answerQuestion(first, accepted('x')));
    expect(second.error?.code).toBe(-32001);
    expect(performance.now() - startedAt).toBeGreaterThan(900);
  });

  test('keeps progress and requested log messages of the server for the retry', async () => {
    const [gate, saidAll] = [latch(), latch().path];
    const steps = [
      { log: 'info' },
      { log: 'error' },
      { ...elicit, isAwaited: false, id: 'k' },
      { gate: gate.path },
      { progress: 1 },
      { log: 'critical' },
      { log: 'debug' },
      ...seenBy(saidAll),
      { wait: 'k' },
      { progress: 2 },
    ];
    const logLevel = 'warning';
    const first = await callWithSteps('puppet', steps, { meta: { logLevel, progressToken: 'a' } });
    expect(earlierIn(first).map(({ params }) => params?.level)).toEqual(['error']);
    gate.open();
    await until('its messages', () => existsSync(saidAll));
    const retryRequest = { meta: { logLevel, progressToken: 'b' }, ...answerQuestion(first, accepted('x')) };
    const second = await callWithSteps('puppet', steps, retryRequest);
    const notifications = earlierIn(second).map(
      ({ params }) => params?.level ?? [params?.progressToken, params?.progress],
    );
    expect(notifications).toEqual([['b', 1], 'critical', ['b', 2]]);
  });

  test('sends no log messages to a client that did not request them', async () => {
    const answer = await callWithSteps('puppet', [{ log: 'emergency' }, { answer: '{"content":[]}' }]);
    expect(earlierIn(answer)).toEqual([]);
    expect(answer.result?.resultType).toBe('complete');
  });

  test('prevents the idle stop of its process, and ends when the server is stopped', async () => {
    const first = await callWithSteps('lazy', [elicit]);
    await new Promise((resolve) => setTimeout(resolve, 2200));
    const { pids, in_flight } = await details(gateway.url, 'lazy');
    expect([pids.length, in_flight]).toEqual([1, 1]);
    const { status } = await json(`${gateway.url}/servers/lazy/stop`, 'POST');
    expect(status).toBe(200);
    for (const pid of pids) expect(isAlive(pid)).toBe(false);
    const second = await callWithSteps('lazy', [elicit], answerQuestion(first, accepted('x')));
    expect(second.status).toBe(200);
    expect(second.error?.code).toBe(-32000);
  });
});

test('a client that closes the stream of a running call cancels it at the server', async () => {
  const leave = new AbortController();
  const clientInfo = { name: 'closer', version: '1' };
  const request = toolCall('slow', { steps: 500, ms: 20 }, { meta: { clientInfo, progressToken: 1 } });
  const abandoned = send(at('remote'), request, { signal: leave.signal }).catch((error: Error) => error);
  const isIts = ({ stats }: RemoteSession) =>
    stats.calls.includes('slow') && JSON.stringify(stats.clientInfo).includes('closer');
  const session = await until('the call', () => remote.sessions().find(isIts));
  leave.abort();
  await abandoned;
  await until('the cancellation', () => session.stats.cancelled.length === 1);
  await until('the end of its session', () => !remote.sessions().includes(session));
});

describe('an exclusive connection', () => {
  const client = (name: string, meta: object = {}): More => ({
    meta: { clientInfo: { name, version: '1' }, ...meta },
  });
  const pidFor = async (server: string, more: More) =>
    resultOf(await call(server, 'pid', {}, more)) as number;

  test('is reused only by the same client', async () => {
    const ann = await pidFor('puppet', client('own-ann'));
    expect(await pidFor('puppet', client('own-ann'))).toBe(ann);
    expect(await pidFor('puppet', client('own-bob'))).not.toBe(ann);
    expect(await pidFor('puppet', client('own-ann', { clientCapabilities: { sampling: {} } }))).not.toBe(ann);
    expect(await pidFor('puppet', client('own-ann'))).toBe(ann);
  });

  test('serves one call at a time, also for concurrent calls of one client', async () => {
    const firstClient = client('many-at-once');
    await Promise.all(
      Array.from({ length: 8 }, async (_, n) => {
        const steps = [0, 1].map((round) => ({
          ask: 'elicitation/create',
          params: { message: `${n}.${round}`, requestedSchema: {} },
        }));
        let answer = await callWithSteps('puppet', steps, firstClient);
        for (const round of [0, 1]) {
          const questions: { params: { message: string } }[] = Object.values(answer.result.inputRequests);
          expect(questions.map(({ params }) => params.message)).toEqual([`${n}.${round}`]);
          answer = await callWithSteps('puppet', steps, {
            ...firstClient,
            ...answerQuestion(answer, accepted(`${n}.${round}`)),
          });
        }
        expect(resultOf(answer)).toEqual([accepted(`${n}.0`), accepted(`${n}.1`)]);
      }),
    );
  });

  test('is not reused after the client abandoned its call, because the server may still ask', async () => {
    const ann = client('leaver');
    const pid = await pidFor('two', ann);
    const leave = new AbortController();
    const late = { ...elicit, params: { message: 'for the one who left', requestedSchema: {} } };
    const steps = [{ progress: 1 }, { ms: 400 }, late];
    const request = toolCall('do', { steps }, ann);
    const abandoned = send(at('two'), request, { signal: leave.signal }).catch((error: Error) => error);
    await until('the call', async () => (await details(gateway.url, 'two')).in_flight === 1);
    leave.abort();
    await abandoned;
    const next = await callWithSteps('two', [{ ms: 600 }], ann);
    expect(resultOf(next)).toEqual([]);
    expect(await pidFor('two', ann)).not.toBe(pid);
    await until('the end of its process', () => !isAlive(pid));
    expect((await details(gateway.url, 'two')).in_flight).toBe(0);
  });

  test('is not reused after a server request outside a call', async () => {
    const ann = client('stray');
    const { pid } = resultOf(await call('local', 'stats', {}, ann)) as { pid: number };
    // The server requests input long after the answer to the call.
    await call('local', 'ask-later', { ms: 500, method: 'elicitation/create' }, ann);
    await until('the end of the process', () => !isAlive(pid));
    const { notes } = resultOf(await call('local', 'stats', {}, ann)) as { notes: string[] };
    expect(notes).not.toContain('refused -32601');
  });

  test('is closed if all slots are in use: first an idle one, then the one with the oldest open question', async () => {
    const free = await pidFor('two', client('evicted'));
    const [a, b] = await Promise.all([
      callWithSteps('two', [elicit], client('a')),
      until('room', async () => {
        const answer = await callWithSteps('two', [elicit], client('b'));
        return answer.result && answer;
      }),
    ]);
    await until('the end of the free one', () => !isAlive(free));
    // Now the connection with the oldest question is replaced.
    expect(await pidFor('two', client('c'))).toBeGreaterThan(0);
    const again = [
      callWithSteps('two', [elicit], { ...client('a'), ...answerQuestion(a, accepted('a')) }),
      callWithSteps('two', [elicit], { ...client('b'), ...answerQuestion(b, accepted('b')) }),
    ];
    const codes = (await Promise.all(again)).map(({ error }) => error?.code);
    expect(new Set(codes)).toEqual(new Set([undefined, -32000]));
    expect(await pidFor('two', client('c'))).toBeGreaterThan(0);
  });

  test('closes after the idle time', async () => {
    const pid = await pidFor('lazy', client('idle'));
    await until('its end', () => !isAlive(pid));
  });
});

describe('a result', () => {
  test('of a legacy server keeps its bytes, and gets each field that modern clients need once', async () => {
    const raw =
      '{"content":[],"structuredContent":{"n":1.0,"big":12345678901234567890,"resultType":"own","e":"\\u00e9é"},"_meta":{"a":1e0}}';
    const answer = await callWithSteps('puppet', [{ answer: raw }]);
    const body = answer.text;
    expect(body).toContain('{"n":1.0,"big":12345678901234567890,"resultType":"own","e":"\\u00e9é"}');
    expect(body).toContain('"a":1e0');
    expect(body.match(/"resultType":"complete"/g)).toHaveLength(1);
    expect(body.match(/serverInfo/g)).toHaveLength(1);
    expect(body).not.toContain('ttlMs');
    const own = await callWithSteps('puppet', [
      { answer: '{"content":[],"resultType":"complete","ttlMs":7}' },
    ]);
    expect(own.text.match(/resultType/g)).toHaveLength(1);
    for (const [method, params] of [
      ['tools/list', {}],
      ['resources/read', { uri: 'test://static-text' }],
    ] as const) {
      const listed = (await send(at('local'), { method, params })).text;
      for (const member of ['resultType":"complete', 'ttlMs":', 'cacheScope":', 'serverInfo":'])
        expect(listed.split(member)).toHaveLength(2);
    }
  });

  test('that is an error keeps code and data, but a missing resource has the code of modern MCP', async () => {
    const data = '{"n":1.0}';
    const answer = await callWithSteps('puppet', [
      { error: { code: -32002, message: 'gone', data: { n: 1 } } },
    ]);
    expect(answer.error).toEqual({ code: -32602, message: 'gone', data: { n: 1 } });
    const missing = await send(at('local'), { method: 'resources/read', params: { uri: 'test://missing' } });
    expect(missing.error).toMatchObject({ code: -32602, data: { uri: 'test://missing' } });
    const odd = await callWithSteps('puppet', [
      { error: { code: { valueOf: 1, toString: 1 }, message: data } },
    ]);
    expect(odd.error?.message).toBe(data);
  });
});

describe('a shared legacy server', () => {
  test('answers a modern client, reports progress, and cannot ask questions', async () => {
    const args = { text: 'plain', n: 1 };
    expect(resultOf(await call('shared', 'echo', args))).toEqual(args);
    const slow = await call('shared', 'slow', { steps: 2 }, { meta: { progressToken: 'p' } });
    expect(progressIn(slow)).toEqual([
      ['p', 1],
      ['p', 2],
    ]);
    for (const tool of ['elicit', 'sample', 'list-roots'])
      expect(resultOf(await call('shared', tool))).toMatchObject({ refused: { code: -32601 } });
  });

  test('sends log messages only to modern clients that requested them', async () => {
    expect(earlierIn(await call('shared', 'log', { levels: ['error'] }))).toEqual([]);
  });
});

describe('other addresses of the gateway', () => {
  test('at /mcp a retry with the prefixed tool name continues its waiting call', async () => {
    const atAll = (more?: More) =>
      send(`${gateway.url}/mcp`, toolCall('puppet__do', { steps: [elicit] }, more));
    const first = await atAll();
    expect(questionsOf(first)).toEqual(['input-1']);
    const retryRequest = answerQuestion(first, accepted('all'));
    // The unprefixed name is a different request.
    expect((await callWithSteps('puppet', [elicit], retryRequest)).error?.code).toBe(-32602);
    expect(resultOf(await atAll(retryRequest))).toEqual([accepted('all')]);
  });

  test('at /rpc a modern request is answered with JSON, and can be retried at any address', async () => {
    const post = async (more: object) => {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
        progressToken: 1,
      };
      const args = { steps: [{ progress: 1 }, elicit] };
      const params = { _meta: meta, name: 'do', arguments: args, ...more };
      const { status, headers, body } = await http(`${gateway.url}/rpc`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-mcp-server': 'puppet' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 'r', method: 'tools/call', params }),
      });
      expect(status).toBe(200);
      expect(headers['content-type']).toContain('application/json');
      return JSON.parse(body.toString()).result;
    };
    const first = await post({});
    expect(first).toMatchObject({ resultType: 'input_required', inputRequests: { 'input-1': {} } });
    const second = await post({
      requestState: first.requestState,
      inputResponses: { 'input-1': accepted('rpc') },
    });
    expect(JSON.parse(second.content[0].text)).toEqual([accepted('rpc')]);
  });
});

describe('the gateway', () => {
  test('immediately ends calls that wait for a client when it stops, and leaves no process', async () => {
    const other = await startGateway({ servers: { puppet }, settings: { shutdown_seconds: 20 } });
    const question = await send(`${other.url}/mcp/puppet`, toolCall('do', { steps: [elicit] }));
    expect(question.result.requestState).toMatch(/./);
    const { pids } = await details(other.url, 'puppet');
    expect(pids.length).toBeGreaterThan(0);
    const startedAt = performance.now();
    expect(await other.stop()).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    for (const pid of pids) expect(isAlive(pid)).toBe(false);
    expect(other.text()).not.toContain('uncaught');
  });

  test('has no request in flight after all tests of this file, and has logged no internal error', async () => {
    await until('the end of all requests', async () => {
      const { requests, servers } = await stats(gateway.url);
      // The `stats` call itself does not count as a client request.
      return requests.in_flight === 0 && Object.values(servers).every(({ in_flight }) => in_flight === 0);
    });
    expect(gateway.text()).not.toMatch(/uncaught|unhandled/);
  });
});
