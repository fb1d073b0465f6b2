// Commands in repository comments: the handling trigger, permitted authors, and other comments.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Job } from '../../../../../actors/agents/handlers/handler.ts';
import type { Routing } from '../../../../../actors/automation/conversations/routing.ts';
import { ConversationWork } from '../../../../../actors/automation/conversations/work.ts';
import type { WorkOutcome } from '../../../../../actors/events/inbox/work.ts';
import { WorkSlots } from '../../../../../actors/events/inbox/work-slots.ts';
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

let repoHost: RepoRestHost;
beforeEach(async () => {
  repoHost = await new RepoRestHost().start();
  repoHost.writers.add('ada');
  repoHost.permissions.set('eve', 'read');
});
afterEach(() => repoHost.stop());

const parameter = { name: 'env', description: undefined, required: false, default: undefined };
const binding = (command: string): Binding => ({
  command,
  target: agentTarget('echo'),
  description: undefined,
  parameters: [parameter],
});

/** Trigger with these commands only; `token: undefined` removes the token. */
function triggerOf(
  name: string,
  commands: readonly string[],
  config: Partial<RepoHostTrigger['config']> = {},
): RepoHostTrigger {
  const settings = { token: 'ghp_of_the_tests', api_url: repoHost.url, ...config };
  return { ...repoHostTrigger(name, settings), default_target: undefined, commands: commands.map(binding) };
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
  const slots = new WorkSlots({ slots: 16, bytes: 1_000_000, release: async () => 0 });
  const work = new ConversationWork(routing, slots, noRecords);
  const perform = (payload: object): Promise<WorkOutcome> =>
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
  /** Triggers and commands of all jobs. */
  const receivedJobs = () => jobs.map(({ trigger, command }) => `${trigger}: ${command}`);
  return { say, receivedJobs, jobs };
}

const permissionRequests = () => repoHost.requestsFor('GET', PERMISSION).length;

test('a command in a comment goes to its trigger, before triggers that accept the comment as an event', async () => {
  const { say, receivedJobs, jobs } = bench(
    triggerOf('a-comments', ['issue_comment.created']),
    triggerOf('ops', ['/deploy', 'issue_comment']),
  );
  expect(await say('/deploy staging')).toMatchObject({ kind: 'done', trigger: 'ops' });
  expect(receivedJobs()).toEqual(['ops: /deploy']);
  expect(jobs[0]).toMatchObject({
    input: '/deploy staging',
    event: { name: 'issue_comment.created', context: { 'repo.sender': 'ada' } },
  });
  expect({ ...jobs[0]?.parameters }).toEqual({ env: 'staging' });
});

test.each([
  ['an unknown command', '/other x'],
  ['a command after other text', 'please\n/deploy x'],
  ['a quoted command', '> /deploy x'],
  ['a command in a code block', '```\n/deploy x\n```'],
  ['a command in indented code', '    /deploy x'],
  ['a path', '/deploy/x'],
])('%s in a comment is not a command and causes no permission request', async (_, text) => {
  const { say, receivedJobs } = bench(triggerOf('ops', ['/deploy', 'issue_comment.created']));
  expect(await say(text, 'eve')).toMatchObject({ kind: 'done' });
  expect(receivedJobs()).toEqual(['ops: issue_comment.created']);
  expect(permissionRequests()).toBe(0);
});

test('a command in another letter case needs the same permission', async () => {
  const { say, receivedJobs } = bench(triggerOf('ops', ['/deploy', 'issue_comment']));
  for (const text of ['/Deploy x', '\u200b/DEPLOY x']) {
    expect(await say(text, 'eve')).toMatchObject({
      kind: 'ignored',
      note: expect.stringContaining('no write access'),
    });
    expect(await say(text, 'ada')).toMatchObject({ kind: 'done' });
  }
  expect(receivedJobs()).toEqual(['ops: /deploy', 'ops: /deploy']);
});

test('an edit that turns a comment into a command does not run the command', async () => {
  const { say, receivedJobs } = bench(triggerOf('ops', ['/deploy', 'issue_comment']));
  expect(await say('/deploy x', 'ada', 'edited')).toMatchObject({ kind: 'done' });
  expect(receivedJobs()).toEqual(['ops: issue_comment']);
  expect(permissionRequests()).toBe(0);
});

test('the first of several commands in a comment runs, and the rest of the comment is its text', async () => {
  const { say, jobs } = bench(triggerOf('ops', ['/deploy', '/review']));
  await say('/deploy staging\n/review now');
  expect(jobs.map(({ command, parameters }) => [command, parameters.env])).toEqual([
    ['/deploy', 'staging\n/review now'],
  ]);
});

