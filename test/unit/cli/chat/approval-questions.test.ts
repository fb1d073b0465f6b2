// Which line is an answer to which question.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ApprovalQuestions, LATE_MS } from '../../../../src/cli/chat/approval-questions.ts';

const pending = (id: string) => ({ id, state: 'pending', title: `desk/${id}` });

function started() {
  let now = 10_000;
  const questions = new ApprovalQuestions(() => now);
  const isLate = (begunAt: number, added = 'y') => questions.isLate({ begunAt, added });
  return { questions, isLate, now: () => now, wait: (ms: number) => (now += ms) };
}

test('APQ2: questions are asked one after the other, each answered by y, n or nothing', () => {
  const { questions } = started();
  expect(['a', 'b', 'c', 'd'].map((id) => questions.add(pending(id), false))).toEqual([
    ...[true, false, false, false],
  ]);
  expect(questions.answer(' Yes ')).toEqual({ question: pending('a'), verdict: 'approve' });
  expect(questions.answer('perhaps')).toBeUndefined();
  expect(questions.open?.id).toBe('b');
  expect(questions.answer('n')?.verdict).toBe('deny');
  expect(questions.decided('d')).toBe(false);
  expect(questions.answer('')).toEqual({ question: pending('c'), verdict: 'deny' });
  expect([questions.open, questions.answer('y')]).toEqual([undefined, undefined]);
});

test('APQ1: what was begun for a question that is decided elsewhere is for no other one', () => {
  const { questions, isLate, now, wait } = started();
  questions.add(pending('a'), false);
  questions.add(pending('b'), false);
  const before = now();
  wait(5_000);
  expect(isLate(now())).toBe(false);
  expect(questions.decided('a')).toBe(true);
  expect([isLate(before), isLate(now()), isLate(now() + LATE_MS - 1)]).toEqual([...[true, true, true]]);
  wait(LATE_MS);
  expect([isLate(now()), questions.open?.id]).toEqual([false, 'b']);
  expect(questions.end(false)).toBe(true);
  expect([questions.open, isLate(now()), isLate(now(), 'and what else?')]).toEqual([undefined, true, false]);
});

test('APQ1: what is being typed when a question comes is no answer to it', () => {
  const { questions, isLate, now } = started();
  questions.add(pending('a'), true);
  expect([isLate(now() + 1), isLate(now() + 1, 'and what else?')]).toEqual([true, true]);
});

test('whoever ends the run has no key under way for what it asked', () => {
  const { questions, isLate, now } = started();
  questions.add(pending('a'), false);
  expect([questions.end(true), isLate(now())]).toEqual([true, false]);
});

test('an answer that did not arrive is asked again, unless somebody else has decided meanwhile', () => {
  const { questions } = started();
  questions.add(pending('a'), false);
  questions.answer('y');
  expect([questions.again(pending('a')), questions.open?.id]).toEqual([true, 'a']);
  questions.answer('y');
  questions.decided('a');
  expect([questions.again(pending('a')), questions.open]).toEqual([false, undefined]);
});

test('APQ1, APQ2: whatever is asked, decided and typed, a line approves nothing but what was open all the time', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('ask' as const), id: fc.nat(3), ms: fc.nat(3_000) }),
    fc.record({ do: fc.constant('decide' as const), id: fc.nat(3), ms: fc.nat(3_000) }),
    fc.record({ do: fc.constant('begin' as const), ms: fc.nat(3_000) }),
    fc.record({ do: fc.constant('enter' as const), ms: fc.nat(3_000) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { questions, isLate, now, wait } = started();
      const asked = new Set<number>();
      let line: { begunAt: number; openThen: string | undefined } | undefined;
      for (const each of steps) {
        wait(each.ms);
        const isTyping = questions.open === undefined && line !== undefined;
        if (each.do === 'ask' && !asked.has(each.id)) {
          asked.add(each.id);
          questions.add(pending(String(each.id)), isTyping);
        } else if (each.do === 'decide') questions.decided(String(each.id));
        else if (each.do === 'begin') line ??= { begunAt: now(), openThen: questions.open?.id };
        else if (each.do === 'enter') {
          const { begunAt, openThen } = line ?? { begunAt: now(), openThen: questions.open?.id };
          line = undefined;
          if (isLate(begunAt)) continue;
          const answered = questions.answer('y');
          if (answered !== undefined) expect(answered.question.id).toBe(openThen);
        }
      }
    }),
  );
});
