// Legacy clients before servers of the modern era only: a server that answers that it needs input has the client asked
// on the stream of its own call, and is asked again with the answers; the client sees one call with one answer.

import { beforeAll, describe, expect, test } from 'vitest';
import type { Seen } from '../../fixtures/both-eras/seen.ts';
import { bothErasOverHttp, bothErasOverStdio, type RemoteBothEras } from '../../fixtures/both-eras/start.ts';
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

const elicited = (said: string) => ({ action: 'accept', content: { said } });
const sampled = (name: string) => ({
  model: 'm',
  role: 'assistant',
  content: { type: 'text', text: `${name} sampled` },
});

const open = (id: string, capabilities: object = { elicitation: {}, sampling: {} }) =>
  RawSession.open(gateway.url, `/mcp/${id}`, capabilities);

/** A call of the puppet that gets these results, one per round. */
const given = (key: string, ...results: readonly (string | null)[]) => ({ key, results });
const asks = (requests: string, state = '"s"') =>
  `{"resultType":"input_required","inputRequests":${requests},"requestState":${state}}`;
const elicitation = '{"method":"elicitation/create","params":{"message":"é?","requestedSchema":{}}}';
const sampling = '{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}';
const done = '{"resultType":"complete","content":[{"type":"text","text":"done"}]}';

async function heard(session: RawSession): Promise<string[]> {
  return JSON.parse((await session.call('heard')).text).heard as string[];
}

/** The requests the puppet has got for one key, retries included. */
const roundsOf = (lines: readonly string[], key: string) =>
  lines.filter((line) => line.includes('"method":"tools/call"') && line.includes(`"key":"${key}"`));

test('a request that cannot be carried across is refused, and takes no place in flight', async () => {
  // One deeper than in `initialize` is one too deep.
  const x = JSON.parse(`${'['.repeat(253)}${']'.repeat(253)}`);
  const session = await open('local', { experimental: { x } });
  const before = (await stats(gateway.url)).requests.in_flight;
  for (let n = 0; n < 3; n += 1)
    expect((await session.call('ask')).error?.message).toContain('nested too deeply');
  expect((await stats(gateway.url)).requests.in_flight).toBe(before);
  expect(await session.end()).toBe(204);
});

