// RepoHostC triggers, over real sockets.

import { createHmac, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Adapter } from '../../../../../../actors/platforms/adapter.ts';
import { repoHostCAdapter } from '../../../../../../actors/platforms/repository-hosts/repohostc/adapter.ts';
import type { RepoHostCTrigger } from '../../../../../../config/resources/triggers/trigger.ts';
import { TestSourceHost } from '../../../../../fixtures/automation/source-host.ts';
import { repoHostCTrigger } from '../../../../../fixtures/automation/triggers.ts';
import { signed } from '../../../../../fixtures/repositories/local-repohostc.ts';
import {
  type PayloadValues,
  repoHostCPayload,
} from '../../../../../fixtures/repositories/repohostc-payloads.ts';

const SECRET = 'a secret of the tests';

let host: TestSourceHost;
let adapter: Adapter<RepoHostCTrigger>;
beforeEach(async () => {
  host = await new TestSourceHost().start();
  adapter = repoHostCAdapter({ maxBodyBytes: 1_000_000 });
});
afterEach(() => host.stop());

async function open(config: Partial<RepoHostCTrigger['config']> = {}, name = 'reviews') {
  const trigger = repoHostCTrigger(name, config);
  await adapter.open(trigger, host);
  return trigger;
}

interface SendOptions {
  readonly values?: PayloadValues;
  readonly id?: string;
  readonly secret?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

async function send(key: string, { values, id = randomUUID(), secret = SECRET, ...more }: SendOptions = {}) {
  const { body = JSON.stringify(repoHostCPayload(key, values)), headers: other } = more;
  const { headers } = signed({ key, id, body, secret });
  const all = Object.entries({ ...headers, ...other }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as [string, string]],
  );
  const response = await fetch(`${host.url}/webhook/repohostc`, { method: 'POST', body, headers: all });
  const text = await response.text();
  const reply = text.startsWith('{') ? (JSON.parse(text) as Record<string, string>) : { fault: text };
  return { status: response.status, body: reply };
}

test('an event is accepted with the id of its request, and is parsed', async () => {
  const trigger = await open();
  expect(await send('pullrequest:created', { id: 'r-1' })).toEqual({
    status: 202,
    body: { id: 'repohostc:reviews/r-1', status: 'accepted' },
  });
  const event = host.event();
  expect(event.key).toBe('conversation/repohostc/acme/shop!5');
  const inbound = adapter.read(event);
  expect(inbound).toMatchObject({
    platform: 'repohostc',
    triggers: ['reviews'],
    names: ['pullrequest:created', 'pullrequest.created', 'pullrequest'],
    channel: 'acme/shop',
    user: 'ann',
    text: 'A title\n\nSome words.',
    payload: repoHostCPayload('pullrequest:created'),
  });
  expect(adapter.accepts?.(trigger, inbound)).toBe(true);
  // Removes the parsed payload, so that the stored bytes are read.
  const { parsed: _, ...stored } = event;
  expect(adapter.read(stored)).toEqual(expect.objectContaining({ context: inbound.context }));
});

test.each([
  [['pullrequest:created'], 'pullrequest:created', true],
  [['pullrequest.created'], 'pullrequest:created', true],
  [['pullrequest'], 'pullrequest:rejected', true],
  [['pullrequest.created'], 'pullrequest:rejected', false],
  [['repo.push', 'issue'], 'issue:created', true],
] as const)('with repo_events %j, %s is accepted: %s', async (repo_events, key, isAccepted) => {
  const trigger = await open({ repo_events });
  await send(key);
  expect(adapter.accepts?.(trigger, adapter.read(host.event()))).toBe(isAccepted);
});

