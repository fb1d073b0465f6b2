import { expect, test } from 'vitest';
import { loopbackOnly } from '../../../../actors/sources/verified-subscribers.ts';
import type { WebhookRequest } from '../../../../actors/sources/webhook.ts';

test.each([
  ['127.0.0.1', true],
  ['127.8.9.1', true],
  ['::1', true],
  ['0000:0000:0000:0000:0000:0000:0000:0001', true],
  ['::ffff:127.0.0.1', true],
  ['0000:0000:0000:0000:0000:ffff:7f00:0001', true],
  ['::2', false],
  ['::ffff:10.0.0.1', false],
  ['10.0.0.1', false],
  ['127.0.0.1.example.com', false],
  ['', false],
])('a sender at %j is on this machine: %s', (remoteAddress, isHere) => {
  const request = { remoteAddress, headers: {} } as WebhookRequest;
  expect(loopbackOnly.fits(request, Buffer.alloc(0))).toBe(isHere);
});

test.each([
  [{}, true],
  [{ 'sec-fetch-site': 'none' }, true],
  [{ 'sec-fetch-mode': 'cors' }, true],
  [{ 'sec-fetch-site': 'same-origin' }, false],
  [{ 'sec-fetch-site': 'cross-site' }, false],
  [{ origin: 'http://127.0.0.1:8080' }, false],
  [{ origin: 'null' }, false],
  [{ origin: '' }, false],
] as [Record<string, string>, boolean][])(
  'a sender on this machine with the headers %j is no web page: %s',
  (headers, isProgram) => {
    const request = { remoteAddress: '127.0.0.1', headers } as WebhookRequest;
    expect(loopbackOnly.fits(request, Buffer.alloc(0))).toBe(isProgram);
  },
);
