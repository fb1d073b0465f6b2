import { describe, expect, test } from 'vitest';
import { UnrenderableError } from '../../../../actors/outbound/delivery-error.ts';
import type { Outbound } from '../../../../actors/outbound/outbound.ts';
import type { OutboundMessage } from '../../../../actors/outbound/outbound-message.ts';
import { outboxRows, type RowMeta, renderedOf } from '../../../../actors/outbound/outbox-rows.ts';
import { splitText } from '../../../../actors/outbound/split-text.ts';
import type { ManualTrigger } from '../../../../config/resources/triggers/trigger.ts';

const outbound: Outbound<ManualTrigger> = {
  target: () => undefined,
  render: (_, { text }) => splitText(text, { limit: 100, unit: 'utf16' }).map((part) => ({ text: part })),
  sendsTo: () => 'http://127.0.0.1',
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
  test('are one for each request, in order, in the mailbox of the destination (OR2)', () => {
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

  test('are in a mailbox of their own where the target is to be in order with something else than its place', () => {
    const target = { ...message.target, orderedWith: '-100/x/9' };
    const rows = outboxRows(outbound, account, trigger, { ...message, target }, origin);
    expect(new Set(rows.map(({ key }) => key))).toEqual(new Set(['outbox/chat/bot1/-100/x/9']));
  });

  test('have the same ids each time, and others for another message of the same event (OR1)', () => {
    const again = outboxRows(outbound, account, trigger, message, origin);
    expect(outboxRows(outbound, account, trigger, message, origin)).toEqual(again);
    const notice = outboxRows(
      outbound,
      account,
      trigger,
      { ...message, text: 'x' },
      { ...origin, about: 'failed' },
    );
    expect(notice.map(({ id }) => id)).toEqual(['outbox:chat:1/failed/1']);
  });

  test('have a sign in place of half a character, for which platforms refuse all of a message', () => {
    const text = 'cut by the agent \ud83d';
    const [row] = outboxRows(outbound, account, trigger, { ...message, text }, origin);
    expect(renderedOf(row!)).toEqual({ text: 'cut by the agent \ufffd' });
  });

  test('are none where the platform has no form for the message, and that is told', () => {
    const render = () => {
      throw new UnrenderableError('a message cannot be edited here');
    };
    const edit: OutboundMessage = { ...message, action: { do: 'edit', of: 'outbox:chat:1/1' } };
    const make = () => outboxRows({ ...outbound, render }, account, trigger, edit, origin);
    expect(make).toThrow(UnrenderableError);
    expect(make).toThrow(expect.objectContaining({ code: 'ERR_DELIVERY', isFinal: true }));
  });
});
