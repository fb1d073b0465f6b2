// RepoHostB triggers, over real sockets: secret token, and signatures created with the Standard Webhooks
// library.

import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Adapter } from '../../../../../../actors/platforms/adapter.ts';
import { repoHostBAdapter } from '../../../../../../actors/platforms/repository-hosts/repohostb/adapter.ts';
import { repoHostBEventNames } from '../../../../../../config/resources/repository-hosts/repohostb-events.ts';
import type { RepoHostBTrigger } from '../../../../../../config/resources/triggers/trigger.ts';
import { TestSourceHost } from '../../../../../fixtures/automation/source-host.ts';
import { repoHostBTrigger } from '../../../../../fixtures/automation/triggers.ts';
import {
  everyKind,
  mergeRequest,
  noteOnRequest,
  push,
} from '../../../../../fixtures/repositories/repohostb-payloads.ts';

const TOKEN = 'a secret of the tests';
const SIGNING = `whsec_${btoa('the first key of the tests')}`;
const OTHER = `whsec_${btoa('another key of the tests')}`;

let host: TestSourceHost;
let adapter: Adapter<RepoHostBTrigger>;

beforeEach(async () => {
  host = await new TestSourceHost().start();
  adapter = repoHostBAdapter({ maxBodyBytes: 1_000_000 });
});
afterEach(() => host.stop());

async function open(config: Partial<RepoHostBTrigger['config']> = {}, name = 'reviews') {
  const trigger = repoHostBTrigger(name, config);
  await adapter.open(trigger, host);
  return trigger;
}

type Headers = Readonly<Record<string, string>>;

