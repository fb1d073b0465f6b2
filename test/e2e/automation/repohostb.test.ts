// Repository hosts of type RepoHostB, with the whole program: quick actions that run with the rights of the
// token, webhooks disabled by the host, and internal notes. Common features: every-repo-host.test.ts.

import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import type { HostEvent } from '../../fixtures/repositories/local-repo-host.ts';
import { post } from '../../fixtures/repositories/local-repo-host.ts';
import { LocalRepoHostB } from '../../fixtures/repositories/local-repohostb.ts';
import { issueEvent } from '../../fixtures/repositories/repohostb-payloads.ts';

const host = new LocalRepoHostB('signature');
const access = host.access('projects');
const PROJECT = 'acme/team/shop';
let answer = 'heard';
let gateway: Awaited<ReturnType<typeof startAutomation>>;

beforeAll(async () => {
  await host.start();
  host.api.addHook(PROJECT, 3, `https://gateway.example${access.path}`, 'disabled');
  host.api.events.set(3, [
    {
      id: 9,
      url: `https://gateway.example${access.path}`,
      trigger: 'issue_hooks',
      request_headers: { 'Idempotency-Key': 'never-arrived' },
      request_data: issueEvent(),
      response_status: '503',
    },
  ]);
  const program = await startAgent(() => ({ text: answer }));
  const config = { ...host.config(access), repositories: [PROJECT] };
  const spec = { type: host.type, config, default_agent: 'echo' };
  gateway = await startAutomation({ resources: [trigger('projects', spec), httpAgent('echo', program.url)] });
});
afterAll(() => host.stop());

async function acceptEvent(hostEvent: HostEvent): Promise<void> {
  const request = host.delivery({ repository: PROJECT, ...hostEvent }, access.secret);
  expect(await post(gateway.url + access.path, request)).toBe(202);
}

const notes = (place: string) => host.comments(place).map(({ text }) => text);

test('slash commands (quick actions) in an agent answer are escaped so that the host does not run them', async () => {
  answer = 'You wrote:\n/merge\r/close\n\n```sh\n/usr/bin/env\n```\n<details>\n\n```\n/approve\n```';
  await acceptEvent({ kind: 'request comment', number: 1, text: 'say it' });
  await eventually(() =>
    expect(notes(`${PROJECT}!1`)).toEqual([
      'You wrote:\n\\/merge\n\\/close\n\n```sh\n/usr/bin/env\n```\n<details>\n\n```\n\\/approve\n```',
    ]),
  );
  expect(host.api.carriedOut).toEqual([]);
});

test('an internal note is answered by an internal note', async () => {
  answer = 'between us';
  const { body, headers } = host.delivery(
    { kind: 'issue comment', repository: PROJECT, number: 2 },
    access.secret,
  );
  const internal = JSON.stringify({ ...JSON.parse(body), event_type: 'confidential_note' });
  expect(await post(gateway.url + access.path, { headers, body: internal })).toBe(401);
  const signed = host.signed(internal, access.secret);
  expect(await post(gateway.url + access.path, signed)).toBe(202);
  await eventually(() => expect(notes(`${PROJECT}#2`)).toEqual(['between us']));
  expect(host.commentRequests().at(-1)?.body).toMatchObject({ internal: true });
});

test('a webhook disabled by the host is enabled again, and failed deliveries are requested again', async () => {
  await eventually(
    () =>
      expect(host.api.requestsFor('POST', /\/hooks\//).map(({ path }) => path.split('/hooks/')[1])).toEqual([
        '3/test/resource_access_token_events',
        '3/events/9/resend',
      ]),
    20_000,
  );
  expect(gateway.text()).toContain('webhook is disabled');
  expect(gateway.text()).not.toContain(access.token);
  expect(gateway.text()).not.toContain(access.secret);
});
