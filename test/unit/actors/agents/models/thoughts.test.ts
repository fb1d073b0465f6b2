// Thoughts that models write into their text.

import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ThoughtFilter } from '../../../../../actors/agents/models/thought-filter.ts';
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

/** Returns the text after each piece, and the final answer. */
function filtered(pieces: readonly string[], isHidden = false) {
  const filter = new ThoughtFilter(isHidden);
  const shown = pieces.map((piece) => {
    filter.add(piece);
    return filter.text;
  });
  filter.end();
  return { shown, text: filter.text };
}

it.each([
  ['<think>secret</think>We are open.', 'We are open.'],
  ['\n<think>\nsecret\n</think>\n\nWe are open.', 'We are open.'],
  ['<THINK>secret</THINK>We are open.', 'We are open.'],
  ['<thinking>secret</thinking>We are open.', 'We are open.'],
  ['<thought>secret</thought>We are open.', 'We are open.'],
  ['<seed:think>secret</seed:think>We are open.', 'We are open.'],
  ['◁think▷secret◁/think▷We are open.', 'We are open.'],
  ['[THINK]secret[/THINK]We are open.', 'We are open.'],
  ['<think>secret</think><think>secret</think>We are open.', 'We are open.'],
  ['<think></think>We are open.', 'We are open.'],
  ['secret\n</think>\n\nWe are open.', 'We are open.'],
  ['secret</think>We are open.', 'We are open.'],
  ['</think>We are open.', 'We are open.'],
  ['secret ◁/think▷ We are open.', 'We are open.'],
  ['<think>secret', ''],
  ['<think>secret </thinki', ''],
])('thinking tags are removed: the model text %j becomes the answer %j', (text, answer) => {
  expect(filtered([text]).text).toBe(answer);
});

it.each([
  'We are open.',
  '  We are open.\n',
  '',
  '<thin ice>',
  'Close it with `</think>`.',
  'The mark "</think>" ends a thought.',
  '```\n<think>\n</think>\n```\nThis is the form.',
  '<b>We</b> are open. <think> is a mark.',
])('a model text without leading thinking tags is unchanged: %j', (text) => {
  expect(filtered([text]).text).toBe(text);
});

const parts = fc.oneof(
  fc.constantFrom(
    '<think>',
    '</think>',
    '◁think▷',
    '◁/think▷',
    '[/THINK]',
    '`',
    '"',
    '\n',
    ' ',
    '<',
    '</',
    'İ',
    '```',
  ),
  fc.string({ maxLength: 4 }),
);

it('the same thinking text is removed from a model answer, however its stream is split into chunks', () => {
  fc.assert(
    fc.property(
      fc.array(parts, { maxLength: 12 }),
      fc.array(fc.nat(6), { maxLength: 40 }),
      fc.boolean(),
      (texts, sizes, isHidden) => {
        const text = texts.join('');
        const pieces: string[] = [];
        let at = 0;
        for (const size of sizes) {
          pieces.push(text.slice(at, at + size));
          at += size;
        }
        pieces.push(text.slice(at));
        expect(filtered(pieces, isHidden).text).toBe(filtered([text], isHidden).text);
      },
    ),
    { numRuns: 1_000 },
  );
});

it('text after an opening thinking tag is never streamed to the user', () => {
  fc.assert(
    fc.property(fc.constantFrom('<think>|</think>', '◁think▷|◁/think▷'), fc.nat(5), (marks, size) => {
      const text = marks.replace('|', 'SECRET');
      const pieces = `${text}We are open.`.match(new RegExp(`[^]{1,${size + 1}}`, 'g')) ?? [];
      const { shown } = filtered(pieces);
      expect(shown.join('')).not.toMatch(/[SECRT]/);
      expect(shown.at(-1)).toBe('We are open.');
    }),
  );
});

describe.each(providerTypes)('a model of %s that writes thoughts into its text', (type) => {
  it('thinking text is in neither the answer, the stream nor the next request', async () => {
    const models = modelsAt(server.url);
    const texts: string[] = [];
    const onText = (text: string) => texts.push(text);
    server.reply(
      { thoughts: 'Hm.', text: ['<thi', 'nk>sec', 'ret</th', 'ink>\nWe are ', 'open.'] },
      { text: 'Yes.' },
    );
    const { text, calls, raw } = await requestModel(models, [type], modelRequest(), { onText });
    expect([text, texts.at(-1)]).toEqual(['We are open.', 'We are open.']);
    const stored = JSON.parse(JSON.stringify({ raw })) as { raw?: unknown };
    const messages = [
      ...modelRequest().messages,
      { role: 'assistant' as const, text, calls, raw: stored.raw },
      { role: 'user' as const, text: 'Really?' },
    ];
    await requestModel(models, [type], modelRequest({ messages }));
    const everything = JSON.stringify([texts, stored, server.lastBody]);
    expect(everything).not.toMatch(/sec|ret\b|think>/);
    expect(JSON.stringify(server.lastBody)).toContain('We are open.');
  });

  it('after one answer with a closing but no opening thinking tag, no thinking text is streamed', async () => {
    const models = modelsAt(server.url);
    const reply = { text: ['sec', 'ret', '</think>', '\nWe are ', 'open.'] };
    server.reply(reply, reply, { text: ['We ', 'are closed.'] });
    expect(await requestModel(models, [type], modelRequest())).toMatchObject({ text: 'We are open.' });
    const texts: string[] = [];
    const onText = (text: string) => texts.push(text);
    await requestModel(models, [type], modelRequest(), { onText });
    expect(texts.join()).not.toContain('sec');
    expect(await requestModel(models, [type], modelRequest(), { onText })).toMatchObject({
      text: 'We are closed.',
    });
    expect(texts.at(-1)).toBe('We are closed.');
  });
});
