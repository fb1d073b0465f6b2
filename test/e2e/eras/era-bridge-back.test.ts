// Legacy clients with modern servers: if a server needs input, the gateway asks the client on the stream of
// the call and retries the request with the answers. The client sees a single call and its answer.

import { beforeAll, describe, expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio, type RemoteBothEras } from '../../fixtures/both-eras/start.ts';
import type { ProcessStatistics } from '../../fixtures/both-eras/statistics.ts';
import { type ConnectOptions, errorOf, eventually, McpClient } from '../../fixtures/clients/mcp-client.ts';
import {
  details,
  type Message,
  RawSession,
  type RpcAnswer,
  rpc,
  stats,
} from '../../fixtures/clients/raw-session.ts';
import { type GatewayProcess, startGateway } from '../../fixtures/gateway/gateway-process.ts';

let gateway: GatewayProcess;
let remote: RemoteBothEras;

const era = 'modern';
const script = `${import.meta.dirname}/../../fixtures/servers/modern-puppet.mjs`;
const puppet = { command: process.execPath, args: [script], era };

beforeAll(async () => {
  remote = await bothErasOverHttp({ isModernOnly: true });
  const own = bothErasOverStdio({ isModernOnly: true });
  gateway = await startGateway({
    servers: {
      local: { ...own, era },
      remote: { url: remote.url, era },
      rooted: { ...own, era, isolation: 'session', forward_roots: true },
      'rooted-remote': { url: remote.url, era, forward_roots: true },
      puppet,
      lazy: { ...own, era, isolation: 'session', idle_timeout_seconds: 1 },
      'lazy-shared': { ...own, era, idle_timeout_seconds: 1 },
    },
  });
});

async function answering(id: string, name: string, more: ConnectOptions = {}): Promise<McpClient> {
  return McpClient.connect(`${gateway.url}/mcp/${id}`, {
    name,
    elicit: ({ message }) => ({ action: 'accept', content: { said: `${name} on ${String(message)}` } }),
    sample: () => ({ model: 'm', role: 'assistant', content: { type: 'text', text: `${name} sampled` } }),
    roots: () => [{ uri: `file:///${name}` }],
    ...more,
  });
}

const accept = (text: string) => ({ action: 'accept', content: { said: text } });
const sample = (name: string) => ({
  model: 'm',
  role: 'assistant',
  content: { type: 'text', text: `${name} sampled` },
});

const open = (id: string, capabilities: object = { elicitation: {}, sampling: {} }) =>
  RawSession.open(gateway.url, `/mcp/${id}`, capabilities);

/** Puppet call arguments, with a single result per round. */
const argsFor = (key: string, ...results: readonly (string | null)[]) => ({ key, results });
const questionResult = (requests: string, state = '"s"') =>
  `{"resultType":"input_required","inputRequests":${requests},"requestState":${state}}`;
const elicitation = '{"method":"elicitation/create","params":{"message":"é?","requestedSchema":{}}}';
const sampling = '{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}';
const done = '{"resultType":"complete","content":[{"type":"text","text":"done"}]}';

async function linesOf(session: RawSession): Promise<string[]> {
  return JSON.parse((await session.call('heard')).text).heard as string[];
}

/** Requests of the puppet for a key, including retries. */
const roundsOf = (lines: readonly string[], key: string) =>
  lines.filter((line) => line.includes('"method":"tools/call"') && line.includes(`"key":"${key}"`));

test('a legacy request that cannot be translated to modern MCP is rejected and occupies no slot', async () => {
  // Nested one level deeper than the limit when it is translated.
  const x = JSON.parse(`${'['.repeat(253)}${']'.repeat(253)}`);
  const session = await open('local', { experimental: { x } });
  const before = (await stats(gateway.url)).requests.in_flight;
  for (let n = 0; n < 3; n += 1)
    expect((await session.call('ask')).error?.message).toContain('nested too deeply');
  expect((await stats(gateway.url)).requests.in_flight).toBe(before);
  expect(await session.end()).toBe(204);
});

