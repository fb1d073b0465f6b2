// Sealed ids (encrypted, with the process in them): the content is hidden, and changed ids are rejected.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SealedInstances } from '../../../../actors/cluster/sealed-instances.ts';

const SECRET = 'a-secret-of-the-cluster';
const INSTANCE = '0123456789abcdef';
const ownInstances = new SealedInstances(SECRET, INSTANCE);

test('every node of the cluster finds the process that created a session id', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 8, maxLength: 8 }), (bytes) => {
      const instance = Buffer.from(bytes).toString('hex');
      const made = new SealedInstances(SECRET, instance);
      const id = made.newSessionId();
      expect(id).toMatch(/^[A-Za-z0-9_-]{48}$/);
      expect(ownInstances.instanceOf(id)).toBe(instance);
      expect(ownInstances.openState(made.wrapState('of.a"server'))).toEqual({
        instance,
        state: 'of.a"server',
      });
    }),
    { numRuns: 200 },
  );
});

test('a session id with a changed bit or character is rejected', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. ';
  const id = ownInstances.newSessionId();
  for (let bit = 0; bit < 36 * 8; bit += 1) {
    const bytes = Buffer.from(id, 'base64url');
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(ownInstances.instanceOf(bytes.toString('base64url'))).toBeUndefined();
  }
  for (let at = 0; at < id.length; at += 1)
    for (const other of alphabet)
      if (other !== id[at])
        expect(ownInstances.instanceOf(id.slice(0, at) + other + id.slice(at + 1))).toBeUndefined();
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), fc.nat(48), (text, at) => {
      for (const changed of [text, id.slice(0, at) + text, `${text}${id}`, `${id}${text}`])
        if (changed !== id) expect(ownInstances.instanceOf(changed)).toBeUndefined();
    }),
  );
});

test('a session id of another secret or another purpose is rejected', () => {
  const other = new SealedInstances('another-secret-than-that', INSTANCE);
  expect(ownInstances.instanceOf(other.newSessionId())).toBeUndefined();
  expect(ownInstances.openState(other.wrapState('x'))).toBeUndefined();
  expect(ownInstances.openState(`${ownInstances.newSessionId()}.x`)).toBeUndefined();
  expect(ownInstances.instanceOf(ownInstances.wrapState('').slice(0, 48))).toBeUndefined();
  for (const text of ['', '.', 'x', `${'A'.repeat(48)}.x`, ownInstances.wrapState('x').slice(1)])
    expect(ownInstances.openState(text)).toBeUndefined();
});

test('a session id reveals nothing of the process in any encoding, and two ids have nothing in common', () => {
  const ids = Array.from({ length: 2_000 }, () => ownInstances.newSessionId());
  const bytes = Buffer.from(INSTANCE, 'hex');
  const spellings = [
    INSTANCE,
    bytes.toString('base64url').slice(0, 8),
    bytes.toString('base64').slice(0, 8),
    String(process.pid),
  ];
  for (const id of ids) {
    const raw = Buffer.from(id, 'base64url');
    expect(raw.includes(bytes)).toBe(false);
    expect(raw.toString('hex')).not.toContain(INSTANCE);
    for (const text of spellings.slice(0, 3)) expect(id).not.toContain(text);
  }
  expect(new Set(ids).size).toBe(ids.length);
  // Each bit is set in about half of the ids: a deviation above 6 sigma occurs once in a hundred million
  // runs.
  for (let bit = 0; bit < 36 * 8; bit += 1) {
    const set = ids.filter((id) => ((Buffer.from(id, 'base64url')[bit >> 3] ?? 0) >> (bit & 7)) & 1).length;
    expect(Math.abs(set - ids.length / 2)).toBeLessThan(6 * Math.sqrt(ids.length) * 0.5);
  }
});
