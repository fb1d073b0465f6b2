import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { withCardText } from '../../../../../actors/events/outbox/card-text.ts';
import { UnrenderableError } from '../../../../../actors/events/outbox/delivery-error.ts';
import type { OutboundMessage } from '../../../../../actors/events/outbox/message.ts';
import type { Outbound } from '../../../../../actors/events/outbox/outbound.ts';
import { outboxRows, type RowMeta, renderedOf } from '../../../../../actors/events/outbox/rows.ts';
import { MAX_PARTS, splitText } from '../../../../../actors/events/outbox/split-text.ts';
import type { ManualTrigger } from '../../../../../config/resources/triggers/trigger.ts';

const outbound: Outbound<ManualTrigger> = {
  target: () => undefined,
  render: (_, { text }) => splitText(text, { limit: 100, unit: 'utf16' }).map((part) => ({ text: part })),
  addressOf: () => 'http://127.0.0.1',
  send: async () => ({ id: '' }),
};
const account = { platform: 'chat', account: 'bot1' };
const trigger = { name: 'chat' } as ManualTrigger;
const message: OutboundMessage = {
  target: { place: '-100/x', thread: '7' },
  action: { do: 'post' },
  text: `${'a'.repeat(99)} ${'b'.repeat(20)}`,
  expiresAt: 5,
};
const origin = { eventId: 'chat:1', trace: '00-1' };

