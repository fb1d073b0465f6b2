import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { costOf } from '../../../../../actors/agents/models/provider-models.ts';
import { answerFormat } from '../../../../../actors/agents/models/streamed-answer.ts';
import {
  KEY,
  lookUp,
  modelRequest,
  modelsAt,
  providerTypes,
  requestModel,
} from '../../../../fixtures/models/model-requests.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
beforeEach(() => server.reset());

const outputSchema = {
  type: 'object',
  properties: { severity: { type: 'string', enum: ['low', 'high'] }, why: { type: 'string' } },
  required: ['severity'],
};
const schemaText = JSON.stringify(outputSchema);

describe.each(providerTypes)('a request to a model of %s', (type) => {
  it('contains tools, temperature and the token limit', async () => {
    server.reply({ text: 'Yes.' });
    const request = modelRequest({ tools: [lookUp], temperature: 0.2, maxTokens: 77 });
    await requestModel(modelsAt(server.url), [type], request);
    const requestData = JSON.stringify(server.lastBody);
    for (const each of ['look_up', 'Looks up a word.', '"temperature":0.2', ':77'])
      expect(requestData).toContain(each);
    expect(server.requests[0]?.model).toBe('m-1');
  });

  it('contains the configured headers, and no key if there is none', async () => {
    server.reply({ text: 'Yes.' }, { text: 'Yes.' });
    const headers = { 'x-team': 'shop' };
    await requestModel(modelsAt(server.url, {}, { headers, api_key: undefined }), [type], modelRequest());
    const requestData = server.requests[0]?.headers ?? {};
    expect(requestData['x-team']).toBe('shop');
    for (const name of ['authorization', 'x-api-key', 'x-goog-api-key'])
      expect(requestData[name]).toBeUndefined();
    const own = { authorization: 'Bearer of-a-proxy' };
    await requestModel(
      modelsAt(server.url, {}, { headers: own, api_key: undefined }),
      [type],
      modelRequest(),
    );
    expect(server.requests[1]?.headers.authorization).toBe('Bearer of-a-proxy');
  });

  it('contains the output schema in each mode, with and without tools', async () => {
    for (const structured_output of ['json_schema', 'json_object', 'prompt'] as const) {
      for (const tools of [[], [lookUp]]) {
        server.reply({ text: '{"severity":"low"}' });
        const models = modelsAt(server.url, {}, { structured_output });
        const answer = await requestModel(models, [type], modelRequest({ outputSchema, tools }));
        expect(answer).toMatchObject({ text: '{"severity":"low"}', calls: [], finish: 'stop' });
        const requestData = JSON.stringify(server.lastBody);
        for (const text of ['severity', 'low', 'high', 'why']) expect(requestData).toContain(text);
      }
    }
  });

  it('contains provider-specific parts of an earlier answer only for the same provider (PJ1)', async () => {
    server.reply({ text: 'Yes.' });
    const parts = [{ type: 'reasoning', text: 'a thought', providerOptions: { other: { signature: 'x' } } }];
    const raw = { provider: 'elsewhere', parts };
    const messages = [
      { role: 'user' as const, text: 'Are we open?' },
      { role: 'assistant' as const, text: 'We are.', calls: [], raw },
      { role: 'assistant' as const, text: '', calls: [] },
      { role: 'user' as const, text: 'Really?' },
    ];
    await requestModel(modelsAt(server.url), [type], modelRequest({ messages }));
    const requestData = JSON.stringify(server.lastBody);
    expect(requestData).toContain('We are.');
    expect(requestData).not.toContain('a thought');
  });

  it('contains no lone surrogates', async () => {
    server.reply({ text: 'Yes.' });
    const half = 'x\ud83d';
    const messages = [
      { role: 'user' as const, text: half },
      {
        role: 'assistant' as const,
        text: half,
        calls: [{ id: 'run-7', name: 'look_up', input: '{"word":"😀\\ud83d"}' }],
      },
      { role: 'tool' as const, results: [{ id: 'run-7', name: 'look_up', text: half, isError: false }] },
    ];
    const tools = [{ ...lookUp, description: half }];
    const request = modelRequest({ system: half, messages, tools });
    expect(await requestModel(modelsAt(server.url), [type], request)).toMatchObject({ text: 'Yes.' });
    const requestData = JSON.stringify(server.lastBody);
    expect(requestData.match(/x\ufffd/g)).toHaveLength(5);
    expect(requestData).toContain('😀\ufffd');
  });

  it('disables tools if no calls are allowed, and contains the earlier calls unchanged', async () => {
    server.reply({ text: 'Yes.' }, { text: '{"severity":"low"}' });
    const messages = [
      { role: 'user' as const, text: 'Look it up.' },
      { role: 'assistant' as const, text: '', calls: [{ id: 'run-7', name: 'look_up', input: '{}' }] },
      { role: 'tool' as const, results: [{ id: 'run-7', name: 'look_up', text: 'open', isError: false }] },
    ];
    const textRequest = modelRequest({ messages, tools: [lookUp], mayCall: false });
    expect(await requestModel(modelsAt(server.url), [type], textRequest)).toMatchObject({ text: 'Yes.' });
    const { tools, tool_choice } = server.lastBody;
    expect([tools !== undefined, tool_choice]).toEqual(
      type === 'anthropic' ? [true, { type: 'none' }] : [false, undefined],
    );
    const schemaRequest = { ...textRequest, outputSchema };
    expect(await requestModel(modelsAt(server.url), [type], schemaRequest)).toMatchObject({
      text: '{"severity":"low"}',
    });
    expect(JSON.stringify(server.lastBody)).toContain('severity');
    expect(server.lastBody.tool_choice).toEqual(type === 'anthropic' ? { type: 'none' } : undefined);
  });

  it('contains the call ids of the run, also if the arguments of a call are malformed', async () => {
    server.reply({ text: 'Yes.' });
    const messages = [
      { role: 'user' as const, text: 'Look it up.' },
      { role: 'assistant' as const, text: '', calls: [{ id: 'run-7', name: 'look_up', input: '{"word":' }] },
      {
        role: 'tool' as const,
        results: [{ id: 'run-7', name: 'look_up', text: 'not JSON', isError: true }],
      },
    ];
    expect(
      await requestModel(modelsAt(server.url), [type], modelRequest({ messages, tools: [lookUp] })),
    ).toMatchObject({
      text: 'Yes.',
    });
    if (type !== 'google') expect(JSON.stringify(server.lastBody).match(/run-7/g)).toHaveLength(2);
  });
});

