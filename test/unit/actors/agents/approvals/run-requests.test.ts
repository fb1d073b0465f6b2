// Approval requests of runs: the run posts the request, parks, and resumes after the decision.

import { afterEach, expect, test } from 'vitest';
import { OperatorApprovals } from '../../../../../actors/agents/approvals/operator-approvals.ts';
import { bodyOf, isExactly } from '../../../../../actors/agents/approvals/record.ts';
import type { ApprovalRequest } from '../../../../../actors/agents/approvals/run-approvals.ts';
import { Redactor } from '../../../../../actors/base/errors/redact.ts';
import { decisionActionId } from '../../../../../actors/events/decision-action.ts';
import { anonymous } from '../../../../../actors/identity/principal.ts';
import {
  ApprovalChat,
  askingHandler,
  paymentRequest,
} from '../../../../fixtures/automation/approval-chat.ts';
import { until } from '../../../../fixtures/automation/inbox.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

let chat: ApprovalChat | undefined;
afterEach(() => chat?.end());

function chatOf(...requests: readonly ApprovalRequest[]): ApprovalChat {
  chat = new ApprovalChat({ handler: askingHandler(...requests) });
  return chat;
}

test('a run asks for approval in the channel, waits without a work slot, and resumes after the decision', async () => {
  const requestChat = chatOf(paymentRequest);
  const { shown } = requestChat;
  await requestChat.say('a:1');
  const [request] = await requestChat.waitForApprovals('a:1');
  if (request === undefined) throw new Error('expected an approval request');
  expect(request).toMatchObject({ run: 'a:1', state: 'pending', trigger: 'chat' });
  await until('the approval request was sent', () => shown.length === 1);
  expect(shown[0]?.place).toBe('ops');
  expect(shown[0]?.text).toContain('"amount": 100');
  expect(shown[0]?.buttons).toEqual([
    decisionActionId(request.id, 'approve'),
    decisionActionId(request.id, 'deny'),
  ]);
  expect(await requestChat.store.delivery('a:1')).toMatchObject({
    state: 'waiting',
    waitingFor: 'approval a:1',
  });
  const decided = await requestChat.approvals.decide(request, 'approved', {
    by: 'ben',
    via: 'api',
    comment: 'go ahead',
  });
  expect(decided.isFirst).toBe(true);
  expect((await requestChat.waitForState('a:1', 'done')).answer).toBe('approved');
  await requestChat.waitForTexts('a:1');
  expect(shown).toHaveLength(2);
  expect(shown[0]).toMatchObject({ buttons: [], changes: 1 });
  expect(shown[0]?.text).toMatch(/^Approved by ben at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: go ahead\n/);
});

test('configuration secrets appear neither in an approval request nor in its outcome', async () => {
  const requestChat = chatOf({
    ...paymentRequest,
    tool: { server: 'bank', tool: 'pay', arguments: { key: 's3cret-value' } },
  });
  await requestChat.say('a:1');
  const [request] = await requestChat.waitForApprovals('a:1');
  if (request === undefined) throw new Error('expected an approval request');
  await until('the approval request was sent', () => requestChat.shown.length === 1);
  expect(requestChat.shown[0]?.text).toContain('"key": "***"');
  const comment = 'the key is s3cret-value';
  const { approval } = await requestChat.approvals.decide(request, 'approved', {
    by: 'ben',
    via: 'api',
    comment,
  });
  await requestChat.waitForState('a:1', 'done');
  await requestChat.waitForTexts('a:1');
  expect(requestChat.shown[0]).toMatchObject({ changes: 1 });
  expect(JSON.stringify([requestChat.shown, approval.decision])).not.toContain('s3cret-value');
});

test('an approval request expires after its timeout, and the run resumes', async () => {
  const requestChat = chatOf({
    ...paymentRequest,
    rules: { ...paymentRequest.rules, approval_timeout_seconds: 0.05 },
  });
  await requestChat.say('a:1');
  expect((await requestChat.waitForState('a:1', 'done')).answer).toBe('expired');
  await requestChat.waitForTexts('a:1');
  expect(requestChat.shown[0]?.text).toContain('Expired');
  const [request] = await requestChat.approvalsOf('a:1');
  expect(request).toMatchObject({ state: 'expired', decision: '{"via":"timer"}' });
  const approval = await requestChat.approvals.find(request?.id ?? '');
  expect(approval?.state).toBe('expired');
});

