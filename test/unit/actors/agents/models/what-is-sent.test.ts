import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { costOf } from '../../../../../actors/agents/models/provider-models.ts';
import { answerFormat } from '../../../../../actors/agents/models/streamed-answer.ts';
import { ask, KEY, lookUp, modelsAt, question, types } from '../../../../fixtures/models/asking.ts';
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
const asWritten = JSON.stringify(outputSchema);

describe.each(types)('a question to a model of %s', (type) => {
  it('has tools, temperature and the bound of the answer', async () => {
    server.reply({ text: 'Yes.' });
    const request = question({ tools: [lookUp], temperature: 0.2, maxTokens: 77 });
    await ask(modelsAt(server.url), [type], request);
    const sent = JSON.stringify(server.lastBody);
    for (const each of ['look_up', 'Looks up a word.', '"temperature":0.2', ':77'])
      expect(sent).toContain(each);
    expect(server.requests[0]?.model).toBe('m-1');
  });

  it('PQ1 carries the headers of the settings, and no key where there is none', async () => {
    server.reply({ text: 'Yes.' }, { text: 'Yes.' });
    const headers = { 'x-team': 'shop' };
    await ask(modelsAt(server.url, {}, { headers, api_key: undefined }), [type], question());
    const sent = server.requests[0]?.headers ?? {};
    expect(sent['x-team']).toBe('shop');
    for (const name of ['authorization', 'x-api-key', 'x-goog-api-key']) expect(sent[name]).toBeUndefined();
    const own = { authorization: 'Bearer of-a-proxy' };
    await ask(modelsAt(server.url, {}, { headers: own, api_key: undefined }), [type], question());
    expect(server.requests[1]?.headers.authorization).toBe('Bearer of-a-proxy');
  });

  it('AQ1 has the schema of the answer, in one way or another, beside tools and without', async () => {
    for (const structured_output of ['json_schema', 'json_object', 'prompt'] as const) {
      for (const tools of [[], [lookUp]]) {
        server.reply({ text: '{"severity":"low"}' });
        const models = modelsAt(server.url, {}, { structured_output });
        const answer = await ask(models, [type], question({ outputSchema, tools }));
        expect(answer).toMatchObject({ text: '{"severity":"low"}', calls: [], finish: 'stop' });
        const sent = JSON.stringify(server.lastBody);
        for (const word of ['severity', 'low', 'high', 'why']) expect(sent).toContain(word);
      }
    }
  });

  it('PJ1 gives what a provider alone understands back to that provider only', async () => {
    server.reply({ text: 'Yes.' });
    const parts = [{ type: 'reasoning', text: 'a thought', providerOptions: { other: { signature: 'x' } } }];
    const raw = { provider: 'elsewhere', parts };
    const messages = [
      { role: 'user' as const, text: 'Are we open?' },
      { role: 'assistant' as const, text: 'We are.', calls: [], raw },
      { role: 'assistant' as const, text: '', calls: [] },
      { role: 'user' as const, text: 'Really?' },
    ];
    await ask(modelsAt(server.url), [type], question({ messages }));
    const sent = JSON.stringify(server.lastBody);
    expect(sent).toContain('We are.');
    expect(sent).not.toContain('a thought');
  });

  it('XC5 has no half of a character, wherever there was one', async () => {
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
    const asked = question({ system: half, messages, tools });
    expect(await ask(modelsAt(server.url), [type], asked)).toMatchObject({ text: 'Yes.' });
    const sent = JSON.stringify(server.lastBody);
    expect(sent.match(/x\ufffd/g)).toHaveLength(5);
    expect(sent).toContain('😀\ufffd');
  });

  it('AK5 lets no tool be called in an answer in words, and gives the calls before it as they were', async () => {
    server.reply({ text: 'Yes.' }, { text: '{"severity":"low"}' });
    const messages = [
      { role: 'user' as const, text: 'Look it up.' },
      { role: 'assistant' as const, text: '', calls: [{ id: 'run-7', name: 'look_up', input: '{}' }] },
      { role: 'tool' as const, results: [{ id: 'run-7', name: 'look_up', text: 'open', isError: false }] },
    ];
    const inWords = question({ messages, tools: [lookUp], mayCall: false });
    expect(await ask(modelsAt(server.url), [type], inWords)).toMatchObject({ text: 'Yes.' });
    const { tools, tool_choice } = server.lastBody;
    expect([tools !== undefined, tool_choice]).toEqual(
      type === 'anthropic' ? [true, { type: 'none' }] : [false, undefined],
    );
    const formed = { ...inWords, outputSchema };
    expect(await ask(modelsAt(server.url), [type], formed)).toMatchObject({ text: '{"severity":"low"}' });
    expect(JSON.stringify(server.lastBody)).toContain('severity');
    expect(server.lastBody.tool_choice).toEqual(type === 'anthropic' ? { type: 'none' } : undefined);
  });

  it('PJ2 has the ids of the run, and arguments that are none as none', async () => {
    server.reply({ text: 'Yes.' });
    const messages = [
      { role: 'user' as const, text: 'Look it up.' },
      { role: 'assistant' as const, text: '', calls: [{ id: 'run-7', name: 'look_up', input: '{"word":' }] },
      {
        role: 'tool' as const,
        results: [{ id: 'run-7', name: 'look_up', text: 'not JSON', isError: true }],
      },
    ];
    expect(await ask(modelsAt(server.url), [type], question({ messages, tools: [lookUp] }))).toMatchObject({
      text: 'Yes.',
    });
    if (type !== 'google') expect(JSON.stringify(server.lastBody).match(/run-7/g)).toHaveLength(2);
  });
});