describe('a request', () => {
  const body = JSON.stringify(repoHostCPayload('repo:push'));
  const sha1 = (secret: string) => `sha1=${createHmac('sha1', secret).update(body).digest('hex')}`;

  test.each([
    ['without a signature', { 'x-hub-signature': undefined }],
    ['with a SHA-1 signature', { 'x-hub-signature': sha1(SECRET) }],
    ['with a signature in another header', { 'x-hub-signature': undefined, 'x-hub-signature-256': 'x' }],
  ])('%s is rejected', async (_, headers) => {
    await open();
    expect((await send('repo:push', { body, headers })).status).toBe(401);
    expect(host.store.events).toEqual([]);
  });

  test('is accepted with the previous secret, and rejected with an unknown secret', async () => {
    await open({ webhook_secret_previous: 'the old one' });
    expect((await send('repo:push', { secret: 'the old one' })).status).toBe(202);
    expect((await send('repo:push', { secret: 'another', values: { serial: 2 } })).status).toBe(401);
  });

  test.each([
    ['without an event name', { headers: { 'x-event-key': undefined } }, /X-Event-Key is missing/],
    ['with an invalid event name', { headers: { 'x-event-key': 'repo push' } }, /X-Event-Key is missing/],
    ['with invalid JSON', { body: '{' }, /not the payload of an event repo:push/],
    ['without a repository', { body: '{}' }, /not the payload of an event repo:push/],
  ])('%s is rejected as malformed', async (_, more, message) => {
    await open();
    const { status, body: reply } = await send('repo:push', more);
    expect([status, reply.fault]).toEqual([400, expect.stringMatching(message)]);
  });

  test.each(['diagnostics:ping', 'project:updated', 'repo:of_times_to_come', 'pullrequest:sung'])(
    'of an unknown event, here %s, is ignored with status 200, also without a repository',
    async (key) => {
      await open();
      expect(await send(key, { body: '{"test":true}' })).toMatchObject({
        status: 200,
        body: { status: 'ignored' },
      });
      expect(host.store.events).toEqual([]);
    },
  );

  test('with a new action of a known event matches filters by event', async () => {
    const trigger = await open({ repo_events: ['pullrequest'] });
    expect((await send('pullrequest:sung')).status).toBe(202);
    const inbound = adapter.read(host.event());
    expect(inbound.context).toMatchObject({ 'repo.action': 'sung', 'repo.pr.number': 5 });
    expect(adapter.accepts?.(trigger, inbound)).toBe(true);
  });
});

describe('a redelivered request', () => {
  test('is recognised by its id', async () => {
    await open();
    await send('repo:push', { id: 'r-1' });
    expect(await send('repo:push', { id: 'r-1', headers: { 'x-attempt-number': '2' } })).toEqual({
      status: 200,
      body: { id: 'repohostc:reviews/r-1', status: 'duplicate' },
    });
    expect(host.store.events).toHaveLength(1);
  });

  test('is recognised by its signed body in the replay window', async () => {
    await open({ replay_window_seconds: 60 });
    await send('repo:push', { id: 'r-1' });
    expect((await send('repo:push', { id: 'r-2' })).body).toEqual({
      id: 'repohostc:reviews/r-1',
      status: 'duplicate',
    });
    expect((await send('repo:push', { headers: { 'x-request-uuid': undefined } })).body).toEqual({
      id: 'repohostc:reviews/r-1',
      status: 'duplicate',
    });
    expect(host.store.events).toHaveLength(1);
  });

  test('is recognised by an id with any characters', async () => {
    await open();
    const id = `a b/${'x'.repeat(200)}`;
    expect((await send('repo:push', { id })).status).toBe(202);
    expect((await send('repo:push', { id })).body).toMatchObject({ status: 'duplicate' });
    expect(host.store.events).toHaveLength(1);
  });

  test('without an id is a new event', async () => {
    await open();
    const headers = { 'x-request-uuid': undefined };
    const [one, other] = [await send('repo:push', { headers }), await send('repo:push', { headers })];
    expect([one.status, other.status]).toEqual([202, 202]);
    expect(one.body.id).not.toBe(other.body.id);
    expect(host.store.events).toHaveLength(2);
  });
});

test('a push with many changes in a large body is read by its first change, and all its branches match', async () => {
  const trigger = await open({ branches: ['b-70'] });
  const changes = Array.from({ length: 80 }, (_, i) => ({ new: ['branch', `b-${i}`] as const }));
  const payload = { ...repoHostCPayload('repo:push', { changes }), padding: 'x'.repeat(300_000) };
  expect((await send('repo:push', { body: JSON.stringify(payload) })).status).toBe(202);
  const inbound = adapter.read(host.event());
  expect(inbound.context).toMatchObject({ 'repo.branch': 'b-0', 'repo.sha': expect.any(String) });
  expect(adapter.accepts?.(trigger, inbound)).toBe(true);
});
