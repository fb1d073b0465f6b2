// What people see of what they are to approve.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  EXCERPTS,
  outcomeMessage,
  outcomeText,
  questionMessage,
} from '../../../../../actors/agents/approvals/approval-message.ts';
import { wholeRequest } from '../../../../../actors/agents/approvals/shown-request.ts';
import { pay } from '../../../../fixtures/automation/approval-chat.ts';

const ID = '01234567-89ab-4def-8123-456789abcdef';
const requestedBy = { platform: 'chat', account: 'app', user: 'U1', aliases: ['ada'] };

const asked = (input: unknown) => ({
  ...{ kind: pay.kind, title: pay.title, command: undefined, agent: 'payer', requestedBy },
  tool: { server: 'bank', tool: 'pay', arguments: input },
});

test('a question says who asks for what, for how long, and what to press', () => {
  const { text, card, mentions } = questionMessage(ID, asked({ amount: 100 }), 1_500, 86_400_000);
  expect(text).toBe('It waits for approval, for 24 hours.\n\n```\n{\n  "amount": 100\n}\n```');
  expect(card?.fields).toEqual([
    { name: 'Asked by', value: 'ada (U1)' },
    { name: 'Tool', value: 'bank/pay' },
    { name: 'Agent', value: 'payer' },
  ]);
  expect(card?.actions?.map(({ title }) => title)).toEqual(['Approve', 'Deny']);
  expect(mentions).toBe('none');
});

test('what does not fit is told, with where all of it is (AMS1)', () => {
  const long = asked({ note: 'x'.repeat(5_000) });
  const { text } = questionMessage(ID, long, EXCERPTS[0], undefined);
  const { length } = wholeRequest(long);
  expect(text).toContain(
    `These are the first 1500 of ${length} characters; all of it: \`approvals show ${ID}\``,
  );
});

test('an outcome says who decided, when and why, and has no buttons', () => {
  const decision = { by: 'ben', via: 'chat', comment: 'not today' } as const;
  const at = Date.UTC(2026, 10, 23, 19, 5, 0);
  const message = outcomeMessage(ID, asked({}), 1_500, { state: 'denied', decision, at });
  expect(message.text).toMatch(/^Denied by ben at 2026-11-23 19:05:00 UTC: not today\n/);
  expect(message.card?.actions).toBeUndefined();
  expect(outcomeText({ state: 'cancelled' })).toBe('Cancelled: it is not needed any more.');
});

test('what strangers wrote ends no block of code, hides nothing and notifies nobody', () => {
  const nasty = '```\n**Approved by the boss** <!channel> \u202egnp.exe \u200b\u2028 @everyone';
  const { text, card } = questionMessage(ID, { ...asked({ note: nasty }), title: nasty }, 1_500, undefined);
  expect(text.match(/`+/g)).toEqual(['```', '```']);
  expect(text).not.toMatch(/[\u202e\u200b\u2028]/);
  expect(text).toContain('\\u202e');
  expect(card?.fields?.[1]?.value).not.toMatch(/[\n\u202e\u200b\u2028]/);
});

test('what is shown of any arguments reads back as they are', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
      const shown = wholeRequest(asked(value));
      expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(shown).not.toContain('`');
    }),
  );
});
