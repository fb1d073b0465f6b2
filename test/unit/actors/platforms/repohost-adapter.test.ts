// RepoHost triggers, over real sockets: all published payloads, signed with the platform's library.

import { createHmac, randomUUID } from 'node:crypto';
import { sign } from '@octokit/webhooks-methods';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Adapter } from '../../../../actors/platforms/adapter.ts';
import { repoHostAdapter } from '../../../../actors/platforms/repository-hosts/repohost/adapter.ts';
import { repoHostEventNames } from '../../../../config/resources/repository-hosts/repohost-events.ts';
import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { repoExample, repoExamples } from '../../../fixtures/automation/repo-payloads.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { repoHostTrigger } from '../../../fixtures/automation/triggers.ts';

const SECRET = 'a secret of the tests';
const PATH = '/webhook/repohost';

let host: TestSourceHost;
let adapter: Adapter<RepoHostTrigger>;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  adapter = repoHostAdapter({ maxBodyBytes: 26_214_400 });
});
afterEach(() => host.stop());

async function open(config: Partial<RepoHostTrigger['config']> = {}, name = 'reviews') {
  const trigger = repoHostTrigger(name, config);
  const opened = await adapter.open(trigger, host);
  return { trigger, close: () => opened.close() };
}

interface SendOptions {
  readonly event: string;
  readonly payload: unknown;
  readonly delivery?: string;
  readonly secret?: string;
  readonly path?: string;
  readonly asForm?: boolean;
  /** Body that replaces the serialised payload. */
  readonly raw?: string;
  readonly headers?: Record<string, string>;
}

