import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ModelMessage } from '../../../../../actors/agents/models/model.ts';
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

describe.each(providerTypes)('a model of %s', (type) => {
  it('a model answer is streamed in pieces, and returned as a whole with its token usage', async () => {
    server.reply({
      text: ['We ', 'are ', 'open.'],
      usage: { input: 1_000, output: 200, cached: 400 },
    });
    const received: string[] = [];
    const prices = { [`${type}:m-1`]: { input: 3, output: 15, cached_input: 0.3 } };
    const answer = await requestModel(modelsAt(server.url, { prices }), [type], modelRequest(), {
      onText: (text) => received.push(text),
    });
    expect(answer).toMatchObject({
      model: `${type}:m-1`,
      text: 'We are open.',
      calls: [],
      finish: 'stop',
      usage: { input: 1_000, output: 200, cached: 400 },
      tookMs: expect.any(Number),
    });
    expect(answer.cost).toBeCloseTo((600 * 3 + 400 * 0.3 + 200 * 15) / 1e6, 12);
    expect(received).toEqual(['We ', 'We are ', 'We are open.']);
    expect(server.requests).toHaveLength(1);
    expect(JSON.stringify(server.lastBody)).toContain('You look after the shop.');
    expect(JSON.stringify(server.requests[0]?.headers)).toContain(KEY);
  });

  it('a model answer with several tool calls has their original arguments, and their results can be sent', async () => {
    server.reply(
      {
        thoughts: ['Two ', 'words.'],
        text: 'I look them up.',
        calls: [
          { id: 'call-a', name: 'look_up', input: ['{"word":', '"open"}'], signature: 'c2lnbmVk' },
          { id: 'call-b', name: 'look_up', input: { word: 'shop' } },
        ],
      },
      { text: 'Done.' },
    );
    const models = modelsAt(server.url);
    const request = modelRequest({ tools: [lookUp] });
    const first = await requestModel(models, [type], request);
    expect(first.finish).toBe('calls');
    expect(first.text).toBe('I look them up.');
    expect(first.calls.map(({ name, input }) => ({ name, input: JSON.parse(input) }))).toEqual([
      { name: 'look_up', input: { word: 'open' } },
      { name: 'look_up', input: { word: 'shop' } },
    ]);
    if (type !== 'google') expect(first.calls[0]?.input).toBe('{"word":"open"}');

    // The journal returns parsed JSON, with the ids of the run.
    const copy = JSON.parse(JSON.stringify(first)) as typeof first;
    const calls = copy.calls.map((call, n) => ({ ...call, id: `run-${n}` }));
    const messages: ModelMessage[] = [
      ...request.messages,
      { role: 'assistant', text: copy.text, calls, raw: copy.raw },
      {
        role: 'tool',
        results: [
          { id: 'run-0', name: 'look_up', text: 'not closed', isError: false },
          { id: 'run-1', name: 'look_up', text: 'no such word', isError: true },
        ],
      },
    ];
    const second = await requestModel(models, [type], { ...request, messages });
    expect(second).toMatchObject({ text: 'Done.', finish: 'stop' });
    const bodyText = JSON.stringify(server.lastBody);
    expect(bodyText).toContain('not closed');
    expect(bodyText).toContain('no such word');
    if (type !== 'google') for (const id of ['run-0', 'run-1']) expect(bodyText).toContain(id);
    expect(bodyText).not.toContain('call-a');
    if (type === 'google') expect(bodyText).toContain('"thoughtSignature":"c2lnbmVk"');
    if (type === 'anthropic') expect(bodyText).toContain('"signature":"signed Two words."');
    if (type === 'openai-compatible') expect(bodyText).toContain('"reasoning_content":"Two words."');
  });

  it('a model answer that is truncated or filtered is marked as such', async () => {
    server.reply({ text: 'We a', finish: 'length' }, { text: 'We', finish: 'filtered' });
    const models = modelsAt(server.url);
    expect(await requestModel(models, [type], modelRequest())).toMatchObject({
      text: 'We a',
      finish: 'length',
    });
    expect(await requestModel(models, [type], modelRequest())).toMatchObject({ finish: 'filtered' });
  });
});

it('reading a large chunk of a model answer does not block the event loop', async () => {
  server.reply({ text: Array.from({ length: 20_000 }, () => 'a') });
  let round = 0;
  let isOver = false;
  const count = () => {
    round += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  const inTurn = new Map<number, number>();
  const onText = () => inTurn.set(round, (inTurn.get(round) ?? 0) + 1);
  const { text } = await requestModel(modelsAt(server.url), ['openai-compatible'], modelRequest(), {
    onText,
  });
  isOver = true;
  expect(text).toHaveLength(20_000);
  expect(Math.max(...inTurn.values())).toBeLessThan(2_000);
});
