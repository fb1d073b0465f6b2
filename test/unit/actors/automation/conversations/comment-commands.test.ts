// Which trigger takes what people command in a comment, through the core: from whom, and where else the comment goes.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Job } from '../../../../../actors/agents/handlers/handler.ts';
import { ConversationWork } from '../../../../../actors/automation/conversations/conversation-work.ts';
import type { Routing } from '../../../../../actors/automation/conversations/routing.ts';
import type { Outcome } from '../../../../../actors/events/inbox/work.ts';
import { WorkPlaces } from '../../../../../actors/events/inbox/work-places.ts';
import { htmlMarks } from '../../../../../actors/events/outbox/resend-mark.ts';
import type { Adapter } from '../../../../../actors/platforms/adapter.ts';
import { repoHostAdapter } from '../../../../../actors/platforms/repository-hosts/repohost/adapter.ts';
import type { Binding } from '../../../../../config/resources/triggers/binding.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import type { RepoHostTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { noRecords, noServices } from '../../../../fixtures/automation/contexts.ts';
import {
  commentPayload,
  REPOSITORY,
  storedRepoEvent,
} from '../../../../fixtures/automation/repo-comments.ts';
import { repoHostTrigger } from '../../../../fixtures/automation/triggers.ts';
import { RepoRestHost } from '../../../../fixtures/repositories/repo-rest-host.ts';

const PERMISSION = /\/permission$/;

let rest: RepoRestHost;
beforeEach(async () => {
  rest = await new RepoRestHost().start();
  rest.writers.add('ada');
  rest.permissions.set('eve', 'read');
});
afterEach(() => rest.stop());

const parameter = { name: 'env', description: undefined, required: false, default: undefined };
const binding = (command: string): Binding => ({
  command,
  target: agentTarget('echo'),
  description: undefined,
  parameters: [parameter],
});

/** A trigger with these commands, and nothing else that it takes; `token` none: it has none. */
function triggerOf(
  name: string,
  commands: readonly string[],
  config: Partial<RepoHostTrigger['config']> = {},
): RepoHostTrigger {
  const given = { token: 'ghp_of_the_tests', api_url: rest.url, ...config };
  return { ...repoHostTrigger(name, given), default_target: undefined, commands: commands.map(binding) };
}

function bench(...triggers: readonly RepoHostTrigger[]) {
  const jobs: Job[] = [];
  const adapter = repoHostAdapter({ maxBodyBytes: 1_000_000 }) as unknown as Adapter;
  const routing: Routing = {
    adapterOf: () => adapter,
    trigger: (name) => triggers.find((each) => each.name === name),
    triggers: () => triggers,
    isPaused: () => false,
    onHeld: () => {},
    discard: async () => false,
    handlerOf: () => ({
      run: async (job) => {
        jobs.push(job);
        return { text: 'done' };
      },
    }),
    loaded: () => ({ agents: [], fleets: [], flows: [] }),
    attemptSecondsOf: () => undefined,
    stop: async () => false,
    services: noServices,
    count: () => {},
    longestTimeoutMs: 60_000,
  };
  const places = new WorkPlaces({ places: 16, bytes: 1_000_000, release: async () => 0 });
  const work = new ConversationWork(routing, places, noRecords);
  const perform = (payload: object): Promise<Outcome> =>
    work.perform({
      event: storedRepoEvent(
        'issue_comment',
        payload,
        triggers.map(({ name }) => name),
      ),
      snapshot: undefined,
      signal: new AbortController().signal,
      checkpoint: async () => {},
    });
  const say = (text: string, login = 'ada', action?: string) => perform(commentPayload(text, login, action));
  /** Who has taken what, and as which command. */
  const taken = () => jobs.map(({ trigger, command }) => `${trigger}: ${command}`);
  return { say, taken, jobs };
}

const asked = () => rest.askedFor('GET', PERMISSION).length;

test('a command goes to the trigger that has it, before those that take the comment as an event', async () => {
  const { say, taken, jobs } = bench(
    triggerOf('a-comments', ['issue_comment.created']),
    triggerOf('ops', ['/deploy', 'issue_comment']),
  );
  expect(await say('/deploy staging')).toMatchObject({ kind: 'done', trigger: 'ops' });
  expect(taken()).toEqual(['ops: /deploy']);
  expect(jobs[0]).toMatchObject({
    input: '/deploy staging',
    event: { name: 'issue_comment.created', context: { 'repo.sender': 'ada' } },
  });
  expect({ ...jobs[0]?.parameters }).toEqual({ env: 'staging' });
});

test.each([
  ['an unknown one', '/other x'],
  ['text before it', 'please\n/deploy x'],
  ['a quoted one', '> /deploy x'],
  ['one in a block of code', '```\n/deploy x\n```'],
  ['one in a line of code', '    /deploy x'],
  ['one of another case', '/Deploy x'],
  ['a path', '/deploy/x'],
])('%s is no command, and nobody is asked for', async (_, text) => {
  const { say, taken } = bench(triggerOf('ops', ['/deploy', 'issue_comment.created']));
  expect(await say(text, 'eve')).toMatchObject({ kind: 'done' });
  expect(taken()).toEqual(['ops: issue_comment.created']);
  expect(asked()).toBe(0);
});

