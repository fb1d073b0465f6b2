import { afterEach, expect, test } from 'vitest';
import { bodyOf } from '../../../../../actors/agents/approvals/record.ts';
import type { Job } from '../../../../../actors/agents/handlers/handler.ts';
import type { ApprovalRules } from '../../../../../config/resources/approval-rules.ts';
import type { Parameter } from '../../../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import { ApprovalChat } from '../../../../fixtures/automation/approval-chat.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const rules: ApprovalRules = {
  approvers: ['ben'],
  approval_channel: 'ops',
  approval_timeout_seconds: 3_600,
  self_approval: false,
};

const parameter = { name: 'where', required: false, description: undefined, default: 'staging' };

function deployTrigger(approval: Partial<ApprovalRules> = {}, defaultWhere = 'staging') {
  const parameters: Parameter[] = [{ ...parameter, default: defaultWhere }];
  const target = agentTarget('deployer');
  const rest = { target, description: undefined, parameters };
  return {
    ...manualTrigger('chat'),
    retry: { attempts: 3, min_backoff_seconds: 0.01, max_backoff_seconds: 0.01, factor: 1 },
    commands: [{ ...rest, command: 'deploy', approval: { ...rules, ...approval } }],
  };
}

let chats: ApprovalChat[] = [];
afterEach(async () => {
  for (const chat of chats) await chat.end();
  chats = [];
});

/** Creates a chat with a handler that fails `failures` times before it replies. */
function chatOf({
  failures = 0,
  store = new MemoryStore(),
  trigger = deployTrigger(),
  gone: deleted = new Set<string>(),
} = {}) {
  const jobs: Job[] = [];
  const handler = {
    run: async (job: Job) => {
      jobs.push(job);
      if (jobs.length <= failures) throw new Error('not yet');
      return { text: `deployed to ${job.parameters.where}` };
    },
  };
  const handlerOf = ({ name }: { readonly name: string }) => (deleted.has(name) ? undefined : handler);
  const chat = new ApprovalChat({ handler: handlerOf, store, triggers: [trigger] });
  chats.push(chat);
  return { chat, jobs };
}

const kinds = async (chat: ApprovalChat) =>
  (await chat.store.steps('a:1')).map(({ text }) => (JSON.parse(text) as { kind: string }).kind);

test('a command that needs approval does not run but names its approvers, and runs once it is approved', async () => {
  const { chat, jobs } = chatOf();
  await chat.say('a:1', { text: '/deploy now', isAwaited: false });
  const [asked] = await chat.waitForApprovals('a:1');
  if (asked === undefined) throw new Error('expected an approval request');
  expect(bodyOf(asked)).toMatchObject({
    kind: 'command',
    title: '/deploy now',
    command: { name: 'deploy', parameters: { where: 'now' }, input: '/deploy now' },
    requestedBy: { user: 'ada' },
  });
  await chat.waitForTexts('a:1');
  expect(chat.shown.map(({ place }) => place).sort()).toEqual(['ops', 'room']);
  expect(chat.shown.find(({ place }) => place === 'room')?.text).toContain('Waiting for approval by ben');
  expect(await chat.store.delivery('a:1')).toMatchObject({
    state: 'waiting',
    waitingFor: 'approval a:1',
    note: 'waiting for approval by ben',
  });
  expect(jobs).toEqual([]);
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('deployed to now');
  expect(jobs).toHaveLength(1);
  expect(await kinds(chat)).toEqual(['asked', 'decided', 'ended']);
  expect(await chat.store.run('a:1')).toMatchObject({ kind: 'command', name: 'deploy', steps: 3 });
});

test.each([
  { text: '/deploy now', commandRest: 'now' },
  { text: '/deploy@the_bot now', commandRest: 'now' },
  { text: '/Deploy@The_Bot now', commandRest: 'now' },
  { text: 'deploy now', commandRest: 'now' },
  { text: 'now', commandRest: 'now' },
  // On platforms with parameter fields, the text contains the values but `commandRest` is empty.
  { text: '/deploy now', commandRest: '' },
  { text: 'now', commandRest: '' },
])(
  'an approval request contains the command name once, also if the message text repeats it: $text',
  async (text) => {
    const { chat } = chatOf();
    await chat.say('a:1', { names: ['deploy'], ...text });
    const [asked] = await chat.waitForApprovals('a:1');
    expect(asked && bodyOf(asked).title).toBe('/deploy now');
  },
);

test('an approved command needs no second approval after failed attempts', async () => {
  const { chat, jobs } = chatOf({ failures: 2 });
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.waitForApprovals('a:1');
  if (asked === undefined) throw new Error('expected an approval request');
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  await chat.waitForState('a:1', 'done');
  expect(jobs).toHaveLength(3);
  expect(await chat.approvalsOf('a:1')).toHaveLength(1);
  expect(await kinds(chat)).toEqual(['asked', 'decided', 'ended']);
});

test('the sender of a denied command receives a reply, and the handler does not run', async () => {
  const { chat, jobs } = chatOf();
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.waitForApprovals('a:1');
  if (asked === undefined) throw new Error('expected an approval request');
  await chat.approvals.decide(asked, 'denied', { by: 'ben', via: 'api', comment: 'not on a Friday' });
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('Denied by ben: not on a Friday');
  await chat.waitForTexts('a:1');
  expect(chat.shown.findLast(({ place }) => place === 'room')?.text).toBe('Denied by ben: not on a Friday');
  expect(jobs).toEqual([]);
});

