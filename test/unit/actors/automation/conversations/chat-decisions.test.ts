import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { DecisionInbound } from '../../../../../actors/events/decision-inbound.ts';
import type { StoredApproval } from '../../../../../actors/store/approval.ts';
import {
  ApprovalChat,
  askingHandler,
  paymentRequest,
} from '../../../../fixtures/automation/approval-chat.ts';

let chat: ApprovalChat;
afterEach(() => chat.end());

/** Starts a run with an approval request in the operators' room. */
async function requestApproval(
  changedRules: Partial<typeof paymentRequest.rules> = {},
): Promise<StoredApproval> {
  chat = new ApprovalChat({
    handler: askingHandler({ ...paymentRequest, rules: { ...paymentRequest.rules, ...changedRules } }),
  });
  await chat.say('a:1', { user: 'ada', isAwaited: false });
  const [approval] = await chat.waitForApprovals('a:1');
  if (approval === undefined) throw new Error('expected an approval request');
  await chat.waitForTexts('a:1');
  return approval;
}

const approve = ({ id }: { readonly id: string }): DecisionInbound => ({
  verdict: 'approve',
  about: { approval: id },
});

/** Messages of the gateway in a room, without the approval request. */
const textsIn = (room: string) =>
  chat.shown.filter((each) => each.place === room && each.buttons.length === 0).map(({ text }) => text);

test('a button press by an approver decides the approval, and the request message shows the decision', async () => {
  const approval = await requestApproval();
  await chat.press('d:1', approve(approval), { user: 'U2', userAliases: ['ben'] });
  expect(await chat.waitForState('d:1', 'done')).toMatchObject({ note: `${approval.id} is approved` });
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('approved');
  await chat.waitForTexts('a:1');
  expect(chat.shown[0]).toMatchObject({ buttons: [], changes: 1 });
  expect(chat.shown[0]?.text).toMatch(/^Approved by ben at /);
  expect((await chat.approvals.find(approval.id))?.decision).toBe('{"by":"U2","name":"ben","via":"chat"}');
});

test('a person who may not decide receives the reason, and the approval stays pending', async () => {
  const approval = await requestApproval({ approvers: ['ben', 'ada'] });
  await chat.press('d:1', approve(approval), { user: 'mallory' });
  await chat.press('d:2', approve(approval), { user: 'ada' });
  await chat.press('d:3', approve(approval), { user: undefined });
  await chat.waitForState('d:1', 'ignored');
  await chat.waitForState('d:2', 'ignored');
  await chat.waitForState('d:3', 'ignored');
  await chat.waitUntilSent();
  expect(textsIn('ops').sort()).toEqual([
    'Sorry, only named approvers may decide.',
    'Sorry, the requester may not decide.',
    'Sorry, your identity is unknown.',
  ]);
  expect((await chat.approvals.find(approval.id))?.state).toBe('pending');
  expect((await chat.store.delivery('a:1'))?.state).toBe('waiting');
});

test('decisions and refused decisions are recorded in the audit with the person', async () => {
  const approval = await requestApproval({ approvers: ['ben'] });
  await chat.press('d:1', approve(approval), { user: 'mallory' });
  await chat.waitForState('d:1', 'ignored');
  await chat.press('d:2', approve(approval));
  await chat.waitForState('d:2', 'done');
  await chat.press('d:3', { verdict: 'deny', about: { approval: approval.id } });
  await chat.waitForState('d:3', 'done');
  const lines = chat.audited.map(({ principal, action, target, outcome }) => [
    principal,
    action,
    target,
    outcome,
  ]);
  expect(lines).toEqual([
    ['manual:mallory', 'approvals/approve', approval.id, 'refused'],
    ['manual:ben', 'approvals/approve', approval.id, 'ok'],
    ['manual:ben', 'approvals/deny', approval.id, 'refused'],
  ]);
});

test('each person who may not decide receives one explanation, even for repeated presses', async () => {
  const approval = await requestApproval({ approvers: ['ben', 'carl'] });
  for (let n = 1; n <= 5; n += 1) await chat.press(`d:${n}`, approve(approval), { user: 'mallory' });
  await chat.press('e:1', approve(approval), { user: 'eve' });
  for (const id of ['d:1', 'd:5', 'e:1']) await chat.waitForState(id, 'ignored');
  expect((await chat.store.delivery('d:5'))?.note).toBe(
    'only named approvers may decide; explained a moment ago',
  );
  await chat.waitUntilSent();
  expect(textsIn('ops')).toHaveLength(2);
});

test('a reaction to the approval request decides the approval; a reaction to another message does not', async () => {
  const approval = await requestApproval();
  const [question] = chat.shown;
  await chat.press('d:1', { verdict: 'deny', about: { message: 'm77' } });
  await chat.press('d:2', { verdict: 'deny', about: { message: question?.id ?? '' } }, { channel: 'op' });
  expect((await chat.waitForState('d:1', 'ignored')).note).toBe(
    'reaction to a message without an approval request',
  );
  expect((await chat.waitForState('d:2', 'ignored')).note).toBe(
    'reaction to a message without an approval request',
  );
  await chat.press('d:3', { verdict: 'deny', about: { message: question?.id ?? '' } });
  await chat.waitForState('d:3', 'done');
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('denied');
  expect((await chat.approvals.find(approval.id))?.state).toBe('denied');
});

test('a second decider is informed of the first decision; the first decider gets no message for a second press', async () => {
  const approval = await requestApproval({ approvers: ['ben', 'carl'] });
  await chat.press('d:1', approve(approval));
  await chat.waitForState('a:1', 'done');
  await chat.press('d:2', { verdict: 'deny', about: { approval: approval.id } }, { user: 'carl' });
  await chat.press('d:3', approve(approval));
  await chat.waitForState('d:2', 'ignored');
  await chat.waitForState('d:3', 'done');
  await chat.waitUntilSent();
  expect(textsIn('ops').filter((text) => text.startsWith('Already decided. Approved by ben'))).toHaveLength(
    1,
  );
  expect((await chat.approvals.find(approval.id))?.state).toBe('approved');
});

test('a button press for an unknown approval gets the reply that the request no longer exists', async () => {
  await requestApproval();
  await chat.press('d:1', approve({ id: randomUUID() }));
  await chat.waitForState('d:1', 'ignored');
  await chat.waitUntilSent();
  expect(textsIn('ops')).toEqual(['This approval request no longer exists.']);
});

test('without named approvers, members of the approval channel decide, and only in that channel', async () => {
  const approval = await requestApproval({ approvers: [] });
  await chat.press('d:1', approve(approval), { channel: 'room' });
  await chat.waitForState('d:1', 'ignored');
  await chat.press('d:2', approve(approval), { user: 'anybody' });
  await chat.waitForState('d:2', 'done');
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('approved');
});

test('the same user id in another account is a different person, who may not decide the approval', async () => {
  const approval = await requestApproval();
  await chat.press('d:1', approve(approval), { account: undefined });
  await chat.waitForState('d:1', 'ignored');
  expect((await chat.approvals.find(approval.id))?.state).toBe('pending');
});
