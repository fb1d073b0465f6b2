// What every repository host keeps, whatever its platform is: what comes in, who is asked about it, and what stands there as a comment.
// Each case runs for each host, at a desk of its own (test/fixtures/repositories/repo-desks.ts). What holds when something goes wrong
// is in every-repo-host-kept.test.ts, what only one platform has in the tests of that platform. A new host is a line in
// test/fixtures/repositories/local-repo-hosts.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../fixtures/automation/automation.ts';
import type { Access, Happening, Kind } from '../../fixtures/repositories/local-repo-host.ts';
import { localRepoHosts } from '../../fixtures/repositories/local-repo-hosts.ts';
import { type Desk, type MoreSpec, RepoDesks } from '../../fixtures/repositories/repo-desks.ts';

const hosts = Object.keys(localRepoHosts);
const echo = { agent: 'echo' };
const deploy = { ...echo, parameters: [{ name: 'env', required: true }] };
const plain = (): MoreSpec => ({});
/** The path of another case of the same host. */
const pathOf = ({ path }: Access, own: string, other: string) => path.replace(own, other);
const desks = new RepoDesks({
  requests: plain,
  'requests-comments': plain,
  'issues-comments': plain,
  pushes: plain,
  commands: (host) => {
    const { event, command } = host.words('request opened');
    return { default_agent: undefined, commands: { [event]: echo, [command]: echo } };
  },
  spoken: () => ({ default_agent: undefined, commands: { '/deploy': deploy } }),
  'spoken-by-everyone': () => ({
    config: { commands_from: 'everyone' },
    default_agent: undefined,
    commands: { '/deploy': deploy },
  }),
  conversations: plain,
  repositories: () => ({ config: { repositories: ['acme/*-API', 'Other/exact'] } }),
  branches: () => ({ config: { branches: ['main', 'release/*'] } }),
  events: (host) => ({
    config: { repo_events: [host.words('request opened').command, host.words('push').event] },
  }),
  senders: () => ({ config: { ignore_senders: ['Build-Bot'] } }),
  forged: plain,
  twice: plain,
  'one-team': plain,
  'other-team': (_, access) => ({ config: { path: pathOf(access, 'other-team', 'one-team') } }),
  own: plain,
  'own-unknown': plain,
  mentions: plain,
  long: plain,
});

beforeAll(() => {
  for (const name of hosts) desks.of(name, 'own-unknown').host.hidesUser();
  return desks.start();
});
afterAll(() => desks.stop());

