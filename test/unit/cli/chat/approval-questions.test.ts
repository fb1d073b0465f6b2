// Assignment of typed lines to approval questions.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ApprovalQuestions, GRACE_MS } from '../../../../src/cli/chat/approval-questions.ts';

const pending = (id: string) => ({ id, state: 'pending', title: `desk/${id}` });

function startChat() {
  let now = 10_000;
  const questions = new ApprovalQuestions(() => now);
  const isLate = (begunAt: number, added = 'y') => questions.isLate({ startedAt: begunAt, newText: added });
  return { questions, isLate, now: () => now, wait: (ms: number) => (now += ms) };
}

test('questions are shown one at a time, and y, n or an empty line decides each', () => {
  const { questions } = startChat();
  expect(['a', 'b', 'c', 'd'].map((id) => questions.add(pending(id), false))).toEqual([
    ...[true, false, false, false],
  ]);
  expect(questions.answer(' Yes ')).toEqual({ question: pending('a'), decision: 'approve' });
  expect(questions.answer('perhaps')).toBeUndefined();
  expect(questions.current?.id).toBe('b');
  expect(questions.answer('n')?.decision).toBe('deny');
  expect(questions.withdraw('d')).toBe(false);
  expect(questions.answer('')).toEqual({ question: pending('c'), decision: 'deny' });
  expect([questions.current, questions.answer('y')]).toEqual([undefined, undefined]);
});

test('a line begun for a question that someone else decided does not answer another question', () => {
  const { questions, isLate, now, wait } = startChat();
  questions.add(pending('a'), false);
  questions.add(pending('b'), false);
  const before = now();
  wait(5_000);
  expect(isLate(now())).toBe(false);
  expect(questions.withdraw('a')).toBe(true);
  expect([isLate(before), isLate(now()), isLate(now() + GRACE_MS - 1)]).toEqual([...[true, true, true]]);
  wait(GRACE_MS);
  expect([isLate(now()), questions.current?.id]).toEqual([false, 'b']);
  expect(questions.clear(false)).toBe(true);
  expect([questions.current, isLate(now()), isLate(now(), 'and what else?')]).toEqual([
    undefined,
    true,
    false,
  ]);
});

test('a line that is being typed when a question appears does not answer the question', () => {
  const { questions, isLate, now } = startChat();
  questions.add(pending('a'), true);
  expect([isLate(now() + 1), isLate(now() + 1, 'and what else?')]).toEqual([true, true]);
});

test('ending a run discards keys typed for its questions', () => {
  const { questions, isLate, now } = startChat();
  questions.add(pending('a'), false);
  expect([questions.clear(true), isLate(now())]).toEqual([true, false]);
});

test('a question whose answer did not arrive is shown again, unless it was decided by then', () => {
  const { questions } = startChat();
  questions.add(pending('a'), false);
  questions.answer('y');
  expect([questions.requeue(pending('a')), questions.current?.id]).toEqual([true, 'a']);
  questions.answer('y');
  questions.withdraw('a');
  expect([questions.requeue(pending('a')), questions.current]).toEqual([false, undefined]);
});

test('a line approves only a question that was open while it was typed', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('ask' as const), id: fc.nat(3), ms: fc.nat(3_000) }),
    fc.record({ do: fc.constant('decide' as const), id: fc.nat(3), ms: fc.nat(3_000) }),
    fc.record({ do: fc.constant('begin' as const), ms: fc.nat(3_000) }),
    fc.record({ do: fc.constant('enter' as const), ms: fc.nat(3_000) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { questions, isLate, now, wait } = startChat();
      const requested = new Set<number>();
      let line: { begunAt: number; openThen: string | undefined } | undefined;
      for (const each of steps) {
        wait(each.ms);
        const isTyping = questions.current === undefined && line !== undefined;
        if (each.do === 'ask' && !requested.has(each.id)) {
          requested.add(each.id);
          questions.add(pending(String(each.id)), isTyping);
        } else if (each.do === 'decide') questions.withdraw(String(each.id));
        else if (each.do === 'begin') line ??= { begunAt: now(), openThen: questions.current?.id };
        else if (each.do === 'enter') {
          const { begunAt, openThen } = line ?? { begunAt: now(), openThen: questions.current?.id };
          line = undefined;
          if (isLate(begunAt)) continue;
          const answered = questions.answer('y');
          if (answered !== undefined) expect(answered.question.id).toBe(openThen);
        }
      }
    }),
  );
});
