// Requests with malformed or missing credentials are rejected before the body is read.

import { expect, test } from 'vitest';
import type { Adapter, TriggerHost } from '../../../../actors/platforms/adapter.ts';
import { httpAdapter } from '../../../../actors/platforms/http/adapter.ts';
import { repoHostAdapter } from '../../../../actors/platforms/repository-hosts/repohost/adapter.ts';
import type { Webhook, WebhookRequest } from '../../../../actors/platforms/webhooks/webhook.ts';
import type { Trigger } from '../../../../config/resources/triggers/trigger.ts';
import { LogNotes } from '../../../fixtures/automation/inbox.ts';
import { TestSourceHost } from '../../../fixtures/automation/source-host.ts';
import { httpTrigger, repoHostTrigger } from '../../../fixtures/automation/triggers.ts';
import { MemoryStore } from '../../../fixtures/store/memory-store.ts';

const MAX = 1_000_000;
const hex = 'ab'.repeat(32);
const base64 = Buffer.alloc(32, 7).toString('base64');

/** Returns the status of an immediate rejection; undefined if the body is read. */
async function admission(
  adapter: Adapter,
  trigger: Trigger,
  headers: WebhookRequest['headers'],
  remoteAddress = '198.51.100.1',
): Promise<number | undefined> {
  const hooks: Webhook[] = [];
  const host: TriggerHost = {
    store: new MemoryStore(),
    log: new LogNotes(),
    accept: () => Promise.reject(new Error('accept was called')),
    waitUntilSettled: async () => undefined,
    discard: async () => false,
    undeliver: async () => [],
    listen: async (webhook) => {
      hooks.push(webhook);
      return async () => {};
    },
    connections: new TestSourceHost().connections,
  };
  await adapter.open(trigger, host);
  const request: WebhookRequest = {
    method: 'POST',
    path: '/',
    query: '',
    headers,
    isBodyExact: true,
    remoteAddress,
    requestId: '',
    traceparent: '',
    reserveBody: () => () => {},
  };
  return hooks[0]?.admit(request)?.status;
}

const http =
  (config: Parameters<typeof httpTrigger>[1]) => (headers: WebhookRequest['headers'], from?: string) =>
    admission(httpAdapter(MAX) as Adapter, httpTrigger('t', config), headers, from);
const repo =
  (config: Parameters<typeof repoHostTrigger>[1]) => (headers: WebhookRequest['headers'], from?: string) =>
    admission(repoHostAdapter({ maxBodyBytes: MAX }) as Adapter, repoHostTrigger('t', config), headers, from);

test.each([
  ['RepoHost', repo({})],
  ['HTTP', http({ webhook_secret: 'a secret' })],
] as const)(
  '%s: a signature has 32 bytes in hexadecimal digits or Base64, with or without sha256=',
  async (_, admit) => {
    for (const signature of [`sha256=${hex}`, hex, `sha256=${base64}`, base64])
      expect(await admit({ 'x-hub-signature-256': signature })).toBeUndefined();
    for (const odd of [undefined, '', `sha1=${hex}`, `sha256=${'x'.repeat(64)}`, `sha256=${hex}00`])
      expect(await admit(odd === undefined ? {} : { 'x-hub-signature-256': odd })).toBe(401);
  },
);

test('an HTTP trigger with Standard Webhooks requires an id, a time in seconds, and a signature of 32 bytes', async () => {
  const secret = `whsec_${base64}`;
  const admit = http({ webhook_secret: secret, scheme: 'standard' });
  const whole = { 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': `v1,${base64}` };
  expect(await admit(whole)).toBeUndefined();
  for (const [name, odd] of [
    ['webhook-id', ''],
    ['webhook-timestamp', 'now'],
    ['webhook-signature', 'v1,AAAA'],
    ['webhook-signature', base64],
  ] as const)
    expect(await admit({ ...whole, [name]: odd })).toBe(401);
});

test.each([
  ['RepoHost', repo({ webhook_secret: '', insecure_allow_unverified: true })],
  ['HTTP', http({ insecure_allow_unverified: true })],
] as const)(
  '%s: an unsigned request must come from this machine, and not from a web page',
  async (_, admit) => {
    expect(await admit({}, '127.0.0.1')).toBeUndefined();
    expect(await admit({}, '198.51.100.1')).toBe(401);
    expect(await admit({ origin: 'https://page.example' }, '127.0.0.1')).toBe(401);
  },
);
