import { expect, test } from 'vitest';
import { proactiveMessage } from '../../../../../actors/automation/operator/proactive-message.ts';

const input = { conversation: 'botmessenger/1/2', text: 'hello' };

test('a proactive message may have a card, and may name its conversation by the key in the store', () => {
  expect(proactiveMessage(input)).toEqual({ ...input, card: undefined });
  const actions = [{ id: 'a', title: 'A', style: 'danger', url: 'https://example.com/' }];
  const whole = { title: 'T', fields: [{ name: 'n', value: 1 }], actions };
  expect(proactiveMessage({ conversation: 'conversation/botmessenger/1/2', ...whole })).toEqual({
    conversation: 'botmessenger/1/2',
    text: '',
    card: { title: 'T', fields: [{ name: 'n', value: '1' }], actions },
  });
});

test.each([
  [undefined, /^the body should be an object/],
  [[], /^the body should be an object/],
  [{ ...input, conversation: undefined }, /^conversation is missing/],
  [{ ...input, conversation: 'x'.repeat(4_001) }, /^conversation should be a text of 1 to 4000/],
  [{ ...input, conversation: 'a\nb' }, /control characters/],
  [{ ...input, text: '' }, /^text is missing/],
  [{ ...input, text: 7 }, /^text should be a text/],
  [{ ...input, text: 'x'.repeat(32_769) }, /^text should be a text of at most 32768/],
  [{ ...input, txet: 'x' }, /^the body has an unknown member "txet"/],
  [{ ...input, title: '' }, /^title should be/],
  [{ ...input, title: 'x'.repeat(1_001) }, /^title should be/],
  [{ ...input, fields: {} }, /^fields should be a list/],
  [
    { ...input, fields: Array(101).fill({ name: 'a', value: 'b' }) },
    /^fields should be a list of at most 100/,
  ],
  [{ ...input, fields: [{ name: 'a' }] }, /^fields\[0\]\.value is missing/],
  [{ ...input, fields: ['a'] }, /^fields\[0\] should be an object/],
  [{ ...input, fields: [{ name: 'a', value: 'x'.repeat(4_001) }] }, /^fields\[0\]\.value should be/],
  [{ ...input, actions: [{ title: 'A' }] }, /^actions\[0\]\.id is missing/],
  [{ ...input, actions: [{ id: 'a', label: 'A' }] }, /^actions\[0\] has an unknown member "label"/],
  [{ ...input, actions: [{ id: 'a', style: 'loud' }] }, /^actions\[0\]\.style should be primary or danger/],
  [{ ...input, actions: [{ id: 'a', url: 'javascript:x' }] }, /^actions\[0\]\.url should be an address/],
  [{ ...input, actions: [{ id: 'a' }, { id: 'a' }] }, /^actions\[1\]\.id is used by another/],
])('the invalid proactive message %j is refused with the reason', (body, message) => {
  expect(() => proactiveMessage(body)).toThrow(message);
});
