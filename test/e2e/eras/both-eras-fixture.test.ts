// The both-eras server of the fixtures, checked with the client of the public SDK, because gateway tests rely
// on it: all kinds of questions, over stdio and HTTP, in both eras.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bothErasOverHttp, bothErasOverStdio } from '../../fixtures/both-eras/start.ts';
import type { ProcessStatistics } from '../../fixtures/both-eras/statistics.ts';
import { eventually } from '../../fixtures/clients/mcp-client.ts';

type Era = 'legacy' | 'modern';

const clients: Client[] = [];

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
});

async function connect(era: Era, carrier: 'stdio' | 'http', isModernOnly = false): Promise<Client> {
  const client = new Client(
    { name: 'tester', version: '1' },
    {
      capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } },
    },
  );
  client.setRequestHandler('elicitation/create', async ({ params }) => ({
    action: 'accept',
    content: { said: params.message },
  }));
  client.setRequestHandler('sampling/createMessage', async () => ({
    model: 'm',
    role: 'assistant',
    content: { type: 'text', text: 'sampled' },
  }));
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///root' }] }));
  const transport =
    carrier === 'stdio'
      ? new StdioClientTransport(bothErasOverStdio({ isModernOnly }))
      : new StreamableHTTPClientTransport(new URL((await bothErasOverHttp({ isModernOnly })).url));
  clients.push(client);
  await client.connect(transport);
  return client;
}

const elicitation = (text: string) => ({ action: 'accept', content: { said: text } });
const sample = { model: 'm', role: 'assistant', content: { type: 'text', text: 'sampled' } };
const roots = { roots: [{ uri: 'file:///root' }] };

describe.each([
  ['legacy', 'stdio'],
  ['legacy', 'http'],
  ['modern', 'stdio'],
  ['modern', 'http'],
] as const)('the test server for protocol era %s over %s', (era, transport) => {
  let client: Client;

  beforeAll(async () => {
    client = await connect(era, transport);
  });

  async function call(name: string, args: Record<string, unknown> = {}): Promise<unknown> {
    const { content } = await client.callTool({ name, arguments: args });
    const [first] = content as { text: string }[];
    return JSON.parse(first?.text ?? 'null');
  }

  test('the test server uses the protocol version of its era, and receives the info and capabilities of the client', async () => {
    const { mine } = (await call('stats')) as ProcessStatistics;
    expect(mine).toMatchObject({
      era,
      protocolVersion: era === 'legacy' ? '2025-11-25' : '2026-07-28',
      clientInfo: { name: 'tester', version: '1' },
      clientCapabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
    });
  });

  test('a tool can ask the client for user input, for a model response and for its roots', async () => {
    expect(await call('ask', { message: 'Who?' })).toMatchObject({ answer: elicitation('Who?') });
    expect(await call('ask', { kind: 'sample' })).toMatchObject({ answer: sample });
    expect(await call('ask', { kind: 'roots' })).toMatchObject({ answer: roots });
    expect(await call('ask', { kind: 'url', message: 'Sign in' })).toMatchObject({
      answer: { action: 'accept' },
    });
  });

  test('a tool can ask the client several questions, in parallel and in sequence', async () => {
    const answers = { q0: elicitation('Question 0'), q1: sample, q2: roots };
    expect(await call('ask-many')).toEqual({ answers, rounds: 2 });
    expect(await call('ask-rounds', { kinds: ['elicit', 'sample', 'roots'] })).toEqual({
      answers,
      rounds: 4,
    });
  });

  test('a tool whose result contains only a state is called again with this state, unchanged', async () => {
    expect(await call('come-back', { rounds: 3 })).toEqual({ answers: {}, rounds: 4 });
    expect(await call('ask-with-raw-state')).toMatchObject({ isSame: true });
  });

  test('the test server can ask the client also during requests for prompts and resources', async () => {
    const prompt = await client.getPrompt({ name: 'test_input_required_result_prompt' });
    expect(JSON.stringify(prompt.messages)).toContain('Which context?');
    const { contents } = await client.readResource({ uri: 'test://secret' });
    expect(JSON.stringify(contents)).toContain('The word?');
  });

  test('the test server reports the progress of a call, and is notified if the client cancels a call', async () => {
    const steps: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => steps.push(progress);
    await client.callTool({ name: 'slow', arguments: { steps: 3, ms: 20 } }, { onprogress });
    expect(steps).toEqual([1, 2, 3]);
    const abort = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, { signal: abort.signal });
    const stats = async () => (await call('stats')) as ProcessStatistics;
    await eventually('the start of the call', async () => (await stats()).calls.includes(`${era} hang`));
    abort.abort('enough');
    await expect(hanging).rejects.toThrow('enough');
    await eventually('the cancellation', async () => (await stats()).cancelled.includes('hang'));
  });

  test('the test server notifies the client of changed tools and of a changed resource', async () => {
    const uri = 'test://watched-resource';
    const notes: string[] = [];
    client.setNotificationHandler('notifications/tools/list_changed', () => void notes.push('tools'));
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void notes.push(params.uri),
    );
    if (era === 'modern') await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] });
    else await client.subscribeResource({ uri });
    await client.callTool({ name: 'update', arguments: { uri } });
    await client.callTool({ name: 'touch', arguments: { name: 'brand-new' } });
    await eventually('both notifications', () => notes.includes('tools') && notes.includes(uri));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('brand-new');
  });

  test('unknown tools, failing tools and unknown resources are reported with their error codes', async () => {
    await expect(client.callTool({ name: 'none' })).rejects.toMatchObject({ code: -32602 });
    await expect(client.callTool({ name: 'fail' })).rejects.toMatchObject({
      code: -32050,
      data: { list: [1, null] },
    });
    await expect(client.readResource({ uri: 'test://none' })).rejects.toMatchObject({ code: -32602 });
  });
});

describe('a server of the modern era only', () => {
  // Over HTTP the client has the response body as text.
  test.each([
    ['stdio', { code: -32022 }],
    ['http', { message: expect.stringContaining('-32022') }],
  ] as const)('rejects initialize over %s', async (transport, refusal) => {
    await expect(connect('legacy', transport, true)).rejects.toMatchObject(refusal);
    const client = await connect('modern', transport, true);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo');
  });
});
