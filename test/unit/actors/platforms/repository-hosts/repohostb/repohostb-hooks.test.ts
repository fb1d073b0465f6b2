// Deliveries that failed are asked for again, and hooks that the host has switched off are switched on, against its API on loopback.

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

let rest: RepoHostBPlatform;
let host: TestSourceHost;
let opened: OpenTrigger | undefined;

beforeEach(async () => {
  rest = await new RepoHostBPlatform().start();
  host = await new TestSourceHost().start();
});
afterEach(async () => {
  await opened?.close();
  await host.stop();
  await rest.stop();
});

async function open(config: Partial<RepoHostBTrigger['config']> = {}) {
  const adapter = repoHostBAdapter({ maxBodyBytes: 1_000, askAfterMs: 0 });
  const settings = { token: `t${Math.random()}`, api_url: rest.apiUrl, repositories: [PROJECT], ...config };
  const trigger = repoHostBTrigger('reviews', settings);
  opened = await adapter.open(trigger, host);
  return () => adapter.remarks?.(trigger).map(({ text }) => text) ?? [];
}

const tried = (
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

const posted = () => rest.askedFor('POST', /\/hooks\//).map(({ path }) => path.replace(HOOKS, ''));
const line = (message: string) => host.lines.find((each) => each.message === message);
const DONE = 'failed deliveries were asked for again';

test('those of our hook that never arrived are asked for, the oldest first, on all pages', async () => {
  rest.addHook(PROJECT, 1, 'https://proxy.example/gateway/webhook/repohostb');
  rest.addHook(PROJECT, 2, 'https://elsewhere.example/other');
  rest.pageSize = 3;
  rest.events.set(1, [
    tried(9, 'came-later', '200'),
    tried(8, 'came-later', '502'),
    tried(7, 'twice', 'internal error'),
    tried(6, 'twice', '503'),
    tried(5, 'for-nobody', '500', { object_kind: 'access_token' }),
    tried(4, 'is-here', '500'),
    tried(3, 'is-dead', '500'),
    tried(2, 'never', '401', push()),
    tried(1, 'is here, too', '500'),
  ]);
  rest.events.set(2, [tried(20, 'of-another', '500')]);
  for (const [id, outcome] of [
    ['repohostb:reviews/is-here', 'done'],
    [`repohostb:reviews/${deliveryIdOf('is here, too')}`, 'done'],
    ['repohostb:reviews/is-dead', 'dead'],
  ] as const) {
    await host.store.append([{ id, key: id, meta: '{}', body: new Uint8Array(), trace: '' }]);
    await host.store.end(id, outcome);
  }
  await open();
  await expect.poll(() => line(DONE), { timeout: 15_000 }).toBeDefined();
  expect(posted()).toEqual(['1/events/2/resend', '1/events/3/resend', '1/events/7/resend']);
  expect(line(DONE)?.fields).toMatchObject({ trigger: 'reviews', repository: PROJECT, count: 3 });
  expect(rest.asked.every(({ authorization }) => authorization?.startsWith('Bearer '))).toBe(true);
}, 20_000);

test.each(['disabled', 'temporarily_disabled'] as const)(
  'a hook that is %s is told of, and switched on by an event that nobody here hears of, before what failed is asked for',
  async (status) => {
    const hook = rest.addHook(PROJECT, 1, 'https://gateway.example/webhook/repohostb', status);
    rest.addHook(PROJECT, 2, 'https://elsewhere.example/other', status);
    rest.events.set(1, [tried(2, 'never', '503')]);
    const remarks = await open();
    await expect.poll(() => line(DONE), { timeout: 15_000 }).toBeDefined();
    expect(posted()).toEqual(['1/test/resource_access_token_events', '1/events/2/resend']);
    expect(hook.alert_status).toBe('executable');
    const where = { trigger: 'reviews', repository: PROJECT };
    expect(line('a hook is switched off')?.fields).toMatchObject({
      ...where,
      reason: expect.stringContaining(status),
    });
    expect(line('a hook was switched on again')?.fields).toMatchObject(where);
    expect(remarks().join()).toContain('is switched off');
  },
  20_000,
);

test('a hook that cannot be switched on is a line in the log, and what failed is asked for all the same', async () => {
  rest.addHook(PROJECT, 1, 'https://gateway.example/webhook/repohostb', 'disabled');
  rest.events.set(1, [tried(2, 'never', '503')]);
  rest.refuse(/\/test\//, { status: 422 });
  await open();
  await expect.poll(() => line(DONE), { timeout: 15_000 }).toBeDefined();
  expect(line('a hook cannot be switched on again')?.fields).toMatchObject({
    reason: expect.stringContaining('422'),
  });
}, 20_000);

test('a limit of the host is waited for, and none is asked for twice', async () => {
  rest.addHook(PROJECT, 1, 'https://gateway.example/webhook/repohostb');
  rest.events.set(1, [tried(2, 'never', '503')]);
  rest.refuse(/resend$/, { status: 429, headers: { 'retry-after': '1' } });
  await open();
  await expect.poll(() => line(DONE), { timeout: 15_000 }).toBeDefined();
  expect(posted()).toEqual(['1/events/2/resend', '1/events/2/resend']);
}, 20_000);

test.each([401, 403, 404, 500])(
  'a host that answers %i is a line in the log, and nothing more',
  async (status) => {
    rest.refuse(/hooks$/, { status });
    await open();
    await expect.poll(() => line('failed deliveries cannot be asked for again')).toBeDefined();
    expect(posted()).toEqual([]);
  },
);
