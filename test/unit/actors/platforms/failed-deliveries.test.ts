// Requests to redeliver webhooks that failed while the gateway was down, with a REST API on loopback.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { OpenTrigger } from '../../../../actors/platforms/adapter.ts';
import { repoHostAdapter } from '../../../../actors/platforms/repository-hosts/repohost/adapter.ts';
import { NotedHooks } from '../../../../actors/platforms/repository-hosts/repohost/noted-hooks.ts';
import type { RepoHostTrigger } from '../../../../config/resources/triggers/trigger.ts';
import { signature } from '../../../fixtures/automation/automation.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { repoHostTrigger } from '../../../fixtures/automation/triggers.ts';
import { type HookDelivery, RepoRestHost } from '../../../fixtures/repositories/repo-rest-host.ts';

const TOKEN = 'ghp_the_secret_token';
const SECRET = 'a secret of the tests';
const HOUR = 3_600_000;

let repoHost: RepoRestHost;
let host: TestSourceHost;
let opened: OpenTrigger | undefined;

beforeEach(async () => {
  repoHost = await new RepoRestHost().start();
  host = await new TestSourceHost().start();
});
afterEach(async () => {
  await opened?.close();
  await host.stop();
  await repoHost.stop();
});

async function open(
  config: Partial<RepoHostTrigger['config']> = {},
  recoverAfterMs = 0,
  adapter = repoHostAdapter({ maxBodyBytes: 1_000, recoverAfterMs }),
) {
  const settings = {
    token: `${TOKEN}${Math.random()}`,
    api_url: repoHost.url,
    repositories: ['o/r'],
    ...config,
  };
  opened = await adapter.open(repoHostTrigger('reviews', settings), host);
}

function delivery(
  id: string,
  guid: string,
  status_code: number,
  ageMs = HOUR,
  event = 'issues',
): HookDelivery {
  return { id, guid, status_code, event, delivered_at: new Date(Date.now() - ageMs).toISOString() };
}

async function storeHandled(id: string, outcome: 'done' | 'dead') {
  await host.store.append([{ id, key: id, meta: '{}', body: new Uint8Array(), trace: '' }]);
  await host.store.end(id, outcome);
}

const redeliveries = () =>
  repoHost.requestsFor('POST', /attempts$/).map(({ path }) => path.replace('/repos/o/r/hooks/', ''));
const findLine = (message: string) => host.lines.find((each) => each.message === message);
const REQUESTED = 'requested redelivery of failed deliveries';
const REQUEST_FAILED = 'could not request redelivery of failed deliveries';

test('failed webhook deliveries of the repository host are requested again, oldest first', async () => {
  repoHost.addHook('o/r', 1, 'https://proxy.example/gateway/webhook/repohost');
  repoHost.addHook('o/r', 2, 'https://elsewhere.example/other');
  const failed = '900719925474099301';
  repoHost.deliveries.set(1, [
    delivery('19', 'came-later', 202),
    delivery('18', 'came-later', 502),
    delivery('17', 'twice', 0),
    delivery('16', 'twice', 503),
    delivery('15', 'unknown-event', 500, HOUR, 'star'),
    delivery('14', 'is-here', 500),
    delivery('13', 'is-dead', 500),
    delivery(failed, 'never', 401),
    delivery('11', 'too-old', 500, 73 * HOUR),
  ]);
  repoHost.deliveries.set(2, [delivery('20', 'of-another', 500)]);
  await storeHandled('repohost:reviews/is-here', 'done');
  await storeHandled('repohost:reviews/is-dead', 'dead');
  await storeHandled('repohost:of-another-path/never', 'done');
  await open();
  await expect.poll(() => findLine(REQUESTED), { timeout: 15_000 }).toBeDefined();
  expect(redeliveries()).toEqual([
    `1/deliveries/${failed}/attempts`,
    '1/deliveries/13/attempts',
    '1/deliveries/17/attempts',
  ]);
  expect(findLine(REQUESTED)?.fields).toMatchObject({ trigger: 'reviews', repository: 'o/r', count: 3 });
});

