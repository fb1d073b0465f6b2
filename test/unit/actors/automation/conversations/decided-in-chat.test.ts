// Decisions that come from a chat.

import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { DecisionInbound } from '../../../../../actors/events/decision-inbound.ts';
import type { StoredApproval } from '../../../../../actors/store/approval.ts';
import { ApprovalChat, askingHandler, pay } from '../../../../fixtures/automation/approval-chat.ts';

let chat: ApprovalChat;
afterEach(() => chat.end());

/** A run that has asked, in the room of its operators. */
async function asked(who: Partial<typeof pay.who> = {}): Promise<StoredApproval> {
  chat = new ApprovalChat({ handler: askingHandler({ ...pay, who: { ...pay.who, ...who } }) });
  await chat.say('a:1', { user: 'ada', isAwaited: false });
  const [approval] = await chat.asked('a:1');
  if (approval === undefined) throw new Error('nothing was asked');
  await chat.saidTo('a:1');
  return approval;
}

const approve = ({ id }: { readonly id: string }): DecisionInbound => ({
  verdict: 'approve',
  about: { approval: id },
});

/** Words of ours that are not the question. */
const wordsIn = (place: string) =>
  chat.shown.filter((each) => each.place === place && each.buttons.length === 0).map(({ text }) => text);

test('a press of somebody who may decides, and the message says so', async () => {
  const approval = await asked();
  await chat.press('d:1', approve(approval), { user: 'U2', userAliases: ['ben'] });
  expect(await chat.reached('d:1', 'done')).toMatchObject({ note: `${approval.id} is approved` });
  expect((await chat.reached('a:1', 'done')).answer).toBe('approved');
  await chat.saidTo('a:1');
  expect(chat.shown[0]).toMatchObject({ buttons: [], changes: 1 });
  expect(chat.shown[0]?.text).toMatch(/^Approved by ben at /);
  expect((await chat.approvals.find(approval.id))?.decision).toBe('{"by":"U2","name":"ben","via":"chat"}');
});

test('whoever may not is told so, and nothing has changed (DIC1)', async () => {
  const approval = await asked({ approvers: ['ben', 'ada'] });
  await chat.press('d:1', approve(approval), { user: 'mallory' });
  await chat.press('d:2', approve(approval), { user: 'ada' });
  await chat.press('d:3', approve(approval), { user: undefined });
  await chat.reached('d:1', 'ignored');
  await chat.reached('d:2', 'ignored');
  await chat.reached('d:3', 'ignored');
  await chat.saidTo('');
  expect(wordsIn('ops').sort()).toEqual([
    'Sorry, nobody knows who you are.',
    'Sorry, only those who are named as approvers may decide.',
    'Sorry, whoever asked may not decide.',
  ]);
  expect((await chat.approvals.find(approval.id))?.state).toBe('pending');
  expect((await chat.store.delivery('a:1'))?.state).toBe('waiting');
});

test('whoever presses in vain again and again is told once in a while, and others are told all the same (DIC3)', async () => {
  const approval = await asked({ approvers: ['ben', 'carl'] });
  for (let n = 1; n <= 5; n += 1) await chat.press(`d:${n}`, approve(approval), { user: 'mallory' });
  await chat.press('e:1', approve(approval), { user: 'eve' });
  for (const id of ['d:1', 'd:5', 'e:1']) await chat.reached(id, 'ignored');
  expect((await chat.store.delivery('d:5'))?.note).toBe(
    'only those who are named as approvers may decide; they were told so a moment ago',
  );
  await chat.saidTo('');
  expect(wordsIn('ops')).toHaveLength(2);
});

test('a mark on the question decides, and one on any other message does not', async () => {
  const approval = await asked();
  const [question] = chat.shown;
  await chat.press('d:1', { verdict: 'deny', about: { message: 'm77' } });
  await chat.press('d:2', { verdict: 'deny', about: { message: question?.id ?? '' } }, { channel: 'op' });
  expect((await chat.reached('d:1', 'ignored')).note).toBe('a mark on a message that asks nothing');
  expect((await chat.reached('d:2', 'ignored')).note).toBe('a mark on a message that asks nothing');
  await chat.press('d:3', { verdict: 'deny', about: { message: question?.id ?? '' } });
  await chat.reached('d:3', 'done');
  expect((await chat.reached('a:1', 'done')).answer).toBe('denied');
  expect((await chat.approvals.find(approval.id))?.state).toBe('denied');
});

test('whoever comes later hears how it was decided, and who decided hears nothing twice (DIC2)', async () => {
  const approval = await asked({ approvers: ['ben', 'carl'] });
  await chat.press('d:1', approve(approval));
  await chat.reached('a:1', 'done');
  await chat.press('d:2', { verdict: 'deny', about: { approval: approval.id } }, { user: 'carl' });
  await chat.press('d:3', approve(approval));
  await chat.reached('d:2', 'ignored');
  await chat.reached('d:3', 'done');
  await chat.saidTo('');
  expect(
    wordsIn('ops').filter((text) => text.startsWith('This is settled already. Approved by ben')),
  ).toHaveLength(1);
  expect((await chat.approvals.find(approval.id))?.state).toBe('approved');
});

test('a button for what is not known any more says so', async () => {
  await asked();
  await chat.press('d:1', approve({ id: randomUUID() }));
  await chat.reached('d:1', 'ignored');
  await chat.saidTo('');
  expect(wordsIn('ops')).toEqual(['What this asked for is not known any more.']);
});

test('people of the channel decide there and nowhere else, where nobody is named', async () => {
  const approval = await asked({ approvers: [] });
  await chat.press('d:1', approve(approval), { channel: 'room' });
  await chat.reached('d:1', 'ignored');
  await chat.press('d:2', approve(approval), { user: 'anybody' });
  await chat.reached('d:2', 'done');
  expect((await chat.reached('a:1', 'done')).answer).toBe('approved');
});

test('the same user of another account is somebody else', async () => {
  const approval = await asked();
  await chat.press('d:1', approve(approval), { account: undefined });
  await chat.reached('d:1', 'ignored');
  expect((await chat.approvals.find(approval.id))?.state).toBe('pending');
});
