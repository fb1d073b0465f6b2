// Events of new kinds, and members of other types, in the streams of all providers.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lookUp, modelRequest, modelsAt, requestModel } from '../../../../fixtures/models/model-requests.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';
import { data, named } from '../../../../fixtures/models/protocols/protocol.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
beforeEach(() => server.reset());

const chunk = (delta: object, more: object = {}) =>
  data({ id: 'c', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null }], ...more });

const events: Readonly<Record<string, readonly string[]>> = {
  anthropic: [
    named({ type: 'brand_new_event', x: 1 }),
    [
      named({ type: 'content_block_start', index: 9, content_block: { type: 'new_block', x: 1 } }),
      named({ type: 'content_block_delta', index: 9, delta: { type: 'text_delta', text: 'hidden' } }),
      named({ type: 'content_block_delta', index: 9, delta: { type: 'new_delta', text: 'hidden' } }),
      named({ type: 'content_block_stop', index: 9 }),
    ].join(''),
    named({ type: 'content_block_delta', index: 0, delta: { type: 'new_delta', text: 'hidden' } }),
  ],
  openai: [
    named({ type: 'response.brand_new.event', x: 1 }),
    named({ type: 'response.output_item.added', output_index: 9, item: { type: 'new_item', id: 'x' } }),
    named({ type: 'response.new_part.delta', delta: 'hidden' }),
  ],
  google: [
    data({ newThing: { x: 1 } }),
    data({ candidates: [{ content: { role: 'model', parts: [{ newPart: { x: 1 } }] }, index: 0 }] }),
    data({ candidates: [{ newMember: 1, index: 0 }] }),
  ],
  'openai-compatible': [
    data({ type: 'brand_new_event', x: 1 }),
    data({ id: 'c', choices: null, usage: null }),
    chunk({ new_member: 'hidden' }, { id: 17, created: '1700000000' }),
    chunk({ role: 'model' }),
    chunk({}, { error: null }),
    data({ id: 'c', usage: null, error: null }),
    chunk({}).replace('data: ', 'data: \ufeff'),
    ': a comment\n\n',
  ],
};
const cases = Object.entries(events).flatMap(([type, list]) => list.map((raw) => [type, raw] as const));

it.each(cases)('a stream of %s with an unknown part has its answer: %s', async (type, raw) => {
  server.reply({ text: ['We ', 'are open.'], inserted: { at: 3, raw } });
  const answer = await requestModel(modelsAt(server.url), [type], modelRequest());
  expect(answer).toMatchObject({ text: 'We are open.', finish: 'stop' });
});

describe('a tool call in a chat completions stream', () => {
  const called = { name: 'look_up', arguments: '{"word":"a"}' };
  it.each<[string, object]>([
    ['a number as its id', { index: 0, id: 17, type: 'function', function: called }],
    ['a text as its index', { index: '0', id: 'x', function: called }],
    ['no id', { index: 0, id: null, function: called }],
    ['an object as its arguments', { index: 0, id: 'x', function: { ...called, arguments: { word: 'a' } } }],
  ])('with %s is accepted', async (_, call) => {
    const finish = data({ id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] });
    const raw = `${chunk({ tool_calls: [call] })}${finish}data: [DONE]\n\n`;
    server.reply({
      text: '',
      inserted: { at: 0, raw },
      cut: { afterBytes: Buffer.byteLength(raw), how: 'end' },
    });
    const models = modelsAt(server.url);
    const answer = await requestModel(models, ['openai-compatible'], modelRequest({ tools: [lookUp] }));
    expect(answer).toMatchObject({ finish: 'calls', calls: [{ name: 'look_up', input: '{"word":"a"}' }] });
  });
});

it('a malformed stream event of a known type is an error, and is not skipped like an unknown event', async () => {
  const raw = named({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 7 } });
  server.reply({ text: ['We ', 'are open.'], inserted: { at: 3, raw } }, { text: 'We are closed.' });
  const answer = await requestModel(modelsAt(server.url), ['anthropic'], modelRequest(), { retries: 1 });
  expect(answer.text).toBe('We are closed.');
});
