// Answers of models with more tool calls than allowed, in all provider protocols: in one event, or in many.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import { LineCalls } from '../../../../../actors/agents/models/line-calls.ts';
import { failure } from '../../../../fixtures/models/failure.ts';
import {
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

it.each(providerTypes)(
  'an answer of a model of %s with too many tool calls fails, and is not requested again',
  async (type) => {
    server.reply({ calls: Array.from({ length: 1_100 }, () => ({ name: 'look', input: {} })) });
    const error = await failure(requestModel(modelsAt(server.url), [type], modelRequest(), { retries: 2 }));
    expect(error.message).toContain('calls more than 1024 tools in one answer');
    expect(error).toMatchObject({ isFinal: true });
    expect(server.requests).toHaveLength(1);
  },
);

it('an event with eighty thousand tool calls is refused before it is parsed', async () => {
  const call = (index: number) => ({
    index,
    id: `c${index}`,
    type: 'function',
    function: { name: 'look', arguments: '{}' },
  });
  const calls = Array.from({ length: 80_000 }, (_, index) => call(index));
  const event = {
    id: 'x',
    choices: [{ index: 0, delta: { role: 'assistant', tool_calls: calls }, finish_reason: null }],
  };
  server.reply({ text: '', inserted: { at: 0, raw: `data: ${JSON.stringify(event)}\n\n` } });
  const startedAt = performance.now();
  const error = await failure(
    requestModel(modelsAt(server.url), ['openai-compatible'], modelRequest(), { retries: 2 }),
  );
  expect(error.message).toContain('calls more than 1024 tools in one answer');
  expect(performance.now() - startedAt).toBeLessThan(3_000);
});

it('the calls of a line are counted over pieces of any size, and texts that quote calls are not', () => {
  const line = 'data: {"function":{}},{"functionCall" : {}},"\\"function\\":","function"]';
  const text = `${line}\n${line}${line}\n`;
  for (const size of [1, 3, 7, 1_000]) {
    const counter = new LineCalls();
    let most = 0;
    for (let at = 0; at < text.length; at += size)
      most = Math.max(most, counter.add(Buffer.from(text.slice(at, at + size))));
    expect([size, most]).toEqual([size, 4]);
  }
});
