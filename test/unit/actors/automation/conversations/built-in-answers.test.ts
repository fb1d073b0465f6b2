// What built-in commands answer, whom they reach and what they stop: over the real dispatcher and store, with a chat that has them.

import { afterEach, describe, expect, test } from 'vitest';
import type { Handler, Job } from '../../../../../actors/agents/handlers/handler.ts';
import { controlKey } from '../../../../../actors/events/built-in-commands.ts';
import { chatFilters } from '../../../../../actors/events/inbox/chat-filters.ts';
import type { Binding } from '../../../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import type { ManualTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { flowOf } from '../../../../fixtures/automation/flow-files.ts';
import { until } from '../../../../fixtures/automation/inbox.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { WaitingChat, type WaitingChatOptions } from '../../../../fixtures/automation/waiting-chat.ts';

let chat: WaitingChat | undefined;
afterEach(() => chat?.end());

const asked: Job[] = [];
const answers: Handler = {
  run: async (job) => {
    asked.push(job);
    return { text: `${job.agent} heard: ${job.input}` };
  },
};
const hangs: Handler = {
  run: (job, { signal }) =>
    new Promise((_resolve, reject) => {
      asked.push(job);
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
};

const binding = (command: string, agent: string): Binding => ({
  ...{ command, target: agentTarget(agent), description: undefined, parameters: [] },
});
const leading = (
  name: string,
  agent: string | undefined,
  commands: readonly Binding[] = [],
): ManualTrigger => ({
  ...manualTrigger(name),
  commands,
  default_target: agent === undefined ? undefined : agentTarget(agent),
});

/** `staff` is for ada alone. */
const triggers = [leading('chat', 'desk'), leading('staff', undefined, [binding('deploy', 'deployer')])];
const filters = ({ name }: { name: string }) => chatFilters(name === 'staff' ? { users: ['ada'] } : {});

function begin(options: WaitingChatOptions = {}): WaitingChat {
  asked.length = 0;
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
/** Calls a command in the room, and gives what is said of that. */
async function call(
  here: WaitingChat,
  name: string,
  parameters: Record<string, string> = {},
  who: object = {},
) {
  calls += 1;
  const id = `call${calls}`;
  const event = here.event(id, {
    triggers: ['chat', 'staff'],
    names: [name],
    text: '',
    parameters,
    ...who,
  });
  const isRun = parameters.action === 'run';
  await here.deliveries.accept(isRun ? event : { ...event, key: controlKey(event.key) });
  await here.reached(id, 'done', 'ignored', 'dead');
  return (await here.saidTo(id)).join('\n---\n');
}

describe('an agent is asked', () => {
  test('by its name, with the input alone, in the conversation of the channel', async () => {
    const here = begin();
    expect(await call(here, 'agent', { action: 'run', agent_id: 'desk', input: 'how are you?' })).toBe(
      'desk heard: how are you?',
    );
    expect(asked).toMatchObject([
      { input: 'how are you?', agent: 'desk', parameters: {}, conversation: 'manual/app/room' },
    ]);
    await here.say('next', { text: 'and now?' });
    await here.reached('next', 'done');
    expect(asked[1]?.history.map(({ text }) => text)).toEqual(['how are you?', 'desk heard: how are you?']);
  });

  test('without a name it is the default agent; a task goes there too', async () => {
    const here = begin();
    expect(await call(here, 'agent', { action: 'run', input: 'one' })).toBe('desk heard: one');
    expect(await call(here, '/task', { action: 'run', description: 'two' })).toBe('desk heard: two');
  });

  test('only where a trigger leads to it that lets the caller pass', async () => {
    const here = begin();
    const run = { action: 'run', agent_id: 'deployer', input: 'go' };
    expect(await call(here, 'agent', run, { user: 'ada' })).toBe('deployer heard: go');
    const [deployed] = await here.store.deliveries({ idPrefix: `call${calls}`, limit: 1 });
    expect(deployed?.trigger).toBe('staff');
    expect(await call(here, 'agent', run, { user: 'bob' })).toBe(
      'There is no agent "deployer" here. Agents that can be asked: desk.',
    );
    expect(await call(here, 'agent', { ...run, agent_id: 'elsewhere' })).toContain('no agent "elsewhere"');
    expect(asked).toHaveLength(1);
  });

  test('not around an approval that the command which leads to it requires', async () => {
    const approval = {
      approvers: ['ada'],
      approval_channel: undefined,
      approval_timeout_seconds: 60,
      self_approval: false,
    };
    const guarded = leading('staff', undefined, [{ ...binding('deploy', 'deployer'), approval }]);
    const here = begin({ triggers: [leading('chat', 'desk'), guarded] });
    const run = { action: 'run', agent_id: 'deployer', input: 'go' };
    expect(await call(here, 'agent', run, { user: 'ada' })).toBe(
      'There is no agent "deployer" here. Agents that can be asked: desk.',
    );
    expect(asked).toHaveLength(0);
  });

  test('not while a trigger that leads to it is paused', async () => {
    const here = begin();
    await here.pauses.pause(here.store, 'staff');
    const parameters = { action: 'run', agent_id: 'deployer', input: 'go' };
    const event = here.event('held', { triggers: ['chat', 'staff'], names: ['agent'], parameters });
    await here.deliveries.accept(event);
    expect(await here.reached('held', 'held')).toMatchObject({ trigger: 'staff' });
  });

  test('nor while the trigger that answers in its name is paused', async () => {
    const here = begin();
    await here.pauses.pause(here.store, 'staff');
    const parameters = { action: 'run', agent_id: 'desk', input: 'go' };
    const event = here.event('held', { triggers: ['chat', 'staff'], names: ['agent'], parameters });
    await here.deliveries.accept(event);
    expect(await here.reached('held', 'held')).toMatchObject({ trigger: 'staff' });
  });
});

describe('a fleet and a flow', () => {
  const to = (command: string, target: Binding['target']): Binding => ({
    ...{ command, target, description: undefined, parameters: [] },
  });
  const leadingOn = {
    ...leading('chat', 'desk'),
    commands: [
      to('review', { kind: 'fleet', name: 'review' }),
      to('deploy', { kind: 'flow', name: 'deploy' }),
    ],
  };
  async function here() {
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

  test('are listed', async () => {
    const room = await here();
    expect(await call(room, 'fleet', { action: 'status' })).toBe('Fleets: review.\nNothing is at work here.');
    expect(await call(room, 'flow')).toBe('Flows: deploy.\nNothing is at work here.');
    expect(await call(room, 'flow', { workflow: 'deploy', action: 'show' })).toBe(
      'deploy: Ships it\nIt takes version (required), place.\nSteps: ship.',
    );
  });

  test('are asked by their names, a flow with its parameters', async () => {
    const room = await here();
    expect(await call(room, 'fleet', { ...run, fleet: 'review', input: 'look' })).toBe('review heard: look');
    const flow = { ...run, workflow: 'deploy', parameters: 'version=2.4.1' };
    expect(await call(room, 'flow', flow)).toContain('deploy heard');
    expect(asked[1]?.parameters).toEqual({ version: '2.4.1', place: 'here' });
  });

  test('are told of where something is missing, or nothing leads to them', async () => {
    const room = await here();
    expect(await call(room, 'flow', { ...run, workflow: 'deploy' })).toMatch(
      /^A parameter is missing:\n- version/,
    );
    expect(await call(room, 'fleet', { ...run, fleet: 'reviews', input: 'look' })).toBe(
      'There is no fleet "reviews" here. Fleets that can be asked: review.',
    );
    expect(asked).toEqual([]);
  });
});

describe('a call is answered', () => {
  test.each([
    ['agent', {}, /^A parameter is missing:\n- action: /],
    ['agent', { action: 'run' }, /^A parameter is missing:\n- input: /],
    ['agent', { action: 'fly' }, /^\/agent does not know "fly", but run, status, stop\.$/],
    ['agent', { action: 'status' }, /^Agents: deployer, desk, elsewhere\.\nNothing is at work here\.$/],
    ['agent', { action: 'stop' }, /^Nothing is at work here\.$/],
    ['task', { action: 'status' }, /^Nothing is at work here\.$/],
    ['task', { action: 'run' }, /^A parameter is missing:\n- description: /],
    ['fleet', { action: 'status' }, /^There are no fleets\.\nNothing is at work here\.$/],
    ['fleet', {}, /^There are no fleets/],
    ['flow', { workflow: 'nightly' }, /^There is no flow "nightly" here\.$/],
    ['flow', {}, /^There are no flows\.\nNothing is at work here\.$/],
    ['flow', { workflow: 'nightly', action: 'show' }, /^There is no flow "nightly"\.$/],
  ] as [string, Record<string, string>, RegExp][])('/%s with %o', async (name, parameters, text) => {
    expect(await call(begin(), name, parameters)).toMatch(text);
    expect(asked).toEqual([]);
  });

  test('what a caller has written notifies nobody, whatever the trigger allows', async () => {
    const seen: unknown[] = [];
    const here = begin({ triggers: [{ ...leading('chat', 'desk'), mentions: 'allow' }] });
    const { outbound } = here.adapter;
    Object.assign(outbound ?? {}, {
      render: (_: unknown, { mentions }: { mentions: string }) => seen.push(mentions) && [],
    });
    await call(here, 'flow', { workflow: '@everyone' });
    expect(seen).toEqual(['none']);
  });

  test('by a command of a trigger where it has that name, and by nobody where the chat has none or no filter lets it pass', async () => {
    const own = leading('chat', undefined, [binding('flow', 'flows')]);
    expect(await call(begin({ triggers: [own] }), 'flow', { workflow: 'x' })).toMatch(/^flows heard/);
    await chat?.end();
    const without = begin({ triggers: [own], adapter: { hasBuiltIns: false } });
    expect(await call(without, 'fleet')).toBe('Sorry, there is nobody here who answers that.');
    await chat?.end();
    const here = begin({ triggers: [leading('staff', 'desk')] });
    expect(await call(here, 'fleet', {}, { user: 'bob' })).toBe(
      'Sorry, that is not allowed here, or not for you.',
    );
  });
});

test('a press or a form that is called as a built-in command goes to the agent, which made it', async () => {
  const here = begin();
  const chosen = { isChoice: true, text: 'flow', commandRest: '' };
  expect(await call(here, 'flow', {}, chosen)).toBe('desk heard: flow');
  expect(await call(here, 'agent', { action: 'status' }, { ...chosen, text: 'agent' })).toBe(
    'desk heard: agent',
  );
  // Typed it is the command.
  expect(await call(here, 'agent', { action: 'status' })).not.toContain('heard');
  expect(asked).toHaveLength(2);
});

describe('what is at work', () => {
  /** A room in which one event runs and another waits for it. */
  async function busy(what: object = {}): Promise<WaitingChat> {
    const here = begin({ handler: hangs });
    await here.say('run', { triggers: ['chat', 'staff'], ...what });
    await here.reached('run', 'running');
    await here.say('after', { triggers: ['chat', 'staff'] });
    await here.say('elsewhere', {}, 'hall');
    await here.reached('elsewhere', 'running');
    return here;
  }

  test('is told while it runs, of that conversation alone', async () => {
    const here = await busy();
    expect(await call(here, 'task', { action: 'status' })).toMatch(
      /^At work here: 1, for \d+ s\. Waiting: 1\.$/,
    );
  });

  test('is stopped although it hangs, and whoever waits for it hears of that; what waits goes on', async () => {
    const here = await busy();
    expect(await call(here, 'agent', { action: 'stop', agent_id: 'deployer' })).toBe(
      'Nothing is at work here by "deployer". Waiting: 1.',
    );
    expect(await call(here, 'agent', { action: 'stop' })).toBe('Stopped: 1. Waiting: 1.');
    expect(await here.reached('run', 'ignored')).toMatchObject({
      note: 'stopped by a command in its conversation',
    });
    expect(await here.saidTo('run')).toEqual(['This was stopped. There will be no answer.']);
    await here.reached('after', 'running');
    expect((await here.store.delivery('elsewhere'))?.state).toBe('running');
    await until('the next is stopped', async () => {
      const said = await call(here, 'agent', { action: 'stop', agent_id: 'desk' });
      return said === 'Stopped: 1.';
    });
  });

  test('is told and stopped while all triggers are paused: of what waits then nobody could know otherwise', async () => {
    const here = await busy();
    await until('both run', () => asked.length === 2);
    for (const name of ['chat', 'staff']) await here.pauses.pause(here.store, name);
    expect(await call(here, 'agent', { action: 'status' })).toMatch(/\nAt work here: 1, .* Waiting: 1\.$/);
    expect(await call(here, 'agent', { action: 'stop' })).toBe('Stopped: 1. Waiting: 1.');
    expect(await call(here, 'fleet')).toMatch(/^There are no fleets/);
    await here.reached('after', 'held');
  });

  test('is not stopped by whom its trigger does not let pass', async () => {
    const here = await busy({ names: ['deploy'] });
    expect(await call(here, 'agent', { action: 'stop' }, { user: 'bob' })).toBe(
      'Nothing is at work here. Waiting: 1.',
    );
    expect((await here.store.delivery('run'))?.state).toBe('running');
    expect(await call(here, 'agent', { action: 'stop' })).toBe('Stopped: 1. Waiting: 1.');
  });
});
