// Redelivery of failed webhooks, and re-enabling of disabled hooks, with the host's API on loopback.

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { OpenTrigger } from '../../../../../../actors/platforms/adapter.ts';
import { deliveryIdOf } from '../../../../../../actors/platforms/repository-hosts/delivery-id.ts';
import { repoHostBAdapter } from '../../../../../../actors/platforms/repository-hosts/repohostb/adapter.ts';
import type { RepoHostBTrigger } from '../../../../../../config/resources/triggers/trigger.ts';
import { TestSourceHost } from '../../../../../fixtures/automation/source-host.ts';
import { repoHostBTrigger } from '../../../../../fixtures/automation/triggers.ts';
import { issueEvent, push } from '../../../../../fixtures/repositories/repohostb-payloads.ts';
import {
  type HookEvent,
  RepoHostBPlatform,
} from '../../../../../fixtures/repositories/repohostb-platform.ts';

const PROJECT = 'acme/team/shop';
const HOOKS = '/api/v4/projects/acme%2Fteam%2Fshop/hooks/';

let repoHost: RepoHostBPlatform;
let host: TestSourceHost;
let opened: OpenTrigger | undefined;

beforeEach(async () => {
  repoHost = await new RepoHostBPlatform().start();
  host = await new TestSourceHost().start();
});
afterEach(async () => {
  await opened?.close();
  await host.stop();
  await repoHost.stop();
});

async function open(config: Partial<RepoHostBTrigger['config']> = {}) {
  const adapter = repoHostBAdapter({ maxBodyBytes: 1_000, recoverAfterMs: 0 });
  const settings = {
    token: `t${Math.random()}`,
    api_url: repoHost.apiUrl,
    repositories: [PROJECT],
    ...config,
  };
  const trigger = repoHostBTrigger('reviews', settings);
  opened = await adapter.open(trigger, host);
  return () => adapter.diagnostics?.(trigger).map(({ text }) => text) ?? [];
}

const hookEvent = (
  id: number,
  key: string,
  response_status: string,
  request_data: unknown = issueEvent(),
): HookEvent => ({
  id,
  url: 'https://gateway.example/webhook/repohostb',
  trigger: 'issue_hooks',
  request_headers: {
    'Content-Type': 'application/json',
    'Idempotency-Key': key,
    'X-Gitlab-Token': '[REDACTED]',
  },
  request_data,
  response_status,
});

const requestedHooks = () =>
  repoHost.requestsFor('POST', /\/hooks\//).map(({ path }) => path.replace(HOOKS, ''));
const findLine = (message: string) => host.lines.find((each) => each.message === message);
const REQUESTED = 'requested redelivery of failed deliveries';

test("missed deliveries of the gateway's hook are requested again, oldest first, from all pages", async () => {
  repoHost.addHook(PROJECT, 1, 'https://proxy.example/gateway/webhook/repohostb');
  repoHost.addHook(PROJECT, 2, 'https://elsewhere.example/other');
  repoHost.pageSize = 3;
  repoHost.events.set(1, [
    hookEvent(9, 'came-later', '200'),
    hookEvent(8, 'came-later', '502'),
    hookEvent(7, 'twice', 'internal error'),
    hookEvent(6, 'twice', '503'),
    hookEvent(5, 'for-nobody', '500', { object_kind: 'access_token' }),
    hookEvent(4, 'is-here', '500'),
    hookEvent(3, 'is-dead', '500'),
    hookEvent(2, 'never', '401', push()),
    hookEvent(1, 'is here, too', '500'),
  ]);
  repoHost.events.set(2, [hookEvent(20, 'of-another', '500')]);
  for (const [id, outcome] of [
    ['repohostb:reviews/is-here', 'done'],
    [`repohostb:reviews/${deliveryIdOf('is here, too')}`, 'done'],
    ['repohostb:reviews/is-dead', 'dead'],
  ] as const) {
    await host.store.append([{ id, key: id, meta: '{}', body: new Uint8Array(), trace: '' }]);
    await host.store.end(id, outcome);
  }
  await open();
  await expect.poll(() => findLine(REQUESTED), { timeout: 15_000 }).toBeDefined();
  expect(requestedHooks()).toEqual(['1/events/2/resend', '1/events/3/resend', '1/events/7/resend']);
  expect(findLine(REQUESTED)?.fields).toMatchObject({ trigger: 'reviews', repository: PROJECT, count: 3 });
  expect(repoHost.requests.every(({ authorization }) => authorization?.startsWith('Bearer '))).toBe(true);
}, 20_000);

test.each(['disabled', 'temporarily_disabled'] as const)(
  'a hook that is %s is reported and re-enabled with an ignored test event, before redelivery',
  async (status) => {
    const hook = repoHost.addHook(PROJECT, 1, 'https://gateway.example/webhook/repohostb', status);
    repoHost.addHook(PROJECT, 2, 'https://elsewhere.example/other', status);
    repoHost.events.set(1, [hookEvent(2, 'never', '503')]);
    const diagnosticTexts = await open();
    await expect.poll(() => findLine(REQUESTED), { timeout: 15_000 }).toBeDefined();
    expect(requestedHooks()).toEqual(['1/test/resource_access_token_events', '1/events/2/resend']);
    expect(hook.alert_status).toBe('executable');
    const fields = { trigger: 'reviews', repository: PROJECT };
    expect(findLine('webhook is disabled')?.fields).toMatchObject({
      ...fields,
      reason: expect.stringContaining(status),
    });
    expect(findLine('re-enabled webhook')?.fields).toMatchObject(fields);
    expect(diagnosticTexts().join()).toContain('is disabled');
  },
  20_000,
);

test('a hook that cannot be re-enabled is logged, and redelivery continues', async () => {
  repoHost.addHook(PROJECT, 1, 'https://gateway.example/webhook/repohostb', 'disabled');
  repoHost.events.set(1, [hookEvent(2, 'never', '503')]);
  repoHost.refuse(/\/test\//, { status: 422 });
  await open();
  await expect.poll(() => findLine(REQUESTED), { timeout: 15_000 }).toBeDefined();
  expect(findLine('could not re-enable webhook')?.fields).toMatchObject({
    reason: expect.stringContaining('422'),
  });
}, 20_000);

test('a rate limit of the host is respected, and only a refused redelivery request is sent once more', async () => {
  repoHost.addHook(PROJECT, 1, 'https://gateway.example/webhook/repohostb');
  repoHost.events.set(1, [hookEvent(2, 'never', '503')]);
  repoHost.refuse(/resend$/, { status: 429, headers: { 'retry-after': '1' } });
  await open();
  await expect.poll(() => findLine(REQUESTED), { timeout: 15_000 }).toBeDefined();
  expect(requestedHooks()).toEqual(['1/events/2/resend', '1/events/2/resend']);
}, 20_000);

test.each([401, 403, 404, 500])('status %i of the host is only logged', async (status) => {
  repoHost.refuse(/hooks$/, { status });
  await open();
  await expect.poll(() => findLine('could not request redelivery of failed deliveries')).toBeDefined();
  expect(requestedHooks()).toEqual([]);
});