test('a command that needs approval and lacks a parameter is sent neither to the handler nor to the approvers', async () => {
  const trigger = deployTrigger();
  const [command] = trigger.commands;
  if (command === undefined) throw new Error('expected a command');
  const parameters = [{ ...parameter, required: true, default: undefined }];
  const { chat, jobs } = chatOf({ trigger: { ...trigger, commands: [{ ...command, parameters }] } });
  await chat.say('a:1', { text: '/deploy' });
  expect((await chat.waitForState('a:1', 'ignored')).note).toContain('missing parameter');
  expect([jobs, await chat.approvalsOf('a:1')]).toEqual([[], []]);
});

test('a command whose approval is not decided in time expires and does not run', async () => {
  const { chat, jobs } = chatOf({ trigger: deployTrigger({ approval_timeout_seconds: 0.05 }) });
  await chat.say('a:1', { text: '/deploy' });
  expect((await chat.waitForState('a:1', 'done')).answer).toContain('Expired');
  expect(jobs).toEqual([]);
});

test('an approved command needs a new approval if a reload changes its parameters', async () => {
  const { chat, jobs } = chatOf();
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.waitForApprovals('a:1');
  if (asked === undefined) throw new Error('expected an approval request');
  chat.triggers.set('chat', deployTrigger({}, 'production'));
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  const both = await chat.waitForApprovals('a:1', 2);
  expect(jobs).toEqual([]);
  const second = both.find(({ id }) => id !== asked.id);
  if (second === undefined) throw new Error('expected an approval request');
  expect(bodyOf(second).command?.parameters).toEqual({ where: 'production' });
  await chat.approvals.decide(second, 'approved', { by: 'ben', via: 'api' });
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('deployed to production');
});

test('an approved command needs a new approval if a reload changes its target', async () => {
  const { chat, jobs } = chatOf();
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.waitForApprovals('a:1');
  if (asked === undefined) throw new Error('expected an approval request');
  const changed = deployTrigger();
  const commands = changed.commands.map((each) => ({ ...each, target: agentTarget('another') }));
  chat.triggers.set('chat', { ...changed, commands });
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  const both = await chat.waitForApprovals('a:1', 2);
  expect(jobs).toEqual([]);
  expect(both.map((each) => bodyOf(each).agent).sort()).toEqual(['another', 'deployer']);
});

test('the sender of a denied command receives a reply even if the agent of the command no longer exists', async () => {
  const deleted = new Set<string>();
  const { chat } = chatOf({ gone: deleted });
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.waitForApprovals('a:1');
  if (asked === undefined) throw new Error('expected an approval request');
  deleted.add('deployer');
  await chat.approvals.decide(asked, 'denied', { by: 'ben', via: 'api' });
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('Denied by ben.');
});

test('an approved command whose agent was deleted fails, and the approval message reports the failure', async () => {
  const deleted = new Set<string>();
  const { chat, jobs } = chatOf({ gone: deleted });
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.waitForApprovals('a:1');
  if (asked === undefined) throw new Error('expected an approval request');
  deleted.add('deployer');
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  expect((await chat.waitForState('a:1', 'dead')).note).toContain('there is no agent deployer');
  await chat.waitUntilSent();
  const question = chat.shown.find(({ place }) => place === 'ops');
  expect(question).toMatchObject({ buttons: [], changes: 2 });
  expect(question?.text).toMatch(/^Approved by ben at .*\n\nIt was not done: there is no agent deployer\./);
  // After a replay by an operator the command runs without a new approval.
  deleted.clear();
  expect(await chat.store.requeue('a:1', { keepsJournal: true })).toBe(true);
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('deployed to staging');
  expect([jobs.length, (await chat.approvalsOf('a:1')).length]).toEqual([1, 1]);
});

test('after a reload changes the approvers, those named in a pending approval request still decide', async () => {
  const { chat } = chatOf();
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.waitForApprovals('a:1');
  if (asked === undefined) throw new Error('expected an approval request');
  chat.triggers.set('chat', deployTrigger({ approvers: ['carl'] }));
  const approve = { verdict: 'approve', about: { approval: asked.id } } as const;
  await chat.press('d:1', approve, { user: 'carl' });
  expect((await chat.waitForState('d:1', 'ignored')).note).toBe('only named approvers may decide');
  await chat.press('d:2', approve, { user: 'ben' });
  await chat.waitForState('d:2', 'done');
  expect((await chat.waitForState('a:1', 'done')).answer).toBe('deployed to staging');
});

test('a pending approval of a command survives a restart', async () => {
  const store = new MemoryStore();
  const first = chatOf({ store });
  await first.chat.say('a:1', { text: '/deploy' });
  const [asked] = await first.chat.waitForApprovals('a:1');
  if (asked === undefined) throw new Error('expected an approval request');
  await first.chat.waitForTexts('a:1');
  await first.chat.end();
  await first.chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  const { chat, jobs } = chatOf({ store });
  await chat.waitForState('a:1', 'done');
  expect([first.jobs.length, jobs.length]).toEqual([0, 1]);
});
