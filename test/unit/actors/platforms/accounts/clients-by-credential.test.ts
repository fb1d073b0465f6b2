import { expect, test } from 'vitest';
import { ClientsByCredential } from '../../../../../actors/platforms/accounts/clients-by-credential.ts';
import type { RepoHostTrigger } from '../../../../../config/resources/triggers/trigger.ts';
import { repoHostTrigger } from '../../../../fixtures/automation/triggers.ts';

function clients() {
  return new ClientsByCredential<RepoHostTrigger, { readonly triggerName: string }>(
    ({ config: { api_url, token } }) => (token === undefined ? undefined : [api_url, token]),
    ({ name }) => ({ triggerName: name }),
  );
}

test('triggers with the same credential share an API client, also after a trigger is replaced', () => {
  const { of } = clients();
  const first = repoHostTrigger('first', { token: 't' });
  const client = of(first);
  expect(client).toEqual({ triggerName: 'first' });
  expect(of(first)).toBe(client);
  expect(of(repoHostTrigger('second', { token: 't' }))).toBe(client);
  expect(of(repoHostTrigger('first', { token: 't' }))).toBe(client);
});

test('each credential at each API root has its own API client, and a trigger without a credential has none', () => {
  const { of } = clients();
  const all = [
    of(repoHostTrigger('a', { token: 't' })),
    of(repoHostTrigger('b', { token: 'u' })),
    of(repoHostTrigger('c', { token: 't', api_url: 'https://elsewhere.example' })),
  ];
  expect(new Set(all).size).toBe(3);
  expect(of(repoHostTrigger('d'))).toBeUndefined();
});

test('required() returns the shared API client, and throws an error that names a trigger without a credential', () => {
  const { of, required } = clients();
  const trigger = repoHostTrigger('first', { token: 't' });
  expect(required(trigger)).toBe(of(trigger));
  expect(() => required(repoHostTrigger('second'))).toThrow('trigger second has no credential');
});

test('the digest of a credential is equal for all its triggers and does not contain the credential', () => {
  const { digestOf } = clients();
  const first = digestOf(repoHostTrigger('first', { token: 'secret' }));
  expect(first).toMatch(/^[0-9a-f]{16}$/);
  expect(digestOf(repoHostTrigger('second', { token: 'secret' }))).toBe(first);
  expect(digestOf(repoHostTrigger('first', { token: 'other' }))).not.toBe(first);
  expect(digestOf(repoHostTrigger('first'))).toBeUndefined();
});
