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

/** Few times, so that many are equal; and some far apart. */
const arbDueAt = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 1_000_000 }));
const arbStep = fc.oneof(
  { weight: 3, arbitrary: arbDueAt.map((dueAt) => ({ dueAt })) },
  { weight: 2, arbitrary: fc.nat().map((which) => ({ which })) },
  { weight: 1, arbitrary: fc.constant({ which: undefined }) },
);

/** The members by their places, each of which is taken once, without a gap; and none is due before the one above it. */
function areInPlace(members: readonly Member[]): boolean {
  const placed: (Member | undefined)[] = members.map(() => undefined);
  for (const member of members) placed[member.heapIndex] = member;
  return placed.every((member, index) => {
    const above = index === 0 ? member : placed[(index - 1) >> 1];
    return member !== undefined && above !== undefined && above.dueAt <= member.dueAt;
  });
}

test('whoever comes and leaves, from the middle too, the first is one of the earliest', () => {
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
          // Any that ever was in it: also one that has left already.
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

test('one that has left may come back', () => {
  const heap = new DueHeap<Member>();
  const [early, late] = [new Member(1), new Member(2)];
  heap.add(early);
  heap.add(late);
  heap.delete(early);
  expect(heap.first).toBe(late);
  heap.add(early);
  expect(heap.first).toBe(early);
});
