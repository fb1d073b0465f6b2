// Several people and an operator decide at the same time, the time runs out, the run is cancelled, the files change, the gateway starts
// anew or is killed: there is one outcome, by somebody who may by the files of then, the run goes on by it, and the message says the same.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bodyOf, decisionOf } from '../../../../../actors/agents/approvals/approval-record.ts';
import { OperatorApprovals } from '../../../../../actors/agents/approvals/operator-approvals.ts';
import { ForbiddenError } from '../../../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../../../actors/base/errors/redact.ts';
import { anonymous } from '../../../../../actors/identity/principal.ts';
import {
  ApprovalChat,
  askingHandler,
  pay,
  type Shown,
} from '../../../../fixtures/automation/approval-chat.ts';
import { until } from '../../../../fixtures/automation/inbox.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';
import { MortalStore } from '../../../../fixtures/store/mortal-store.ts';

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
/** Ada asks. */
const MAY = ['ben', 'carl'];

/** Longer than what was at work when the process ended is held back. */
const AFTER_KILL_MS = 60_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('whoever decides, and whatever happens meanwhile, there is one outcome, once (APV1, WMD2)', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 8 }),
      fc.constantFrom(0.02, 3_600),
      async (steps, seconds) => {
        let laterMs = 0;
        const store = new MemoryStore({ now: () => Date.now() + laterMs });
        const shown: Shown[] = [];
        // Where it is the files that say who may, and not the trigger, both ways change with a reload.
        let who = { ...pay.who, approvers: [...MAY, 'ada'], approval_timeout_seconds: seconds };
        let config = {};
        let life = new MortalStore(store);
        const start = () =>
          new ApprovalChat({
            ...{ store: life.store, shown, triggers: [manualTrigger('chat', config)] },
            handler: () => askingHandler({ ...pay, who }),
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
        const [asked] = await chat.asked('a:1');
        if (asked === undefined) throw new Error('nothing was asked');
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
                else if (result.error instanceof ForbiddenError) expect(MAY).not.toContain(by);
              }),
            );
          } else if (each.do === 'cancel') going.push(chat.deliveries.discard('a:1', 'not wanted'));
          else if (each.do === 'wait') await sleep(each.ms);
          else if (each.do === 'reload') {
            who = { ...who, approvers: ['mallory'], self_approval: true };
            config = { approval_allowed_users: ['mallory'] };
            chat.triggers.set('chat', manualTrigger('chat', config));
          } else if (each.do === 'kill') {
            life.kill();
            // Nobody is told what it was asked.
            going = [];
            void chat.end(0);
            life = new MortalStore(store);
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
          if ((await store.delivery(`d:${n}`)) !== undefined) await chat.reached(`d:${n}`, 'done', 'ignored');
        await operator.decide(id, 'deny', { by: undefined, comment: undefined }, anonymous);
        const { state, note } = await chat.reached('a:1', 'done', 'ignored');
        await chat.saidTo('');
        await until('the message has changed', () =>
          shown.some(({ buttons, changes }) => changes > 0 && buttons.length === 0),
        );
        const now = await chat.approvals.find(id);
        await chat.end();

        if (now === undefined) throw new Error('it is gone');
        seen.add(now.state);
        const decision = decisionOf(now);
        if (decision?.via === 'chat') expect(MAY).toContain(decision.by);
        if (decision?.operator !== undefined) expect([...MAY, 'an operator']).toContain(decision.by);
        expect(taken).toBeLessThanOrEqual(decision?.via === 'api' ? 1 : 0);
        const wasKilled = steps.some((each) => each.do === 'kill');
        const said = shown.filter(({ place }) => place === 'room').map(({ text }) => text);
        // What has left when a kill comes, and was not noted, leaves once more.
        const answers = wasKilled ? [...new Set(said)] : said;
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
        if (!wasKilled) expect(question?.changes).toBe(1);
        const word = {
          approved: 'Approved',
          denied: 'Denied',
          expired: 'Expired',
          cancelled: 'Cancelled',
          pending: '?',
        };
        expect(question?.text.startsWith(word[now.state])).toBe(true);
        expect(bodyOf(now).rights).toMatchObject({ approvers: [...MAY, 'ada'], selfApproval: false });
      },
    ),
    { numRuns: 60 },
  );
  expect(seen.size).toBeGreaterThan(2);
});
