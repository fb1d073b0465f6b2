// What every repository host keeps, whatever its platform is: what comes in, who is asked about it, and what stands there as a comment.
// Each case runs for each host, at a desk of its own (test/fixtures/repositories/repo-desks.ts). What holds when something goes wrong
// is in every-repo-host-kept.test.ts, what only one platform has in the tests of that platform. A new host is a line in
// test/fixtures/repositories/local-repo-hosts.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import type { Happening, Kind } from '../../fixtures/repositories/local-repo-host.ts';
import { localRepoHosts } from '../../fixtures/repositories/local-repo-hosts.ts';
import { type MoreSpec, RepoDesks } from '../../fixtures/repositories/repo-desks.ts';

const echo = { agent: 'echo' };
const plain = (): MoreSpec => ({});
const desks = new RepoDesks({
  requests: plain,
  'requests-comments': plain,
  'issues-comments': plain,
  pushes: plain,
  commands: (host) => {
    const { event, command } = host.words('request opened');
    return { default_agent: undefined, commands: { [event]: echo, [command]: echo } };
  },
});

beforeAll(() => desks.start());
afterAll(() => desks.stop());

describe.concurrent.each(Object.keys(localRepoHosts))('%s', (name) => {
  test('what is opened is answered by one comment of ours in its place, and the agent knows what it is about', async () => {
    const desk = desks.of(name, 'requests');
    const { host } = desk;
    const opened: Happening = { kind: 'request opened', number: 7, title: 'Faster', text: 'It was slow.' };
    await desk.take(opened);
    await desk.sees(opened, 'heard: Faster\n\nIt was slow.');
    expect(host.comments(host.place(opened))[0]?.author).toBe(host.api.login);
    expect(host.posts()).toHaveLength(1);
    const { event, action, command } = host.words('request opened');
    const [asked] = desk.asked();
    expect(asked?.body).toMatchObject({
      conversation: `${host.type.toLowerCase()}/${host.place(opened)}`,
      input: 'Faster\n\nIt was slow.',
      event: {
        type: host.type,
        name: command,
        payload: expect.any(Object),
        context: {
          'repo.event': event,
          'repo.action': action,
          'repo.repo': 'acme/shop',
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

  test.each<Kind>(['request comment', 'issue comment'])('a %s is answered where it stands', async (kind) => {
    const desk = desks.of(name, kind === 'issue comment' ? 'issues-comments' : 'requests-comments');
    const comment: Happening = { kind, number: 8, repository: 'acme/Some.Shop_2', text: 'Why?' };
    await desk.take(comment, 'asked');
    await eventually(async () => expect(await desk.record('asked')).toMatchObject({ state: 'done' }));
    expect(desk.asked()).toMatchObject([{ body: { input: 'Why?' } }]);
    const isAnswered = kind === 'request comment' || desk.host.answersIssues !== false;
    if (isAnswered) await desk.sees(comment, 'heard: Why?');
    expect(await desk.rows()).toHaveLength(isAnswered ? 1 : 0);
    const request = desk.host.words('request comment');
    const context = desk.asked()[0]?.body.event.context ?? {};
    expect(context['repo.repo']).toBe('acme/Some.Shop_2');
    if (kind === 'request comment')
      expect(context).toMatchObject({ 'repo.event': request.event, 'repo.pr.number': 8 });
    else expect(Object.keys(context)).not.toContain('repo.pr.number');
  });

  test('a push has no place to answer: its agent is asked, and nothing is written', async () => {
    const desk = desks.of(name, 'pushes');
    await desk.take({ kind: 'push', branch: 'release/7' }, 'pushed');
    await desk.take({ kind: 'tag', branch: 'v7' }, 'tagged');
    for (const id of ['pushed', 'tagged'])
      await eventually(async () => expect(await desk.record(id)).toMatchObject({ state: 'done' }));
    const contexts = desk.asked().map(({ body }) => body.event.context);
    expect(contexts.find((each) => each['repo.ref'] === 'refs/heads/release/7')).toMatchObject({
      'repo.branch': 'release/7',
      'repo.sender': 'ann',
      'repo.sha': expect.any(String),
    });
    const tagged = contexts.find((each) => each['repo.ref'] === 'refs/tags/v7');
    expect(Object.keys(tagged ?? {})).not.toContain('repo.branch');
    expect(desk.host.posts()).toEqual([]);
  });

  test('the binding of an event with its action is found before that of the event; what has none reaches nobody', async () => {
    const desk = desks.of(name, 'commands');
    const { event, command } = desk.host.words('request opened');
    await desk.take({ kind: 'request opened' });
    await desk.take({ kind: 'request closed' });
    await desk.take({ kind: 'issue opened' }, 'none');
    await eventually(async () => expect(await desk.record('none')).toMatchObject({ state: 'ignored' }));
    await eventually(() => expect(desk.asked().map(({ body }) => body.command)).toEqual([command, event]));
    expect(desk.asked()[1]?.body.event.name).toBe(desk.host.words('request closed').command);
  });
});