describe('a command in a comment by an author without permission', () => {
  const note = `eve has no write access to ${REPOSITORY}; /deploy was not run`;

  test('is ignored without a reply, also by a trigger that handles normal comments', async () => {
    const outcome = await bench(triggerOf('ops', ['/deploy', 'issue_comment', 'issue_comment.created'])).say(
      '/deploy x',
      'eve',
    );
    expect(outcome).toEqual({ kind: 'ignored', note });
  });

  test('is handled as a normal comment by a trigger without this command', async () => {
    const { say, receivedJobs } = bench(
      triggerOf('a-ops', ['/deploy', 'issue_comment']),
      triggerOf('comments', ['issue_comment', '/review']),
    );
    expect(await say('/deploy x', 'eve')).toMatchObject({ kind: 'done' });
    expect(receivedJobs()).toEqual(['comments: issue_comment']);
  });

  test('is accepted by a trigger with commands_from: everyone', async () => {
    const { say, receivedJobs } = bench(
      triggerOf('a-ops', ['/deploy']),
      triggerOf('play', ['/deploy'], { commands_from: 'everyone' }),
    );
    expect(await say('/deploy x', 'eve')).toMatchObject({ kind: 'done' });
    expect(receivedJobs()).toEqual(['play: /deploy']);
  });

  test('is ignored by a trigger without a token, with a note about the missing token', async () => {
    const outcome = await bench(triggerOf('ops', ['/deploy'], { token: undefined })).say('/deploy x');
    expect(outcome).toEqual({
      kind: 'ignored',
      note: `cannot check write access to ${REPOSITORY}; /deploy was not run: commands_from: writers needs a token`,
    });
    expect(repoHost.requests).toEqual([]);
  });
});

describe('the repository host receives no permission request', () => {
  test.each([
    ['for a trigger whose filters refuse the comment', { repositories: ['acme/*'] }],
    ['for an ignored sender', { ignore_senders: ['ada'] }],
    ['for a trigger with commands_from: everyone', { commands_from: 'everyone' }],
  ] as const)('%s', async (_, config) => {
    await bench(triggerOf('ops', ['/deploy'], config)).say('/deploy x');
    expect(permissionRequests()).toBe(0);
  });

  test("for the gateway's own comments", async () => {
    const text = `${htmlMarks.markFor('outbox:1/1')}\n\n/deploy x`;
    expect(await bench(triggerOf('ops', ['/deploy'])).say(text)).toMatchObject({ kind: 'ignored' });
    expect(permissionRequests()).toBe(0);
  });
});

describe('while the repository host returns no permissions', () => {
  test('no trigger handles a comment with a command, and its event is retried', async () => {
    const { say, receivedJobs } = bench(
      triggerOf('ops', ['/deploy']),
      triggerOf('comments', ['issue_comment'], { token: undefined }),
    );
    void repoHost.refuse(PERMISSION, { status: 503 });
    const failed = await say('/deploy x');
    expect(failed).toMatchObject({ kind: 'failed', trigger: undefined, isFinal: false });
    expect(receivedJobs()).toEqual([]);
    expect(await say('/deploy x')).toMatchObject({ kind: 'done' });
    expect(receivedJobs()).toEqual(['ops: /deploy']);
  });

  test('a pause that the host requests does not count as an attempt', async () => {
    void repoHost.refuse(PERMISSION, { status: 429, headers: { 'retry-after': '9' } });
    const { say } = bench(triggerOf('ops', ['/deploy']));
    expect(await say('/deploy x')).toMatchObject({ kind: 'deferred', inMs: 9_000 });
  });

  test('a token that may not read permissions ends the event with a note', async () => {
    void repoHost.refuse(PERMISSION, { status: 403 });
    expect(await bench(triggerOf('ops', ['/deploy'])).say('/deploy x')).toMatchObject({
      kind: 'failed',
      isFinal: true,
      note: expect.stringContaining(`the token needs write access to ${REPOSITORY}`),
    });
  });
});

test('triggers of two repository hosts use the permissions of their own host', async () => {
  const other = await new RepoRestHost().start();
  try {
    other.writers.add('eve');
    const { say, receivedJobs } = bench(
      triggerOf('a-ops', ['/deploy']),
      triggerOf('ops', ['/deploy'], { api_url: other.url, token: 'ghp_of_the_other' }),
    );
    expect(await say('/deploy x', 'eve')).toMatchObject({ kind: 'done' });
    expect(await say('/deploy x', 'ada')).toMatchObject({ kind: 'done' });
    expect(receivedJobs()).toEqual(['ops: /deploy', 'a-ops: /deploy']);
    expect(other.requests[0]?.authorization).toBe('token ghp_of_the_other');
  } finally {
    await other.stop();
  }
});
