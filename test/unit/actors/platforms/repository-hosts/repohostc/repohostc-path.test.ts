import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { repoHostCAdapter } from '../../../../../../actors/platforms/repository-hosts/repohostc/adapter.ts';
import { TestSourceHost } from '../../../../../fixtures/automation/source-host.ts';
import { repoHostCTrigger } from '../../../../../fixtures/automation/triggers.ts';

const SECRET = 'a secret of the tests';
const BODY = JSON.stringify({
  actor: { nickname: 'ada' },
  repository: { full_name: 'acme/shop' },
  pullrequest: { id: 7, title: 'Faster', source: { branch: { name: 'faster' } } },
});

let host: TestSourceHost;
let close: () => Promise<void>;

beforeEach(async () => {
  host = await new TestSourceHost().start();
});
afterEach(async () => {
  await close();
  await host.stop();
});

async function open(replay_window_seconds?: number): Promise<void> {
  const adapter = repoHostCAdapter({ maxBodyBytes: 1_000_000 });
  const trigger = repoHostCTrigger('reviews', { webhook_secret: SECRET, replay_window_seconds });
  ({ close } = await adapter.open(trigger, host));
}

async function statusOf(event: string, id: string): Promise<unknown> {
  const response = await fetch(`${host.url}/webhook/repohostc`, {
    method: 'POST',
    body: BODY,
    headers: {
      'content-type': 'application/json',
      'x-event-key': event,
      'x-request-uuid': id,
      'x-hub-signature': `sha256=${createHmac('sha256', SECRET).update(BODY).digest('hex')}`,
    },
  });
  return ((await response.json()) as { readonly status: unknown }).status;
}

test('a request with a known body and a new id is accepted as a new event if no replay window is configured', async () => {
  await open();
  expect(await statusOf('pullrequest:created', 'one')).toBe('accepted');
  expect(await statusOf('pullrequest:created', 'two')).toBe('accepted');
  expect(await statusOf('pullrequest:created', 'two')).toBe('duplicate');
});

test('a request with a known body and another id is a duplicate within the replay window', async () => {
  await open(60);
  expect(await statusOf('pullrequest:created', 'one')).toBe('accepted');
  expect(await statusOf('pullrequest:created', 'two')).toBe('duplicate');
});

test('requests for two kinds of events with the same body are accepted, even within the replay window', async () => {
  await open(60);
  expect(await statusOf('pullrequest:created', 'one')).toBe('accepted');
  expect(await statusOf('pullrequest:updated', 'two')).toBe('accepted');
  expect(host.store.events).toHaveLength(2);
});
