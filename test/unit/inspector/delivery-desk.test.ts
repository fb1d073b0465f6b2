// What the inspector shows of a delivery, as far as it decides something by itself: what is struck out, and what is cut.

import { expect, test } from 'vitest';
import type { RunningAutomation } from '../../../actors/automation/running-automation.ts';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import { DeliveryDesk } from '../../../src/inspector/runs/delivery-desk.ts';

const SECRET = 'sk-0123456789';

/** The desk over one delivery. */
function deskWith(body: Buffer) {
  const delivery = {
    ...{ id: `http:orders/${SECRET}`, seq: 7, kind: 'inbound', state: 'dead', key: `conversation/${SECRET}` },
    ...{ attempts: 0, crashes: 0, deferrals: 0, receivedAt: 1, startedAt: 2, note: `no ${SECRET}` },
    ...{ meta: '{"principal":"key:api_key"}', answer: `yes ${SECRET}`, trace: '', body },
    failures: [{ attempt: 1, at: 3, note: `refused ${SECRET}` }],
  };
  const automation = {
    operator: { delivery: async () => delivery, deliveryPage: async () => ({ deliveries: [delivery] }) },
    store: { run: async () => undefined },
  };
  return new DeliveryDesk(automation as unknown as RunningAutomation, new Redactor([SECRET]));
}

test('DD1: what came from outside is redacted wherever it stands, but in the id', async () => {
  const desk = deskWith(Buffer.from(`{"key":"${SECRET}"}`));
  const { delivery } = await desk.one('x');
  expect(delivery.body).toEqual({ bytes: 23, text: '{"key":"[redacted]"}', is_cut: false });
  expect([delivery.principal, delivery.has_run, delivery.started_at]).toEqual(['key:api_key', false, null]);
  expect(JSON.stringify({ ...delivery, id: '' })).not.toContain(SECRET);
  const { deliveries } = await desk.list('state=dead');
  expect(JSON.stringify({ ...deliveries[0], id: '' })).not.toContain(SECRET);
});

test('DD1: what is cut is said to be, a secret at the cut is not shown in part, and bytes are not shown as text', async () => {
  const long = await deskWith(Buffer.from(`${'x'.repeat(19_995)}${SECRET}`)).one('x');
  expect([long.delivery.body.is_cut, long.delivery.body.text?.includes('sk-')]).toEqual([true, false]);
  const longer = await deskWith(Buffer.from('ä'.repeat(60_000))).one('x');
  expect(longer.delivery.body).toMatchObject({ bytes: 120_000, is_cut: true });
  const bytes = await deskWith(Buffer.from([0, 1, 2])).one('x');
  expect(bytes.delivery.body).toEqual({ bytes: 3, text: null, is_cut: false });
});