describe.each(['local', 'remote'])('a legacy SDK client of a modern server (%s)', (id) => {
  test('receives the questions of the server, in parallel and in sequence, but no roots requests', async () => {
    const client = await answering(id, 'ann');
    expect(await client.call('ask', { message: 'Who?' })).toMatchObject({ answer: accept('ann on Who?') });
    expect(await client.call('ask', { kind: 'sample' })).toMatchObject({ answer: sample('ann') });
    const answers = { q0: accept('ann on Question 0'), q1: sample('ann') };
    const kinds = ['elicit', 'sample'];
    expect(await client.call('ask-many', { kinds })).toEqual({ answers, rounds: 2 });
    expect(await client.call('ask-rounds', { kinds })).toEqual({ answers, rounds: 3 });
    expect(await client.request('tools/call', { name: 'ask', arguments: { kind: 'roots' } })).toMatchObject({
      isError: true,
    });
  });

  test('receives a URL with an id, which legacy MCP requires', async () => {
    const progress: unknown[] = [];
    const client = await answering(id, 'ann', {
      capabilities: { elicitation: { form: {}, url: {} } },
      elicit: (params) => {
        progress.push(params);
        return { action: 'accept' };
      },
    });
    expect(await client.call('ask', { kind: 'url', message: 'Sign in' })).toMatchObject({
      answer: { action: 'accept' },
    });
    expect(progress).toEqual([
      {
        mode: 'url',
        message: 'Sign in',
        url: 'https://example.com/sign-in',
        elicitationId: expect.any(String),
      },
    ]);
  });

  test('receives no question if the server only requests its state back', async () => {
    const client = await answering(id, 'ann');
    expect(await client.call('come-back', { rounds: 3 })).toEqual({ answers: {}, rounds: 4 });
    expect(await client.call('ask-with-raw-state')).toMatchObject({ isSame: true });
  });

  test('receives questions also during requests for prompts and resources', async () => {
    const client = await answering(id, 'ann');
    const prompt = await client.client.getPrompt({ name: 'test_input_required_result_prompt' });
    expect(JSON.stringify(prompt.messages)).toContain('ann on Which context?');
    const { contents } = await client.client.readResource({ uri: 'test://secret' });
    expect(JSON.stringify(contents)).toContain('ann on The word?');
  });

  test('that declines gets an error result of a tool, and an error of a prompt or resource', async () => {
    const client = await answering(id, 'ann', {
      elicit: () => {
        throw Object.assign(new Error('not today'), { code: -1 });
      },
    });
    const failed = await client.request('tools/call', { name: 'ask', arguments: {} });
    expect(failed).toMatchObject({ isError: true });
    expect(JSON.stringify(failed.content)).toContain('not today');
    const name = 'test_input_required_result_prompt';
    expect(await errorOf(client.client.getPrompt({ name }))).toMatchObject({ code: -32603 });
    expect(await errorOf(client.client.readResource({ uri: 'test://secret' }))).toMatchObject({
      code: -32603,
    });
    const declining = await answering(id, 'bob', { elicit: () => ({ action: 'decline' }) });
    expect(await declining.call('ask')).toMatchObject({ answer: { action: 'decline' } });
  });

  test('that cannot answer questions receives none', async () => {
    const client = await McpClient.connect(`${gateway.url}/mcp/${id}`);
    expect(await client.request('tools/call', { name: 'ask', arguments: {} })).toMatchObject({
      isError: true,
    });
    expect(await client.call('ask-what-you-can')).toEqual({ answers: {}, rounds: 1 });
  });

  test('receives log messages from its level, updates of subscriptions, and answers to pings', async () => {
    const client = await answering(id, 'ann');
    const levels = ['debug', 'info', 'error'];
    await client.call('log', { levels });
    expect(client.count('notifications/message')).toBe(0);
    await client.client.setLoggingLevel('info');
    await client.call('log', { levels });
    await eventually('two messages', () => client.count('notifications/message') === 2);
    const logLevels = client.notes.map(({ params }) => (params as { level?: string } | undefined)?.level);
    expect(logLevels.filter((level) => level !== undefined)).toEqual(['info', 'error']);
    const uri = 'test://watched-resource';
    await client.client.subscribeResource({ uri });
    await client.call('update', { uri });
    await eventually('the update', () => client.count('notifications/resources/updated') === 1);
    await client.client.unsubscribeResource({ uri });
    await client.client.ping();
  });

  test('cancels the call at the server', async () => {
    const client = await answering(id, 'ann');
    const cancel = new AbortController();
    const before = ((await client.call('stats')) as ProcessStatistics).cancelled.length;
    const { length } = ((await client.call('stats')) as ProcessStatistics).calls;
    const running = client.client.callTool({ name: 'hang' }, undefined, { signal: cancel.signal });
    const failed = errorOf(running);
    const statsOf = async () => (await client.call('stats')) as ProcessStatistics;
    await eventually('the call', async () => (await statsOf()).calls.slice(length).includes('modern hang'));
    cancel.abort();
    await failed;
    await eventually('the cancellation', async () => (await statsOf()).cancelled.length === before + 1);
  });

  test('receives the progress of all rounds under one token', async () => {
    const session = await open(id);
    const onMessage = ({ id: asked, method }: Message) => {
      if (method === 'elicitation/create') void session.reply(asked, accept('go'));
    };
    const { messages } = await session.call('report-and-ask', {}, { progressToken: 'tok', onMessage });
    const steps = messages.filter(({ method }) => method === 'notifications/progress');
    expect(steps.map(({ params }) => [params?.progressToken, params?.progress])).toEqual([
      ['tok', 1],
      ['tok', 2],
      ['tok', 3],
      ['tok', 4],
    ]);
  });

  test('is not mixed up with a second client that uses equal ids and tokens', async () => {
    const names = ['ann', 'bob', 'cy'];
    await Promise.all(
      names.map(async (name) => {
        const session = await open(id);
        const questions: string[] = [];
        const onMessage = ({ id: question, method, params }: Message) => {
          if (method !== 'elicitation/create') return;
          questions.push(String(params?.message));
          void session.reply(question, accept(`${name} on ${params?.message}`));
        };
        const calls = [1, 2, 3].map((n) =>
          session.call('ask', { message: `${name}${n}`, ms: 20 }, { id: 7, progressToken: 7, onMessage }),
        );
        for (const [n, { text }] of (await Promise.all(calls)).entries())
          expect(JSON.parse(text).answer).toEqual(accept(`${name} on ${name}${n + 1}`));
        expect(questions.sort()).toEqual([1, 2, 3].map((n) => `${name}${n}`));
      }),
    );
  });
});

