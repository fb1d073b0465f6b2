// Checks the fake incident manager with the vendor's client, because the adapter tests rely on the fake.

import { Agent } from 'node:https';
import { api, event } from '@pagerduty/pdjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IncidentPlatform } from '../../../../fixtures/incident-platform/incident-platform.ts';
import { tlsIdentity } from '../../../../fixtures/remote/tls-identity.ts';

const KEY = 'a-rest-key';
const ROUTING_KEY = 'a-routing-key';
const ada = { id: 'PADA001', summary: 'Ada', email: 'ada@example.com' };

let platform: IncidentPlatform;
beforeAll(async () => {
  platform = await new IncidentPlatform({
    apiKey: KEY,
    routingKey: ROUTING_KEY,
    users: [ada],
    tls: tlsIdentity,
  }).start();
});
afterAll(() => platform.stop());

/** The client requires https, a host name and a port. */
const connection = () =>
  ({ server: new URL(platform.url).host, agent: new Agent({ ca: tlsIdentity.cert }) }) as object;
const rest = (token = KEY, from = ada.email) => api({ ...connection(), token, headers: { from } });
const send = (event_action: 'trigger' | 'acknowledge' | 'resolve', more: object) =>
  event({ ...connection(), data: { routing_key: ROUTING_KEY, event_action, ...more } } as Parameters<
    typeof event
  >[0]);

const payload = { summary: 'slow', source: 'shop', severity: 'error' as const };

describe('the client of the vendor', () => {
  test('writes notes, lists them newest first, and changes a note', async () => {
    const { id } = platform.add();
    const path = `/incidents/${id}/notes`;
    for (const content of ['first', 'second']) {
      const { status, data } = await rest().post(path, { data: { note: { content } } });
      expect([status, data]).toMatchObject([200, { note: { content, user: { id: ada.id } } }]);
    }
    const { data } = await rest().get(path);
    expect(data.notes).toMatchObject([{ content: 'second' }, { content: 'first' }]);
    await rest().put(`${path}/${data.notes[1].id}`, { data: { note: { content: 'changed' } } });
    expect(platform.contentsOn(id)).toEqual(['changed', 'second']);
  });

  test('acknowledges, resolves and reopens an incident', async () => {
    const { id } = platform.add();
    const put = (status: string) =>
      rest().put(`/incidents/${id}`, { data: { incident: { type: 'incident_reference', status } } });
    for (const status of ['acknowledged', 'resolved', 'acknowledged'])
      expect((await put(status)).data).toMatchObject({ incident: { id, status } });
    expect((await rest().get(`/incidents/${id}`)).data).toMatchObject({
      incident: { status: 'acknowledged' },
    });
  });

  test('lists subscriptions by page and enables a subscription', async () => {
    for (let n = 1; n <= 3; n += 1)
      platform.subscriptions.push({
        id: `PS${n}`,
        url: 'https://gateway.example.com/x',
        active: true,
        temporarily_disabled: true,
      });
    const first = await rest().get('/webhook_subscriptions', { queryParameters: { limit: '2' } });
    expect(first.data).toMatchObject({ more: true, limit: 2, offset: 0 });
    expect((await first.next?.())?.data).toMatchObject({
      more: false,
      webhook_subscriptions: [{ id: 'PS3' }],
    });
    const { data } = await rest().post('/webhook_subscriptions/PS3/enable');
    expect(data.webhook_subscription.delivery_method).toMatchObject({ temporarily_disabled: false });
  });

  test('sends an event to the open incident with its key, or opens an incident', async () => {
    const { id, incident_key: dedup_key } = platform.add();
    const before = platform.incidents.size;
    expect((await send('trigger', { dedup_key, payload })).data).toMatchObject({
      status: 'success',
      dedup_key,
    });
    await send('acknowledge', { dedup_key });
    expect(platform.incidents.get(id)?.status).toBe('acknowledged');
    await send('resolve', { dedup_key });
    expect([platform.incidents.get(id)?.status, platform.incidents.size]).toEqual(['resolved', before]);
    await send('trigger', { dedup_key, payload });
    expect(platform.incidents.size).toBe(before + 1);
  });

  test.each([
    ['a wrong key', () => rest('wrong').get('/webhook_subscriptions'), 401, { error: { code: 2006 } }],
    [
      'an unknown user in From',
      () => rest(KEY, 'x@example.com').post(`/incidents/${platform.add().id}/notes`, { data: { note: {} } }),
      400,
      { error: { code: 1008 } },
    ],
    ['an unknown incident', () => rest().get('/incidents/PNONE'), 404, { error: { code: 2100 } }],
    [
      'a long summary',
      () => send('trigger', { payload: { ...payload, summary: 'x'.repeat(1025) } }),
      400,
      { status: 'invalid event' },
    ],
    ['an unknown routing key', () => send('resolve', { routing_key: 'x', dedup_key: 'y' }), 400, {}],
  ])("receives the vendor's error for %s", async (_, ask, status, expected) => {
    const answer = await ask();
    expect([answer.status, answer.data]).toMatchObject([status, expected]);
  });
});
