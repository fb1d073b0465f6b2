// Approval decisions under concurrency. Random steps decide by a button, a reaction or the API, cancel the
// run, reload other files, restart or kill the gateway, or wait for the timeout.
// The approval has exactly one outcome, decided by a person with the right to decide. The run continues with
// this outcome, and the message shows the outcome.

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
/** `press` is a button of the message, `mark` a reaction to it. */
const anyStep = fc.oneof(
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
/** Persons who may decide. Ada is in the list of approvers too, but as the requester she may not. */
const APPROVERS = ['ben', 'carl'];

/** Longer than the pause before events are retried after a crash. */
const AFTER_KILL_MS = 60_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('an approval request has exactly one outcome despite concurrent decisions, restarts and kills', async () => {
  const finalStates = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: 1, maxLength: 8 }),
      // With 0.02 seconds the approval expires during the steps, with an hour it never expires.
      fc.constantFrom(0.02, 3_600),
      async (steps, timeoutSeconds) => {
        let clockOffsetMs = 0;
        const store = new MemoryStore({ now: () => Date.now() + clockOffsetMs });
        const shown: Shown[] = [];
        // Rules of the agent's file. A reload changes these approvers, and the approvers of the trigger.
        let rules = {
          ...paymentRequest.rules,
          approvers: [...APPROVERS, 'ada'],
          approval_timeout_seconds: timeoutSeconds,
        };
        let config = {};
        /** The store as the current process sees it. */
        let processStore = new KillableStore(store);
        const start = () =>
          new ApprovalChat({
            store: processStore.store,
            shown,
            triggers: [manualTrigger('chat', config)],
            handler: () => askingHandler({ ...paymentRequest, rules }),
          });
        let chat = start();
        const operator = new OperatorApprovals({
          get store() {
            return processStore.store;
          },
          get approvals() {
            return chat.approvals;
          },
          gateway: { redactor: new Redactor([]) },
        });
        await chat.say('a:1', { user: 'ada', isAwaited: false });
        const [requested] = await chat.waitForApprovals('a:1');
        if (requested === undefined) throw new Error('expected an approval request');
        const { id } = requested;
        let acceptedByApi = 0;
        let pending: Promise<unknown>[] = [];
        for (const [n, step] of steps.entries()) {
          if (step.do === 'press') {
            const decision = { verdict: step.verdict, about: { approval: id } };
            pending.push(chat.press(`d:${n}`, decision, { user: step.user }));
          } else if (step.do === 'mark') {
            const decision = { verdict: step.verdict, about: { message: 'm1' } };
            pending.push(chat.press(`d:${n}`, decision, { user: step.user }));
          } else if (step.do === 'api') {
            const { by } = step;
            const decided = operator.decide(id, step.verdict, { by, comment: undefined }, anonymous);
            pending.push(
              decided.then((result) => {
                if (!('error' in result)) acceptedByApi += 1;
                else if (result.error instanceof ForbiddenError) expect(APPROVERS).not.toContain(by);
              }),
            );
          } else if (step.do === 'cancel') pending.push(chat.deliveries.discard('a:1', 'not wanted'));
          else if (step.do === 'wait') await sleep(step.ms);
          else if (step.do === 'reload') {
            rules = { ...rules, approvers: ['mallory'], self_approval: true };
            config = { approval_allowed_users: ['mallory'] };
            chat.triggers.set('chat', manualTrigger('chat', config));
          } else if (step.do === 'kill') {
            processStore.kill();
            // The killed process answers no request, so no response is awaited.
            pending = [];
            void chat.end(0);
            processStore = new KillableStore(store);
            store.restart();
            clockOffsetMs += AFTER_KILL_MS;
            chat = start();
            store.noticeTime();
          } else {
            await chat.end();
            chat = start();
          }
        }
        await Promise.all(pending);
        // Decisions of the chat are stored as events `d:N`. Decisions that were lost in a kill have no event.
        for (const n of steps.keys())
          if ((await store.delivery(`d:${n}`)) !== undefined)
            await chat.waitForState(`d:${n}`, 'done', 'ignored');
        // Denies an approval that is still pending.
        await operator.decide(id, 'deny', { by: undefined, comment: undefined }, anonymous);
        const { state, note } = await chat.waitForState('a:1', 'done', 'ignored');
        await chat.waitUntilSent();
        await until('the message has changed', () =>
          shown.some(({ buttons, changes }) => changes > 0 && buttons.length === 0),
        );
        const approval = await chat.approvals.find(id);
        await chat.end();

        if (approval === undefined) throw new Error('expected the approval request');
        finalStates.add(approval.state);
        const decision = decisionOf(approval);
        if (decision?.via === 'chat') expect(APPROVERS).toContain(decision.by);
        if (decision?.operator !== undefined) expect([...APPROVERS, 'an operator']).toContain(decision.by);
        expect(acceptedByApi).toBeLessThanOrEqual(decision?.via === 'api' ? 1 : 0);
        const wasKilled = steps.some((step) => step.do === 'kill');
        const roomTexts = shown.filter(({ place }) => place === 'room').map(({ text }) => text);
        // A message that was sent just before a kill has no record, so it may be sent twice.
        const answers = wasKilled ? [...new Set(roomTexts)] : roomTexts;
        // A cancelled run, even one cancelled after the decision, has no answer. Every other run continued
        // with the outcome.
        const isCancelled = approval.state === 'cancelled' || state === 'ignored';
        expect([state, answers]).toEqual(isCancelled ? ['ignored', []] : ['done', [approval.state]]);
        if (state === 'ignored') expect(note).toBe('not wanted');
        const [question] = shown.filter(({ place, changes }) => place === 'ops' && changes > 0);
        if (!wasKilled) expect(question?.changes).toBe(1);
        const titles = {
          approved: 'Approved',
          denied: 'Denied',
          expired: 'Expired',
          cancelled: 'Cancelled',
          pending: '?',
        };
        expect(question?.text.startsWith(titles[approval.state])).toBe(true);
        // A reload does not change the rights for an existing request.
        expect(bodyOf(approval).rights).toMatchObject({
          approvers: [...APPROVERS, 'ada'],
          selfApproval: false,
        });
      },
    ),
    { numRuns: 60 },
  );
  // The random steps reached at least three of the states.
  expect(finalStates.size).toBeGreaterThan(2);
});