async function post(body: string | Buffer, headers: Headers, path = '/webhook/repohostb') {
  const response = await fetch(host.url + path, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-gitlab-event': 'Merge Request Hook', ...headers },
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
}

const send = (payload: unknown, headers: Headers = {}) =>
  post(JSON.stringify(payload), { 'x-gitlab-token': TOKEN, 'idempotency-key': randomUUID(), ...headers });

/** Signs a body with the library. */
function signBody(body: string, { secret = SIGNING, id = randomUUID(), agoMs = 0 } = {}): Headers {
  const at = new Date(Date.now() - agoMs);
  return {
    'webhook-id': id,
    'idempotency-key': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
}

test('the test data contain a payload of every known event of the repository host', () => {
  expect(Object.keys(everyKind).sort()).toEqual(Object.keys(repoHostBEventNames.actions).sort());
});

test('every known event of the repository host is accepted and parsed', async () => {
  const trigger = await open();
  for (const [kind, payload] of Object.entries(everyKind)) {
    const id = randomUUID();
    expect(await send(payload, { 'idempotency-key': id })).toEqual({
      status: 202,
      body: { id: `repohostb:reviews/${id}`, status: 'accepted' },
    });
    const inbound = adapter.read(host.event());
    expect(inbound).toMatchObject({
      platform: 'repohostb',
      triggers: ['reviews'],
      context: { 'repo.event': kind, 'repo.repo': 'acme/team/shop' },
    });
    expect(inbound.names.at(-1)).toBe(kind);
    expect(inbound.names.map((name) => repoHostBEventNames.faultOf(name))).toEqual(
      inbound.names.map(() => undefined),
    );
    expect(inbound.payload).toEqual(JSON.parse(JSON.stringify(payload)));
    expect(adapter.accepts?.(trigger, inbound)).toBe(true);
    // Like after a restart.
    const { parsed: _, ...stored } = host.event();
    expect(adapter.read(stored).context).toEqual(inbound.context);
  }
});

describe('a plain secret', () => {
  test('is required and must match', async () => {
    await open();
    expect((await send(push(), { 'x-gitlab-token': 'another' })).status).toBe(401);
    expect((await post(JSON.stringify(push()), {})).status).toBe(401);
    expect((await post(JSON.stringify(push()), signBody(JSON.stringify(push())))).status).toBe(401);
    expect(host.store.events).toEqual([]);
  });

  test('may be the previous secret', async () => {
    await open({ webhook_secret: 'the new one', webhook_secret_previous: TOKEN });
    expect((await send(push())).status).toBe(202);
    expect((await send(push(), { 'x-gitlab-token': 'the new one' })).status).toBe(202);
    expect((await send(push(), { 'x-gitlab-token': 'a third' })).status).toBe(401);
  });
});

describe('a signing token', () => {
  test('accepts signatures of the library, and rejects a changed byte', async () => {
    await open({ webhook_secret: SIGNING });
    const body = JSON.stringify(mergeRequest({ title: 'Schön ✓' }));
    expect((await post(body, signBody(body))).status).toBe(202);
    await fc.assert(
      fc.asyncProperty(fc.nat(body.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
        const bytes = Buffer.from(body);
        bytes[at] = ((bytes[at] ?? 0) + by) % 256;
        expect((await post(bytes, signBody(body))).status).toBe(401);
      }),
      { numRuns: 20 },
    );
  });

  test('rejects requests older or newer than five minutes, and plain secrets', async () => {
    await open({ webhook_secret: SIGNING });
    const body = JSON.stringify(push());
    expect((await post(body, signBody(body, { agoMs: 290_000 }))).status).toBe(202);
    expect((await post(body, signBody(body, { agoMs: 310_000 }))).status).toBe(401);
    expect((await post(body, signBody(body, { agoMs: -310_000 }))).status).toBe(401);
    expect((await post(body, { 'x-gitlab-token': SIGNING })).status).toBe(401);
    expect((await post(body, signBody(body, { secret: OTHER }))).status).toBe(401);
  });

  test('can replace a plain secret, with both accepted during the rotation', async () => {
    await open({ webhook_secret: SIGNING, webhook_secret_previous: TOKEN });
    const body = JSON.stringify(push());
    expect((await post(body, signBody(body))).status).toBe(202);
    expect((await send(push())).status).toBe(202);
    // The host sends token and signature if the hook has both.
    expect((await post(body, { ...signBody(body, { secret: OTHER }), 'x-gitlab-token': TOKEN })).status).toBe(
      202,
    );
    expect((await post(body, { ...signBody(body), 'x-gitlab-token': 'another' })).status).toBe(202);
  });

  test('identifies events by the signed id, regardless of other id headers', async () => {
    await open({ webhook_secret: SIGNING });
    const body = JSON.stringify(push());
    const headers = signBody(body);
    expect((await post(body, headers)).body).toMatchObject({ status: 'accepted' });
    const redeliveryHeaders = {
      ...headers,
      'idempotency-key': randomUUID(),
      'x-gitlab-event-uuid': randomUUID(),
    };
    expect((await post(body, redeliveryHeaders)).body).toMatchObject({ status: 'duplicate' });
    expect(host.store.events).toHaveLength(1);
  });
});

describe('the id of an event', () => {
  test('is the idempotency key of the host, which a redelivery repeats', async () => {
    await open();
    const headers = { 'idempotency-key': 'k-1', 'x-gitlab-event-uuid': 'u-1' };
    expect((await send(push(), headers)).body).toEqual({ id: 'repohostb:reviews/k-1', status: 'accepted' });
    expect((await send(push(), headers)).body).toEqual({ id: 'repohostb:reviews/k-1', status: 'duplicate' });
    // A hook triggered by another hook has the same UUID.
    expect((await send(mergeRequest(), { ...headers, 'idempotency-key': 'k-2' })).body).toMatchObject({
      status: 'accepted',
    });
  });

  test('is the UUID of versions without a key, or is generated', async () => {
    await open();
    const body = JSON.stringify(push());
    const old = { 'x-gitlab-token': TOKEN, 'x-gitlab-event-uuid': 'u-1' };
    expect((await post(body, old)).body).toEqual({ id: 'repohostb:reviews/u-1', status: 'accepted' });
    expect((await post(body, old)).body).toMatchObject({ status: 'duplicate' });
    expect((await post(body, { 'x-gitlab-token': TOKEN })).body).toMatchObject({ status: 'accepted' });
    expect((await post(body, { 'x-gitlab-token': TOKEN })).body).toMatchObject({ status: 'accepted' });
    expect(host.store.events).toHaveLength(3);
  });

  test('is hashed if it is long or contains other characters', async () => {
    await open();
    const key = 'a key / with what no id has '.repeat(40);
    const [one, two] = [
      await send(push(), { 'idempotency-key': key }),
      await send(push(), { 'idempotency-key': key }),
    ];
    expect(one.body.id).toMatch(/^repohostb:reviews\/[0-9a-f]{64}$/);
    expect(two.body).toEqual({ id: one.body.id, status: 'duplicate' });
  });
});

describe('an authentic request', () => {
  test.each([
    ['a list', '[]'],
    ['no JSON', '{"object_kind":'],
    ['a number', '1'],
    ['an object without event', '{}'],
    ['an event without repository', '{"object_kind":"push"}'],
    ['a repository with a path as name', JSON.stringify(push({ repository: 'acme/../shop' }))],
  ])('with %s is rejected with status 400', async (_, body) => {
    await open();
    expect((await post(body, { 'x-gitlab-token': TOKEN })).status).toBe(400);
    expect(host.store.events).toEqual([]);
  });

  test.each([
    ['a group member', { event_name: 'user_add_to_group', group_path: 'acme' }],
    ['a project in a system hook', { event_name: 'project_create', path_with_namespace: 'acme/shop' }],
    ['an expiring token', { object_kind: 'access_token', project: { path_with_namespace: 'acme/shop' } }],
    ['an epic', { object_kind: 'work_item', object_attributes: { iid: 1 }, group: { full_path: 'acme' } }],
    ['an event of a future version', { object_kind: 'something_new' }],
    ['an event with the name of an object member', { object_kind: 'constructor' }],
  ])('with %s is ignored with status 200', async (_, payload) => {
    await open();
    const { status, body } = await send(payload, { 'x-gitlab-event': 'System Hook' });
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'ignored' } });
    expect(host.store.events).toEqual([]);
  });

  test('with a large body is parsed', async () => {
    await open();
    const payload = { ...noteOnRequest(), filling: 'x'.repeat(400_000) };
    expect((await send(payload)).status).toBe(202);
    expect(adapter.read(host.event())).toMatchObject({
      names: ['note.create', 'note'],
      text: 'Looks good to me.',
      context: { 'repo.pr.number': 5, 'repo.sender': 'alice', 'repo.branch': 'faster' },
    });
    expect((await send({ object_kind: 'something_new', filling: 'x'.repeat(400_000) })).status).toBe(200);
  });
});

test('an empty secret requires insecure_allow_unverified, which accepts unsigned requests from loopback', async () => {
  await expect(open({ webhook_secret: '' })).rejects.toThrow('webhook_secret is empty');
  await open({ webhook_secret: '', insecure_allow_unverified: true });
  expect((await post(JSON.stringify(push()), {})).status).toBe(202);
});
