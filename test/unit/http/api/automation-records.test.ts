// What a record of GET /deliveries says of times.

import { expect, test } from 'vitest';
import type { Delivery } from '../../../../actors/store/delivery.ts';
import { deliveryRecord } from '../../../../src/http/api/automation-records.ts';

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

test('a delivery that was never run has no start and took no time', () => {
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