it('PQ2 nothing is kept at OpenAI, and its thoughts come back to it', async () => {
  server.reply(
    { thoughts: 'Hm.', text: 'I look.', calls: [{ name: 'look_up', input: {} }] },
    { text: 'Yes.' },
  );
  const models = modelsAt(server.url);
  const asked = question({ tools: [lookUp] });
  const { text, calls, raw } = await ask(models, ['openai'], asked);
  expect(server.lastBody.store).toBe(false);
  const results = calls.map(({ id, name }) => ({ id, name, text: 'open', isError: false }));
  const messages = [
    ...asked.messages,
    { role: 'assistant' as const, text, calls, raw: JSON.parse(JSON.stringify(raw)) as unknown },
    { role: 'tool' as const, results },
  ];
  await ask(models, ['openai'], { ...asked, messages });
  expect(JSON.stringify(server.lastBody)).toContain('"encrypted_content":"sealed Hm."');
});

it('AQ1 a schema stands in the prompt wherever it is not sent as one', () => {
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
  expect(format('json_object').system).toContain(asWritten);
  expect(format('prompt').responseFormat).toBeUndefined();
  expect(format('prompt').system).toContain(asWritten);
  // Beside tools hardly any provider takes a format.
  expect(format('json_schema', 'groq', [lookUp]).responseFormat).toBeUndefined();
  expect(format('json_object', 'groq', [lookUp]).system).toContain(asWritten);
  expect(format('json_schema', 'openai', [lookUp]).responseFormat).toBeDefined();
});

it('a call that the model writes wrongly comes as it was written', async () => {
  const calls = [
    { id: 'a', name: 'look_up', input: ['{"word": "o', 'pen"'] },
    { id: 'b', name: 'no_such_tool', input: '{"n": 12345678901234567890}' },
    { id: 'c', name: 'look_up', input: '' },
  ];
  server.reply({ calls }, { calls }, { calls });
  const tools = [lookUp];
  for (const type of ['openai-compatible', 'openai', 'anthropic']) {
    const answer = await ask(modelsAt(server.url), [type], question({ tools }));
    expect(answer.calls).toEqual([
      { id: 'a', name: 'look_up', input: '{"word": "open"' },
      { id: 'b', name: 'no_such_tool', input: '{"n": 12345678901234567890}' },
      { id: 'c', name: 'look_up', input: expect.stringMatching(/^(\{\})?$/) },
    ]);
    expect(answer.finish).toBe('calls');
  }
});

it('a price is asked for by the name of the model, and what is not counted costs nothing known', () => {
  const prices = { 'a:m': { input: 1, output: 2 } };
  const usage = { input: 1_000_000, output: 500_000, cached: 2_000_000 };
  expect(costOf('a:m', usage, prices)).toBe(2);
  expect(costOf('a:n', usage, prices)).toBeUndefined();
  expect(costOf('toString', usage, prices)).toBeUndefined();
  expect(costOf('a:m', { ...usage, output: undefined }, prices)).toBeUndefined();
});

it('a key is in no error and no answer', async () => {
  server.reply({ status: 401, message: `your key ${KEY}`, headers: { 'www-authenticate': KEY } });
  const error = await ask(modelsAt(server.url), ['openai'], question()).catch((reason: unknown) => reason);
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(KEY);
});
