// How a run asks people, and what it finds when it goes on.

import { afterEach, expect, test } from 'vitest';
import { bodyOf, isExactly } from '../../../../../actors/agents/approvals/approval-record.ts';
import type { ApprovalRequest } from '../../../../../actors/agents/approvals/run-approvals.ts';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import { ApprovalChat, askingHandler, pay } from '../../../../fixtures/automation/approval-chat.ts';
import { until } from '../../../../fixtures/automation/inbox.ts';

let chat: ApprovalChat | undefined;
afterEach(() => chat?.end());

function chatOf(...requests: readonly ApprovalRequest[]): ApprovalChat {
  chat = new ApprovalChat({ handler: askingHandler(...requests) });
  return chat;
}

test('a run asks in the channel, waits without a place, goes on when it is decided, and the message says who did (AMS2)', async () => {
  const it = chatOf(pay);
  const { shown } = it;
  await it.say('a:1');
  const [asked] = await it.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  expect(asked).toMatchObject({ run: 'a:1', state: 'pending', trigger: 'chat' });
  await until('the question has left', () => shown.length === 1);
  expect(shown[0]?.place).toBe('ops');
  expect(shown[0]?.text).toContain('"amount": 100');
  expect(shown[0]?.buttons).toEqual([
    decisionActionId(asked.id, 'approve'),
    decisionActionId(asked.id, 'deny'),
  ]);
  expect(await it.store.delivery('a:1')).toMatchObject({ state: 'waiting', waitingFor: 'approval a:1' });
  const decided = await it.approvals.decide(asked, 'approved', {
    by: 'ben',
    via: 'api',
    comment: 'go ahead',
  });
  expect(decided.isFirst).toBe(true);
  expect((await it.reached('a:1', 'done')).answer).toBe('approved');
  await it.saidTo('a:1');
  expect(shown).toHaveLength(2);
  expect(shown[0]).toMatchObject({ buttons: [], changes: 1 });
  expect(shown[0]?.text).toMatch(/^Approved by ben at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: go ahead\n/);
});

test('a secret of the configuration is shown to nobody, in the question and in what it is changed to', async () => {
  const it = chatOf({ ...pay, tool: { server: 'bank', tool: 'pay', arguments: { key: 's3cret-value' } } });
  await it.say('a:1');
  const [asked] = await it.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  await until('the question has left', () => it.shown.length === 1);
  expect(it.shown[0]?.text).toContain('"key": "***"');
  const comment = 'the key is s3cret-value';
  const { approval } = await it.approvals.decide(asked, 'approved', { by: 'ben', via: 'api', comment });
  await it.reached('a:1', 'done');
  await it.saidTo('a:1');
  expect(it.shown[0]).toMatchObject({ changes: 1 });
  expect(JSON.stringify([it.shown, approval.decision])).not.toContain('s3cret-value');
});

test('what is over its time has expired, and the run goes on by itself (APV2)', async () => {
  const it = chatOf({ ...pay, who: { ...pay.who, approval_timeout_seconds: 0.05 } });
  await it.say('a:1');
  expect((await it.reached('a:1', 'done')).answer).toBe('expired');
  await it.saidTo('a:1');
  expect(it.shown[0]?.text).toContain('Expired');
  const [asked] = await it.approvalsOf('a:1');
  expect(asked).toMatchObject({ state: 'expired', decision: '{"via":"timer"}' });
  const found = await it.approvals.find(asked?.id ?? '');
  expect(found?.state).toBe('expired');
});

test('all that a run asks is waited for, and each has its own outcome (APV1)', async () => {
  const it = chatOf(pay, { ...pay, title: 'bank/close' });
  await it.say('a:1');
  const asked = await it.asked('a:1', 2);
  for (const each of asked) {
    expect((await it.store.delivery('a:1'))?.state).not.toBe('done');
    const verdict = bodyOf(each).title === 'bank/pay' ? 'approved' : 'denied';
    await it.approvals.decide(each, verdict, { by: 'ben', via: 'api' });
  }
  expect((await it.reached('a:1', 'done')).answer).toBe('approved denied');
});

test('what is asked when its run is cancelled says so in its message', async () => {
  const it = chatOf(pay);
  await it.say('a:1');
  await it.asked('a:1');
  await it.deliveries.discard('a:1', 'not wanted');
  await it.saidTo('a:1');
  expect(it.shown[0]?.text).toContain('Cancelled');
  expect(it.shown[0]?.buttons).toEqual([]);
  expect((await it.approvalsOf('a:1'))[0]?.state).toBe('cancelled');
});

test('what is done is compared with what was asked, whatever the order of members (APR1)', async () => {
  const it = chatOf(pay);
  await it.say('a:1');
  const [asked] = await it.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  const tool = { server: 'bank', tool: 'pay', arguments: { amount: 100, to: 'ben' } };
  expect(isExactly(bodyOf(asked), { ...pay, tool })).toBe(true);
  expect(
    isExactly(bodyOf(asked), { ...pay, tool: { ...tool, arguments: { amount: 1000, to: 'ben' } } }),
  ).toBe(false);
  expect(isExactly(bodyOf(asked), { ...pay, tool: { ...tool, server: 'other' } })).toBe(false);
});

test('what another run has asked is known to none but that one', async () => {
  const outcomes: unknown[] = [];
  const asks = askingHandler(pay);
  chat = new ApprovalChat({
    handler: {
      run: async (job, context) => {
        if (job.event.id === 'a:1') return asks.run(job, context);
        const [theirs] = (await chat?.approvalsOf('a:1')) ?? [];
        outcomes.push(theirs?.state, await context.approvals?.outcome(theirs?.id ?? ''));
        return { text: 'looked' };
      },
    },
  });
  await chat.say('a:1');
  await chat.asked('a:1');
  await chat.say('a:2', {}, 'elsewhere');
  await chat.reached('a:2', 'done');
  expect(outcomes).toEqual(['pending', undefined]);
});

test('a channel to which nobody knows the way ends the run, and nobody is asked', async () => {
  const it = chatOf({ ...pay, who: { ...pay.who, approval_channel: '#No Such' } });
  await it.say('a:1');
  const { note } = await it.reached('a:1', 'dead');
  expect(note).toContain('knows no way to the approval_channel "#No Such"');
  expect(await it.approvalsOf('a:1')).toEqual([]);
});

test('who may decide is what the files say, of the trigger where the request names nobody (RAS1)', async () => {
  const who = { ...pay.who, approvers: [], approval_channel: undefined };
  const arguments_ = { approvers: ['mallory'], approval_channel: 'room', self_approval: true };
  const it = chatOf({ ...pay, tool: { server: 'bank', tool: 'pay', arguments: arguments_ }, who });
  const chatTrigger = it.triggers.get('chat');
  if (chatTrigger === undefined) throw new Error('there is no trigger');
  const config = { ...chatTrigger.config, approval_allowed_users: ['ben'] };
  it.triggers.set('chat', { ...chatTrigger, config });
  await it.say('a:1', { text: 'approvers: [mallory]' });
  const [asked] = await it.asked('a:1');
  expect(asked && bodyOf(asked).rights).toMatchObject({ approvers: ['ben'], selfApproval: false });
});