describe.concurrent.each(hosts)('%s', (name) => {
  test('what is opened is answered by one comment of ours in its place, and the agent knows what it is about', async () => {
    const desk = desks.of(name, 'requests');
    const { host } = desk;
    const opened: Happening = { kind: 'request opened', number: 7, title: 'Faster', text: 'It was slow.' };
    await desk.take(opened);
    await desk.sees(opened, 'heard: Faster\n\nIt was slow.');
    expect(host.comments(desk.place(opened))[0]?.author).toBe(host.api.login);
    expect(host.posts()).toHaveLength(1);
    const { event, action, command } = host.words('request opened');
    const [asked] = desk.asked();
    expect(asked?.body).toMatchObject({
      conversation: `${host.type.toLowerCase()}/${desk.place(opened)}`,
      input: 'Faster\n\nIt was slow.',
      event: {
        type: host.type,
        name: command,
        payload: expect.any(Object),
        context: {
          'repo.event': event,
          'repo.action': action,
          'repo.repo': `acme/${desk.name}`,
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

  test('who may write to the repository commands in a comment, and nobody else; what is changed later commands nothing', async () => {
    const desk = desks.of(name, 'spoken');
    desk.host.api.writers.add('ann');
    await desk.take({ kind: 'request comment', text: '/deploy staging' });
    await eventually(() => expect(desk.asked()).toHaveLength(1));
    expect(desk.asked()[0]?.body).toMatchObject({ command: '/deploy', parameters: { env: 'staging' } });
    const more: Happening = { kind: 'request comment', text: '/deploy production' };
    await isIgnored(desk, {
      'a stranger': { ...more, sender: 'bob' },
      changed: { ...more, kind: 'request comment changed' },
      quoted: { ...more, text: '> /deploy production' },
    });
    expect((await desk.record('a-stranger')).note).toContain('bob may not write');
  });

  test('commands of everyone are taken where the file says so', async () => {
    const desk = desks.of(name, 'spoken-by-everyone');
    await isTaken(desk, { bob: { kind: 'request comment', text: '/deploy staging', sender: 'bob' } });
    expect(desk.asked()).toMatchObject([{ body: { command: '/deploy', parameters: { env: 'staging' } } }]);
  });

  test('a request or an issue is one conversation with all that is said of it, and others are others', async () => {
    const desk = desks.of(name, 'conversations');
    const { host } = desk;
    const opened: Happening = { kind: 'request opened', text: 'first' };
    await desk.take(opened);
    await eventually(() => expect(desk.asked()).toHaveLength(1));
    await desk.take({ kind: 'request comment', text: 'second', sender: 'bob' });
    await eventually(() => expect(desk.asked()).toHaveLength(2));
    await desk.take({ kind: 'request comment', number: 6 });
    await desk.take({ kind: 'request comment', repository: `other/${desk.name}` });
    if (host.isNumberedApart) await desk.take({ kind: 'issue comment' });
    await eventually(() => expect(desk.asked()).toHaveLength(host.isNumberedApart ? 5 : 4));
    const [first, second, ...others] = desk.asked().map(({ body }) => body);
    expect(second?.conversation).toBe(first?.conversation);
    expect(second?.history.map(({ role }) => role)).toEqual(['user', 'assistant']);
    expect(new Set([first, ...others].map((each) => each?.conversation)).size).toBe(1 + others.length);
    expect(others.map(({ history }) => history)).toEqual(others.map(() => []));
  });

  test('repositories are known by wildcards, without regard to case', async () => {
    const desk = desks.of(name, 'repositories');
    const of = (repository: string): Happening => ({ kind: 'push', repository });
    await isTaken(desk, {
      'acme/shop-api': of('acme/shop-api'),
      'ACME/Shop-API': of('ACME/Shop-API'),
      'other/EXACT': of('other/EXACT'),
    });
    await isIgnored(desk, {
      'acme/shop': of('acme/shop'),
      'acme2/shop-api': of('acme2/shop-api'),
      'other/exactly': of('other/exactly'),
    });
  });

  test('branches are those that are pushed and those that a request is to go to; a tag is none, and issues need none', async () => {
    const desk = desks.of(name, 'branches');
    await isTaken(desk, {
      'to main': { kind: 'request opened', branch: 'main' },
      'pushed a release': { kind: 'push', branch: 'release/7' },
      'an issue': { kind: 'issue opened' },
    });
    await isIgnored(desk, {
      'to another': { kind: 'request opened', branch: 'a-change' },
      'in another case': { kind: 'push', branch: 'Main' },
      'a branch within': { kind: 'push', branch: 'release/7/8' },
      'a tag': { kind: 'tag', branch: 'main' },
    });
  });

  test('events are known by their names, with an action or for all of them', async () => {
    const desk = desks.of(name, 'events');
    await isTaken(desk, { opened: { kind: 'request opened' }, pushed: { kind: 'push' } });
    await isIgnored(desk, { closed: { kind: 'request closed' }, issue: { kind: 'issue opened' } });
  });

  test('who is to be ignored is, in whatever case the name is written', async () => {
    const desk = desks.of(name, 'senders');
    await isIgnored(desk, { bot: { kind: 'push', sender: 'build-bot' } });
    await isTaken(desk, { 'no bot': { kind: 'push', sender: 'build-bot-2' } });
  });

  test('what proves nothing is refused with 401, what is proven and malformed with 400, what nobody knows is taken and reaches nobody', async () => {
    const desk = desks.of(name, 'forged');
    const { host, access } = desk;
    const statuses = async (sent: ReturnType<typeof host.malformed>) => {
      expect(sent.length).toBeGreaterThan(1);
      return Promise.all(sent.map(async (each) => [each.what, await desk.post(each)]));
    };
    const all = (sent: ReturnType<typeof host.malformed>, status: number) =>
      sent.map(({ what }) => [what, status]);
    const forged = host.forgeries({ kind: 'request comment', text: 'forged' }, access.secret);
    expect(await statuses(forged)).toEqual(all(forged, 401));
    const malformed = host.malformed(access.secret);
    expect(await statuses(malformed)).toEqual(all(malformed, 400));
    const unheard = host.unheard(access.secret);
    expect(await statuses(unheard)).toEqual(all(unheard, 200));
    await desk.take({ kind: 'request comment', text: 'real' });
    await eventually(() => expect(desk.asked().map(({ body }) => body.input)).toEqual(['real']));
  });

  test('a delivery that comes again is one event', async () => {
    const desk = desks.of(name, 'twice');
    const comment: Happening = { kind: 'request comment', text: 'once' };
    const sent = desk.delivery(comment, 'again');
    expect(await Promise.all([desk.post(sent), desk.post(sent)])).toEqual(expect.arrayContaining([202, 200]));
    await desk.sees(comment, 'heard: once');
    expect(await desk.post(sent)).toBe(200);
    await isTaken(desk, { other: { kind: 'push' } });
    expect(desk.asked()).toHaveLength(2);
    expect(desk.comments(comment)).toHaveLength(1);
  });

  test('of triggers on one path each has the events that its own secret proves', async () => {
    const [one, other] = [desks.of(name, 'one-team'), desks.of(name, 'other-team')];
    expect(other.hook).toBe(one.hook);
    await isTaken(one, { ours: { kind: 'push', branch: 'ours' } });
    await isTaken(other, { theirs: { kind: 'push', branch: 'theirs' } });
    for (const desk of [one, other]) expect(desk.asked()).toHaveLength(1);
    expect(one.asked()[0]?.body.event.context['repo.branch']).toBe('ours');
  });

  test('what the user of the token writes is not answered', async () => {
    const desk = desks.of(name, 'own');
    const comment: Happening = { kind: 'request comment', text: 'say it' };
    await desk.take(comment);
    await desk.sees(comment, 'heard: say it');
    expect(await desk.post(desk.echo(comment))).toBe(200);
    expect(await desk.send({ kind: 'request opened', sender: desk.host.api.login })).toBe(200);
    await isTaken(desk, { after: { kind: 'push' } });
    expect(desk.asked()).toHaveLength(2);
  });

  test('an answer of ours is known by its mark where nobody can say who wrote it', async () => {
    const desk = desks.of(name, 'own-unknown');
    const comment: Happening = { kind: 'request comment', text: 'say it' };
    await desk.take(comment);
    await desk.sees(comment, 'heard: say it');
    expect(await desk.post(desk.echo({ ...comment, sender: 'carl' }))).toBe(202);
    await isTaken(desk, { after: { kind: 'push' } });
    await eventually(async () =>
      expect((await desks.deliveries('state=ignored')).some(({ id }) => id.includes(`:${desk.name}/`))).toBe(
        true,
      ),
    );
    expect(desk.asked()).toHaveLength(2);
  });

  test('an answer notifies nobody by a name in it', async () => {
    const desk = desks.of(name, 'mentions');
    const { mentions } = desk.host;
    desk.answer = () => ({ text: `Ask ${mentions.join(' or ')}.` });
    const comment: Happening = { kind: 'request comment' };
    await desk.take(comment);
    await eventually(() => expect(desk.comments(comment)).toHaveLength(1));
    const [text = ''] = desk.comments(comment);
    for (const mention of mentions) expect(text).not.toContain(mention);
    expect(text.replaceAll('\u2060', '')).toBe(`Ask ${mentions.join(' or ')}.`);
  });

  test('an answer that no comment can hold is cut, and says so at its beginning', async () => {
    const desk = desks.of(name, 'long');
    const { longText = 70_000 } = desk.host;
    desk.answer = () => ({ text: `begins ${'word '.repeat(longText / 5)}` });
    const comment: Happening = { kind: 'request comment' };
    await desk.take(comment);
    await eventually(() => expect(desk.comments(comment)).toHaveLength(1));
    const [text = ''] = desk.comments(comment);
    expect(text).toMatch(/^\*\(cut: the answer has \d+ characters.*\)\*\n\nbegins word/);
    expect(text.length).toBeLessThan(longText);
    expect(text.length).toBeGreaterThan(longText / 3);
    await desk.ends({ state: 'done', attempts: 1 });
  });
});

/** Each is brought to the agent. */
async function isTaken(desk: Desk, happenings: Readonly<Record<string, Happening>>): Promise<void> {
  await endsAs(desk, 'done', happenings);
}

/** Each is accepted, and brought to nobody. */
async function isIgnored(desk: Desk, happenings: Readonly<Record<string, Happening>>): Promise<void> {
  const before = desk.asked().length;
  await endsAs(desk, 'ignored', happenings);
  expect(desk.asked()).toHaveLength(before);
}

async function endsAs(desk: Desk, state: string, happenings: Readonly<Record<string, Happening>>) {
  for (const [what, happening] of Object.entries(happenings)) {
    const id = what.replaceAll(/\W/g, '-');
    await desk.take(happening, id);
    await eventually(async () => expect([what, (await desk.record(id)).state]).toEqual([what, state]));
  }
}

test('no secret was in the log, in a record or in a request to the agent', async () => {
  const shown = await desks.shown();
  for (const secret of desks.secrets) expect(shown).not.toContain(secret);
});
