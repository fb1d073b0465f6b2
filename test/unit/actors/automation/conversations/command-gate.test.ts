// Commands that run only when somebody has approved them.

import { afterEach, expect, test } from 'vitest';
import { bodyOf } from '../../../../../actors/agents/approvals/approval-record.ts';
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

const where = { name: 'where', required: false, description: undefined, default: 'staging' };

function deployTrigger(approval: Partial<ApprovalRules> = {}, defaultWhere = 'staging') {
  const parameters: Parameter[] = [{ ...where, default: defaultWhere }];
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

/** A handler that fails so often before it answers. */
function chatOf({
  failures = 0,
  store = new MemoryStore(),
  trigger = deployTrigger(),
  gone = new Set<string>(),
} = {}) {
  const jobs: Job[] = [];
  const handler = {
    run: async (job: Job) => {
      jobs.push(job);
      if (jobs.length <= failures) throw new Error('not yet');
      return { text: `deployed to ${job.parameters.where}` };
    },
  };
  const handlerOf = ({ name }: { readonly name: string }) => (gone.has(name) ? undefined : handler);
  const chat = new ApprovalChat({ handler: handlerOf, store, triggers: [trigger] });
  chats.push(chat);
  return { chat, jobs };
}

const kinds = async (chat: ApprovalChat) =>
  (await chat.store.steps('a:1')).map(({ text }) => (JSON.parse(text) as { kind: string }).kind);

test('waits without asking its handler, says of whom, and runs once it is approved (GAT1)', async () => {
  const { chat, jobs } = chatOf();
  await chat.say('a:1', { text: '/deploy now', isAwaited: false });
  const [asked] = await chat.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  expect(bodyOf(asked)).toMatchObject({
    ...{ kind: 'command', title: '/deploy now' },
    command: { name: 'deploy', parameters: { where: 'now' }, input: '/deploy now' },
    requestedBy: { user: 'ada' },
  });
  await chat.saidTo('a:1');
  expect(chat.shown.map(({ place }) => place).sort()).toEqual(['ops', 'room']);
  expect(chat.shown.find(({ place }) => place === 'room')?.text).toContain('waits for approval of ben');
  expect(await chat.store.delivery('a:1')).toMatchObject({
    ...{ state: 'waiting', waitingFor: 'approval a:1', note: 'it waits for approval of ben' },
  });
  expect(jobs).toEqual([]);
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  expect((await chat.reached('a:1', 'done')).answer).toBe('deployed to now');
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
  // Values that a platform has in fields of their own stand in what it says, and nothing behind the command.
  { text: '/deploy now', commandRest: '' },
  { text: 'now', commandRest: '' },
])('has its name once in the question, however a platform tells it: $text', async (said) => {
  const { chat } = chatOf();
  await chat.say('a:1', { names: ['deploy'], ...said });
  const [asked] = await chat.asked('a:1');
  expect(asked && bodyOf(asked).title).toBe('/deploy now');
});

test('is not asked for again by attempts that fail after it was approved (GAT2)', async () => {
  const { chat, jobs } = chatOf({ failures: 2 });
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  await chat.reached('a:1', 'done');
  expect(jobs).toHaveLength(3);
  expect(await chat.approvalsOf('a:1')).toHaveLength(1);
  expect(await kinds(chat)).toEqual(['asked', 'decided', 'ended']);
});

test('that is denied answers whoever asked, and its handler hears nothing', async () => {
  const { chat, jobs } = chatOf();
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  await chat.approvals.decide(asked, 'denied', { by: 'ben', via: 'api', comment: 'not on a Friday' });
  expect((await chat.reached('a:1', 'done')).answer).toBe('Denied by ben: not on a Friday');
  await chat.saidTo('a:1');
  expect(chat.shown.findLast(({ place }) => place === 'room')?.text).toBe('Denied by ben: not on a Friday');
  expect(jobs).toEqual([]);
});

test('that lacks a parameter comes neither to its handler nor before people (ADM1)', async () => {
  const trigger = deployTrigger();
  const [command] = trigger.commands;
  if (command === undefined) throw new Error('there is no command');
  const parameters = [{ ...where, required: true, default: undefined }];
  const { chat, jobs } = chatOf({ trigger: { ...trigger, commands: [{ ...command, parameters }] } });
  await chat.say('a:1', { text: '/deploy' });
  expect((await chat.reached('a:1', 'ignored')).note).toContain('a parameter is missing');
  expect([jobs, await chat.approvalsOf('a:1')]).toEqual([[], []]);
});

test('that nobody decides about in time has expired, and is not run', async () => {
  const { chat, jobs } = chatOf({ trigger: deployTrigger({ approval_timeout_seconds: 0.05 }) });
  await chat.say('a:1', { text: '/deploy' });
  expect((await chat.reached('a:1', 'done')).answer).toContain('Expired');
  expect(jobs).toEqual([]);
});

test('is asked for once more when files have changed what would be run', async () => {
  const { chat, jobs } = chatOf();
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  chat.triggers.set('chat', deployTrigger({}, 'production'));
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  const both = await chat.asked('a:1', 2);
  expect(jobs).toEqual([]);
  const second = both.find(({ id }) => id !== asked.id);
  if (second === undefined) throw new Error('nothing was asked');
  expect(bodyOf(second).command?.parameters).toEqual({ where: 'production' });
  await chat.approvals.decide(second, 'approved', { by: 'ben', via: 'api' });
  expect((await chat.reached('a:1', 'done')).answer).toBe('deployed to production');
});

test('is asked for once more when files have given it to somebody else', async () => {
  const { chat, jobs } = chatOf();
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  const changed = deployTrigger();
  const commands = changed.commands.map((each) => ({ ...each, target: agentTarget('another') }));
  chat.triggers.set('chat', { ...changed, commands });
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  const both = await chat.asked('a:1', 2);
  expect(jobs).toEqual([]);
  expect(both.map((each) => bodyOf(each).agent).sort()).toEqual(['another', 'deployer']);
});

test('that is denied is answered so, also where nobody is left who could run it (GAT3)', async () => {
  const gone = new Set<string>();
  const { chat } = chatOf({ gone });
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  gone.add('deployer');
  await chat.approvals.decide(asked, 'denied', { by: 'ben', via: 'api' });
  expect((await chat.reached('a:1', 'done')).answer).toBe('Denied by ben.');
});

test('that is approved where nobody is left who could run it ends as failed, and the question says so', async () => {
  const gone = new Set<string>();
  const { chat, jobs } = chatOf({ gone });
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  gone.add('deployer');
  await chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  expect((await chat.reached('a:1', 'dead')).note).toContain('there is no agent deployer');
  await chat.saidTo('');
  const question = chat.shown.find(({ place }) => place === 'ops');
  expect(question).toMatchObject({ buttons: [], changes: 2 });
  expect(question?.text).toMatch(
    /^Approved by ben at .*\n\nIt was not done then: there is no agent deployer\./,
  );
  // An operator who has it back lets it go on, and nobody is asked again.
  gone.clear();
  expect(await chat.store.requeue('a:1', { keepsJournal: true })).toBe(true);
  expect((await chat.reached('a:1', 'done')).answer).toBe('deployed to staging');
  expect([jobs.length, (await chat.approvalsOf('a:1')).length]).toEqual([1, 1]);
});

test('those who were named when it was asked decide, whatever the files say by then (RAS1)', async () => {
  const { chat } = chatOf();
  await chat.say('a:1', { text: '/deploy' });
  const [asked] = await chat.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  chat.triggers.set('chat', deployTrigger({ approvers: ['carl'] }));
  const approve = { verdict: 'approve', about: { approval: asked.id } } as const;
  await chat.press('d:1', approve, { user: 'carl' });
  expect((await chat.reached('d:1', 'ignored')).note).toBe(
    'only those who are named as approvers may decide',
  );
  await chat.press('d:2', approve, { user: 'ben' });
  await chat.reached('d:2', 'done');
  expect((await chat.reached('a:1', 'done')).answer).toBe('deployed to staging');
});

test('goes on after a restart between question and decision', async () => {
  const store = new MemoryStore();
  const first = chatOf({ store });
  await first.chat.say('a:1', { text: '/deploy' });
  const [asked] = await first.chat.asked('a:1');
  if (asked === undefined) throw new Error('nothing was asked');
  await first.chat.saidTo('a:1');
  await first.chat.end();
  await first.chat.approvals.decide(asked, 'approved', { by: 'ben', via: 'api' });
  const { chat, jobs } = chatOf({ store });
  await chat.reached('a:1', 'done');
  expect([first.jobs.length, jobs.length]).toEqual([0, 1]);
});