it('a request to OpenAI disables storage, and returns the encrypted reasoning of the previous answer', async () => {
  server.reply(
    { thoughts: 'Hm.', text: 'I look.', calls: [{ name: 'look_up', input: {} }] },
    { text: 'Yes.' },
  );
  const models = modelsAt(server.url);
  const request = modelRequest({ tools: [lookUp] });
  const { text, calls, raw } = await requestModel(models, ['openai'], request);
  expect(server.lastBody.store).toBe(false);
  const results = calls.map(({ id, name }) => ({ id, name, text: 'open', isError: false }));
  const messages = [
    ...request.messages,
    { role: 'assistant' as const, text, calls, raw: JSON.parse(JSON.stringify(raw)) as unknown },
    { role: 'tool' as const, results },
  ];
  await requestModel(models, ['openai'], { ...request, messages });
  expect(JSON.stringify(server.lastBody)).toContain('"encrypted_content":"sealed Hm."');
});

it('the output schema is in the prompt if it is not sent as a response format', () => {
  const format = (
    structured_output: 'json_schema' | 'json_object' | 'prompt',
    type: 'groq' | 'openai' = 'groq',
    tools: readonly (typeof lookUp)[] = [],
  ) => answerFormat({ system: 'Look.', outputSchema, tools }, { type, structured_output });
  expect(format('json_schema')).toEqual({
    system: 'Look.',
    responseFormat: { type: 'json', schema: outputSchema },
  });
  expect(format('json_object').responseFormat).toEqual({ type: 'json' });
  expect(format('json_object').system).toContain(schemaText);
  expect(format('prompt').responseFormat).toBeUndefined();
  expect(format('prompt').system).toContain(schemaText);
  // Most providers reject a response format together with tools.
  expect(format('json_schema', 'groq', [lookUp]).responseFormat).toBeUndefined();
  expect(format('json_object', 'groq', [lookUp]).system).toContain(schemaText);
  expect(format('json_schema', 'openai', [lookUp]).responseFormat).toBeDefined();
});

it('a malformed tool call in the answer of a model reaches the caller unchanged', async () => {
  const calls = [
    { id: 'a', name: 'look_up', input: ['{"word": "o', 'pen"'] },
    { id: 'b', name: 'no_such_tool', input: '{"n": 12345678901234567890}' },
    { id: 'c', name: 'look_up', input: '' },
  ];
  server.reply({ calls }, { calls }, { calls });
  const tools = [lookUp];
  for (const type of ['openai-compatible', 'openai', 'anthropic']) {
    const answer = await requestModel(modelsAt(server.url), [type], modelRequest({ tools }));
    expect(answer.calls).toEqual([
      { id: 'a', name: 'look_up', input: '{"word": "open"' },
      { id: 'b', name: 'no_such_tool', input: '{"n": 12345678901234567890}' },
      { id: 'c', name: 'look_up', input: expect.stringMatching(/^(\{\})?$/) },
    ]);
    expect(answer.finish).toBe('calls');
  }
});

it('a price is looked up by model name, and unknown usage has an unknown cost', () => {
  const prices = { 'a:m': { input: 1, output: 2 } };
  const usage = { input: 1_000_000, output: 500_000, cached: 2_000_000 };
  expect(costOf('a:m', usage, prices)).toBe(2);
  expect(costOf('a:n', usage, prices)).toBeUndefined();
  expect(costOf('toString', usage, prices)).toBeUndefined();
  expect(costOf('a:m', { ...usage, output: undefined }, prices)).toBeUndefined();
});

it('the key of a provider appears in no error and no answer', async () => {
  server.reply({ status: 401, message: `your key ${KEY}`, headers: { 'www-authenticate': KEY } });
  const error = await requestModel(modelsAt(server.url), ['openai'], modelRequest()).catch(
    (reason: unknown) => reason,
  );
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(KEY);
});
