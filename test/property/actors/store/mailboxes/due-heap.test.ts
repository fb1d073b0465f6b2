// The heap of mailboxes (queues of one key) by the time at which they are due, compared with a sorted list:
// random additions and removals of any member, also of the first member and of removed members.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DueHeap, type Timed } from '../../../../../actors/store/mailboxes/due-heap.ts';

class Member implements Timed {
  readonly dueAt: number;
  heapIndex = -1;
  constructor(dueAt: number) {
    this.dueAt = dueAt;
  }
}

/** Few different times, so that many are equal, with a few distant times. */
const anyDueAt = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 1_000_000 }));
/** Adds a member, removes the member with an index, or removes the first. */
const anyStep = fc.oneof(
  { weight: 3, arbitrary: anyDueAt.map((dueAt) => ({ dueAt })) },
  { weight: 2, arbitrary: fc.nat().map((index) => ({ index })) },
  { weight: 1, arbitrary: fc.constant({ index: undefined }) },
);

/** Returns true if the indexes are unique and contiguous, and no member is due before its parent. */
function isHeap(members: readonly Member[]): boolean {
  const byIndex: (Member | undefined)[] = members.map(() => undefined);
  for (const member of members) byIndex[member.heapIndex] = member;
  return byIndex.every((member, index) => {
    const parent = index === 0 ? member : byIndex[Math.floor((index - 1) / 2)];
    return member !== undefined && parent !== undefined && parent.dueAt <= member.dueAt;
  });
}

test('the first member of a due heap is one of the earliest after any additions and removals', () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 200, size: 'max' }), (steps) => {
      const heap = new DueHeap<Member>();
      const added: Member[] = [];
      let model: Member[] = [];
      for (const step of steps) {
        if ('dueAt' in step) {
          const member = new Member(step.dueAt);
          added.push(member);
          heap.add(member);
          model.push(member);
          model.sort((one, other) => one.dueAt - other.dueAt);
        } else {
          // Any earlier member, including removed members.
          const member =
            step.index === undefined ? heap.first : added[step.index % Math.max(1, added.length)];
          if (member === undefined) continue;
          heap.delete(member);
          model = model.filter((other) => other !== member);
          expect(member.heapIndex).toBe(-1);
        }
        expect(heap.first?.dueAt).toBe(model[0]?.dueAt);
        expect(heap.first === undefined || model.includes(heap.first)).toBe(true);
        expect(isHeap(model)).toBe(true);
      }
      const remaining: number[] = [];
      for (let first = heap.first; first !== undefined; first = heap.first) {
        remaining.push(first.dueAt);
        heap.delete(first);
      }
      expect(remaining).toEqual(model.map(({ dueAt }) => dueAt));
      expect(added.every(({ heapIndex }) => heapIndex === -1)).toBe(true);
    }),
  );
});

test('a member removed from a due heap can be added again', () => {
  const heap = new DueHeap<Member>();
  const [early, late] = [new Member(1), new Member(2)];
  heap.add(early);
  heap.add(late);
  heap.delete(early);
  expect(heap.first).toBe(late);
  heap.add(early);
  expect(heap.first).toBe(early);
});
