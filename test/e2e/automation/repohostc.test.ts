// Repository hosts of type RepoHostC, with the whole program: event names in both notations, verdicts without
// text, commands of users known by id, and invalid tokens. Common features: every-repo-host.test.ts.

import { afterAll, expect, test } from 'vitest';
import {
  type AgentRequest,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { type HostEvent, post } from '../../fixtures/repositories/local-repo-host.ts';
import { LocalRepoHostC } from '../../fixtures/repositories/local-repohostc.ts';

const hosts: LocalRepoHostC[] = [];
afterAll(() => Promise.all(hosts.map((host) => host.stop())));

const echo = { agent: 'echo' };

async function start(
  {
    config,
    ...spec
  }: { readonly config?: object; readonly commands?: object; readonly default_agent?: string },
  answer?: (request: AgentRequest) => object,
) {
  const host = await new LocalRepoHostC().start();
  hosts.push(host);
  const access = host.access('reviews');
  const agent = await startAgent(answer);
  const gateway = await startAutomation({
    resources: [
      trigger('reviews', {
        type: 'Bitbucket',
        config: { ...host.config(access), ...config },
        retry: { attempts: 3, min_backoff_seconds: 0.05, max_backoff_seconds: 0.1 },
        ...spec,
      }),
      httpAgent('echo', agent.url),
    ],
  });
  const send = (hostEvent: HostEvent, id?: string) =>
    post(`${gateway.url}${access.path}`, host.delivery(hostEvent, access.secret, id));
  const record = async (id: string) => {
    const response = await fetch(`${gateway.url}/deliveries/${encodeURIComponent(id)}`);
    return (await response.json()) as { readonly state: string; readonly note?: string };
  };
  const comments = () => host.comments('acme/shop!5').map(({ text }) => text);
  return { host, agent, send, record, comments };
}

test.concurrent('a trigger command matches an event name in either notation, and the agent receives the name of the host', async () => {
  const { agent, send } = await start({
    config: { bitbucket_events: ['pullrequest.created', 'pullrequest:rejected'] },
    commands: { 'pullrequest.created': echo, pullrequest: echo },
  });
  for (const kind of ['request opened', 'request closed', 'request comment'] as const)
    expect(await send({ kind })).toBe(202);
  await eventually(() => expect(agent.requests).toHaveLength(2));
  expect(agent.requests.map(({ body }) => [body.command, body.event.name])).toEqual([
    ['pullrequest.created', 'pullrequest:created'],
    ['pullrequest', 'pullrequest:rejected'],
  ]);
});

test.concurrent('an answer that approves becomes a comment and a review, and neither triggers an answer', async () => {
  const { host, agent, send, record, comments } = await start(
    { config: { reviews: 'allow' }, default_agent: 'echo' },
    () => ({ text: 'Reads well.', data: { actions: [{ id: 'approve' }] } }),
  );
  host.hideUser();
  expect(await send({ kind: 'request opened' }, 'r-1')).toBe(202);
  await eventually(async () => {
    expect(host.api.states.get('acme/shop!5')).toEqual(new Map([['the-bot', 'approved']]));
  });
  expect(comments()).toEqual(['Reads well.']);
  for (const part of [1, 2])
    await eventually(async () =>
      expect(await record(`outbox:repohostc:reviews/r-1/${part}`)).toMatchObject({ state: 'done' }),
    );
  const writing = host.api.requests.filter(({ method }) => method === 'POST').map(({ path }) => path);
  expect(writing).toEqual([
    '/2.0/repositories/acme/shop/pullrequests/5/comments',
    '/2.0/repositories/acme/shop/pullrequests/5/approve',
  ]);
  expect(await send({ kind: 'request closed', sender: host.api.login })).toBe(200);
  expect(agent.requests).toHaveLength(1);
});

test.concurrent('a command is accepted from a listed user id, not from another user with that name; a token without access is reported', async () => {
  const { host, agent, send, record } = await start({ commands: { '/deploy': echo } });
  host.api.writers.add('ada');
  const say = (sender: string, id: string) =>
    send({ kind: 'request comment', text: '/deploy now', sender }, id);
  for (const [sender, id] of [
    ['ada', 'd-1'],
    ['eve', 'd-2'],
  ] as const)
    expect(await say(sender, id)).toBe(202);
  await eventually(async () =>
    expect(await record('repohostc:reviews/d-1')).toMatchObject({ state: 'done' }),
  );
  await eventually(async () =>
    expect(await record('repohostc:reviews/d-2')).toMatchObject({
      state: 'ignored',
      note: expect.stringContaining('eve has no write access to acme/shop; /deploy was not run'),
    }),
  );
  expect(agent.requests.map(({ body }) => [body.command, body.input])).toEqual([['/deploy', '/deploy now']]);
  host.api.mayAdministrate = false;
  expect(await say('carl', 'd-3')).toBe(202);
  await eventually(async () =>
    expect(await record('repohostc:reviews/d-3')).toMatchObject({
      state: 'dead',
      note: expect.stringContaining('the token needs admin permission for acme/shop'),
    }),
  );
});
