// Replies, targets and effects of built-in commands, with the real dispatcher and store.

import { afterEach, describe, expect, test } from 'vitest';
import type { Handler, Job } from '../../../../../actors/agents/handlers/handler.ts';
import { chatFilters } from '../../../../../actors/events/inbox/chat-filters.ts';
import { controlKeyOf } from '../../../../../actors/store/key-kinds.ts';
import type { Binding } from '../../../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { flowOf } from '../../../../fixtures/automation/flow-files.ts';
import { until } from '../../../../fixtures/automation/inbox.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { WaitingChat, type WaitingChatOptions } from '../../../../fixtures/automation/waiting-chat.ts';

let chat: WaitingChat | undefined;
afterEach(() => chat?.end());

const jobs: Job[] = [];
const answers: Handler = {
  run: async (job) => {
    jobs.push(job);
    return { text: `${job.agent} heard: ${job.input}` };
  },
};
const hangs: Handler = {
  run: (job, { signal }) =>
    new Promise((_resolve, reject) => {
      jobs.push(job);
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
};

const binding = (command: string, agent: string): Binding => ({
  command,
  target: agentTarget(agent),
  description: undefined,
  parameters: [],
});
const triggerFor = (
  name: string,
  agent: string | undefined,
  commands: readonly Binding[] = [],
): ManualTrigger => ({
  ...manualTrigger(name),
  commands,
  default_target: agent === undefined ? undefined : agentTarget(agent),
});

/** `staff` is restricted to ada. */
const triggers = [
  triggerFor('chat', 'desk'),
  triggerFor('staff', undefined, [binding('deploy', 'deployer')]),
];
const filters = ({ name }: { name: string }) => chatFilters(name === 'staff' ? { users: ['ada'] } : {});

function begin(options: WaitingChatOptions = {}): WaitingChat {
  jobs.length = 0;
  chat = new WaitingChat({
    handler: answers,
    triggers,
    agents: ['deployer', 'desk', 'elsewhere'],
    ...options,
    adapter: { hasBuiltIns: true, filters, ...options.adapter },
  });
  return chat;
}

let calls = 0;
/** Calls a command in the room and returns the replies. */
async function call(
  testChat: WaitingChat,
  name: string,
  parameters: Record<string, string> = {},
  sender: object = {},
) {
  calls += 1;
  const id = `call${calls}`;
  const event = testChat.event(id, {
    triggers: ['chat', 'staff'],
    names: [name],
    text: '',
    parameters,
    ...sender,
  });
  const isRun = parameters.action === 'run';
  await testChat.deliveries.accept(isRun ? event : { ...event, key: controlKeyOf(event.key) });
  await testChat.waitForState(id, 'done', 'ignored', 'dead');
  return (await testChat.waitForTexts(id)).join('\n---\n');
}

describe('the built-in command for agents', () => {
  test("runs the named agent with the option `input` as its text, in the channel's conversation", async () => {
    const testChat = begin();
    expect(await call(testChat, 'agent', { action: 'run', agent_id: 'desk', input: 'how are you?' })).toBe(
      'desk heard: how are you?',
    );
    expect(jobs).toMatchObject([
      { input: 'how are you?', agent: 'desk', parameters: {}, conversation: 'manual/app/room' },
    ]);
    await testChat.say('next', { text: 'and now?' });
    await testChat.waitForState('next', 'done');
    expect(jobs[1]?.history.map(({ text }) => text)).toEqual(['how are you?', 'desk heard: how are you?']);
  });

  test('runs the default agent if the command names no agent, also for `/task`', async () => {
    const testChat = begin();
    expect(await call(testChat, 'agent', { action: 'run', input: 'one' })).toBe('desk heard: one');
    expect(await call(testChat, '/task', { action: 'run', description: 'two' })).toBe('desk heard: two');
  });

  test('runs an agent only if it is the target of a trigger that admits the caller', async () => {
    const testChat = begin();
    const run = { action: 'run', agent_id: 'deployer', input: 'go' };
    expect(await call(testChat, 'agent', run, { user: 'ada' })).toBe('deployer heard: go');
    const [deployed] = await testChat.store.deliveries({ idPrefix: `call${calls}`, limit: 1 });
    expect(deployed?.trigger).toBe('staff');
    expect(await call(testChat, 'agent', run, { user: 'bob' })).toBe(
      'There is no agent "deployer" here. Available agents: desk.',
    );
    expect(await call(testChat, 'agent', { ...run, agent_id: 'elsewhere' })).toContain(
      'no agent "elsewhere"',
    );
    expect(jobs).toHaveLength(1);
  });

  test("cannot bypass the approval that the agent's command requires", async () => {
    const approval = {
      approvers: ['ada'],
      approval_channel: undefined,
      approval_timeout_seconds: 60,
      self_approval: false,
    };
    const guarded = triggerFor('staff', undefined, [{ ...binding('deploy', 'deployer'), approval }]);
    const testChat = begin({ triggers: [triggerFor('chat', 'desk'), guarded] });
    const run = { action: 'run', agent_id: 'deployer', input: 'go' };
    expect(await call(testChat, 'agent', run, { user: 'ada' })).toBe(
      'There is no agent "deployer" here. Available agents: desk.',
    );
    expect(jobs).toHaveLength(0);
  });

  test("is held while the agent's trigger is paused", async () => {
    const testChat = begin();
    await testChat.pauses.pause(testChat.store, 'staff');
    const parameters = { action: 'run', agent_id: 'deployer', input: 'go' };
    const event = testChat.event('held', { triggers: ['chat', 'staff'], names: ['agent'], parameters });
    await testChat.deliveries.accept(event);
    expect(await testChat.waitForState('held', 'held')).toMatchObject({ trigger: 'staff' });
  });

  test('is held while the trigger that would reply is paused', async () => {
    const testChat = begin();
    await testChat.pauses.pause(testChat.store, 'staff');
    const parameters = { action: 'run', agent_id: 'desk', input: 'go' };
    const event = testChat.event('held', { triggers: ['chat', 'staff'], names: ['agent'], parameters });
    await testChat.deliveries.accept(event);
    expect(await testChat.waitForState('held', 'held')).toMatchObject({ trigger: 'staff' });
  });
});

describe('built-in commands for fleets and flows', () => {
  const to = (command: string, target: Binding['target']): Binding => ({
    command,
    target,
    description: undefined,
    parameters: [],
  });
  const leadingOn = {
    ...triggerFor('chat', 'desk'),
    commands: [
      to('review', { kind: 'fleet', name: 'review' }),
      to('deploy', { kind: 'flow', name: 'deploy' }),
    ],
  };
  async function testChat() {
    const flows = [
      {
        ...(await flowOf(`  description: Ships it
  parameters: [{ name: version, required: true }, { name: place, default: here }]
  nodes: [{ id: ship, type: Wait, config: { seconds: 1 } }]
`)),
        name: 'deploy',
      },
    ];
    return begin({ triggers: [leadingOn], flows, fleets: ['review'] });
  }
  const run = { action: 'run' };

  test('list the fleets and flows', async () => {
    const room = await testChat();
    expect(await call(room, 'fleet', { action: 'status' })).toBe('Fleets: review.\nNothing is running here.');
    expect(await call(room, 'flow')).toBe('Flows: deploy.\nNothing is running here.');
    expect(await call(room, 'flow', { workflow: 'deploy', action: 'show' })).toBe(
      'deploy: Ships it\nParameters: version (required), place.\nSteps: ship.',
    );
  });

  test('run a fleet or flow by name, a flow with its parameters', async () => {
    const room = await testChat();
    expect(await call(room, 'fleet', { ...run, fleet: 'review', input: 'look' })).toBe('review heard: look');
    const flow = { ...run, workflow: 'deploy', parameters: 'version=2.4.1' };
    expect(await call(room, 'flow', flow)).toContain('deploy heard');
    expect(jobs[1]?.parameters).toEqual({ version: '2.4.1', place: 'here' });
  });

  test('report missing parameters and unreachable targets', async () => {
    const room = await testChat();
    expect(await call(room, 'flow', { ...run, workflow: 'deploy' })).toMatch(
      /^A parameter is missing:\n- version/,
    );
    expect(await call(room, 'fleet', { ...run, fleet: 'reviews', input: 'look' })).toBe(
      'There is no fleet "reviews" here. Available fleets: review.',
    );
    expect(jobs).toEqual([]);
  });
});

describe('the reply to a built-in command', () => {
  test.each([
    ['agent', {}, /^A parameter is missing:\n- action: /],
    ['agent', { action: 'run' }, /^A parameter is missing:\n- input: /],
    ['agent', { action: 'fly' }, /^\/agent has no action "fly"; use run, status, stop\.$/],
    ['agent', { action: 'status' }, /^Agents: deployer, desk, elsewhere\.\nNothing is running here\.$/],
    ['agent', { action: 'stop' }, /^Nothing is running here\.$/],
    ['task', { action: 'status' }, /^Nothing is running here\.$/],
    ['task', { action: 'run' }, /^A parameter is missing:\n- description: /],
    ['fleet', { action: 'status' }, /^There are no fleets\.\nNothing is running here\.$/],
    ['fleet', {}, /^There are no fleets/],
    ['flow', { workflow: 'nightly' }, /^There is no flow "nightly" here\.$/],
    ['flow', {}, /^There are no flows\.\nNothing is running here\.$/],
    ['flow', { workflow: 'nightly', action: 'show' }, /^There is no flow "nightly"\.$/],
  ] as [string, Record<string, string>, RegExp][])(
    'reports the status or the error of /%s with %o',
    async (name, parameters, text) => {
      expect(await call(begin(), name, parameters)).toMatch(text);
      expect(jobs).toEqual([]);
    },
  );

  test('notifies no mentioned person from quoted input, even if the trigger allows mentions', async () => {
    const events: unknown[] = [];
    const testChat = begin({ triggers: [{ ...triggerFor('chat', 'desk'), mentions: 'allow' }] });
    const { outbound } = testChat.adapter;
    Object.assign(outbound ?? {}, {
      render: (_: unknown, { mentions }: { mentions: string }) => events.push(mentions) && [],
    });
    await call(testChat, 'flow', { workflow: '@everyone' });
    expect(events).toEqual(['none']);
  });

  test('is not sent if the trigger has its own such command, no built-ins, or refuses the caller', async () => {
    const own = triggerFor('chat', undefined, [binding('flow', 'flows')]);
    expect(await call(begin({ triggers: [own] }), 'flow', { workflow: 'x' })).toMatch(/^flows heard/);
    await chat?.end();
    const without = begin({ triggers: [own], adapter: { hasBuiltIns: false } });
    expect(await call(without, 'fleet')).toBe('Sorry, nothing here can answer that.');
    await chat?.end();
    const testChat = begin({ triggers: [triggerFor('staff', 'desk')] });
    expect(await call(testChat, 'fleet', {}, { user: 'bob' })).toBe(
      'Sorry, that is not allowed here, or not for you.',
    );
  });
});

test('a button press or form with the name of a built-in command goes to the agent, and runs no built-in command', async () => {
  const testChat = begin();
  const choice = { isChoice: true, text: 'flow', commandRest: '' };
  expect(await call(testChat, 'flow', {}, choice)).toBe('desk heard: flow');
  expect(await call(testChat, 'agent', { action: 'status' }, { ...choice, text: 'agent' })).toBe(
    'desk heard: agent',
  );
  expect(await call(testChat, 'agent', { action: 'status' })).not.toContain('heard');
  expect(jobs).toHaveLength(2);
});

describe('the running work of a conversation', () => {
  /** Room with a running and a queued event. */
  async function openBusyRoom(what: object = {}): Promise<WaitingChat> {
    const testChat = begin({ handler: hangs });
    await testChat.say('run', { triggers: ['chat', 'staff'], ...what });
    await testChat.waitForState('run', 'running');
    await testChat.say('after', { triggers: ['chat', 'staff'] });
    await testChat.say('elsewhere', {}, 'hall');
    await testChat.waitForState('elsewhere', 'running');
    return testChat;
  }

  test('is listed by a built-in command in this conversation only', async () => {
    const testChat = await openBusyRoom();
    expect(await call(testChat, 'task', { action: 'status' })).toMatch(
      /^Running here: 1, for \d+ s\. Waiting: 1\.$/,
    );
  });

  test('can be stopped even if it hangs; the sender is notified and the conversation continues', async () => {
    const testChat = await openBusyRoom();
    expect(await call(testChat, 'agent', { action: 'stop', agent_id: 'deployer' })).toBe(
      'Nothing of "deployer" is running here. Waiting: 1.',
    );
    expect(await call(testChat, 'agent', { action: 'stop' })).toBe('Stopped: 1. Waiting: 1.');
    expect(await testChat.waitForState('run', 'ignored')).toMatchObject({
      note: 'stopped by a command in its conversation',
    });
    expect(await testChat.waitForTexts('run')).toEqual(['This was stopped. There will be no answer.']);
    await testChat.waitForState('after', 'running');
    expect((await testChat.store.delivery('elsewhere'))?.state).toBe('running');
    await until('the next event is stopped', async () => {
      const answer = await call(testChat, 'agent', { action: 'stop', agent_id: 'desk' });
      return answer === 'Stopped: 1.';
    });
  });

  test('can be listed and stopped while all triggers are paused', async () => {
    const testChat = await openBusyRoom();
    await until('both events run', () => jobs.length === 2);
    for (const name of ['chat', 'staff']) await testChat.pauses.pause(testChat.store, name);
    expect(await call(testChat, 'agent', { action: 'status' })).toMatch(
      /\nRunning here: 1, .* Waiting: 1\.$/,
    );
    expect(await call(testChat, 'agent', { action: 'stop' })).toBe('Stopped: 1. Waiting: 1.');
    expect(await call(testChat, 'fleet')).toMatch(/^There are no fleets/);
    await testChat.waitForState('after', 'held');
  });

  test('cannot be stopped by callers that its trigger does not admit', async () => {
    const testChat = await openBusyRoom({ names: ['deploy'] });
    expect(await call(testChat, 'agent', { action: 'stop' }, { user: 'bob' })).toBe(
      'Nothing is running here. Waiting: 1.',
    );
    expect((await testChat.store.delivery('run'))?.state).toBe('running');
    expect(await call(testChat, 'agent', { action: 'stop' })).toBe('Stopped: 1. Waiting: 1.');
  });
});
