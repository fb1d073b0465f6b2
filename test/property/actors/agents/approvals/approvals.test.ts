// Approval decisions under concurrency: several approvers, an operator, expiry, cancellation, changed files,
// restarts and kills. There is exactly one outcome, by a person with the right to decide. The run continues
// with it, and the message shows it.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { OperatorApprovals } from '../../../../../actors/agents/approvals/operator-approvals.ts';
import { bodyOf, decisionOf } from '../../../../../actors/agents/approvals/record.ts';
import { ForbiddenError } from '../../../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../../../actors/base/errors/redact.ts';
import { anonymous } from '../../../../../actors/identity/principal.ts';
import {
  ApprovalChat,
  askingHandler,
  paymentRequest,
  type Shown,
} from '../../../../fixtures/automation/approval-chat.ts';
import { until } from '../../../../fixtures/automation/inbox.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { KillableStore } from '../../../../fixtures/store/killable-store.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

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
  { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reload' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 30 }) }),
  },
);
/** Ada is the requester. */
const APPROVERS = ['ben', 'carl'];

/** Longer than the delay of running events after a crash. */
const AFTER_KILL_MS = 60_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('an approval request has exactly one outcome, whatever happens', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(0.02, 3_600),
      async (steps, seconds) => {
        let laterMs = 0;
        const store = new MemoryStore({ now: () => Date.now() + laterMs });
        const shown: Shown[] = [];
        // If the files name the approvers, and not the trigger, a reload changes both.
        let rules = {
          ...paymentRequest.rules,
          approvers: [...APPROVERS, 'ada'],
          approval_timeout_seconds: seconds,
        };
        let config = {};
        let life = new KillableStore(store);
        const start = () =>
          new ApprovalChat({
            store: life.store,
            shown,
            triggers: [manualTrigger('chat', config)],
            handler: () => askingHandler({ ...paymentRequest, rules }),
          });
        let chat = start();
        const operator = new OperatorApprovals({
          get store() {
            return life.store;
          },
          get approvals() {
            return chat.approvals;
          },
          gateway: { redactor: new Redactor([]) },
        });
        await chat.say('a:1', { user: 'ada', isAwaited: false });
        const [asked] = await chat.waitForApprovals('a:1');
        if (asked === undefined) throw new Error('expected an approval request');
        const { id } = asked;
        let taken = 0;
        let going: Promise<unknown>[] = [];
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
                else if (result.error instanceof ForbiddenError) expect(APPROVERS).not.toContain(by);
              }),
            );
          } else if (each.do === 'cancel') going.push(chat.deliveries.discard('a:1', 'not wanted'));
          else if (each.do === 'wait') await sleep(each.ms);
          else if (each.do === 'reload') {
            rules = { ...rules, approvers: ['mallory'], self_approval: true };
            config = { approval_allowed_users: ['mallory'] };
            chat.triggers.set('chat', manualTrigger('chat', config));
          } else if (each.do === 'kill') {
            life.kill();
            // The killed process answers no request, so no response is awaited.
            going = [];
            void chat.end(0);
            life = new KillableStore(store);
            store.restart();
            laterMs += AFTER_KILL_MS;
            chat = start();
            store.noticeTime();
          } else {
            await chat.end();
            chat = start();
          }
        }
        await Promise.all(going);
        for (const n of steps.keys())
          if ((await store.delivery(`d:${n}`)) !== undefined)
            await chat.waitForState(`d:${n}`, 'done', 'ignored');
        await operator.decide(id, 'deny', { by: undefined, comment: undefined }, anonymous);
        const { state, note } = await chat.waitForState('a:1', 'done', 'ignored');
        await chat.waitUntilSent();
        await until('the message has changed', () =>
          shown.some(({ buttons, changes }) => changes > 0 && buttons.length === 0),
        );
        const now = await chat.approvals.find(id);
        await chat.end();

        if (now === undefined) throw new Error('expected the approval request');
        seen.add(now.state);
        const decision = decisionOf(now);
        if (decision?.via === 'chat') expect(APPROVERS).toContain(decision.by);
        if (decision?.operator !== undefined) expect([...APPROVERS, 'an operator']).toContain(decision.by);
        expect(taken).toBeLessThanOrEqual(decision?.via === 'api' ? 1 : 0);
        const wasKilled = steps.some((each) => each.do === 'kill');
        const roomTexts = shown.filter(({ place }) => place === 'room').map(({ text }) => text);
        // A message that was sent just before a kill has no record, so it may be sent twice.
        const answers = wasKilled ? [...new Set(roomTexts)] : roomTexts;
        expect([state, answers]).toEqual(
          now.state === 'cancelled'
            ? ['ignored', []]
            : state === 'ignored'
              ? ['ignored', []]
              : ['done', [now.state]],
        );
        // A run that was cancelled after the decision has no answer. Every other run continued with the
        // outcome.
        if (state === 'ignored') expect(note).toBe('not wanted');
        const [question] = shown.filter(({ place, changes }) => place === 'ops' && changes > 0);
        if (!wasKilled) expect(question?.changes).toBe(1);
        const command = {
          approved: 'Approved',
          denied: 'Denied',
          expired: 'Expired',
          cancelled: 'Cancelled',
          pending: '?',
        };
        expect(question?.text.startsWith(command[now.state])).toBe(true);
        expect(bodyOf(now).rights).toMatchObject({ approvers: [...APPROVERS, 'ada'], selfApproval: false });
      },
    ),
    { numRuns: 60 },
  );
  expect(seen.size).toBeGreaterThan(2);
});