describe('the rows of a message', () => {
  test('are one per request to the platform, in order, in the mailbox of the destination', () => {
    const rows = outboxRows(outbound, account, trigger, message, origin);
    expect(rows.map(({ id }) => id)).toEqual(['outbox:chat:1/1', 'outbox:chat:1/2']);
    expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(['outbox/chat/bot1/-100/x']));
    expect(rows.map((row) => renderedOf(row))).toEqual([{ text: 'a'.repeat(99) }, { text: 'b'.repeat(20) }]);
    expect(JSON.parse(rows[0]?.meta ?? '') as RowMeta).toEqual({
      trigger: 'chat',
      action: 'post',
      expiresAt: 5,
    });
  });

  test('contain a plain text escaped for Markdown, unless the platform renders all forms', () => {
    const plain: OutboundMessage = { ...message, text: '*a* - [b]', format: 'plain' };
    const texts = (rendersFormats: boolean) =>
      outboxRows({ ...outbound, rendersFormats }, account, trigger, plain, origin).map(renderedOf);
    expect(texts(false)).toEqual([{ text: '\\*a\\* - \\[b\\]' }]);
    expect(texts(true)).toEqual([{ text: '*a* - [b]' }]);
  });

  test('are in a separate mailbox if the target has its own order', () => {
    const target = { ...message.target, orderedWith: '-100/x/9' };
    const rows = outboxRows(outbound, account, trigger, { ...message, target }, origin);
    expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(['outbox/chat/bot1/-100/x/9']));
  });

  test('have stable ids, which differ between messages of one event', () => {
    const repeatedRows = outboxRows(outbound, account, trigger, message, origin);
    expect(outboxRows(outbound, account, trigger, message, origin)).toEqual(repeatedRows);
    const notice = outboxRows(
      outbound,
      account,
      trigger,
      { ...message, text: 'x' },
      { ...origin, about: 'failed' },
    );
    expect(notice.map(({ id }) => id)).toEqual(['outbox:chat:1/failed/1']);
  });

  test('have a replacement character for half a surrogate pair, which platforms would reject', () => {
    const text = 'cut by the agent \ud83d';
    const [row] = outboxRows(outbound, account, trigger, { ...message, text }, origin);
    expect(renderedOf(row!)).toEqual({ text: 'cut by the agent \ufffd' });
  });

  describe('with text above the limit', () => {
    const textsOf = (more: Partial<OutboundMessage>, chat: Outbound<ManualTrigger> = outbound) =>
      outboxRows(chat, account, trigger, { ...message, ...more }, origin).map(
        (row) => (renderedOf(row) as { readonly text: string }).text,
      );
    const withoutBlanks = (text: string) => text.replaceAll(/\s/g, '');
    const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i} of many`).join('\n');

    test('are limited to a hundred, and the last row contains the omitted length', () => {
      const text = lines(200_000);
      const texts = textsOf({ text });
      expect(texts.length).toBeLessThanOrEqual(MAX_PARTS);
      expect(texts.length).toBeGreaterThan(MAX_PARTS * 0.8);
      const joined = withoutBlanks(texts.join(''));
      const [kept = '', missing = ''] = joined.split('Thisansweristoolongtosend:');
      const all = withoutBlanks(text);
      expect(all.startsWith(kept)).toBe(true);
      const count = Number(/about([\d,]+)/.exec(missing)?.[1]?.replaceAll(',', ''));
      const missingShare = (all.length - kept.length) / all.length;
      expect(count / text.length).toBeCloseTo(missingShare, 2);
    });

    test('have the whole text if a hundred rows suffice, and never exceed a hundred', () => {
      const word = `${'w'.repeat(99)} `;
      const texts = textsOf({ text: word.repeat(MAX_PARTS) });
      expect(texts.map((text) => text.trimEnd())).toEqual(Array(MAX_PARTS).fill(word.trimEnd()));
      const piece = fc.oneof(
        fc.constantFrom('```js\n', '```\n', '\n\n', ' ', '\ud83d\ude00', '<&>'),
        fc.string({ maxLength: 40 }),
      );
      fc.assert(
        fc.property(
          fc.array(piece, { minLength: 1, maxLength: 30 }),
          fc.integer({ min: 1, max: 2_000 }),
          (pieces, times) => {
            const texts = textsOf({ text: pieces.join('').repeat(times) });
            expect(texts.length).toBeLessThanOrEqual(MAX_PARTS);
          },
        ),
        { numRuns: 30 },
      );
    });

    test('close a code block before the omission note', () => {
      const texts = textsOf({ text: `\`\`\`\n${lines(5_000)}\n\`\`\`` });
      const last = texts.join('\n');
      const before = last.slice(0, last.indexOf('This answer is too long'));
      expect(before.split('```').length % 2).toBe(1);
    });

    test('omit an oversized card with a note', () => {
      const chat: Outbound<ManualTrigger> = {
        ...outbound,
        render: (at, { card, ...rest }) =>
          outbound.render(at, { ...rest, text: withCardText(rest.text, card) }),
      };
      const card = { fields: [{ name: 'log', value: lines(100_000) }] };
      const texts = textsOf({ text: 'The log:', card }, chat);
      expect(texts.join(' ')).toBe(
        'The log:\n\nThe fields and buttons of this answer are too long to send and were left out.',
      );
      const small = { fields: [{ name: 'log', value: 'on disk' }] };
      const both = textsOf({ text: lines(100_000), card: small }, chat);
      expect(both.length).toBeLessThanOrEqual(MAX_PARTS);
      expect(both.at(-1)).toContain('on disk');
    });

    test('are rejected if even the omission note exceeds the limit', () => {
      const render = () => Array.from({ length: MAX_PARTS + 1 }, () => ({ text: 'x' }));
      expect(() => textsOf({}, { ...outbound, render })).toThrow(UnrenderableError);
    });
  });

  test('are rejected if the platform has no form for the message', () => {
    const render = () => {
      throw new UnrenderableError('a message cannot be edited here');
    };
    const edit: OutboundMessage = { ...message, action: { do: 'edit', of: 'outbox:chat:1/1' } };
    const make = () => outboxRows({ ...outbound, render }, account, trigger, edit, origin);
    expect(make).toThrow(UnrenderableError);
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_DELIVERY', isFinal: true }));
  });
});

test('a link of a card stays one link with brackets in its title and address', () => {
  const action = { id: 'x', title: 'see](https://a.example) [x', url: 'https://b.example/a (b)' };
  expect(withCardText('', { actions: [action] })).toBe(
    '- [see\\](https\\://a.example) \\[x](https://b.example/a%20%28b%29)',
  );
});
