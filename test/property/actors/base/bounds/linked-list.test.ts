// The linked list, compared with a Set: random additions and removals, and removals during iteration.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LinkedList, type ListMember } from '../../../../../actors/base/bounds/linked-list.ts';

class Member implements ListMember<Member> {
  previous: Member | undefined;
  next: Member | undefined;
}

test('a linked list keeps insertion order after any removals', () => {
  /** Adds a new member, or removes a member that was added before, even if it is removed already. */
  const anyStep = fc.record({ isNew: fc.boolean(), index: fc.nat() });
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 200 }), (steps) => {
      const list = new LinkedList<Member>();
      const added: Member[] = [];
      const model = new Set<Member>();
      for (const { isNew, index } of steps) {
        if (isNew) {
          const member = new Member();
          added.push(member);
          list.add(member);
          model.add(member);
        } else {
          const member = added[index % Math.max(1, added.length)];
          if (member === undefined) continue;
          list.delete(member);
          model.delete(member);
          expect([member.previous, member.next]).toEqual([undefined, undefined]);
        }
        expect(list.size).toBe(model.size);
        expect([...list]).toEqual([...model]);
      }
    }),
  );
});

test('the current member of a linked list may be removed during iteration', () => {
  const list = new LinkedList<Member>();
  const members = [new Member(), new Member(), new Member()];
  for (const member of members) list.add(member);
  const seen: Member[] = [];
  for (const member of list) {
    seen.push(member);
    list.delete(member);
  }
  expect(seen).toEqual(members);
  expect(list.size).toBe(0);
});
