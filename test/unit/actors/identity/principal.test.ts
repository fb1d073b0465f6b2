import { expect, test } from 'vitest';
import {
  anonymous,
  isRefusal,
  isSamePrincipal,
  type Principal,
  type VerificationResult,
} from '../../../../actors/identity/principal.ts';

const token = (name: string, claims = {}): Principal => ({ kind: 'token', name, claims });

test('principals are equal if their kind and name are equal, regardless of other claims', () => {
  expect(isSamePrincipal(token('alice', { exp: 1 }), token('alice', { exp: 2 }))).toBe(true);
  expect(isSamePrincipal(token('alice'), token('bob'))).toBe(false);
  expect(isSamePrincipal(token('anonymous'), anonymous)).toBe(false);
});

test('isRefusal distinguishes a refusal from a principal', () => {
  const verdicts: VerificationResult[] = [
    anonymous,
    token('alice'),
    { kind: 'wrong', reason: 'the token is none' },
  ];
  expect(verdicts.map(isRefusal)).toEqual([false, false, true]);
});