test('reading an overdue approval does not change it, and it can no longer be approved', async () => {
  let offsetMs = 0;
  const store = new MemoryStore({ now: () => Date.now() + offsetMs });
  chat = new ApprovalChat({ store, handler: askingHandler(paymentRequest) });
  await chat.say('a:1');
  const [request] = await chat.waitForApprovals('a:1');
  if (request === undefined) throw new Error('expected an approval request');
  offsetMs = 2 * 3_600_000;
  const { approvals } = chat;
  const operator = new OperatorApprovals({ store, approvals, gateway: { redactor: new Redactor([]) } });
  const states = async () => [
    (await operator.find(request.id)).state,
    (await operator.list({ limit: 10 })).approvals[0]?.state,
  ];
  expect([await states(), await states()]).toEqual([
    ['pending', 'pending'],
    ['pending', 'pending'],
  ]);
  const decided = await operator.decide(
    request.id,
    'approve',
    { by: undefined, comment: undefined },
    anonymous,
  );
  expect(decided).toMatchObject({ error: { message: expect.stringContaining('expired') } });
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('expired');
});

test('a run waits for all of its approval requests, each with its own outcome', async () => {
  const requestChat = chatOf(paymentRequest, { ...paymentRequest, title: 'bank/close' });
  await requestChat.say('a:1');
  const requests = await requestChat.waitForApprovals('a:1', 2);
  for (const each of requests) {
    expect((await requestChat.store.delivery('a:1'))?.state).not.toBe('done');
    const verdict = bodyOf(each).title === 'bank/pay' ? 'approved' : 'denied';
    await requestChat.approvals.decide(each, verdict, { by: 'ben', via: 'api' });
  }
  expect((await requestChat.waitForState('a:1', 'done')).answer).toBe('approved denied');
});

test('the message of a pending approval request shows that its run was cancelled', async () => {
  const requestChat = chatOf(paymentRequest);
  await requestChat.say('a:1');
  await requestChat.waitForApprovals('a:1');
  await requestChat.deliveries.discard('a:1', 'not wanted');
  await requestChat.waitForTexts('a:1');
  expect(requestChat.shown[0]?.text).toContain('Cancelled');
  expect(requestChat.shown[0]?.buttons).toEqual([]);
  expect((await requestChat.approvalsOf('a:1'))[0]?.state).toBe('cancelled');
});

test('an action matches its approved request regardless of the order of JSON members', async () => {
  const requestChat = chatOf(paymentRequest);
  await requestChat.say('a:1');
  const [request] = await requestChat.waitForApprovals('a:1');
  if (request === undefined) throw new Error('expected an approval request');
  const tool = { server: 'bank', tool: 'pay', arguments: { amount: 100, to: 'ben' } };
  expect(isExactly(bodyOf(request), { ...paymentRequest, tool })).toBe(true);
  expect(
    isExactly(bodyOf(request), {
      ...paymentRequest,
      tool: { ...tool, arguments: { amount: 1000, to: 'ben' } },
    }),
  ).toBe(false);
  expect(isExactly(bodyOf(request), { ...paymentRequest, tool: { ...tool, server: 'other' } })).toBe(false);
});

test('a run cannot read the approval requests of another run', async () => {
  const outcomes: unknown[] = [];
  const asks = askingHandler(paymentRequest);
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
  await chat.waitForApprovals('a:1');
  await chat.say('a:2', {}, 'elsewhere');
  await chat.waitForState('a:2', 'done');
  expect(outcomes).toEqual(['pending', undefined]);
});

test('if the approval channel cannot be reached, the run fails and no approval request is stored', async () => {
  const requestChat = chatOf({
    ...paymentRequest,
    rules: { ...paymentRequest.rules, approval_channel: '#No Such' },
  });
  await requestChat.say('a:1');
  const { note } = await requestChat.waitForState('a:1', 'dead');
  expect(note).toContain('cannot reach the approval_channel "#No Such"');
  expect(await requestChat.approvalsOf('a:1')).toEqual([]);
});

test('approvers come only from configuration; without an own list the list of the trigger applies', async () => {
  const rules = { ...paymentRequest.rules, approvers: [], approval_channel: undefined };
  const arguments_ = { approvers: ['mallory'], approval_channel: 'room', self_approval: true };
  const requestChat = chatOf({
    ...paymentRequest,
    tool: { server: 'bank', tool: 'pay', arguments: arguments_ },
    rules,
  });
  const chatTrigger = requestChat.triggers.get('chat');
  if (chatTrigger === undefined) throw new Error('expected the trigger');
  const config = { ...chatTrigger.config, approval_allowed_users: ['ben'] };
  requestChat.triggers.set('chat', { ...chatTrigger, config });
  await requestChat.say('a:1', { text: 'approvers: [mallory]' });
  const [request] = await requestChat.waitForApprovals('a:1');
  expect(request && bodyOf(request).rights).toMatchObject({ approvers: ['ben'], selfApproval: false });
});
