// Several people and an operator decide at the same time, the time runs out, the run is cancelled, the gateway starts anew: there is one
// outcome, by somebody who may, the run goes on once by it, and the message says the same.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bodyOf, decisionOf } from '../../../../actors/approvals/approval-record.ts';
import { OperatorApprovals } from '../../../../actors/approvals/operator-approvals.ts';
import { ForbiddenError } from '../../../../actors/errors.ts';
import { anonymous } from '../../../../actors/principal.ts';
import { Redactor } from '../../../../actors/redact.ts';
import { ApprovalChat, askingHandler, pay, type Shown } from '../../../fixtures/automation/approval-chat.ts';
import { until } from '../../../fixtures/automation/inbox.ts';
import { MemoryStore } from '../../../fixtures/store/memory-store.ts';

const user = fc.constantFrom('ben', 'carl', 'ada', 'mallory');
const verdict = fc.constantFrom('approve' as const, 'deny' as const);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('press' as const), verdict, user }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('mark' as const), verdict, user }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('api' as const),
      verdict,
      by: fc.option(user, { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 30 }) }),
  },
);
/** Ada asks. */
const MAY = ['ben', 'carl'];

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('whoever decides, and whatever happens meanwhile, there is one outcome, once (APV1, WMD2)', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(0.02, 3_600),
      async (steps, seconds) => {
        const store = new MemoryStore();
        const shown: Shown[] = [];
        const who = { ...pay.who, approvers: [...MAY, 'ada'], approval_timeout_seconds: seconds };
        const start = () => new ApprovalChat({ store, shown, handler: askingHandler({ ...pay, who }) });
        let chat = start();
        const operator = new OperatorApprovals(() => ({
          store,
          approvals: chat.approvals,
          gateway: { redactor: new Redactor([]) },
        }));
        await chat.say('a:1', { user: 'ada', isAwaited: false });
        const [asked] = await chat.asked('a:1');
        if (asked === undefined) throw new Error('nothing was asked');
        const { id } = asked;
        let taken = 0;
        const going: Promise<unknown>[] = [];
        for (const [n, each] of steps.entries()) {
          if (each.do === 'press') {
            const decision = { verdict: each.verdict, about: { approval: id } };
            going.push(chat.press(`d:${n}`, decision, { user: each.user }));
          } else if (each.do === 'mark') {
            const decision = { verdict: each.verdict, about: { message: 'm1' } };
            going.push(chat.press(`d:${n}`, decision, { user: each.user }));
          } else if (each.do === 'api') {
            const { by } = each;
            const decided = operator.decide(id, each.verdict, { by, comment: undefined }, anonymous);
            going.push(
              decided.then((result) => {
                if (!('error' in result)) taken += 1;
                else if (result.error instanceof ForbiddenError) expect(MAY).not.toContain(by);
              }),
            );
          } else if (each.do === 'cancel') going.push(chat.deliveries.discard('a:1', 'not wanted'));
          else if (each.do === 'wait') await sleep(each.ms);
          else {
            await chat.end();
            chat = start();
          }
        }
        await Promise.all(going);
        for (const n of steps.keys())
          if (['press', 'mark'].includes(steps[n]?.do ?? '')) await chat.reached(`d:${n}`, 'done', 'ignored');
        await operator.decide(id, 'deny', { by: undefined, comment: undefined }, anonymous);
        const { state, note } = await chat.reached('a:1', 'done', 'ignored');
        await chat.saidTo('');
        await until('the message has changed', () =>
          shown.some(({ buttons, changes }) => changes === 1 && buttons.length === 0),
        );
        const now = await chat.approvals.find(id);
        await chat.end();

        if (now === undefined) throw new Error('it is gone');
        seen.add(now.state);
        const decision = decisionOf(now);
        if (decision?.via === 'chat') expect(MAY).toContain(decision.by);
        if (decision?.operator !== undefined) expect([...MAY, 'an operator']).toContain(decision.by);
        expect(taken).toBeLessThanOrEqual(decision?.via === 'api' ? 1 : 0);
        const answers = shown.filter(({ place }) => place === 'room').map(({ text }) => text);
        expect([state, answers]).toEqual(
          now.state === 'cancelled'
            ? ['ignored', []]
            : state === 'ignored'
              ? ['ignored', []]
              : ['done', [now.state]],
        );
        // A run that is cancelled after the decision has no answer; else it went on by the outcome.
        if (state === 'ignored') expect(note).toBe('not wanted');
        const [question] = shown.filter(({ place, changes }) => place === 'ops' && changes > 0);
        expect(question?.changes).toBe(1);
        const word = {
          approved: 'Approved',
          denied: 'Denied',
          expired: 'Expired',
          cancelled: 'Cancelled',
          pending: '?',
        };
        expect(question?.text.startsWith(word[now.state])).toBe(true);
        expect(bodyOf(now).rights.approvers).toEqual([...MAY, 'ada']);
      },
    ),
    { numRuns: 40 },
  );
  expect(seen.size).toBeGreaterThan(2);
});
