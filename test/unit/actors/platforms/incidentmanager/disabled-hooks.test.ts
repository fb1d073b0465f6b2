// Periodic check for webhooks that the platform has disabled: the gateway finds them by URL and enables them.

import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { rateLimited, restRefusal } from '../../../../fixtures/incident-platform/incident-error.ts';
import type { FakeSubscription } from '../../../../fixtures/incident-platform/incident-platform.ts';
import { API_KEY, events, IncidentBench, notes } from './incident-bench.ts';

const OURS = 'https://user:word@gateway.example.com/proxied/webhook/incidentmanager';
const LIST = /^GET \/webhook_subscriptions$/;
const ENABLE = /\/enable$/;

let bench: IncidentBench;
beforeEach(async () => {
  bench = await new IncidentBench().start();
});
afterEach(() => bench.stop());

function add(id: string, more: Partial<FakeSubscription> = {}): FakeSubscription {
  const subscription = { id, url: OURS, active: true, temporarily_disabled: true, ...more };
  bench.platform.subscriptions.push(subscription);
  return subscription;
}

/** The check needs an api_key: the configuration `notes` has one, `events` has none. */
const openTrigger = (checkEveryMs = 3_600_000, config: object = notes) =>
  bench.open(config, 'incidents', { firstCheckMs: 5, checkEveryMs });
const enabled = () => bench.platform.callsMatching(ENABLE).map(({ what }) => what.split('/')[2]);
const diagnosticTexts = () => bench.adapter.diagnostics?.(bench.trigger).map(({ text }) => text) ?? [];
const lines = () => bench.host.lines.map(({ level, message, fields }) => ({ level, message, ...fields }));

describe('a disabled hook', () => {
  test('is re-enabled if it has the path of the gateway, and is reported to operators', async () => {
    const off = add('POFF001');
    add('PFINE01', { temporarily_disabled: false });
    add('POTHER1', { url: 'https://elsewhere.example.com/hook' });
    add('PNOURL1', { url: 'no address' });
    await openTrigger();
    await vi.waitFor(() => expect(diagnosticTexts()).toHaveLength(1));
    expect(enabled()).toEqual(['POFF001']);
    expect(off.temporarily_disabled).toBe(false);
    expect(lines()).toEqual([
      {
        level: 'info',
        message: 're-enabled webhook',
        trigger: 'incidents',
        subscription: 'POFF001',
      },
    ]);
    expect(diagnosticTexts()[0]).toBe(
      're-enabled webhook subscription POFF001, which the platform had disabled',
    );
    expect(JSON.stringify([lines(), diagnosticTexts()])).not.toMatch(new RegExp(`user:word|${API_KEY}`));
  });

  test('is found on the last of many pages', async () => {
    for (let n = 0; n < 250; n += 1)
      add(`PX${n}`, { url: 'https://elsewhere.example.com/hook', temporarily_disabled: n % 2 === 0 });
    add('PLAST01');
    await openTrigger();
    await vi.waitFor(() => expect(enabled()).toEqual(['PLAST01']));
    expect(bench.platform.callsMatching(LIST).map(({ query }) => query)).toEqual([
      '?limit=100&offset=0',
      '?limit=100&offset=100',
      '?limit=100&offset=200',
    ]);
  });

  test('is searched periodically, until the trigger is closed', async () => {
    const off = add('POFF001');
    await openTrigger(30);
    await vi.waitFor(() => expect(enabled()).toHaveLength(1));
    off.temporarily_disabled = true;
    await vi.waitFor(() => expect(enabled()).toHaveLength(2));
    await bench.closeAll();
    // Completes pending requests.
    await setTimeout(60);
    const { length } = bench.platform.calls;
    await setTimeout(120);
    expect(bench.platform.calls).toHaveLength(length);
  });

  test('stays disabled if a person disabled it, and is reported once', async () => {
    add('PINACT1', { active: false });
    await openTrigger(20);
    await vi.waitFor(() => expect(bench.platform.callsMatching(LIST).length).toBeGreaterThan(2));
    expect(enabled()).toEqual([]);
    const diagnostic = 'webhook subscription PINACT1 is inactive: it sends no events';
    expect(diagnosticTexts()).toEqual([diagnostic]);
    const [subscription] = bench.platform.subscriptions;
    const checkAgain = async () => {
      const { length } = bench.platform.callsMatching(LIST);
      await vi.waitFor(() => expect(bench.platform.callsMatching(LIST).length).toBeGreaterThan(length + 1));
    };
    Object.assign(subscription!, { active: true, temporarily_disabled: false });
    await checkAgain();
    Object.assign(subscription!, { active: false });
    await vi.waitFor(() => expect(diagnosticTexts()).toEqual([diagnostic, diagnostic]));
  });

  test('stays disabled without an api_key', async () => {
    add('POFF001');
    await openTrigger(20, events);
    await setTimeout(80);
    expect(bench.platform.calls).toEqual([]);
  });
});

describe('a failed check for disabled hooks', () => {
  test('is reported once per reason', async () => {
    bench.platform.refuse(LIST, restRefusal(2010), 3);
    bench.platform.refuse(LIST, restRefusal(2006), 2);
    await openTrigger(15);
    await vi.waitFor(() => expect(bench.platform.callsMatching(LIST).length).toBeGreaterThan(6));
    const reasons = bench.host.lines.map(({ level, message, fields }) => [level, message, fields.reason]);
    expect(reasons).toEqual([
      ['warn', 'could not check for disabled webhooks', '2010 access denied: HTTP 403: Access Denied'],
      [
        'warn',
        'could not check for disabled webhooks',
        '2006 the api_key is not accepted: HTTP 401: Authentication failed',
      ],
    ]);
    expect(diagnosticTexts()).toHaveLength(2);
  });

  test('is reported again after a success in between', async () => {
    bench.platform.refuse(LIST, restRefusal(2010));
    // One more refusal, after two other requests.
    bench.platform.fail(LIST, { kind: 'refuse', refusal: restRefusal(2010) }, 1, 2);
    await openTrigger(15);
    await vi.waitFor(() => expect(lines()).toHaveLength(2));
    await vi.waitFor(() => expect(bench.platform.callsMatching(LIST).length).toBeGreaterThan(5));
    expect(lines()).toHaveLength(2);
  });

  test('is repeated if the permission to enable hooks was missing', async () => {
    add('POFF001');
    bench.platform.refuse(ENABLE, restRefusal(2010));
    await openTrigger(20);
    await vi.waitFor(() => expect(enabled()).toHaveLength(2));
    // Diagnostics are listed newest first.
    expect(diagnosticTexts().at(-1)).toMatch(/could not check for disabled webhooks: 2010/);
  });

  test('with a rate limit is repeated after the pause', async () => {
    add('POFF001');
    bench.platform.refuse(LIST, rateLimited(1));
    await openTrigger();
    await vi.waitFor(() => expect(lines()).toHaveLength(1), { timeout: 5_000 });
    expect(lines()[0]?.level).toBe('info');
    expect(enabled()).toEqual(['POFF001']);
  });

  test('with an unexpected response has no effect', async () => {
    bench.platform.refuse(LIST, { status: 200, body: { webhook_subscriptions: 'none' } });
    await openTrigger();
    await vi.waitFor(() => expect(bench.platform.callsMatching(LIST)).toHaveLength(1));
    expect(lines()).toEqual([]);
  });
});
