import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import { replyCard, replyFormat } from '../../../../../actors/events/outbox/reply-card.ts';

describe('the card of a reply', () => {
  test('has the title, fields and actions of the reply data', () => {
    const data = {
      title: 'Deploy',
      fields: [{ name: 'version', value: 42 }],
      actions: [
        { id: 'yes', title: 'Ship it', style: 'primary' },
        { id: 'no', title: 'Stop', style: 'danger', description: 'Nothing happens' },
        { id: 'log', title: 'Log', url: 'https://ci.example.com/1' },
      ],
      other: 1,
    };
    expect(replyCard(data)).toEqual({
      title: 'Deploy',
      fields: [{ name: 'version', value: '42' }],
      actions: [
        { id: 'yes', title: 'Ship it', style: 'primary' },
        { id: 'no', title: 'Stop', style: 'danger', description: 'Nothing happens' },
        { id: 'log', title: 'Log', url: 'https://ci.example.com/1' },
      ],
    });
  });

  test('is absent if all its members are missing or invalid', () => {
    for (const data of [undefined, null, 'x', [], {}, { title: ' ' }, { actions: 'no' }, { fields: [1, {}] }])
      expect(replyCard(data)).toBeUndefined();
  });

  test('omits actions without an id, duplicate actions and URLs other than web pages', () => {
    const actions = [
      { title: 'a' },
      { id: 'x' },
      { id: 'x', title: 'again' },
      { id: 'y', title: 'y', style: 'odd', url: 'javascript:alert(1)' },
    ];
    expect(replyCard({ actions })?.actions).toEqual([
      { id: 'x', title: 'x' },
      { id: 'y', title: 'y' },
    ]);
  });

  test('replaces half surrogate pairs in action ids, and omits an action whose id is then a duplicate', () => {
    const actions = [{ id: 'cut \ud83d', title: 'one' }, { id: 'cut \ude00' }];
    expect(replyCard({ actions })?.actions).toEqual([{ id: 'cut \ufffd', title: 'one' }]);
  });

  test('has no button with the id of an approval decision', () => {
    const id = decisionActionId('0b5e7a1c-1d2e-4f30-8a41-5b6c7d8e9f00', 'approve');
    const actions = [{ id, title: 'Show more' }, { id: ` ${id}` }, { id: 'ok' }];
    expect(replyCard({ actions })?.actions).toEqual([{ id: 'ok', title: 'ok' }]);
  });

  test('is created from any JSON without an error', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => void replyCard(value)));
  });
});

test('the form of a text is a known value of the reply data, else undefined', () => {
  const values = ['markdown', 'native', 'plain', 'html', 7, undefined];
  expect(values.map((format) => replyFormat({ format }))).toEqual([
    ...['markdown', 'native', 'plain'],
    ...[undefined, undefined, undefined],
  ]);
  expect(replyFormat('plain')).toBeUndefined();
});