test('a failed webhook delivery that a trigger with the same path and secret has stored is not requested again', async () => {
  repoHost.addHook('o/r', 1, `${host.url}/webhook/repohost`);
  repoHost.deliveries.set(1, [delivery('12', 'is-here', 500), delivery('11', 'of-another-secret', 500)]);
  await storeHandled('repohost:b-alike/is-here', 'done');
  await storeHandled('repohost:a-other/of-another-secret', 'done');
  const adapter = repoHostAdapter({ maxBodyBytes: 1_000, recoverAfterMs: 0 });
  for (const [name, webhook_secret] of Object.entries({ 'a-other': 'another', 'b-alike': SECRET }))
    await adapter.open(repoHostTrigger(name, { webhook_secret }), host);
  await open({ webhook_secret: SECRET }, 0, adapter);
  await expect.poll(() => findLine(REQUESTED), { timeout: 15_000 }).toBeDefined();
  expect(redeliveries()).toEqual(['1/deliveries/11/attempts']);
});

test('further pages of webhook deliveries are requested from the API host, even if the link names another host', async () => {
  repoHost.addHook('o/r', 1, `${host.url}/webhook/repohost`);
  repoHost.pageSize = 2;
  repoHost.deliveries.set(
    1,
    [1, 2, 3, 4, 5].map((n) => delivery(String(n), `g${n}`, n === 5 ? 500 : 200)),
  );
  await open();
  await expect.poll(redeliveries, { timeout: 15_000 }).toEqual(['1/deliveries/5/attempts']);
  expect(repoHost.requestsFor('GET', /deliveries$/)).toHaveLength(3);
});

test('failed webhook deliveries are not requested for repositories with wildcards or without a token', async () => {
  await open({ repositories: ['o/*', '*'] });
  await opened?.close();
  await open({ token: undefined, path: '/other' });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(repoHost.requestsFor('GET', /hooks/)).toEqual([]);
});

test.each([401, 403, 404])('status %i of the host is only logged', async (status) => {
  repoHost.refuse(/GET .*hooks$/, { status, message: `no ${TOKEN}` });
  repoHost.addHook('p/q', 3, `${host.url}/webhook/repohost`);
  await open({ repositories: ['o/r', 'p/q'] });
  await expect
    .poll(() => findLine(REQUEST_FAILED))
    .toMatchObject({ level: 'warn', fields: { repository: 'o/r' } });
  await expect.poll(() => repoHost.requestsFor('GET', /p\/q\/hooks\/3\/deliveries$/).length).toBe(1);
  expect(JSON.stringify(host.lines)).not.toContain(TOKEN);
});

test('a trigger that closes stops requesting failed webhook deliveries and logs no error', async () => {
  repoHost.addHook('o/r', 1, `${host.url}/webhook/repohost`);
  repoHost.deliveries.set(
    1,
    Array.from({ length: 50 }, (_, n) => delivery(String(n), `g${n}`, 500)),
  );
  await open();
  await expect.poll(() => redeliveries().length).toBeGreaterThan(0);
  await opened?.close();
  const requestCount = redeliveries().length;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(redeliveries().length).toBeLessThanOrEqual(requestCount + 1);
  expect(findLine(REQUEST_FAILED)).toBeUndefined();
});

test('a trigger that closes during its initial delay requests no failed webhook deliveries', async () => {
  repoHost.addHook('o/r', 1, `${host.url}/webhook/repohost`);
  await open({}, 100);
  await opened?.close();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(repoHost.requestsFor('GET', /hooks/)).toEqual([]);
});

test('a failed webhook delivery is requested once, even if two triggers have the same path and secret', async () => {
  repoHost.addHook('o/r', 1, 'https://gateway.example/webhook/repohost');
  repoHost.deliveries.set(1, [delivery('11', 'one', 502), delivery('12', 'two', 502)]);
  const adapter = repoHostAdapter({ maxBodyBytes: 1_000, recoverAfterMs: 0 });
  const countListRequests = () => repoHost.requestsFor('GET', /deliveries$/).length;
  await open({}, 0, adapter);
  // Triggers use different tokens, possibly with different permissions.
  const config = { token: `${TOKEN}-other`, api_url: repoHost.url, repositories: ['o/r'] };
  const other = await adapter.open(repoHostTrigger('other', config), host);
  await expect.poll(countListRequests, { timeout: 15_000 }).toBe(2);
  await expect.poll(() => findLine(REQUESTED), { timeout: 15_000 }).toBeDefined();
  await other.close();
  // The request fails; later another trigger requests the redelivery.
  repoHost.deliveries.set(1, [delivery('13', 'one', 502), delivery('11', 'one', 502)]);
  const third = await adapter.open(repoHostTrigger('third', config), host);
  await expect.poll(countListRequests, { timeout: 15_000 }).toBe(3);
  await expect.poll(() => redeliveries().length, { timeout: 15_000 }).toBeGreaterThan(2);
  await third.close();
  expect(redeliveries().sort()).toEqual([
    '1/deliveries/11/attempts',
    '1/deliveries/12/attempts',
    '1/deliveries/13/attempts',
  ]);
});

