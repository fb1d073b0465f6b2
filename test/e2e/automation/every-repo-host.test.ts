// Common features of the repository hosts: inbound events, agents and comments. Each test runs for every
// host, in a separate setup (test/fixtures/repositories/repo-host-cases.ts). Fault tolerance:
// every-repo-host-faults.test.ts. Separate files test special features of single platforms. A new host is one
// line in test/fixtures/repositories/local-repo-hosts.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import type { Access, HostEvent, HostEventKind } from '../../fixtures/repositories/local-repo-host.ts';
import { localRepoHosts } from '../../fixtures/repositories/local-repo-hosts.ts';
import { type HostCase, type MoreSpec, RepoHostCases } from '../../fixtures/repositories/repo-host-cases.ts';

const hosts = Object.keys(localRepoHosts);
const echo = { agent: 'echo' };
const deploy = { ...echo, parameters: [{ name: 'env', required: true }] };
const noSpec = (): MoreSpec => ({});
/** Hook path of the test case `otherCase` for this host. */
const pathOf = ({ path }: Access, ownCase: string, otherCase: string) => path.replace(ownCase, otherCase);
const hostCases = new RepoHostCases({
  requests: noSpec,
  'requests-comments': noSpec,
  'issues-comments': noSpec,
  pushes: noSpec,
  bindings: (host) => {
    const { event, command } = host.eventNames('request opened');
    return { default_agent: undefined, commands: { [event]: echo, [command]: echo } };
  },
  'slash-commands': () => ({ default_agent: undefined, commands: { '/deploy': deploy } }),
  'slash-commands-of-everyone': () => ({
    config: { commands_from: 'everyone' },
    default_agent: undefined,
    commands: { '/deploy': deploy },
  }),
  conversations: noSpec,
  repositories: () => ({ config: { repositories: ['acme/*-API', 'Other/exact'] } }),
  branches: () => ({ config: { branches: ['main', 'release/*'] } }),
  events: (host) => ({
    config: { repo_events: [host.eventNames('request opened').command, host.eventNames('push').event] },
  }),
  senders: () => ({ config: { ignore_senders: ['Build-Bot'] } }),
  forged: noSpec,
  twice: noSpec,
  'one-team': noSpec,
  'other-team': (_, access) => ({ config: { path: pathOf(access, 'other-team', 'one-team') } }),
  own: noSpec,
  'own-unknown': noSpec,
  mentions: noSpec,
  long: noSpec,
});

beforeAll(() => {
  for (const name of hosts) hostCases.of(name, 'own-unknown').host.hideUser();
  return hostCases.start();
});
afterAll(() => hostCases.stop());

