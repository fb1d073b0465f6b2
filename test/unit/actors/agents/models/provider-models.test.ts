import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ModelMessage } from '../../../../../actors/agents/models/model.ts';
import { ask, KEY, lookUp, modelsAt, question, types } from '../../../../fixtures/models/asking.ts';
import { ModelServer } from '../../../../fixtures/models/model-server.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await ModelServer.start();
});
beforeEach(() => server.reset());

describe.each(types)('a model of %s', (type) => {
  it('gives text in pieces, and the whole of it with its figures at the end', async () => {
    server.reply({
      text: ['We ', 'are ', 'open.'],
      usage: { input: 1_000, output: 200, cached: 400 },
    });
    const seen: string[] = [];
    const prices = { [`${type}:m-1`]: { input: 3, output: 15, cached_input: 0.3 } };
    const answer = await ask(modelsAt(server.url, { prices }), [type], question(), {
      onText: (text) => seen.push(text),
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
    expect(seen).toEqual(['We ', 'We are ', 'We are open.']);
    expect(server.requests).toHaveLength(1);
    expect(JSON.stringify(server.lastBody)).toContain('You look after the shop.');
    expect(JSON.stringify(server.requests[0]?.headers)).toContain(KEY);
  });

  it('gives several calls at once, with their arguments as they were written, and takes their results', async () => {
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
    const asked = question({ tools: [lookUp] });
    const first = await ask(models, [type], asked);
    expect(first.finish).toBe('calls');
    expect(first.text).toBe('I look them up.');
    expect(first.calls.map(({ name, input }) => ({ name, input: JSON.parse(input) }))).toEqual([
      { name: 'look_up', input: { word: 'open' } },
      { name: 'look_up', input: { word: 'shop' } },
    ]);
    if (type !== 'google') expect(first.calls[0]?.input).toBe('{"word":"open"}');

    // As the journal gives it back: JSON, and ids that are the run's own.
    const kept = JSON.parse(JSON.stringify(first)) as typeof first;
    const calls = kept.calls.map((call, n) => ({ ...call, id: `run-${n}` }));
    const messages: ModelMessage[] = [
      ...asked.messages,
      { role: 'assistant', text: kept.text, calls, raw: kept.raw },
      {
        role: 'tool',
        results: [
          { id: 'run-0', name: 'look_up', text: 'not closed', isError: false },
          { id: 'run-1', name: 'look_up', text: 'no such word', isError: true },
        ],
      },
    ];
    const second = await ask(models, [type], { ...asked, messages });
    expect(second).toMatchObject({ text: 'Done.', finish: 'stop' });
    const sent = JSON.stringify(server.lastBody);
    expect(sent).toContain('not closed');
    expect(sent).toContain('no such word');
    if (type !== 'google') for (const id of ['run-0', 'run-1']) expect(sent).toContain(id);
    expect(sent).not.toContain('call-a');
    if (type === 'google') expect(sent).toContain('"thoughtSignature":"c2lnbmVk"');
    if (type === 'anthropic') expect(sent).toContain('"signature":"signed Two words."');
    if (type === 'openai-compatible') expect(sent).toContain('"reasoning_content":"Two words."');
  });

  it('gives what was cut by its length or filtered as such', async () => {
    server.reply({ text: 'We a', finish: 'length' }, { text: 'We', finish: 'filtered' });
    const models = modelsAt(server.url);
    expect(await ask(models, [type], question())).toMatchObject({ text: 'We a', finish: 'length' });
    expect(await ask(models, [type], question())).toMatchObject({ finish: 'filtered' });
  });
});

it('leaves others their turn, however much of an answer comes at once (XC6)', async () => {
  server.reply({ text: Array.from({ length: 20_000 }, () => 'a') });
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  const inTurn = new Map<number, number>();
  const onText = () => inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1);
  const { text } = await ask(modelsAt(server.url), ['openai-compatible'], question(), { onText });
  isOver = true;
  expect(text).toHaveLength(20_000);
  expect(Math.max(...inTurn.values())).toBeLessThan(2_000);
});
