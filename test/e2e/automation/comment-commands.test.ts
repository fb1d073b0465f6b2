// What people command in comments, with the built gateway and a repository host on loopback: from whom it is taken, what becomes
// of it while the host cannot say, and what an answer may judge.

import { afterAll, expect, test } from 'vitest';
import {
  type AgentProgram,
  eventually,
  httpAgent,
  postRepoEvent,
  SECRET,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import {
  COMMENTED,
  commentPayload,
  REPOSITORY,
  reviewPayload,
} from '../../fixtures/automation/repo-comments.ts';
import { repoExample } from '../../fixtures/automation/repo-payloads.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { RepoRestHost } from '../../fixtures/repositories/repo-rest-host.ts';

const TOKEN = 'ghp_of_the_tests';
const ASKED = /\/collaborators\//;

const hosts: RepoRestHost[] = [];
afterAll(() => Promise.all(hosts.map((host) => host.stop())));

const deploy = {
  agent: 'echo',
  parameters: [{ name: 'env', required: true, description: 'staging or production' }],
};

interface Setup {
  readonly config?: object;
  readonly commands?: object;
  readonly program?: AgentProgram;
}

/** A gateway with one trigger, and the host that it asks: ada may write there, eve may not. */
async function start({ config, commands = { '/deploy': deploy }, program }: Setup = {}) {
  const rest = await new RepoRestHost().start();
  hosts.push(rest);
  rest.permissions.set('ada', 'maintain');
  rest.permissions.set('eve', 'triage');
  const agent = program ?? (await startAgent());
  const retry = { attempts: 5, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1 };
  const gateway = await startAutomation({
    resources: [
      trigger('ops', {
        type: 'RepoHost',
        config: { webhook_secret: SECRET, token: TOKEN, api_url: rest.url, ...config },
        retry,
        commands: { 'issue_comment.created': { agent: 'echo' }, ...commands },
      }),
      httpAgent('echo', agent.url),
    ],
  });
  const posted = (place = COMMENTED) => (rest.comments.get(place) ?? []).map(({ body }) => body);
  return { gateway, rest, agent, posted };
}

interface Delivery {
  readonly id: string;
  readonly state: string;
  readonly note?: string;
  readonly attempts: number;
}

/** Of the event of that id. */
async function delivery({ url }: GatewayProcess, id: string): Promise<Delivery> {
  return (
    await fetch(`${url}/deliveries/${encodeURIComponent(`repohost:ops/${id}`)}`)
  ).json() as Promise<Delivery>;
}

const say = async ({ url }: GatewayProcess, id: string, text: string, login: string) => {
  expect((await postRepoEvent(url, 'issue_comment', commentPayload(text, login), { id })).status).toBe(202);
};

const until = (gateway: GatewayProcess, id: string, state: string) =>
  eventually(async () => {
    const found = await delivery(gateway, id);
    expect(found).toMatchObject({ state });
    return found;
  });

test.concurrent('a command of who may write runs, with its parameters, and the host is asked once for many', async () => {
  const { gateway, rest, agent, posted } = await start();
  await say(gateway, 'd1', '/deploy staging', 'ada');
  await say(gateway, 'd2', '/deploy production', 'ada');
  await until(gateway, 'd1', 'done');
  await until(gateway, 'd2', 'done');
  expect(agent.requests.map(({ body }) => [body.command, { ...body.parameters }, body.input])).toEqual([
    ['/deploy', { env: 'staging' }, '/deploy staging'],
    ['/deploy', { env: 'production' }, '/deploy production'],
  ]);
  await eventually(() => expect(posted()).toHaveLength(2));
  const asked = rest.askedFor('GET', ASKED);
  expect(asked.map(({ path }) => path)).toEqual([`/repos/${REPOSITORY}/collaborators/ada/permission`]);
  expect(asked[0]?.authorization).toBe(`token ${TOKEN}`);
});

test.concurrent('a command without what it needs is answered with how it is written', async () => {
  const { gateway, agent, posted } = await start();
  await say(gateway, 'd1', '/deploy', 'ada');
  expect(await until(gateway, 'd1', 'ignored')).toMatchObject({
    note: 'a parameter is missing, so nothing was run',
  });
  await eventually(() =>
    expect(posted()).toEqual([
      expect.stringContaining('- env: staging or production\nUsage: /deploy <env …>'),
    ]),
  );
  expect(agent.requests).toHaveLength(0);
});

test.concurrent('a command of anybody else is ignored with the reason, and nothing is said to them', async () => {
  const { gateway, rest, agent, posted } = await start();
  for (const [id, login] of [
    ['d1', 'eve'],
    ['d2', 'nobody'],
    ['d3', 'dependabot[bot]'],
  ] as const) {
    await say(gateway, id, '/deploy staging', login);
    const { note } = await until(gateway, id, 'ignored');
    expect(note).toBe(`${login} may not write to ${REPOSITORY}, so /deploy is not carried out`);
  }
  expect(agent.requests).toHaveLength(0);
  // What is no command of the trigger is what a comment is to it.
  await say(gateway, 'd4', '/other staging', 'eve');
  await say(gateway, 'd5', 'please /deploy staging', 'eve');
  await say(gateway, 'd6', '> /deploy staging', 'eve');
  for (const id of ['d4', 'd5', 'd6']) await until(gateway, id, 'done');
  expect(agent.requests.map(({ body }) => body.command)).toEqual(Array(3).fill('issue_comment.created'));
  await eventually(() => expect(posted()).toHaveLength(3));
  expect(rest.askedFor('POST', /./)).toHaveLength(3);
});

test.concurrent('with commands_from: everyone nobody is asked for, and no token is needed', async () => {
  const { gateway, rest, agent } = await start({ config: { commands_from: 'everyone', token: undefined } });
  await say(gateway, 'd1', '/deploy staging', 'nobody');
  await until(gateway, 'd1', 'done');
  expect(agent.requests[0]?.body.command).toBe('/deploy');
  expect(rest.asked).toHaveLength(0);
});

test.concurrent('while the host fails to say who may, the event is tried again, and taken by nobody', async () => {
  const { gateway, rest, agent } = await start();
  rest.refuse(ASKED, { status: 502 });
  rest.refuse(ASKED, { status: 0, isCut: true });
  rest.refuse(ASKED, { status: 429, headers: { 'retry-after': '1' } });
  await say(gateway, 'd1', '/deploy staging', 'ada');
  const { attempts } = await until(gateway, 'd1', 'done');
  expect(attempts).toBe(3);
  expect(rest.askedFor('GET', ASKED)).toHaveLength(4);
  expect(agent.requests.map(({ body }) => body.command)).toEqual(['/deploy']);
});

test.concurrent('a token that may not ask makes the event dead, with the right that it lacks', async () => {
  const { gateway, rest, agent, posted } = await start();
  for (const status of [401, 403]) {
    rest.refuse(ASKED, { status, message: `no, ${TOKEN}` });
    await say(gateway, `d${status}`, `/deploy staging-${status}`, 'ada');
    const { note } = await until(gateway, `d${status}`, 'dead');
    expect(note).toContain(`answered ${status}`);
    expect(note).toContain(status === 401 ? 'the token is not valid' : `needs write access to ${REPOSITORY}`);
    expect(note).not.toContain(TOKEN);
  }
  rest.hidden.add(REPOSITORY);
  await say(gateway, 'd404', '/deploy staging', 'ada');
  expect((await until(gateway, 'd404', 'dead')).note).toContain('Metadata (read)');
  rest.hidden.clear();
  expect(agent.requests).toHaveLength(0);
  expect(posted()).toEqual([]);
  // The token was given the right.
  const path = `${gateway.url}/deliveries/${encodeURIComponent('repohost:ops/d403')}/replay`;
  expect((await fetch(path, { method: 'POST' })).ok).toBe(true);
  await until(gateway, 'd403', 'done');
  expect(agent.requests.map(({ body }) => body.command)).toEqual(['/deploy']);
});

test.concurrent('a kill while the host is being asked loses no command, and runs none twice', async () => {
  const { gateway, rest, agent, posted } = await start();
  rest.refuse(ASKED, { status: 0, isSilent: true });
  await say(gateway, 'd1', '/deploy staging', 'ada');
  await eventually(() => expect(rest.askedFor('GET', ASKED)).toHaveLength(1));
  await gateway.stop('SIGKILL');
  const next = await startAutomation({ folder: gateway.folder });
  await until(next, 'd1', 'done');
  expect(rest.askedFor('GET', ASKED)).toHaveLength(2);
  expect(agent.requests.map(({ body }) => body.command)).toEqual(['/deploy']);
  await eventually(() => expect(posted()).toHaveLength(1));
});

const judging = (id = 'approve') =>
  startAgent(() => ({ text: 'It reads well.', data: { actions: [{ id, title: 'Approve it' }] } }));

const opened = repoExample('pull_request', 'opened');
const onOpened = { 'pull_request.opened': { agent: 'echo' }, pull_request_review: { agent: 'echo' } };
const REQUEST = `${REPOSITORY}#${(opened as { readonly number: number }).number}`;
const REVIEW = /^POST .*\/reviews$/;

const rows = async ({ url }: GatewayProcess) => {
  const found = (await (await fetch(`${url}/deliveries?conversation=outbox/`)).json()) as {
    readonly deliveries: readonly Delivery[];
  };
  return found.deliveries;
};

test.concurrent('an answer approves a request where the file lets it, and its review is not answered', async () => {
  const program = await judging();
  const { gateway, rest, posted } = await start({
    config: { reviews: 'allow' },
    commands: onOpened,
    program,
  });
  await postRepoEvent(gateway.url, 'pull_request', opened, { id: 'd1' });
  await eventually(() => expect(rest.reviews.get(REQUEST)).toHaveLength(1));
  const [review] = rest.reviews.get(REQUEST) ?? [];
  expect(review).toMatchObject({
    state: 'APPROVED',
    body: expect.stringMatching(/^<!-- .* -->\n\nIt reads well\.$/),
  });
  await eventually(async () => expect(await rows(gateway)).toMatchObject([{ state: 'done' }]));
  expect(posted(REQUEST)).toEqual([]);
  const own = reviewPayload(review?.body ?? '', rest.login);
  const answer = await postRepoEvent(gateway.url, 'pull_request_review', own, { id: 'd2' });
  expect(await answer.json()).toMatchObject({ status: 'ignored' });
  // Who copies the mark is heard all the same.
  const copied = reviewPayload(review?.body ?? '', 'eve');
  await postRepoEvent(gateway.url, 'pull_request_review', copied, { id: 'd3' });
  await until(gateway, 'd3', 'done');
  expect(program.requests).toHaveLength(2);
});

test.concurrent('without reviews: allow an answer approves nothing', async () => {
  const { gateway, rest, posted } = await start({ commands: onOpened, program: await judging() });
  await postRepoEvent(gateway.url, 'pull_request', opened, { id: 'd1' });
  await eventually(() => expect(posted(REQUEST)).toEqual([expect.stringContaining('It reads well.')]));
  expect(rest.askedFor('POST', /reviews/)).toEqual([]);
});

test.concurrent('a review whose answer was lost is found again, also by the next process', async () => {
  const setup = {
    config: { reviews: 'allow' },
    commands: onOpened,
    program: await judging('request_changes'),
  };
  const { gateway, rest } = await start(setup);
  rest.refuse(REVIEW, { status: 0, isCut: true, isSilent: true });
  await postRepoEvent(gateway.url, 'pull_request', opened, { id: 'd1' });
  await eventually(() => expect(rest.reviews.get(REQUEST)).toHaveLength(1));
  await gateway.stop('SIGKILL');
  const next = await startAutomation({ folder: gateway.folder });
  await eventually(async () => expect(await rows(next)).toMatchObject([{ state: 'done' }]), 60_000);
  expect(rest.reviews.get(REQUEST)).toMatchObject([{ state: 'CHANGES_REQUESTED' }]);
});

test.concurrent('what is said of the own request of the token is a comment that says so', async () => {
  const setup = { config: { reviews: 'allow' }, commands: onOpened, program: await judging() };
  const { gateway, rest, posted } = await start(setup);
  rest.ownRequests.add(REQUEST);
  await postRepoEvent(gateway.url, 'pull_request', opened, { id: 'd1' });
  await eventually(async () =>
    expect(await rows(gateway)).toMatchObject([
      { state: 'done', note: expect.stringContaining('takes no review (approve)') },
    ]),
  );
  expect(posted(REQUEST)).toEqual([
    expect.stringContaining('*(approve: no review, since the host takes none from here)*\n\nIt reads well.'),
  ]);
  expect(rest.askedFor('POST', /reviews/)).toHaveLength(1);
});
