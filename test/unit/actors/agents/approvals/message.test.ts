import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  EXCERPTS,
  outcomeMessage,
  outcomeText,
  requestMessage,
} from '../../../../../actors/agents/approvals/message.ts';
import { fullRequestText } from '../../../../../actors/agents/approvals/request-text.ts';
import { paymentRequest } from '../../../../fixtures/automation/approval-chat.ts';

const ID = '01234567-89ab-4def-8123-456789abcdef';
const requestedBy = { platform: 'chat', account: 'app', user: 'U1', aliases: ['ada'] };

const request = (input: unknown) => ({
  kind: paymentRequest.kind,
  title: paymentRequest.title,
  command: undefined,
  agent: 'payer',
  requestedBy,
  tool: { server: 'bank', tool: 'pay', arguments: input },
});

test('an approval request contains requester, details, deadline and buttons', () => {
  const { text, card, mentions } = requestMessage(ID, request({ amount: 100 }), 1_500, 86_400_000);
  expect(text).toBe('Waiting for approval, for 24 hours.\n\n```\n{\n  "amount": 100\n}\n```');
  expect(card?.fields).toEqual([
    { name: 'Requested by', value: 'ada (U1)' },
    { name: 'Tool', value: 'bank/pay' },
    { name: 'Agent', value: 'payer' },
  ]);
  expect(card?.actions?.map(({ title }) => title)).toEqual(['Approve', 'Deny']);
  expect(mentions).toBe('none');
});

test('a truncated approval request contains the command that shows the full text', () => {
  const long = request({ note: 'x'.repeat(5_000) });
  const { text } = requestMessage(ID, long, EXCERPTS[0], undefined);
  const { length } = fullRequestText(long);
  expect(text).toContain(`First 1500 of ${length} characters; full text: \`approvals show ${ID}\``);
});

test('the outcome of an approval names the decider, the time and the comment, and has no buttons', () => {
  const decision = { by: 'ben', via: 'chat', comment: 'not today' } as const;
  const at = Date.UTC(2026, 10, 23, 19, 5, 0);
  const message = outcomeMessage(ID, request({}), 1_500, { state: 'denied', decision, at });
  expect(message.text).toMatch(/^Denied by ben at 2026-11-23 19:05:00 UTC: not today\n/);
  expect(message.card?.actions).toBeUndefined();
  expect(outcomeText({ state: 'cancelled' })).toBe('Cancelled: no longer needed.');
});

test('untrusted text in an approval request cannot end a code block, hide characters or mention people', () => {
  const nasty = '```\n**Approved by the boss** <!channel> \u202egnp.exe \u200b\u2028 @everyone';
  const { text, card } = requestMessage(ID, { ...request({ note: nasty }), title: nasty }, 1_500, undefined);
  expect(text.match(/`+/g)).toEqual(['```', '```']);
  expect(text).not.toMatch(/[\u202e\u200b\u2028]/);
  expect(text).toContain('\\u202e');
  expect(card?.fields?.[1]?.value).not.toMatch(/[\n\u202e\u200b\u2028]/);
});

test('the card of an approval request has no markup, and shows fillers and blanks as escapes', () => {
  const title = 'files/write_file\u3164[ok](https://evil.example) **now** <!channel> _x_\u2800';
  const requestedBy = { platform: 'chat', user: 'U1', aliases: ['*ada*'] };
  const { card } = requestMessage(ID, { ...request({}), title, requestedBy }, 1_500, undefined);
  expect(card?.fields?.map(({ value }) => value).slice(0, 2)).toEqual([
    'ada (U1)',
    'files/write_file\\u3164 ok (https://evil.example) now !channel x \\u2800',
  ]);
});

test('the full text of an approval request is JSON with the same value as the arguments', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
      const text = fullRequestText(request(value));
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(text).not.toContain('`');
    }),
  );
});