describe.concurrent.each(hosts)('%s', (name) => {
  test('a new pull request is answered by one comment, and the agent receives the context of the pull request', async () => {
    const hostCase = hostCases.of(name, 'requests');
    const { host } = hostCase;
    const opened: HostEvent = { kind: 'request opened', number: 7, title: 'Faster', text: 'It was slow.' };
    await hostCase.deliver(opened);
    await hostCase.expectComments(opened, 'heard: Faster\n\nIt was slow.');
    expect(host.comments(hostCase.place(opened))[0]?.author).toBe(host.api.login);
    expect(host.commentRequests()).toHaveLength(1);
    const { event, action, command } = host.eventNames('request opened');
    const [agentRequest] = hostCase.agentRequests();
    expect(agentRequest?.body).toMatchObject({
      conversation: `${host.type.toLowerCase()}/${hostCase.place(opened)}`,
      input: 'Faster\n\nIt was slow.',
      event: {
        type: host.type,
        name: command,
        payload: expect.any(Object),
        context: {
          'repo.event': event,
          'repo.action': action,
          'repo.repo': `acme/${hostCase.name}`,
          'repo.branch': 'a-change',
          'repo.sender': 'ann',
          'repo.pr.number': 7,
          'repo.pr.title': 'Faster',
          'repo.sha': expect.stringMatching(/^[0-9a-f]{12,64}$/),
          ...(host.hidesAuthors !== true && { 'repo.pr.author': 'ann' }),
        },
      },
    });
  });

  test.each<HostEventKind>(['request comment', 'issue comment'])(
    'answers a %s in the same thread, if the host supports answers there',
    async (kind) => {
      const hostCase = hostCases.of(name, kind === 'issue comment' ? 'issues-comments' : 'requests-comments');
      const comment: HostEvent = { kind, number: 8, repository: 'acme/Some.Shop_2', text: 'Why?' };
      await hostCase.deliver(comment, 'asked');
      await eventually(async () => expect(await hostCase.record('asked')).toMatchObject({ state: 'done' }));
      expect(hostCase.agentRequests()).toMatchObject([{ body: { input: 'Why?' } }]);
      const getsAnswer = kind === 'request comment' || hostCase.host.answersIssues !== false;
      if (getsAnswer) await hostCase.expectComments(comment, 'heard: Why?');
      expect(await hostCase.outboxRows()).toHaveLength(getsAnswer ? 1 : 0);
      const names = hostCase.host.eventNames('request comment');
      const context = hostCase.agentRequests()[0]?.body.event.context ?? {};
      expect(context['repo.repo']).toBe('acme/Some.Shop_2');
      if (kind === 'request comment')
        expect(context).toMatchObject({ 'repo.event': names.event, 'repo.pr.number': 8 });
      else expect(Object.keys(context)).not.toContain('repo.pr.number');
    },
  );

  test('a push calls the agent, and nothing is written to the repository host', async () => {
    const hostCase = hostCases.of(name, 'pushes');
    await hostCase.deliver({ kind: 'push', branch: 'release/7' }, 'pushed');
    await hostCase.deliver({ kind: 'tag', branch: 'v7' }, 'tagged');
    for (const id of ['pushed', 'tagged'])
      await eventually(async () => expect(await hostCase.record(id)).toMatchObject({ state: 'done' }));
    const contexts = hostCase.agentRequests().map(({ body }) => body.event.context);
    expect(contexts.find((each) => each['repo.ref'] === 'refs/heads/release/7')).toMatchObject({
      'repo.branch': 'release/7',
      'repo.sender': 'ann',
      'repo.sha': expect.any(String),
    });
    const tagged = contexts.find((each) => each['repo.ref'] === 'refs/tags/v7');
    expect(Object.keys(tagged ?? {})).not.toContain('repo.branch');
    expect(hostCase.host.commentRequests()).toEqual([]);
  });

  test('an agent configured for an event with its action precedes one for the event; other events call no agent', async () => {
    const hostCase = hostCases.of(name, 'bindings');
    const { event, command } = hostCase.host.eventNames('request opened');
    await hostCase.deliver({ kind: 'request opened' });
    await hostCase.deliver({ kind: 'request closed' });
    await hostCase.deliver({ kind: 'issue opened' }, 'none');
    await eventually(async () => expect(await hostCase.record('none')).toMatchObject({ state: 'ignored' }));
    await eventually(() =>
      expect(hostCase.agentRequests().map(({ body }) => body.command)).toEqual([command, event]),
    );
    expect(hostCase.agentRequests()[1]?.body.event.name).toBe(
      hostCase.host.eventNames('request closed').command,
    );
  });

  test('a slash command runs only for users with write access, and not in an edited comment', async () => {
    const hostCase = hostCases.of(name, 'slash-commands');
    hostCase.host.api.writers.add('ann');
    await hostCase.deliver({ kind: 'request comment', text: '/deploy staging' });
    await eventually(() => expect(hostCase.agentRequests()).toHaveLength(1));
    expect(hostCase.agentRequests()[0]?.body).toMatchObject({
      command: '/deploy',
      parameters: { env: 'staging' },
    });
    const more: HostEvent = { kind: 'request comment', text: '/deploy production' };
    await expectIgnored(hostCase, {
      'a stranger': { ...more, sender: 'bob' },
      changed: { ...more, kind: 'request comment changed' },
      quoted: { ...more, text: '> /deploy production' },
    });
    expect((await hostCase.record('a-stranger')).note).toContain('bob has no write access');
  });

  test('a slash command runs for every user if commands_from is everyone', async () => {
    const hostCase = hostCases.of(name, 'slash-commands-of-everyone');
    await expectHandled(hostCase, {
      bob: { kind: 'request comment', text: '/deploy staging', sender: 'bob' },
    });
    expect(hostCase.agentRequests()).toMatchObject([
      { body: { command: '/deploy', parameters: { env: 'staging' } } },
    ]);
  });

  test('all comments of a pull request or issue belong to one conversation', async () => {
    const hostCase = hostCases.of(name, 'conversations');
    const { host } = hostCase;
    const opened: HostEvent = { kind: 'request opened', text: 'first' };
    await hostCase.deliver(opened);
    await eventually(() => expect(hostCase.agentRequests()).toHaveLength(1));
    await hostCase.deliver({ kind: 'request comment', text: 'second', sender: 'bob' });
    await eventually(() => expect(hostCase.agentRequests()).toHaveLength(2));
    await hostCase.deliver({ kind: 'request comment', number: 6 });
    await hostCase.deliver({ kind: 'request comment', repository: `other/${hostCase.name}` });
    if (host.numbersIssuesSeparately) await hostCase.deliver({ kind: 'issue comment' });
    await eventually(() =>
      expect(hostCase.agentRequests()).toHaveLength(host.numbersIssuesSeparately ? 5 : 4),
    );
    const [first, second, ...others] = hostCase.agentRequests().map(({ body }) => body);
    expect(second?.conversation).toBe(first?.conversation);
    expect(second?.history.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(new Set([first, ...others].map((each) => each?.conversation)).size).toBe(1 + others.length);
    expect(others.map(({ history }) => history)).toEqual(others.map(() => []));
  });

  test('the repositories setting matches names by wildcards, case-insensitively', async () => {
    const hostCase = hostCases.of(name, 'repositories');
    const pushTo = (repository: string): HostEvent => ({ kind: 'push', repository });
    await expectHandled(hostCase, {
      'acme/shop-api': pushTo('acme/shop-api'),
      'ACME/Shop-API': pushTo('ACME/Shop-API'),
      'other/EXACT': pushTo('other/EXACT'),
    });
    await expectIgnored(hostCase, {
      'acme/shop': pushTo('acme/shop'),
      'acme2/shop-api': pushTo('acme2/shop-api'),
      'other/exactly': pushTo('other/exactly'),
    });
  });

  test('a branch filter applies to pushed and target branches, never matches a tag, and accepts all issue events', async () => {
    const hostCase = hostCases.of(name, 'branches');
    await expectHandled(hostCase, {
      'to main': { kind: 'request opened', branch: 'main' },
      'pushed a release': { kind: 'push', branch: 'release/7' },
      'an issue': { kind: 'issue opened' },
    });
    await expectIgnored(hostCase, {
      'to another': { kind: 'request opened', branch: 'a-change' },
      'in another case': { kind: 'push', branch: 'Main' },
      'a branch within': { kind: 'push', branch: 'release/7/8' },
      'a tag': { kind: 'tag', branch: 'main' },
    });
  });

  test('an event filter accepts an event with all its actions, or with only one action', async () => {
    const hostCase = hostCases.of(name, 'events');
    await expectHandled(hostCase, { opened: { kind: 'request opened' }, pushed: { kind: 'push' } });
    await expectIgnored(hostCase, { closed: { kind: 'request closed' }, issue: { kind: 'issue opened' } });
  });

  test('events of users in ignore_senders are ignored, case-insensitively', async () => {
    const hostCase = hostCases.of(name, 'senders');
    await expectIgnored(hostCase, { bot: { kind: 'push', sender: 'build-bot' } });
    await expectHandled(hostCase, { 'no bot': { kind: 'push', sender: 'build-bot-2' } });
  });

  test('unsigned webhook requests get 401, malformed ones get 400, and unknown events call no agent', async () => {
    const hostCase = hostCases.of(name, 'forged');
    const { host, access } = hostCase;
    const statuses = async (requests: ReturnType<typeof host.malformed>) => {
      expect(requests.length).toBeGreaterThan(1);
      return Promise.all(requests.map(async (each) => [each.what, await hostCase.post(each)]));
    };
    const allWith = (status: number, requests: ReturnType<typeof host.malformed>) =>
      requests.map(({ what }) => [what, status]);
    const forged = host.forgeries({ kind: 'request comment', text: 'forged' }, access.secret);
    expect(await statuses(forged)).toEqual(allWith(401, forged));
    const malformed = host.malformed(access.secret);
    expect(await statuses(malformed)).toEqual(allWith(400, malformed));
    const unknownEvents = host.unknownEvents(access.secret);
    expect(await statuses(unknownEvents)).toEqual(allWith(200, unknownEvents));
    await hostCase.deliver({ kind: 'request comment', text: 'real' });
    await eventually(() => expect(hostCase.agentRequests().map(({ body }) => body.input)).toEqual(['real']));
  });

  test('a webhook delivery that is repeated is handled as one event', async () => {
    const hostCase = hostCases.of(name, 'twice');
    const comment: HostEvent = { kind: 'request comment', text: 'once' };
    const request = hostCase.delivery(comment, 'repeated');
    expect(await Promise.all([hostCase.post(request), hostCase.post(request)])).toEqual(
      expect.arrayContaining([202, 200]),
    );
    await hostCase.expectComments(comment, 'heard: once');
    expect(await hostCase.post(request)).toBe(200);
    await expectHandled(hostCase, { other: { kind: 'push' } });
    expect(hostCase.agentRequests()).toHaveLength(2);
    expect(hostCase.comments(comment)).toHaveLength(1);
  });

  test('of two triggers that share a webhook path, the one with the matching secret receives the event', async () => {
    const [oneTeam, otherTeam] = [hostCases.of(name, 'one-team'), hostCases.of(name, 'other-team')];
    expect(otherTeam.hook).toBe(oneTeam.hook);
    await expectHandled(oneTeam, { ours: { kind: 'push', branch: 'ours' } });
    await expectHandled(otherTeam, { theirs: { kind: 'push', branch: 'theirs' } });
    for (const hostCase of [oneTeam, otherTeam]) expect(hostCase.agentRequests()).toHaveLength(1);
    expect(oneTeam.agentRequests()[0]?.body.event.context['repo.branch']).toBe('ours');
  });

  test('events caused by the user of the API token of the trigger are not answered', async () => {
    const hostCase = hostCases.of(name, 'own');
    const comment: HostEvent = { kind: 'request comment', text: 'say it' };
    await hostCase.deliver(comment);
    await hostCase.expectComments(comment, 'heard: say it');
    expect(await hostCase.post(hostCase.echo(comment))).toBe(200);
    expect(await hostCase.send({ kind: 'request opened', sender: hostCase.host.api.login })).toBe(200);
    await expectHandled(hostCase, { after: { kind: 'push' } });
    expect(hostCase.agentRequests()).toHaveLength(2);
  });

  test('the gateway recognises its own comments by their marker if it does not know the user of its API token', async () => {
    const hostCase = hostCases.of(name, 'own-unknown');
    const comment: HostEvent = { kind: 'request comment', text: 'say it' };
    await hostCase.deliver(comment);
    await hostCase.expectComments(comment, 'heard: say it');
    expect(await hostCase.post(hostCase.echo({ ...comment, sender: 'carl' }))).toBe(202);
    await expectHandled(hostCase, { after: { kind: 'push' } });
    await eventually(async () =>
      expect(
        (await hostCases.deliveries('state=ignored')).some(({ id }) => id.includes(`:${hostCase.name}/`)),
      ).toBe(true),
    );
    expect(hostCase.agentRequests()).toHaveLength(2);
  });

  test('mentions in an answer get an invisible character, so that no user is notified', async () => {
    const hostCase = hostCases.of(name, 'mentions');
    const { mentions } = hostCase.host;
    hostCase.answer = () => ({ text: `Ask ${mentions.join(' or ')}.` });
    const comment: HostEvent = { kind: 'request comment' };
    await hostCase.deliver(comment);
    await eventually(() => expect(hostCase.comments(comment)).toHaveLength(1));
    const [text = ''] = hostCase.comments(comment);
    for (const mention of mentions) expect(text).not.toContain(mention);
    // The invisible character is a word joiner.
    expect(text.replaceAll('\u2060', '')).toBe(`Ask ${mentions.join(' or ')}.`);
  });

  test('an answer above the size limit is truncated, with a notice at the start', async () => {
    const hostCase = hostCases.of(name, 'long');
    const { lengthAboveLimit = 70_000 } = hostCase.host;
    hostCase.answer = () => ({ text: `begins ${'word '.repeat(lengthAboveLimit / 5)}` });
    const comment: HostEvent = { kind: 'request comment' };
    await hostCase.deliver(comment);
    await eventually(() => expect(hostCase.comments(comment)).toHaveLength(1));
    const [text = ''] = hostCase.comments(comment);
    expect(text).toMatch(/^\*\(cut: the answer has \d+ characters.*\)\*\n\nbegins word/);
    expect(text.length).toBeLessThan(lengthAboveLimit);
    expect(text.length).toBeGreaterThan(lengthAboveLimit / 3);
    await hostCase.expectOutboxRow({ state: 'done', attempts: 1 });
  });
});

/** Expects every event to reach the agent. */
async function expectHandled(hostCase: HostCase, events: Readonly<Record<string, HostEvent>>): Promise<void> {
  await expectEventsIn(hostCase, 'done', events);
}

/** Expects every event to be accepted and ignored. */
async function expectIgnored(hostCase: HostCase, events: Readonly<Record<string, HostEvent>>): Promise<void> {
  const before = hostCase.agentRequests().length;
  await expectEventsIn(hostCase, 'ignored', events);
  expect(hostCase.agentRequests()).toHaveLength(before);
}

async function expectEventsIn(
  hostCase: HostCase,
  state: string,
  hostEvents: Readonly<Record<string, HostEvent>>,
) {
  for (const [what, hostEvent] of Object.entries(hostEvents)) {
    const id = what.replaceAll(/\W/g, '-');
    await hostCase.deliver(hostEvent, id);
    await eventually(async () => expect([what, (await hostCase.record(id)).state]).toEqual([what, state]));
  }
}

test('no secret appears in the log, in a record or in a request to the agent', async () => {
  const texts = await hostCases.allVisibleTexts();
  for (const secret of hostCases.secrets) expect(texts).not.toContain(secret);
});