test('a comment that was changed into a command is none', async () => {
  const { say, taken } = bench(triggerOf('ops', ['/deploy', 'issue_comment']));
  expect(await say('/deploy x', 'ada', 'edited')).toMatchObject({ kind: 'done' });
  expect(taken()).toEqual(['ops: issue_comment']);
  expect(asked()).toBe(0);
});

test('of several commands the first one counts, and what stands behind it is its', async () => {
  const { say, jobs } = bench(triggerOf('ops', ['/deploy', '/review']));
  await say('/deploy staging\n/review now');
  expect(jobs.map(({ command, parameters }) => [command, parameters.env])).toEqual([
    ['/deploy', 'staging\n/review now'],
  ]);
});

describe('a command of who may not give it', () => {
  const note = `eve may not write to ${REPOSITORY}, so /deploy is not carried out`;

  test('is ignored, with nothing to be sent, and is no comment to the same trigger', async () => {
    const outcome = await bench(triggerOf('ops', ['/deploy', 'issue_comment', 'issue_comment.created'])).say(
      '/deploy x',
      'eve',
    );
    expect(outcome).toEqual({ kind: 'ignored', note });
  });

  test('is a comment to a trigger that has no such command', async () => {
    const { say, taken } = bench(
      triggerOf('a-ops', ['/deploy', 'issue_comment']),
      triggerOf('comments', ['issue_comment', '/review']),
    );
    expect(await say('/deploy x', 'eve')).toMatchObject({ kind: 'done' });
    expect(taken()).toEqual(['comments: issue_comment']);
  });

  test('is taken by a trigger of everyone', async () => {
    const { say, taken } = bench(
      triggerOf('a-ops', ['/deploy']),
      triggerOf('play', ['/deploy'], { commands_from: 'everyone' }),
    );
    expect(await say('/deploy x', 'eve')).toMatchObject({ kind: 'done' });
    expect(taken()).toEqual(['play: /deploy']);
  });

  test('is ignored without a token, and the note says what is missing', async () => {
    const outcome = await bench(triggerOf('ops', ['/deploy'], { token: undefined })).say('/deploy x');
    expect(outcome).toEqual({
      kind: 'ignored',
      note: `nobody can ask who may write to ${REPOSITORY}, so /deploy is not carried out: commands_from: writers needs a token`,
    });
    expect(rest.asked).toEqual([]);
  });
});

describe('nobody is asked', () => {
  test.each([
    ['for a trigger whose filters do not take the comment', { repositories: ['acme/*'] }],
    ['for one who is ignored', { ignore_senders: ['ada'] }],
    ['for a trigger of everyone', { commands_from: 'everyone' }],
  ] as const)('%s', async (_, config) => {
    await bench(triggerOf('ops', ['/deploy'], config)).say('/deploy x');
    expect(asked()).toBe(0);
  });

  test('about what this gateway has written', async () => {
    const text = `${htmlMarks.of('outbox:1/1')}\n\n/deploy x`;
    expect(await bench(triggerOf('ops', ['/deploy'])).say(text)).toMatchObject({ kind: 'ignored' });
    expect(asked()).toBe(0);
  });
});

describe('while the host does not say who may', () => {
  test('nobody takes the comment, whoever else would; and it comes again', async () => {
    const { say, taken } = bench(
      triggerOf('ops', ['/deploy']),
      triggerOf('comments', ['issue_comment'], { token: undefined }),
    );
    void rest.refuse(PERMISSION, { status: 503 });
    const failed = await say('/deploy x');
    expect(failed).toMatchObject({ kind: 'failed', trigger: undefined, isFinal: false });
    expect(taken()).toEqual([]);
    expect(await say('/deploy x')).toMatchObject({ kind: 'done' });
    expect(taken()).toEqual(['ops: /deploy']);
  });

  test('a pause that it asks for is no attempt', async () => {
    void rest.refuse(PERMISSION, { status: 429, headers: { 'retry-after': '9' } });
    const { say } = bench(triggerOf('ops', ['/deploy']));
    expect(await say('/deploy x')).toMatchObject({ kind: 'deferred', inMs: 9_000 });
  });

  test('a token that may not ask ends the event, with a note of what it lacks', async () => {
    void rest.refuse(PERMISSION, { status: 403 });
    expect(await bench(triggerOf('ops', ['/deploy'])).say('/deploy x')).toMatchObject({
      kind: 'failed',
      isFinal: true,
      note: expect.stringContaining(`the token needs write access to ${REPOSITORY}`),
    });
  });
});

test('triggers of two hosts each heed what their own says', async () => {
  const other = await new RepoRestHost().start();
  try {
    other.writers.add('eve');
    const { say, taken } = bench(
      triggerOf('a-ops', ['/deploy']),
      triggerOf('ops', ['/deploy'], { api_url: other.url, token: 'ghp_of_the_other' }),
    );
    expect(await say('/deploy x', 'eve')).toMatchObject({ kind: 'done' });
    expect(await say('/deploy x', 'ada')).toMatchObject({ kind: 'done' });
    expect(taken()).toEqual(['ops: /deploy', 'a-ops: /deploy']);
    expect(other.asked[0]?.authorization).toBe('token ghp_of_the_other');
  } finally {
    await other.stop();
  }
});
