import { expect, test } from 'vitest';
import { proactiveMessage } from '../../../../../actors/automation/operator/proactive-message.ts';

const there = { conversation: 'botmessenger/1/2', text: 'hello' };

test('a message is read with its card, and a conversation as the list of deliveries shows it as well', () => {
  expect(proactiveMessage(there)).toEqual({ ...there, card: undefined });
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
  [{ ...there, conversation: undefined }, /^conversation is missing/],
  [{ ...there, conversation: 'x'.repeat(4_001) }, /^conversation should be a text of 1 to 4000/],
  [{ ...there, conversation: 'a\nb' }, /control characters/],
  [{ ...there, text: '' }, /^text is missing/],
  [{ ...there, text: 7 }, /^text should be a text/],
  [{ ...there, text: 'x'.repeat(32_769) }, /^text should be a text of at most 32768/],
  [{ ...there, txet: 'x' }, /^the body has a member "txet"/],
  [{ ...there, title: '' }, /^title should be/],
  [{ ...there, title: 'x'.repeat(1_001) }, /^title should be/],
  [{ ...there, fields: {} }, /^fields should be a list/],
  [
    { ...there, fields: Array(101).fill({ name: 'a', value: 'b' }) },
    /^fields should be a list of at most 100/,
  ],
  [{ ...there, fields: [{ name: 'a' }] }, /^fields\[0\]\.value is missing/],
  [{ ...there, fields: ['a'] }, /^fields\[0\] should be an object/],
  [{ ...there, fields: [{ name: 'a', value: 'x'.repeat(4_001) }] }, /^fields\[0\]\.value should be/],
  [{ ...there, actions: [{ title: 'A' }] }, /^actions\[0\]\.id is missing/],
  [{ ...there, actions: [{ id: 'a', label: 'A' }] }, /^actions\[0\] has a member "label"/],
  [{ ...there, actions: [{ id: 'a', style: 'loud' }] }, /^actions\[0\]\.style should be primary or danger/],
  [{ ...there, actions: [{ id: 'a', url: 'javascript:x' }] }, /^actions\[0\]\.url should be an address/],
  [{ ...there, actions: [{ id: 'a' }, { id: 'a' }] }, /^actions\[1\]\.id is that of another/],
])('%j is refused with what is wrong', (body, message) => {
  expect(() => proactiveMessage(body)).toThrow(message);
});