describe.each(['local', 'remote'])('a legacy client of the SDK at a modern server (%s)', (id) => {
  test('is asked as the server asks, at once and one after the other, but not for roots', async () => {
    const client = await answering(id, 'ann');
    expect(await client.call('ask', { message: 'Who?' })).toMatchObject({ answer: elicited('ann on Who?') });
    expect(await client.call('ask', { kind: 'sample' })).toMatchObject({ answer: sampled('ann') });
    const answers = { q0: elicited('ann on Question 0'), q1: sampled('ann') };
    const kinds = ['elicit', 'sample'];
    expect(await client.call('ask-many', { kinds })).toEqual({ answers, rounds: 2 });
    expect(await client.call('ask-rounds', { kinds })).toEqual({ answers, rounds: 3 });
    expect(await client.request('tools/call', { name: 'ask', arguments: { kind: 'roots' } })).toMatchObject({
      isError: true,
    });
  });

  test('is sent to a page under an id, which its era needs', async () => {
    const seen: unknown[] = [];
    const client = await answering(id, 'ann', {
      capabilities: { elicitation: { form: {}, url: {} } },
      elicit: (params) => {
        seen.push(params);
        return { action: 'accept' };
      },
    });
    expect(await client.call('ask', { kind: 'url', message: 'Sign in' })).toMatchObject({
      answer: { action: 'accept' },
    });
    expect(seen).toEqual([
      {
        mode: 'url',
        message: 'Sign in',
        url: 'https://example.com/sign-in',
        elicitationId: expect.any(String),
      },
    ]);
  });

  test('is not asked where a state is all the server wants, which comes back unchanged (LM1)', async () => {
    const client = await answering(id, 'ann');
    expect(await client.call('come-back', { rounds: 3 })).toEqual({ answers: {}, rounds: 4 });
    expect(await client.call('ask-with-raw-state')).toMatchObject({ isSame: true });
  });

  test('is asked for prompts and resources too', async () => {
    const client = await answering(id, 'ann');
    const prompt = await client.client.getPrompt({ name: 'test_input_required_result_prompt' });
    expect(JSON.stringify(prompt.messages)).toContain('ann on Which context?');
    const { contents } = await client.client.readResource({ uri: 'test://secret' });
    expect(JSON.stringify(contents)).toContain('ann on The word?');
  });

  test('that refuses fails its tool with a result, and its prompt and resource with an error', async () => {
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

  test('that cannot be asked is not', async () => {
    const client = await McpClient.connect(`${gateway.url}/mcp/${id}`);
    expect(await client.request('tools/call', { name: 'ask', arguments: {} })).toMatchObject({
      isError: true,
    });
    expect(await client.call('ask-what-you-can')).toEqual({ answers: {}, rounds: 1 });
  });

  test('gets the log from the level it sets, updates of what it subscribes to, and its pings answered', async () => {
    const client = await answering(id, 'ann');
    const levels = ['debug', 'info', 'error'];
    await client.call('log', { levels });
    expect(client.count('notifications/message')).toBe(0);
    await client.client.setLoggingLevel('info');
    await client.call('log', { levels });
    await eventually('two messages', () => client.count('notifications/message') === 2);
    const told = client.notes.map(({ params }) => (params as { level?: string } | undefined)?.level);
    expect(told.filter((level) => level !== undefined)).toEqual(['info', 'error']);
    const uri = 'test://watched-resource';
    await client.client.subscribeResource({ uri });
    await client.call('update', { uri });
    await eventually('the update', () => client.count('notifications/resources/updated') === 1);
    await client.client.unsubscribeResource({ uri });
    await client.client.ping();
  });

  test('cancels the server’s call with its own', async () => {
    const client = await answering(id, 'ann');
    const cancel = new AbortController();
    const before = ((await client.call('stats')) as Seen).cancelled.length;
    const { length } = ((await client.call('stats')) as Seen).calls;
    const running = client.client.callTool({ name: 'hang' }, undefined, { signal: cancel.signal });
    const failed = errorOf(running);
    const seen = async () => (await client.call('stats')) as Seen;
    await eventually('the call', async () => (await seen()).calls.slice(length).includes('modern hang'));
    cancel.abort();
    await failed;
    await eventually('the cancellation', async () => (await seen()).cancelled.length === before + 1);
  });

  test('reports the progress of every round under the one token', async () => {
    const session = await open(id);
    const onMessage = ({ id: asked, method }: Message) => {
      if (method === 'elicitation/create') void session.reply(asked, elicited('go'));
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

  test('two of them, with equal ids and tokens at the same time, are told apart', async () => {
    const names = ['ann', 'bob', 'cy'];
    await Promise.all(
      names.map(async (name) => {
        const session = await open(id);
        const asked: string[] = [];
        const onMessage = ({ id: question, method, params }: Message) => {
          if (method !== 'elicitation/create') return;
          asked.push(String(params?.message));
          void session.reply(question, elicited(`${name} on ${params?.message}`));
        };
        const calls = [1, 2, 3].map((n) =>
          session.call('ask', { message: `${name}${n}`, ms: 20 }, { id: 7, progressToken: 7, onMessage }),
        );
        for (const [n, { text }] of (await Promise.all(calls)).entries())
          expect(JSON.parse(text).answer).toEqual(elicited(`${name} on ${name}${n + 1}`));
        expect(asked.sort()).toEqual([1, 2, 3].map((n) => `${name}${n}`));
      }),
    );
  });
});

describe.each(['rooted', 'rooted-remote'])('with forward_roots: true (%s)', (id) => {
  test('roots are asked for as well', async () => {
    const client = await answering(id, 'ann');
    expect(await client.call('ask-many')).toMatchObject({
      answers: { q2: { roots: [{ uri: 'file:///ann' }] } },
    });
  });
});

describe('on the wire', () => {
  test('a question comes on the stream of its call and nowhere else, and the answer after it', async () => {
    const session = await open('puppet');
    const stream = await session.listen();
    const results = [asks(`{"a":${elicitation},"b":${sampling}}`), done];
    const asked: Message[] = [];
    const onMessage = (message: Message) => {
      if (message.method === undefined) return;
      asked.push(message);
      // In the other order, and only when both have come.
      if (asked.length === 2)
        void session
          .reply(asked[1]?.id, { model: 'm' })
          .then(() => session.reply(asked[0]?.id, elicited('x')));
    };
    const answer = await session.call('do', given('wire', ...results), { id: 'mine', onMessage });
    expect(answer.messages).toHaveLength(3);
    expect(asked.map(({ method, params }) => [method, params])).toEqual([
      ['elicitation/create', { message: 'é?', requestedSchema: {} }],
      ['sampling/createMessage', { messages: [], maxTokens: 1 }],
    ]);
    expect(answer.messages.at(-1)).toMatchObject({ id: 'mine', result: { content: [{ text: 'done' }] } });
    expect(stream.messages).toEqual([]);
    stream.stop();
    const [first, retry, ...more] = roundsOf(await heard(session), 'wire').map((line) => JSON.parse(line));
    expect(more).toEqual([]);
    expect(retry.id).not.toBe(first.id);
    expect(retry.params).toEqual({
      ...first.params,
      requestState: 's',
      inputResponses: { a: elicited('x'), b: { model: 'm' } },
    });
    expect(first.params._meta).toMatchObject({
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, sampling: {} },
    });
  });

  test('a state, an answer and arguments keep every byte', async () => {
    const session = await open('puppet');
    const state = '"\\u00e9é\\u2028\u2028 \\"1.0\\" \\/ \\ud83d\\ude00😀\\u0000"';
    const results = [asks(`{"a é":${elicitation}}`, state), done];
    const args = JSON.stringify(given('bytes', ...results)).replace(
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
    const retry = roundsOf(await heard(session), 'bytes').at(-1) ?? '';
    expect(retry).toContain(`"requestState":${state}`);
    expect(retry).toContain(`"inputResponses":{"a é":${reply}}`);
    expect(retry).toContain(args);
  });

  test('a result loses what only the other era knows, and nothing else', async () => {
    const session = await open('puppet');
    const result =
      '{"resultType":"complete","content":[], "structuredContent":{"n":1.0,"ttlMs":5,"big":12345678901234567890},"ttlMs":5,"x":{"resultType":"y"},"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n"},"a":1e0}}';
    const { body } = await session.call('do', given('lose', result));
    const kept =
      '{"content":[], "structuredContent":{"n":1.0,"ttlMs":5,"big":12345678901234567890},"x":{"resultType":"y"},"_meta":{"a":1e0}}';
    expect(body.toString()).toContain(`"result":${kept}`);
  });

  test('a server that never has enough is asked eight times more, and then no more', async () => {
    const session = await open('puppet');
    const onMessage = ({ id, method }: Message) => {
      if (method === 'elicitation/create') void session.reply(id, elicited('again'));
    };
    const answer = await session.call('do', given('greedy', asks(`{"a":${elicitation}}`)), { onMessage });
    expect(answer.result).toMatchObject({ isError: true });
    expect(answer.text).toContain('8 rounds');
    expect(roundsOf(await heard(session), 'greedy')).toHaveLength(9);
  });

  test('input that makes no sense fails the call, and nothing else', async () => {
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
      const answer = await session.call('do', given(`senseless-${n}`, asks(requests)));
      expect(answer.result).toMatchObject({ isError: true });
      // Whatever was asked before the call failed was taken back.
      const asked = answer.messages
        .filter(({ method }) => method === 'elicitation/create')
        .map(({ id }) => id);
      const withdrawn = answer.messages.filter(({ method }) => method === 'notifications/cancelled');
      expect(withdrawn.map(({ params }) => params?.requestId)).toEqual(asked);
    }
    const odd = '{"resultType":{"toString":1,"valueOf":1},"content":[{"type":"text","text":"odd"}]}';
    expect((await session.call('do', given('odd', odd))).text).toBe('odd');
    const script = JSON.stringify(given('prompt', asks('{"a":null}')));
    const prompt = await session.request('prompts/get', { name: 'do', arguments: { script } });
    expect(prompt.error?.code).toBe(-32603);
    expect((await session.call('do', given('fine', done))).text).toBe('done');
  });

  test('a key that occurs twice is asked once, and the server is asked again once', async () => {
    const session = await open('puppet');
    let asked = 0;
    const onMessage = ({ id, method }: Message) => {
      if (method === undefined) return;
      asked += 1;
      void session.reply(id, { model: 'm' });
    };
    const results = [asks(`{"a":${elicitation},"a":${sampling}}`), done];
    expect((await session.call('do', given('twice', ...results), { onMessage })).text).toBe('done');
    expect(asked).toBe(1);
    expect(roundsOf(await heard(session), 'twice')).toHaveLength(2);
  });

  test('one refusal takes the other questions back', async () => {
    const session = await open('puppet');
    const results = [asks(`{"a":${elicitation},"b":${sampling}}`), done];
    const onMessage = ({ id, method }: Message) => {
      const error = { code: -1, message: 'no' };
      if (method === 'sampling/createMessage')
        void session.raw(JSON.stringify({ jsonrpc: '2.0', id, error }));
    };
    const answer = await session.call('do', given('refused', ...results), { onMessage });
    expect(answer.result).toMatchObject({ isError: true });
    expect(answer.text).toContain('no');
    const [elicits, , withdrawal] = answer.messages;
    expect(withdrawal).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: elicits?.id },
    });
    // Too late: it is nobody's any more.
    await session.reply(elicits?.id, elicited('late'));
    expect(roundsOf(await heard(session), 'refused')).toHaveLength(1);
  });
});

test('at /mcp the client is asked in the same way', async () => {
  const session = await RawSession.open(gateway.url, '/mcp', { elicitation: {} });
  const onMessage = ({ id, method }: Message) => {
    if (method === 'elicitation/create') void session.reply(id, elicited('all'));
  };
  const call = given('aggregated', asks(`{"a":${elicitation}}`), done);
  expect((await session.call('puppet__do', call, { onMessage })).text).toBe('done');
  const lines = JSON.parse((await session.call('puppet__heard')).text).heard as string[];
  expect(roundsOf(lines, 'aggregated').map((line) => JSON.parse(line).params.name)).toEqual(['do', 'do']);
});

describe('a call given up while the client is asked', () => {
  async function asked(
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
    const call = given(key, asks(`{"a":${elicitation}}`), done);
    const ended = session.call('do', call, { id: 'given-up', onMessage });
    return { session, question: await question, ended };
  }

  test('by its cancellation ends with its question withdrawn and the server left alone', async () => {
    const { session, question, ended } = await asked('cancelled');
    await session.notify('notifications/cancelled', { requestId: 'given-up' });
    const { messages } = await ended;
    expect(messages.at(-1)).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: question.id },
    });
    await session.reply(question.id, elicited('late'));
    expect(roundsOf(await heard(session), 'cancelled')).toHaveLength(1);
  });

  test('by the end of its session ends with an error', async () => {
    const { session, ended } = await asked('deleted');
    expect(await session.end()).toBeLessThan(300);
    expect((await ended).error).toBeDefined();
    const other = await open('puppet');
    expect(roundsOf(await heard(other), 'deleted')).toHaveLength(1);
  });

  test('by nobody goes on, though the client’s connection is cut: it may answer from another', async () => {
    const session = await open('puppet');
    const cut = new AbortController();
    let question: unknown;
    const results = [asks(`{"a":${elicitation}}`), done];
    const onMessage = ({ id, method }: Message) => {
      if (method !== 'elicitation/create') return;
      question = id;
      cut.abort();
    };
    await session.call('do', given('cut', ...results), { onMessage, signal: cut.signal }).catch(() => {});
    await session.reply(question, elicited('from elsewhere'));
    await eventually('the retry', async () => roundsOf(await heard(session), 'cut').length === 2);
  });
});

