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

/** Few different times, so that many are equal, and some distant times. */
const arbDueAt = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 1_000_000 }));
const arbStep = fc.oneof(
  { weight: 3, arbitrary: arbDueAt.map((dueAt) => ({ dueAt })) },
  { weight: 2, arbitrary: fc.nat().map((which) => ({ which })) },
  { weight: 1, arbitrary: fc.constant({ which: undefined }) },
);

/** True if the indexes are unique and contiguous, and no member is due before its parent. */
function areInPlace(members: readonly Member[]): boolean {
  const placed: (Member | undefined)[] = members.map(() => undefined);
  for (const member of members) placed[member.heapIndex] = member;
  return placed.every((member, index) => {
    const above = index === 0 ? member : placed[(index - 1) >> 1];
    return member !== undefined && above !== undefined && above.dueAt <= member.dueAt;
  });
}

test('the first member of a due heap is one of the earliest after any additions and removals', () => {
  fc.assert(
    fc.property(fc.array(arbStep, { maxLength: 200, size: 'max' }), (steps) => {
      const heap = new DueHeap<Member>();
      const all: Member[] = [];
      let model: Member[] = [];
      for (const step of steps) {
        if ('dueAt' in step) {
          const member = new Member(step.dueAt);
          all.push(member);
          heap.add(member);
          model.push(member);
          model.sort((one, other) => one.dueAt - other.dueAt);
        } else {
          // Any earlier member, including removed members.
          const member = step.which === undefined ? heap.first : all[step.which % Math.max(1, all.length)];
          if (member === undefined) continue;
          heap.delete(member);
          model = model.filter((other) => other !== member);
          expect(member.heapIndex).toBe(-1);
        }
        expect(heap.first?.dueAt).toBe(model[0]?.dueAt);
        expect(heap.first === undefined || model.includes(heap.first)).toBe(true);
        expect(areInPlace(model)).toBe(true);
      }
      const left: number[] = [];
      for (let first = heap.first; first !== undefined; first = heap.first) {
        left.push(first.dueAt);
        heap.delete(first);
      }
      expect(left).toEqual(model.map(({ dueAt }) => dueAt));
      expect(all.every(({ heapIndex }) => heapIndex === -1)).toBe(true);
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
