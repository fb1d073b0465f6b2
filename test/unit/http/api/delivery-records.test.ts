// Delivery records: times, redaction and truncation.
// Invariant RV1 is in src/http/api/record-view.ts.

import { expect, test } from 'vitest';
import { Redactor } from '../../../../actors/base/errors/redact.ts';
import type { Delivery } from '../../../../actors/store/delivery.ts';
import { deliveryDetails, deliveryRecord } from '../../../../src/http/api/delivery-records.ts';
import { fullView, RecordView } from '../../../../src/http/api/record-view.ts';

const delivery: Delivery = {
  id: 'http:ask/1',
  seq: 1,
  key: 'conversation/http/ask',
  trace: '',
  kind: 'inbound',
  state: 'ignored',
  attempts: 1,
  crashes: 0,
  receivedAt: 1_000,
  startedAt: 2_000,
  endedAt: 7_500,
  retryAt: undefined,
  waitingFor: undefined,
  until: undefined,
  trigger: 'ask',
  note: undefined,
  answer: undefined,
  receipt: undefined,
  deferrals: 0,
  failures: [],
};

test('a delivery that never ran has no start and no duration', () => {
  expect(deliveryRecord(delivery)).toMatchObject({
    started_at: '1970-01-01T00:00:02.000Z',
    duration_seconds: 5.5,
    total_seconds: 6.5,
  });
  expect(deliveryRecord({ ...delivery, attempts: 0 })).toMatchObject({
    started_at: null,
    duration_seconds: null,
    total_seconds: 6.5,
  });
});

const SECRET = 'sk-0123456789';

function detailsOf(body: Buffer, view = new RecordView(new Redactor([SECRET]))) {
  const secret: Delivery = {
    ...delivery,
    id: `http:orders/${SECRET}`,
    key: `conversation/${SECRET}`,
    attempts: 0,
    note: `no ${SECRET}`,
    answer: `yes ${SECRET}`,
    waitingFor: SECRET,
    failures: [{ attempt: 1, at: 3, note: `refused ${SECRET}` }],
  };
  return deliveryDetails({ ...secret, meta: '{"principal":"key:api_key"}', body }, false, view);
}

test('the brief view of a delivery contains no configured secret, except in the id (RV1)', () => {
  const brief = detailsOf(Buffer.from(`{"key":"${SECRET}"}`));
  expect(brief.body).toEqual({ bytes: 23, text: '{"key":"[redacted]"}', is_cut: false });
  expect([brief.principal, brief.has_run, brief.started_at]).toEqual(['key:api_key', false, null]);
  expect(brief.id).toContain(SECRET);
  expect(JSON.stringify({ ...brief, id: '' })).not.toContain(SECRET);
  expect(detailsOf(Buffer.from(SECRET), fullView).body.text).toBe(SECRET);
});

test('the brief view of a delivery marks truncated text, and shows no part of a secret and no binary content (RV1)', () => {
  const long = detailsOf(Buffer.from(`${'x'.repeat(19_995)}${SECRET}`));
  expect([long.body.is_cut, long.body.text?.includes('sk-')]).toEqual([true, false]);
  expect(detailsOf(Buffer.from('ä'.repeat(60_000))).body).toMatchObject({ bytes: 120_000, is_cut: true });
  const bytes = Buffer.from([0, 1, 2]);
  expect(detailsOf(bytes).body).toEqual({ bytes: 3, is_cut: false });
  expect(detailsOf(bytes, fullView).body).toEqual({ bytes: 3, base64: 'AAEC', is_cut: false });
});

test('the full view of a delivery marks the body as truncated if it is longer than the excerpt', () => {
  const { body } = detailsOf(Buffer.from('x'.repeat(65_537)), fullView);
  expect([body.bytes, body.text?.length, body.is_cut]).toEqual([65_537, 65_536, true]);
  expect(detailsOf(Buffer.from('x'.repeat(65_536)), fullView).body.is_cut).toBe(false);
});