describe.each(['lazy', 'lazy-shared'])('a client that takes its time (%s)', (id) => {
  test('is answered by the process that asked, though that had nothing to do meanwhile', async () => {
    const session = await open(id);
    const onMessage = ({ id: asked, method }: Message) => {
      if (method === 'elicitation/create')
        setTimeout(() => void session.reply(asked, elicited('at last')), 2500);
    };
    const { text } = await session.call('ask-many', { kinds: ['elicit'] }, { onMessage });
    expect(JSON.parse(text)).toEqual({ answers: { q0: elicited('at last') }, rounds: 2 });
    await eventually(
      'the end of the process',
      async () => (await details(gateway.url, id)).pids.length === 0,
    );
  });
});

test('without a session nobody can be asked, but a state alone is brought back', async () => {
  expect((await rpc(gateway.url, 'local', 'tools/call', { name: 'ask' })).result).toMatchObject({
    isError: true,
  });
  const answer = await rpc(gateway.url, 'local', 'tools/call', { name: 'come-back' });
  expect(JSON.parse(answer.text)).toMatchObject({ rounds: 3 });
});

test('nothing is in flight after all this, and the gateway has met no fault', async () => {
  await eventually('the end of all requests', async () => {
    const { requests, servers } = await stats(gateway.url);
    return requests.in_flight === 0 && Object.values(servers).every(({ in_flight }) => in_flight === 0);
  });
  expect(gateway.text()).not.toMatch(/uncaught|unhandled/);
});