describe.each(['rooted', 'rooted-remote'])('with forward_roots: true (%s)', (id) => {
  test('a legacy client of a modern server also receives roots requests', async () => {
    const client = await answering(id, 'ann');
    expect(await client.call('ask-many')).toMatchObject({
      answers: { q2: { roots: [{ uri: 'file:///ann' }] } },
    });
  });
});

describe('between a legacy client and a modern server', () => {
  test('a question arrives only on the stream of its call, before the answer', async () => {
    const session = await open('puppet');
    const stream = await session.listen();
    const results = [questionResult(`{"a":${elicitation},"b":${sampling}}`), done];
    const questions: Message[] = [];
    const onMessage = (message: Message) => {
      if (message.method === undefined) return;
      questions.push(message);
      // Answers in reverse order, once both questions have arrived.
      if (questions.length === 2)
        void session
          .reply(questions[1]?.id, { model: 'm' })
          .then(() => session.reply(questions[0]?.id, accept('x')));
    };
    const answer = await session.call('do', argsFor('wire', ...results), { id: 'mine', onMessage });
    expect(answer.messages).toHaveLength(3);
    expect(questions.map(({ method, params }) => [method, params])).toEqual([
      ['elicitation/create', { message: 'é?', requestedSchema: {} }],
      ['sampling/createMessage', { messages: [], maxTokens: 1 }],
    ]);
    expect(answer.messages.at(-1)).toMatchObject({ id: 'mine', result: { content: [{ text: 'done' }] } });
    expect(stream.messages).toEqual([]);
    stream.stop();
    const [first, retry, ...more] = roundsOf(await linesOf(session), 'wire').map((line) => JSON.parse(line));
    expect(more).toEqual([]);
    expect(retry.id).not.toBe(first.id);
    expect(retry.params).toEqual({
      ...first.params,
      requestState: 's',
      inputResponses: { a: accept('x'), b: { model: 'm' } },
    });
    expect(first.params._meta).toMatchObject({
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {} },
    });
  });

  test('a state, an answer and arguments reach the server byte for byte', async () => {
    const session = await open('puppet');
    const state = '"\\u00e9é\\u2028\u2028 \\"1.0\\" \\/ \\ud83d\\ude00😀\\u0000"';
    const results = [questionResult(`{"a é":${elicitation}}`, state), done];
    const args = JSON.stringify(argsFor('bytes', ...results)).replace(
      '{',
      '{"n":1.0,"big":12345678901234567890,',
    );
    const reply = '{"action":"accept","content":{"n":1.0,"e":"\\u00e9é","big":12345678901234567890}}';
    let pending = '';
    const onData = (chunk: Buffer) => {
      pending += chunk.toString();
      const id = /"id":(\d+),"method":"elicitation\/create"/.exec(pending)?.[1];
      if (id === undefined) return;
      pending = '';
      void session.raw(`{"jsonrpc":"2.0","id":${id},"result":${reply}}`);
    };
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"do","arguments":${args}}}`;
    const answer = await session.raw(body, { onData });
    expect(answer.text).toBe('done');
    const retry = roundsOf(await linesOf(session), 'bytes').at(-1) ?? '';
    expect(retry).toContain(`"requestState":${state}`);
    expect(retry).toContain(`"inputResponses":{"a é":${reply}}`);
    expect(retry).toContain(args);
  });

  test('a result loses only fields that legacy MCP does not have', async () => {
    const session = await open('puppet');
    const result =
      '{"resultType":"complete","content":[], "structuredContent":{"n":1.0,"ttlMs":5,"big":12345678901234567890},"ttlMs":5,"x":{"resultType":"y"},"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"},"a":1e0}}';
    const { body } = await session.call('do', argsFor('lose', result));
    const storedBytes =
      '{"content":[], "structuredContent":{"n":1.0,"ttlMs":5,"big":12345678901234567890},"x":{"resultType":"y"},"_meta":{"a":1e0}}';
    expect(body.toString()).toContain(`"result":${storedBytes}`);
  });

  test('a server that always needs more input is retried eight times', async () => {
    const session = await open('puppet');
    const onMessage = ({ id, method }: Message) => {
      if (method === 'elicitation/create') void session.reply(id, accept('again'));
    };
    const answer = await session.call('do', argsFor('greedy', questionResult(`{"a":${elicitation}}`)), {
      onMessage,
    });
    expect(answer.result).toMatchObject({ isError: true });
    expect(answer.text).toContain('8 rounds');
    expect(roundsOf(await linesOf(session), 'greedy')).toHaveLength(9);
  });

  test('invalid input fails only the call', async () => {
    const session = await open('puppet');
    const senseless = [
      '{"a":null}',
      '{"a":5}',
      '{"a":[]}',
      '{"a":{"method":null}}',
      '{"a":{"method":{"toString":1,"valueOf":1}}}',
      '{"a":{"method":"constructor"}}',
      `{"a":${elicitation},"b":{"method":"roots/list"}}`,
      `{${Array.from({ length: 300 }, (_, n) => `"q${n}":${elicitation}`).join(',')}}`,
    ];
    for (const [n, requests] of senseless.entries()) {
      const answer = await session.call('do', argsFor(`senseless-${n}`, questionResult(requests)));
      expect(answer.result).toMatchObject({ isError: true });
      // Questions that were asked before the failure were withdrawn.
      const questions = answer.messages
        .filter(({ method }) => method === 'elicitation/create')
        .map(({ id }) => id);
      const withdrawn = answer.messages.filter(({ method }) => method === 'notifications/cancelled');
      expect(withdrawn.map(({ params }) => params?.requestId)).toEqual(questions);
    }
    const odd = '{"resultType":{"toString":1,"valueOf":1},"content":[{"type":"text","text":"odd"}]}';
    expect((await session.call('do', argsFor('odd', odd))).text).toBe('odd');
    const script = JSON.stringify(argsFor('prompt', questionResult('{"a":null}')));
    const prompt = await session.request('prompts/get', { name: 'do', arguments: { script } });
    expect(prompt.error?.code).toBe(-32603);
    expect((await session.call('do', argsFor('fine', done))).text).toBe('done');
  });

  test('a duplicate key among the questions leads to one question and one retry', async () => {
    const session = await open('puppet');
    let count = 0;
    const onMessage = ({ id, method }: Message) => {
      if (method === undefined) return;
      count += 1;
      void session.reply(id, { model: 'm' });
    };
    const results = [questionResult(`{"a":${elicitation},"a":${sampling}}`), done];
    expect((await session.call('do', argsFor('twice', ...results), { onMessage })).text).toBe('done');
    expect(count).toBe(1);
    expect(roundsOf(await linesOf(session), 'twice')).toHaveLength(2);
  });

  test('an error of the client for one question withdraws the others', async () => {
    const session = await open('puppet');
    const results = [questionResult(`{"a":${elicitation},"b":${sampling}}`), done];
    const onMessage = ({ id, method }: Message) => {
      const error = { code: -1, message: 'no' };
      if (method === 'sampling/createMessage')
        void session.raw(JSON.stringify({ jsonrpc: '2.0', id, error }));
    };
    const answer = await session.call('do', argsFor('refused', ...results), { onMessage });
    expect(answer.result).toMatchObject({ isError: true });
    expect(answer.text).toContain('no');
    const [elicits, , withdrawal] = answer.messages;
    expect(withdrawal).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: elicits?.id },
    });
    // Too late: the question no longer exists.
    await session.reply(elicits?.id, accept('late'));
    expect(roundsOf(await linesOf(session), 'refused')).toHaveLength(1);
  });
});

test('at /mcp a legacy client also receives the questions of a modern server', async () => {
  const session = await RawSession.open(gateway.url, '/mcp', { elicitation: {} });
  const onMessage = ({ id, method }: Message) => {
    if (method === 'elicitation/create') void session.reply(id, accept('all'));
  };
  const call = argsFor('aggregated', questionResult(`{"a":${elicitation}}`), done);
  expect((await session.call('puppet__do', call, { onMessage })).text).toBe('done');
  const lines = JSON.parse((await session.call('puppet__heard')).text).heard as string[];
  expect(roundsOf(lines, 'aggregated').map((line) => JSON.parse(line).params.name)).toEqual(['do', 'do']);
});

describe('a call abandoned during a question', () => {
  async function askAndWait(
    key: string,
  ): Promise<{ session: RawSession; question: Message; ended: Promise<RpcAnswer> }> {
    const session = await open('puppet');
    let onQuestion: (message: Message) => void = () => {};
    const question = new Promise<Message>((resolve) => {
      onQuestion = resolve;
    });
    const onMessage = (message: Message) => {
      if (message.method === 'elicitation/create') onQuestion(message);
    };
    const call = argsFor(key, questionResult(`{"a":${elicitation}}`), done);
    const running = session.call('do', call, { id: 'given-up', onMessage });
    return { session, question: await question, ended: running };
  }

  test('ends when the client cancels it: the question is withdrawn, and the server is not called', async () => {
    const { session, question, ended } = await askAndWait('cancelled');
    await session.notify('notifications/cancelled', { requestId: 'given-up' });
    const { messages } = await ended;
    expect(messages.at(-1)).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: question.id },
    });
    await session.reply(question.id, accept('late'));
    expect(roundsOf(await linesOf(session), 'cancelled')).toHaveLength(1);
  });

  test('ends with an error when the session ends', async () => {
    const { session, ended } = await askAndWait('deleted');
    expect(await session.end()).toBeLessThan(300);
    expect((await ended).error).toBeDefined();
    const other = await open('puppet');
    expect(roundsOf(await linesOf(other), 'deleted')).toHaveLength(1);
  });

  test('continues after the connection is cut: the client may answer on a new connection', async () => {
    const session = await open('puppet');
    const cut = new AbortController();
    let question: unknown;
    const results = [questionResult(`{"a":${elicitation}}`), done];
    const onMessage = ({ id, method }: Message) => {
      if (method !== 'elicitation/create') return;
      question = id;
      cut.abort();
    };
    await session.call('do', argsFor('cut', ...results), { onMessage, signal: cut.signal }).catch(() => {});
    await session.reply(question, accept('from elsewhere'));
    await eventually('the retry', async () => roundsOf(await linesOf(session), 'cut').length === 2);
  });
});

describe.each(['lazy', 'lazy-shared'])('a slow client (%s)', (id) => {
  test('gets its result from the server process that asked, which is not stopped as idle meanwhile', async () => {
    const session = await open(id);
    const onMessage = ({ id: asked, method }: Message) => {
      if (method === 'elicitation/create')
        setTimeout(() => void session.reply(asked, accept('at last')), 2500);
    };
    const { text } = await session.call('ask-many', { kinds: ['elicit'] }, { onMessage });
    expect(JSON.parse(text)).toEqual({ answers: { q0: accept('at last') }, rounds: 2 });
    await eventually(
      'the end of the process',
      async () => (await details(gateway.url, id)).pids.length === 0,
    );
  });
});

test('a request without a session receives no questions, but a result with only a state is retried', async () => {
  expect((await rpc(gateway.url, 'local', 'tools/call', { name: 'ask' })).result).toMatchObject({
    isError: true,
  });
  const answer = await rpc(gateway.url, 'local', 'tools/call', { name: 'come-back' });
  expect(JSON.parse(answer.text)).toMatchObject({ rounds: 3 });
});

test('after all tests of this file no request is in flight, and no internal error was logged', async () => {
  await eventually('the end of all requests', async () => {
    const { requests, servers } = await stats(gateway.url);
    return requests.in_flight === 0 && Object.values(servers).every(({ in_flight }) => in_flight === 0);
  });
  expect(gateway.text()).not.toMatch(/uncaught|unhandled/);
});
