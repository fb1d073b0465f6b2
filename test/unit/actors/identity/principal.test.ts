import { expect, test } from 'vitest';
import {
  anonymous,
  isRefusal,
  isSamePrincipal,
  type Principal,
  type Verdict,
} from '../../../../actors/identity/principal.ts';

const token = (name: string, claims = {}): Principal => ({ kind: 'token', name, claims });

test('two are the same one by the way they were proven and their name, whatever else their tokens say', () => {
  expect(isSamePrincipal(token('alice', { exp: 1 }), token('alice', { exp: 2 }))).toBe(true);
  expect(isSamePrincipal(token('alice'), token('bob'))).toBe(false);
  expect(isSamePrincipal(token('anonymous'), anonymous)).toBe(false);
});

test('a refusal is told from a principal', () => {
  const verdicts: Verdict[] = [anonymous, token('alice'), { refused: 'wrong', why: 'the token is none' }];
  expect(verdicts.map(isRefusal)).toEqual([false, false, true]);
});
