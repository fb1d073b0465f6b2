// Commands in comments, with the built gateway and repository hosts on loopback: permissions, failures of the
// permission check, and reviews in answers.

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

/** Starts a gateway with a trigger and a repository host. Only ada has write access, eve has none. */
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

/** Returns the delivery of the event with this id. */
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
    const event = await delivery(gateway, id);
    expect(event).toMatchObject({ state });
    return event;
  });

test.concurrent('a comment command runs with parameters if its author may write; several commands need one permission request', async () => {
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
  const permissionRequests = rest.requestsFor('GET', ASKED);
  expect(permissionRequests.map(({ path }) => path)).toEqual([
    `/repos/${REPOSITORY}/collaborators/ada/permission`,
  ]);
  expect(permissionRequests[0]?.authorization).toBe(`token ${TOKEN}`);
});

test.concurrent('a command with missing parameters is answered with the syntax of the command', async () => {
  const { gateway, agent, posted } = await start();
  await say(gateway, 'd1', '/deploy', 'ada');
  expect(await until(gateway, 'd1', 'ignored')).toMatchObject({
    note: 'missing parameter: nothing was run',
  });
  await eventually(() =>
    expect(posted()).toEqual([
      expect.stringContaining('- env: staging or production\nUsage: /deploy <env …>'),
    ]),
  );
  expect(agent.requests).toHaveLength(0);
});

test.concurrent('a comment command by a person without write permission is ignored with a recorded reason and no answer', async () => {
  const { gateway, rest, agent, posted } = await start();
  for (const [id, login] of [
    ['d1', 'eve'],
    ['d2', 'nobody'],
    ['d3', 'dependabot[bot]'],
  ] as const) {
    await say(gateway, id, '/deploy staging', login);
    const { note } = await until(gateway, id, 'ignored');
    expect(note).toBe(`${login} has no write access to ${REPOSITORY}; /deploy was not run`);
  }
  expect(agent.requests).toHaveLength(0);
  // A text that is no command of the trigger is handled as a comment.
  await say(gateway, 'd4', '/other staging', 'eve');
  await say(gateway, 'd5', 'please /deploy staging', 'eve');
  await say(gateway, 'd6', '> /deploy staging', 'eve');
  for (const id of ['d4', 'd5', 'd6']) await until(gateway, id, 'done');
  expect(agent.requests.map(({ body }) => body.command)).toEqual(Array(3).fill('issue_comment.created'));
  await eventually(() => expect(posted()).toHaveLength(3));
  expect(rest.requestsFor('POST', /./)).toHaveLength(3);
});

test.concurrent('with commands_from: everyone no permission is checked, and no token is needed', async () => {
  const { gateway, rest, agent } = await start({ config: { commands_from: 'everyone', token: undefined } });
  await say(gateway, 'd1', '/deploy staging', 'nobody');
  await until(gateway, 'd1', 'done');
  expect(agent.requests[0]?.body.command).toBe('/deploy');
  expect(rest.requests).toHaveLength(0);
});

test.concurrent('while the permission check fails, the event is retried, not handled', async () => {
  const { gateway, rest, agent } = await start();
  rest.refuse(ASKED, { status: 502 });
  rest.refuse(ASKED, { status: 0, isCut: true });
  rest.refuse(ASKED, { status: 429, headers: { 'retry-after': '1' } });
  await say(gateway, 'd1', '/deploy staging', 'ada');
  const { attempts } = await until(gateway, 'd1', 'done');
  expect(attempts).toBe(3);
  expect(rest.requestsFor('GET', ASKED)).toHaveLength(4);
  expect(agent.requests.map(({ body }) => body.command)).toEqual(['/deploy']);
});

