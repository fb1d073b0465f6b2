import { expect, test } from 'vitest';
import { headerVerifier } from '../../../../../actors/platforms/webhooks/header-verifier.ts';
import { unproven } from '../../../../../actors/platforms/webhooks/verified-subscribers.ts';
import type { WebhookRequest } from '../../../../../actors/platforms/webhooks/webhook.ts';

const request = (secret?: string) =>
  ({ headers: secret === undefined ? {} : { 'x-secret': secret } }) as unknown as WebhookRequest;

test('a request is authenticated by its secret header, also before the body arrives', () => {
  const { hasProof, verify, isOpen } = headerVerifier({
    header: 'x-secret',
    secret: 's',
    field: 'secret_token',
  });
  const body = Buffer.alloc(0);
  expect(verify(request('s'), body)).toEqual({ kind: 'key', name: 'secret_token' });
  for (const wrong of [undefined, '', 'S', 'ss']) expect(verify(request(wrong), body)).toBe(unproven);
  expect(['s', 'x', undefined].map((each) => hasProof(request(each)))).toEqual([true, false, false]);
  expect(isOpen).toBe(false);
});

test('the verifier of a secret header requires a secret', () => {
  for (const secret of ['', undefined])
    expect(() => headerVerifier({ header: 'x', secret, field: 'secret_token' })).toThrow(
      'secret_token is empty',
    );
});
