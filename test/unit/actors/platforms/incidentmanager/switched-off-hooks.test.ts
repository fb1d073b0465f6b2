// Hooks that the platform has switched off, found by their address and switched on again, in the background and within bounds.

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

const open = (lookEveryMs = 3_600_000, config: object = notes) =>
  bench.open(config, 'incidents', { firstLookMs: 5, lookEveryMs });
const enabled = () => bench.platform.asked(ENABLE).map(({ what }) => what.split('/')[2]);
const remarks = () => bench.adapter.remarks?.(bench.trigger).map(({ text }) => text) ?? [];
const lines = () => bench.host.lines.map(({ level, message, fields }) => ({ level, message, ...fields }));

describe('a hook that was switched off', () => {
  test('is switched on again where it leads to our path, and an operator is told', async () => {
    const off = add('POFF001');
    add('PFINE01', { temporarily_disabled: false });
    add('POTHER1', { url: 'https://elsewhere.example.com/hook' });
    add('PNOURL1', { url: 'no address' });
    await open();
    await vi.waitFor(() => expect(remarks()).toHaveLength(1));
    expect(enabled()).toEqual(['POFF001']);
    expect(off.temporarily_disabled).toBe(false);
    expect(lines()).toEqual([
      {
        level: 'info',
        message: 'webhook that was switched off is switched on again',
        trigger: 'incidents',
        subscription: 'POFF001',
      },
    ]);
    expect(remarks()[0]).toBe(
      'webhook subscription POFF001 was switched off by the platform, and is switched on again',
    );
    expect(JSON.stringify([lines(), remarks()])).not.toMatch(new RegExp(`user:word|${API_KEY}`));
  });

  test('is found on the last of many pages', async () => {
    for (let n = 0; n < 250; n += 1)
      add(`PX${n}`, { url: 'https://elsewhere.example.com/hook', temporarily_disabled: n % 2 === 0 });
    add('PLAST01');
    await open();
    await vi.waitFor(() => expect(enabled()).toEqual(['PLAST01']));
    expect(bench.platform.asked(LIST).map(({ query }) => query)).toEqual([
      '?limit=100&offset=0',
      '?limit=100&offset=100',
      '?limit=100&offset=200',
    ]);
  });

  test('is looked for every so often, until the trigger is closed', async () => {
    const off = add('POFF001');
    await open(30);
    await vi.waitFor(() => expect(enabled()).toHaveLength(1));
    off.temporarily_disabled = true;
    await vi.waitFor(() => expect(enabled()).toHaveLength(2));
    await bench.closeAll();
    // What is on its way arrives.
    await setTimeout(60);
    const { length } = bench.platform.calls;
    await setTimeout(120);
    expect(bench.platform.calls).toHaveLength(length);
  });

  test('by a person stays so, and is remarked on once (IMH2)', async () => {
    add('PINACT1', { active: false });
    await open(20);
    await vi.waitFor(() => expect(bench.platform.asked(LIST).length).toBeGreaterThan(2));
    expect(enabled()).toEqual([]);
    const remark = 'webhook subscription PINACT1 is inactive: nothing comes by it';
    expect(remarks()).toEqual([remark]);
    const [subscription] = bench.platform.subscriptions;
    const looks = async () => {
      const { length } = bench.platform.asked(LIST);
      await vi.waitFor(() => expect(bench.platform.asked(LIST).length).toBeGreaterThan(length + 1));
    };
    Object.assign(subscription!, { active: true, temporarily_disabled: false });
    await looks();
    Object.assign(subscription!, { active: false });
    await vi.waitFor(() => expect(remarks()).toEqual([remark, remark]));
  });

  test('stays so where there is no api_key', async () => {
    add('POFF001');
    await open(20, events);
    await setTimeout(80);
    expect(bench.platform.calls).toEqual([]);
  });
});

describe('where hooks cannot be looked for', () => {
  test('it is said once for each reason (IMH1, IMH3)', async () => {
    bench.platform.refuse(LIST, restRefusal(2010), 3);
    bench.platform.refuse(LIST, restRefusal(2006), 2);
    await open(15);
    await vi.waitFor(() => expect(bench.platform.asked(LIST).length).toBeGreaterThan(6));
    const reasons = bench.host.lines.map(({ level, message, fields }) => [level, message, fields.reason]);
    expect(reasons).toEqual([
      [
        'warn',
        'webhooks that were switched off cannot be looked for',
        '2010 access denied: HTTP 403: Access Denied',
      ],
      [
        'warn',
        'webhooks that were switched off cannot be looked for',
        '2006 the api_key is not accepted: HTTP 401: Authentication failed',
      ],
    ]);
    expect(remarks()).toHaveLength(2);
  });

  test('it is said again when it had gone well in between (IMH3)', async () => {
    bench.platform.refuse(LIST, restRefusal(2010));
    bench.platform.fail(LIST, { kind: 'refuse', refusal: restRefusal(2010) }, 1, 2);
    await open(15);
    await vi.waitFor(() => expect(lines()).toHaveLength(2));
    await vi.waitFor(() => expect(bench.platform.asked(LIST).length).toBeGreaterThan(5));
    expect(lines()).toHaveLength(2);
  });

  test('for want of the right to switch on, the next look tries again', async () => {
    add('POFF001');
    bench.platform.refuse(ENABLE, restRefusal(2010));
    await open(20);
    await vi.waitFor(() => expect(enabled()).toHaveLength(2));
    expect(remarks().at(-1)).toMatch(/cannot be looked for: 2010/);
  });

  test('for now, it is looked for when that is over', async () => {
    add('POFF001');
    bench.platform.refuse(LIST, rateLimited(1));
    await open();
    await vi.waitFor(() => expect(lines()).toHaveLength(1), { timeout: 5_000 });
    expect(lines()[0]?.level).toBe('info');
    expect(enabled()).toEqual(['POFF001']);
  });

  test('for what answers with no list, nothing is done', async () => {
    bench.platform.refuse(LIST, { status: 200, body: { webhook_subscriptions: 'none' } });
    await open();
    await vi.waitFor(() => expect(bench.platform.asked(LIST)).toHaveLength(1));
    expect(lines()).toEqual([]);
  });
});