test.concurrent('a token without permission makes the event dead, naming the missing right', async () => {
  const { gateway, rest, agent, posted } = await start();
  for (const status of [401, 403]) {
    rest.refuse(ASKED, { status, message: `no, ${TOKEN}` });
    await say(gateway, `d${status}`, `/deploy staging-${status}`, 'ada');
    const { note } = await until(gateway, `d${status}`, 'dead');
    expect(note).toContain(`answered ${status}`);
    expect(note).toContain(status === 401 ? 'the token is invalid' : `needs write access to ${REPOSITORY}`);
    expect(note).not.toContain(TOKEN);
  }
  rest.hidden.add(REPOSITORY);
  await say(gateway, 'd404', '/deploy staging', 'ada');
  expect((await until(gateway, 'd404', 'dead')).note).toContain('Metadata, read');
  rest.hidden.clear();
  expect(agent.requests).toHaveLength(0);
  expect(posted()).toEqual([]);
  // The owner grants the permission.
  const path = `${gateway.url}/deliveries/${encodeURIComponent('repohost:ops/d403')}/replay`;
  expect((await fetch(path, { method: 'POST' })).ok).toBe(true);
  await until(gateway, 'd403', 'done');
  expect(agent.requests.map(({ body }) => body.command)).toEqual(['/deploy']);
});

test.concurrent('a kill during the permission check loses no command and runs none twice', async () => {
  const { gateway, rest, agent, posted } = await start();
  rest.refuse(ASKED, { status: 0, isSilent: true });
  await say(gateway, 'd1', '/deploy staging', 'ada');
  await eventually(() => expect(rest.requestsFor('GET', ASKED)).toHaveLength(1));
  await gateway.stop('SIGKILL');
  const next = await startAutomation({ folder: gateway.folder });
  await until(next, 'd1', 'done');
  expect(rest.requestsFor('GET', ASKED)).toHaveLength(2);
  expect(agent.requests.map(({ body }) => body.command)).toEqual(['/deploy']);
  await eventually(() => expect(posted()).toHaveLength(1));
});

const verdictAnswer = (id = 'approve') =>
  startAgent(() => ({ text: 'It reads well.', data: { actions: [{ id, title: 'Approve it' }] } }));

const opened = repoExample('pull_request', 'opened');
const onOpened = { 'pull_request.opened': { agent: 'echo' }, pull_request_review: { agent: 'echo' } };
const REQUEST = `${REPOSITORY}#${(opened as { readonly number: number }).number}`;
const REVIEW = /^POST .*\/reviews$/;

const rows = async ({ url }: GatewayProcess) => {
  const list = (await (await fetch(`${url}/deliveries?conversation=outbox/`)).json()) as {
    readonly deliveries: readonly Delivery[];
  };
  return list.deliveries;
};

test.concurrent('an answer approves a pull request if the trigger allows reviews, and the review triggers no answer', async () => {
  const program = await verdictAnswer();
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
  // A person who copies the marker is still answered.
  const copied = reviewPayload(review?.body ?? '', 'eve');
  await postRepoEvent(gateway.url, 'pull_request_review', copied, { id: 'd3' });
  await until(gateway, 'd3', 'done');
  expect(program.requests).toHaveLength(2);
});

test.concurrent('an answer approves no pull request if the trigger does not have `reviews: allow`', async () => {
  const { gateway, rest, posted } = await start({ commands: onOpened, program: await verdictAnswer() });
  await postRepoEvent(gateway.url, 'pull_request', opened, { id: 'd1' });
  await eventually(() => expect(posted(REQUEST)).toEqual([expect.stringContaining('It reads well.')]));
  expect(rest.requestsFor('POST', /reviews/)).toEqual([]);
});

test.concurrent('a posted review whose response was lost is found and not repeated, also by the next process', async () => {
  const setup = {
    config: { reviews: 'allow' },
    commands: onOpened,
    program: await verdictAnswer('request_changes'),
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

test.concurrent('an approval becomes a comment if the pull request belongs to the user of the token', async () => {
  const setup = { config: { reviews: 'allow' }, commands: onOpened, program: await verdictAnswer() };
  const { gateway, rest, posted } = await start(setup);
  rest.ownRequests.add(REQUEST);
  await postRepoEvent(gateway.url, 'pull_request', opened, { id: 'd1' });
  await eventually(async () =>
    expect(await rows(gateway)).toMatchObject([
      { state: 'done', note: expect.stringContaining('refuses a review (approve)') },
    ]),
  );
  expect(posted(REQUEST)).toEqual([
    expect.stringContaining(
      '*(approve: no review, since the host refuses one by this account)*\n\nIt reads well.',
    ),
  ]);
  expect(rest.requestsFor('POST', /reviews/)).toHaveLength(1);
});