/** Posts a signed hook event. */
async function deliver(id: string, hook: string, kind: string, repository = 'o/r'): Promise<void> {
  const [login] = repository.split('/');
  const body = JSON.stringify({
    action: 'opened',
    repository: { full_name: repository, owner: { login } },
    sender: { login: 'ann' },
    issue: { number: 1, title: 't', user: { login: 'ann' } },
  });
  const response = await fetch(`${host.url}/webhook/repohost`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'issues',
      'x-github-delivery': id,
      'x-github-hook-id': hook,
      'x-github-hook-installation-target-type': kind,
      'x-hub-signature-256': signature(body, SECRET),
    },
  });
  expect(response.status).toBe(202);
}

test('without named repositories, failed deliveries are requested from the webhooks seen in earlier deliveries', async () => {
  await open({ repositories: [], webhook_secret: SECRET }, 60_000);
  await deliver('a', '7', 'repository');
  await deliver('b', '7', 'repository');
  await deliver('c', '8', 'organization');
  await deliver('d', '9', 'repository', 'elsewhere/x');
  await deliver('e', '10', 'integration');
  await deliver('f', '../11', 'repository');
  expect(new Set(await host.store.keys('repohost-hooks'))).toEqual(
    new Set(['reviews/7', 'reviews/8', 'reviews/9']),
  );
  await opened?.close();
  for (const hook of [7, 8, 9]) repoHost.deliveries.set(hook, [delivery(`${hook}1`, `never-${hook}`, 502)]);
  const requestedPaths = () => repoHost.requestsFor('POST', /attempts$/).map(({ path }) => path);
  // A new adapter, like after a restart.
  const adapter = repoHostAdapter({ maxBodyBytes: 1_000, recoverAfterMs: 0 });
  await open({ repositories: ['o/*'], webhook_secret: SECRET, path: '/webhook/later' }, 0, adapter);
  await expect
    .poll(requestedPaths, { timeout: 15_000 })
    .toEqual(['/repos/o/r/hooks/7/deliveries/71/attempts', '/orgs/o/hooks/8/deliveries/81/attempts']);
  expect(repoHost.requestsFor('GET', /hooks\/9/)).toEqual([]);
  const trigger = repoHostTrigger('reviews');
  await expect
    .poll(() => adapter.diagnostics?.(trigger).map(({ text }) => text))
    .toEqual([
      'requested redelivery of 1 failed deliveries of o',
      'requested redelivery of 1 failed deliveries of o/r',
    ]);
});

test('a webhook recorded for one trigger is used, even if another trigger with the same secret comes first', async () => {
  await open({ repositories: [], webhook_secret: SECRET }, 60_000);
  await deliver('a', '7', 'repository');
  await opened?.close();
  repoHost.deliveries.set(7, [delivery('71', 'never', 502)]);
  const adapter = repoHostAdapter({ maxBodyBytes: 1_000, recoverAfterMs: 0 });
  const settings = {
    api_url: repoHost.url,
    repositories: [],
    webhook_secret: SECRET,
    path: '/webhook/later',
  };
  const withToken = { ...settings, token: `${TOKEN}${Math.random()}` };
  const first = await adapter.open(repoHostTrigger('before', { ...settings, token: undefined }), host);
  opened = await adapter.open(repoHostTrigger('reviews', withToken), host);
  await expect.poll(redeliveries, { timeout: 15_000 }).toEqual(['7/deliveries/71/attempts']);
  await first.close();
});

test('the record of a webhook is renewed daily while it sends, and silent webhooks make room for new ones', async () => {
  const DAY = 86_400_000;
  let now = 0;
  const puts: string[] = [];
  const store = {
    put: async (_: string, key: string) => puts.push(key) > 0,
  };
  const hooks = new NotedHooks(() => now);
  const note = (id: number) =>
    hooks.note(
      store,
      'reviews',
      {
        headers: { 'x-github-hook-id': String(id), 'x-github-hook-installation-target-type': 'repository' },
      },
      'o/r',
    );
  for (let id = 1; id <= 1_100; id += 1) note(id);
  expect(puts).toHaveLength(1_000);
  now = DAY - 1;
  note(1);
  note(1_100);
  expect(puts).toHaveLength(1_000);
  now = DAY;
  note(1_100);
  note(1);
  note(1);
  expect(puts.slice(1_000)).toEqual(['reviews/1100', 'reviews/1']);
});