async function send({
  event,
  payload,
  delivery = randomUUID(),
  secret = SECRET,
  path = PATH,
  asForm = false,
  raw,
  headers,
}: SendOptions) {
  const json = JSON.stringify(payload);
  const body = raw ?? (asForm ? new URLSearchParams({ payload: json }).toString() : json);
  const response = await fetch(host.url + path, {
    method: 'POST',
    body,
    headers: {
      'content-type': asForm ? 'application/x-www-form-urlencoded' : 'application/json',
      'x-github-event': event,
      'x-github-delivery': delivery,
      'x-hub-signature-256': await sign(secret, body),
      ...headers,
    },
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

test('the example payloads of these tests cover all known events', () => {
  expect(new Set(repoExamples.map(({ event }) => event))).toEqual(
    new Set(Object.keys(repoHostEventNames.actions)),
  );
  expect(repoExamples.length).toBeGreaterThan(100);
});

test('every published example payload is accepted and parsed, as JSON or as a form', async () => {
  const { trigger } = await open();
  for (const [index, { event, payload }] of repoExamples.entries()) {
    const asForm = index % 10 === 0;
    const delivery = randomUUID();
    expect(await send({ event, payload, delivery, asForm })).toEqual({
      status: 202,
      body: { id: `repohost:reviews/${delivery}`, status: 'accepted' },
    });
    const inbound = adapter.read(host.event());
    const { action } = payload as { action?: string };
    expect(inbound).toMatchObject({
      platform: 'repohost',
      triggers: ['reviews'],
      names: action === undefined ? [event] : [`${event}.${action}`, event],
      user: (payload.sender as { login: string }).login,
      context: {
        'repo.event': event,
        'repo.repo': (payload.repository as { full_name: string }).full_name,
      },
    });
    expect(inbound.payload).toEqual(payload);
    expect(adapter.accepts?.(trigger, inbound)).toBe(true);
  }
});

test("the signature of the platform's documentation is accepted", async () => {
  await open({ webhook_secret: "It's a Secret to Everybody" });
  const post = (signature: string) =>
    fetch(host.url + PATH, {
      method: 'POST',
      body: 'Hello, World!',
      headers: {
        'x-github-event': 'ping',
        'x-github-delivery': 'd',
        'x-hub-signature-256': signature,
      },
    });
  const vector = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  expect((await post(vector)).status).toBe(200);
  expect((await post(vector.replace('757', '756'))).status).toBe(401);
});

describe('a replayed delivery', () => {
  const [example] = repoExamples;

  test('is recognised with another id, but not for another path', async () => {
    await open({ replay_window_seconds: 60 });
    await open({ replay_window_seconds: 60, path: '/other' }, 'other');
    const { event = '', payload } = example ?? {};
    const [first, again, other] = [
      await send({ event, payload, delivery: 'd-1' }),
      await send({ event, payload, delivery: 'd-2' }),
      await send({ event, payload, delivery: 'd-3', path: '/other' }),
    ];
    expect(first.body).toEqual({ id: 'repohost:reviews/d-1', status: 'accepted' });
    expect(again).toEqual({ status: 200, body: { id: 'repohost:reviews/d-1', status: 'duplicate' } });
    expect(other.body).toEqual({ id: 'repohost:other/d-3', status: 'accepted' });
  });

  test('is recognised by its own id, and accepted with another id after the replay window', async () => {
    await open({ replay_window_seconds: 0.001 });
    const { event = '', payload } = example ?? {};
    await send({ event, payload, delivery: 'd-1' });
    expect((await send({ event, payload, delivery: 'd-1' })).status).toBe(200);
    await new Promise((done) => setTimeout(done, 10));
    expect((await send({ event, payload, delivery: 'd-2' })).status).toBe(202);
  });
});

describe('a delivery', () => {
  const issue = () => repoExample('issues', 'opened');

  test('is accepted with the previous secret', async () => {
    await open({ webhook_secret: 'the new one', webhook_secret_previous: SECRET });
    expect((await send({ event: 'issues', payload: issue() })).status).toBe(202);
    expect((await send({ event: 'issues', payload: issue(), secret: 'the new one' })).status).toBe(202);
  });

  test('is rejected if the configured secret is empty', async () => {
    await expect(open({ webhook_secret: '' })).rejects.toThrow(/empty/);
    await open({ webhook_secret_previous: '' });
    const empty = `sha256=${createHmac('sha256', '').update('{}').digest('hex')}`;
    const response = await fetch(host.url + PATH, {
      method: 'POST',
      body: '{}',
      headers: { 'x-github-event': 'ping', 'x-github-delivery': 'd', 'x-hub-signature-256': empty },
    });
    expect(response.status).toBe(401);
  });

  test('without a signature is accepted from this machine if that is allowed', async () => {
    await open({ webhook_secret: '', insecure_allow_unverified: true });
    const headers = { 'x-hub-signature-256': '' };
    expect((await send({ event: 'issues', payload: issue(), headers })).status).toBe(202);
    expect(host.lines).toContainEqual(expect.objectContaining({ level: 'warn' }));
  });

  test('of an event named `constructor` is ignored with status 200', async () => {
    await open();
    expect(await send({ event: 'constructor', payload: issue() })).toMatchObject({ status: 200 });
    expect(host.store.events).toEqual([]);
  });

  test('with the id of a known delivery is a duplicate; if the known delivery is dead, it runs again', async () => {
    await open();
    const sending = { event: 'issues', payload: issue(), delivery: 'd-1' };
    expect(await send(sending)).toMatchObject({ status: 202 });
    expect(await send(sending)).toMatchObject({ status: 200, body: { status: 'duplicate' } });
    await host.settle('repohost:reviews/d-1', 'dead');
    expect(await send(sending)).toMatchObject({ status: 202, body: { status: 'accepted' } });
    expect(host.store.events).toHaveLength(1);
  });

  test.each([
    [
      'a repository with an invalid name',
      { event: 'push', payload: { repository: { full_name: 'a/b/../c' } } },
    ],
    ['a repository with a path as name', { event: 'push', payload: { repository: { full_name: '../..' } } }],
    ['a repository with a path as owner', { event: 'push', payload: { repository: { full_name: './a' } } }],
    ['an invalid event name', { event: 'a b', payload: {} }],
    ['a missing id', { event: 'issues', payload: {}, delivery: '' }],
    ['an invalid id', { event: 'issues', payload: {}, delivery: 'a-->b' }],
    ['a form without payload', { event: 'issues', payload: {}, asForm: true, raw: 'a=1' }],
  ])('is rejected with status 400 for %s', async (_, sending) => {
    await open();
    expect((await send(sending)).status).toBe(400);
    expect(host.store.events).toEqual([]);
  });

  test('with the same id but another secret or path is a separate event of the other trigger', async () => {
    await open({}, 'team-a');
    await open({ webhook_secret: 'another' }, 'team-b');
    await open({ path: '/other' }, 'team-c');
    const sending = { event: 'issues', payload: issue(), delivery: 'd-1' };
    const all = [sending, { ...sending, secret: 'another' }, { ...sending, path: '/other' }];
    for (const each of all) expect(await send(each)).toMatchObject({ status: 202 });
    expect(host.store.events.map((event) => adapter.read(event).triggers)).toEqual([
      ['team-a'],
      ['team-b'],
      ['team-c'],
    ]);
    for (const each of all) expect(await send(each)).toMatchObject({ body: { status: 'duplicate' } });
    await host.settle('repohost:team-a/d-1', 'dead');
    const outcomes = [];
    for (const each of all) outcomes.push((await send(each)).body.status);
    expect(outcomes).toEqual(['accepted', 'duplicate', 'duplicate']);
  });

  test('has one id for all triggers of its secret, in any order of opening', async () => {
    const first = await open({}, 'b-reviews');
    await open({}, 'a-reviews');
    const sending = { event: 'issues', payload: issue(), delivery: 'd-1' };
    expect(await send(sending)).toMatchObject({ body: { id: 'repohost:a-reviews/d-1', status: 'accepted' } });
    await open({}, 'b-reviews');
    await first.close();
    expect(await send(sending)).toMatchObject({
      body: { id: 'repohost:a-reviews/d-1', status: 'duplicate' },
    });
    expect(host.store.events).toHaveLength(1);
  });

  test('names its trigger only once while the trigger is being replaced', async () => {
    const { close } = await open();
    await open({ branches: ['main'] });
    await send({ event: 'issues', payload: issue() });
    expect(adapter.read(host.event()).triggers).toEqual(['reviews']);
    await close();
    expect((await send({ event: 'issues', payload: issue() })).status).toBe(202);
  });

  test('gets status 503 after its trigger has closed', async () => {
    const { close } = await open();
    await close();
    expect((await send({ event: 'issues', payload: issue() })).status).toBe(503);
  });
});

describe('the conversation and the context', () => {
  const repo = 'Codertocat/Hello-World';
  const sha = 'ec26c3e57ca3a959ca5aad62de7213c562f8c821';
  test.each([
    [
      'pull_request',
      'opened',
      `${repo}#2`,
      {
        'repo.event': 'pull_request',
        'repo.action': 'opened',
        'repo.repo': repo,
        'repo.branch': 'changes',
        'repo.ref': 'refs/heads/changes',
        'repo.sha': sha,
        'repo.sender': 'Codertocat',
        'repo.pr.number': 2,
        'repo.pr.title': 'Update the README with new information.',
        'repo.pr.author': 'Codertocat',
      },
    ],
    ['pull_request_review', 'submitted', `${repo}#2`, { 'repo.pr.number': 2, 'repo.branch': 'changes' }],
    ['pull_request_review_comment', 'created', `${repo}#2`, { 'repo.pr.number': 2, 'repo.sha': sha }],
    ['issues', 'edited', `${repo}#1`, { 'repo.action': 'edited' }],
    ['issue_comment', 'created', `${repo}#1`, {}],
    ['push', undefined, `${repo}@refs/tags/simple-tag`, { 'repo.ref': 'refs/tags/simple-tag' }],
    ['workflow_job', 'completed', undefined, { 'repo.action': 'completed' }],
    ['check_run', 'created', `${repo}@refs/heads/changes`, { 'repo.branch': 'changes', 'repo.sha': sha }],
    ['check_suite', 'completed', `${repo}@refs/heads/changes`, { 'repo.branch': 'changes', 'repo.sha': sha }],
    ['release', 'published', `${repo}@refs/tags/0.0.1`, { 'repo.ref': 'refs/tags/0.0.1' }],
    ['deployment', 'created', `${repo}@refs/heads/master`, { 'repo.branch': 'master' }],
    ['deployment_status', 'created', `${repo}@refs/heads/master`, { 'repo.branch': 'master' }],
    ['create', undefined, `${repo}@refs/tags/simple-tag`, { 'repo.ref': 'refs/tags/simple-tag' }],
    ['delete', undefined, `${repo}@refs/tags/simple-tag`, { 'repo.ref': 'refs/tags/simple-tag' }],
  ])('of %s %s are read from the payload', async (event, action, place, context) => {
    await open();
    await send({ event, payload: repoExample(event, action) });
    if (place !== undefined) expect(host.event().key).toBe(`conversation/repohost/${place}`);
    expect(adapter.read(host.event()).context).toMatchObject(context);
  });

  test.each([
    ['push', { ref: 'refs/heads/release/1', after: 'a'.repeat(40) }, '@refs/heads/release/1', 'release/1'],
    ['push', { ref: 'refs/heads/gone', after: '0'.repeat(40) }, '@refs/heads/gone', 'gone'],
    ['create', { ref: 'topic/x', ref_type: 'branch' }, '@refs/heads/topic/x', 'topic/x'],
    ['deployment', { deployment: { ref: 'c0ffee', sha: 'c0ffee' } }, '', undefined],
    ['workflow_run', { workflow_run: { head_branch: null, head_sha: 'c0ffee' } }, '', undefined],
    [
      'workflow_run',
      { workflow_run: { head_branch: 'main', head_sha: 'c0ffee', head_repository: { full_name: 'o/r' } } },
      '@refs/heads/main',
      'main',
    ],
    [
      'workflow_run',
      { workflow_run: { head_branch: 'main', head_sha: 'c0ffee', head_repository: { full_name: 'x/r' } } },
      '@x/r:refs/heads/main',
      'main',
    ],
    [
      'workflow_run',
      { workflow_run: { head_branch: 'main', head_sha: 'c0ffee', head_repository: null } },
      '@unknown:refs/heads/main',
      'main',
    ],
    ['status', { sha: 'c0ffee', branches: [{ name: 'main' }, { name: 'next' }] }, '@refs/heads/main', 'main'],
    ['issues', { issue: { number: '7; drop' } }, '', undefined],
  ])('of %s are read from the part %j', async (event, part, place, branch) => {
    await open();
    await send({ event, payload: { repository: { full_name: 'o/r' }, sender: { login: 'ann' }, ...part } });
    expect(host.event().key).toBe(`conversation/repohost/o/r${place}`);
    const { context } = adapter.read(host.event());
    expect(context['repo.branch']).toBe(branch);
    expect(Object.values(context)).not.toContain(undefined);
    expect(context['repo.sha']).not.toBe('0'.repeat(40));
  });

  test('of a comment on a pull request contain the pull request', async () => {
    await open();
    const payload = structuredClone(repoExample('issue_comment', 'created')) as {
      issue: Record<string, unknown>;
    };
    expect('repo.pr.number' in payload.issue).toBe(false);
    payload.issue.pull_request = { url: 'https://api.example/pulls/1' };
    await send({ event: 'issue_comment', payload });
    expect(adapter.read(host.event()).context).toMatchObject({
      'repo.pr.number': 1,
      'repo.pr.title': 'Spelling error in the README file',
      'repo.pr.author': 'Codertocat',
    });
  });
});

describe('the text of an event', () => {
  test.each([
    ['issue_comment', 'created', "You are totally right! I'll get this fixed right away."],
    ['issue_comment', 'deleted', undefined],
    ['issues', 'labeled', undefined],
    ['push', undefined, undefined],
    ['pull_request_review', 'submitted', undefined],
  ])('is read for %s %s', async (event, action, text) => {
    await open();
    await send({ event, payload: repoExample(event, action) });
    expect(adapter.read(host.event()).text).toBe(text);
  });

  test('is the title and body of an opened pull request', async () => {
    await open();
    const payload = repoExample('pull_request', 'opened') as unknown as {
      pull_request: { title: string; body: string };
    };
    await send({ event: 'pull_request', payload });
    const { title, body } = payload.pull_request;
    expect(adapter.read(host.event()).text).toBe(`${title}\n\n${body}`);
  });
});
