// Fleets (several agents that answer one event together) with a manager: an agent whose tools are the other
// members. A member answers, fails, or requires an approval. The processes are killed at random commits. The
// answer is always the same, members with stored answers are not re-run, and interrupted members continue.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digestOf } from '../../../../../actors/agents/approvals/record.ts';
import {
  type ApprovalOutcome,
  approvalWake,
  type RunApprovals,
} from '../../../../../actors/agents/approvals/run-approvals.ts';
import { FleetHandler } from '../../../../../actors/agents/fleets/handler.ts';
import {
  type AgentReply,
  type Handler,
  HandlerError,
  type Job,
} from '../../../../../actors/agents/handlers/handler.ts';
import type { HandlerContext } from '../../../../../actors/agents/handlers/handler-context.ts';
import { isParked, type Parked } from '../../../../../actors/agents/handlers/parked.ts';
import { ModelAgent } from '../../../../../actors/agents/model-agent/model-agent.ts';
import type { ModelAnswer, ModelRequest } from '../../../../../actors/agents/models/model.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import type { Fleet } from '../../../../../config/resources/fleets/fleet.ts';
import { aRuntime, modelAnswer } from '../../../../fixtures/agents/agent-world.ts';
import { freeSlots } from '../../../../fixtures/agents/free-slots.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KillableRun, ProcessKilled } from '../../../../fixtures/automation/killable-run.ts';

type Behaviour = 'answers' | 'fails' | 'waits';
const behaviours: readonly Behaviour[] = ['answers', 'fails', 'waits'];

/** Returns a fleet with the manager `lead`, and a member per behaviour, with the behaviour as its name. */
function fleetOf(more: Partial<Fleet> = {}): Fleet {
  const member = { description: undefined, weight: 1_000, isManager: false, tier: 1 };
  return {
    name: 'f',
    file: '/f.yaml',
    hash: '',
    description: undefined,
    timeout_seconds: 60,
    definition: '{}',
    members: [
      { ...member, name: 'lead', agent: 'lead', isManager: true },
      ...behaviours.map((name) => ({ ...member, name, agent: name, description: `it ${name}` })),
    ],
    coordination: { mode: 'hierarchical' },
    on_failure: 'fail',
    budget: { tokens: undefined, tool_calls: undefined, cost: undefined },
    concurrency: 8,
    ...more,
  };
}

/** Makes members, with approvals in memory. */
class FakeMembers {
  readonly outcomes = new Map<string, ApprovalOutcome>();
  readonly answered: string[] = [];
  runningCount = 0;
  maxRunning = 0;

  readonly approvals: RunApprovals = {
    ask: async (request) => {
      const id = `approval-${this.outcomes.size + 1}`;
      const rest = { by: undefined, comment: undefined, expiresInMs: undefined, agent: 'waits' };
      this.outcomes.set(id, { state: 'pending', digest: digestOf(request), ...rest });
      return {
        id,
        effects: { asks: [{ id } as never] },
        expiresInMs: undefined,
        approverText: undefined as never,
      };
    },
    outcome: async (id) => this.outcomes.get(id),
  };

  handlerOf(behaviour: Behaviour): Handler {
    return {
      run: async (job: Job, context: HandlerContext): Promise<AgentReply | Parked> => {
        this.runningCount += 1;
        this.maxRunning = Math.max(this.maxRunning, this.runningCount);
        try {
          expect(context.runTools).toBeUndefined();
          await new Promise((resolve) => setImmediate(resolve));
          if (behaviour === 'fails') throw new HandlerError('not my day', { isFinal: true });
          const savedState = context.state;
          if (behaviour === 'waits' && savedState === undefined) {
            const node = { flow: 'f', id: 'x', message: job.input };
            const { id, effects } = await this.approvals.ask({
              kind: 'node',
              node,
              title: 'x',
              rules: {} as never,
            });
            return { parkedOn: approvalWake(job.event.id), state: id, effects };
          }
          if (savedState !== undefined && this.outcomes.get(savedState)?.state === 'pending')
            return { parkedOn: approvalWake(job.event.id), state: savedState };
          this.answered.push(`${behaviour} ${job.idempotencyKey}`);
          return { text: `${behaviour}: ${job.input}` };
        } finally {
          this.runningCount -= 1;
        }
      },
    };
  }
}

function managerOf(answer: (request: ModelRequest) => ModelAnswer): Handler {
  return new ModelAgent(aRuntime({ servers: [] }), '/lead.yaml', {
    slots: freeSlots,
    models: { ask: async (request) => answer(request) },
    toolBoxes: {
      open: () => ({
        list: async () => [],
        call: async () => Promise.reject(new Error('there are no servers')),
        release: () => {},
      }),
    },
    log: silentLog,
    readDefinition: () => aRuntime({ servers: [] }),
  });
}

const toolResults = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? message.results : []));

/** Rounds of calls by the manager, with the behaviours of the called members. */
const anyPlan = fc.array(fc.array(fc.constantFrom(...behaviours), { minLength: 1, maxLength: 4 }), {
  maxLength: 3,
});

it('a fleet with a managing agent returns the same answer, no matter when its process is killed', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyPlan,
      fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 6 }),
      fc.integer({ min: 1, max: 3 }),
      async (plan, commitsUntilKill, concurrency) => {
        const members = new FakeMembers();
        const manager = managerOf((request) => {
          const roundNumber = request.messages.filter(({ role }) => role === 'tool').length;
          const round = plan[roundNumber];
          if (round === undefined)
            return modelAnswer(['done', ...toolResults(request).map(({ text }) => text)].join(' | '));
          return modelAnswer(
            '',
            round.map((behaviour, n) => [`ask_${behaviour}`, { question: `q${roundNumber}.${n}` }] as const),
          );
        });
        const fleet = fleetOf({ concurrency });
        const handler = new FleetHandler(fleet, {
          handlerOf: ({ name }) => (name === 'lead' ? manager : members.handlerOf(name as Behaviour)),
          readDefinition: async () => fleet,
          firstPauseMs: 1,
        });
        const run = new KillableRun();
        const remainingKills = [...commitsUntilKill];
        let text: string | undefined;
        // A further attempt is necessary after every kill and approval.
        for (let attempt = 0; text === undefined; attempt += 1) {
          expect(attempt).toBeLessThan(100);
          run.killedAtCommit = run.commits + (remainingKills.shift() ?? Number.POSITIVE_INFINITY);
          try {
            const reply = await run.attempt(handler, aJob({ input: 'go' }), { approvals: members.approvals });
            if (!isParked(reply)) text = reply.text;
            else {
              const pending = [...members.outcomes].filter(([, { state }]) => state === 'pending');
              expect(pending.length).toBeGreaterThan(0);
              const [[id, outcome] = ['', undefined]] = pending;
              if (outcome !== undefined) members.outcomes.set(id, { ...outcome, state: 'approved' });
            }
          } catch (error) {
            expect(error).toBeInstanceOf(ProcessKilled);
            // A killed process has no running members. Here their promises continue: the loop waits for them.
            await new Promise((resolve) => setTimeout(resolve, 3));
          }
        }
        const expected = plan.flatMap((round, roundNumber) =>
          round.map((behaviour, n) =>
            behaviour === 'fails' ? 'It could not answer: not my day' : `${behaviour}: q${roundNumber}.${n}`,
          ),
        );
        expect(text).toBe(['done', ...expected].join(' | '));
        expect(members.maxRunning).toBeLessThanOrEqual(concurrency);
        // A path with a slash names the part of the run that one member executes. It completes once, unless
        // the member fails.
        const ended = run.rows.filter(({ kind, in: path }) => kind === 'ended' && String(path).includes('/'));
        expect(new Set(ended.map((row) => row.in)).size).toBe(ended.length);
        expect(ended.length).toBe(plan.flat().filter((behaviour) => behaviour !== 'fails').length);
        const calls = run.rows.filter(({ kind, in: path }) => kind === 'called' && path === 'lead');
        expect(calls.length).toBe(plan.flat().length);
      },
    ),
    { numRuns: 120 },
  );
});

it('the budget of a fleet covers all members, and nothing starts once it is exhausted', async () => {
  let requestCount = 0;
  const manager = managerOf((request) => {
    requestCount += 1;
    return toolResults(request).length < 5
      ? modelAnswer('', [['ask_answers', { question: 'again' }]])
      : modelAnswer('done');
  });
  const fleet = fleetOf({ budget: { tokens: 30, tool_calls: undefined, cost: undefined } });
  const members = new FakeMembers();
  const handler = new FleetHandler(fleet, {
    handlerOf: ({ name }) => (name === 'lead' ? manager : members.handlerOf('answers')),
    readDefinition: async () => fleet,
  });
  await expect(new KillableRun().attempt(handler, aJob())).rejects.toThrow('budget.tokens (30) is used up');
  // At 12 tokens per model request, the third request exhausts the budget.
  expect(requestCount).toBe(3);
});

it('cancelling a fleet cancels the members called by its manager', async () => {
  const stopped: string[] = [];
  const manager = managerOf(() =>
    modelAnswer('', [
      ['ask_answers', { question: 'q' }],
      ['ask_waits', { question: 'q' }],
    ]),
  );
  const fleet = fleetOf();
  const cancel = new AbortController();
  const handler = new FleetHandler(fleet, {
    handlerOf: ({ name }) =>
      name === 'lead'
        ? manager
        : {
            run: (_job, { signal }) =>
              new Promise((_resolve, reject) => {
                signal.addEventListener('abort', () => {
                  stopped.push(name);
                  reject(signal.reason);
                });
                if (name === 'waits') setTimeout(() => cancel.abort(new Error('cancelled')), 5);
              }),
          },
    readDefinition: async () => fleet,
  });
  const run = new KillableRun();
  await expect(run.attempt(handler, aJob(), { signal: cancel.signal })).rejects.toThrow('cancelled');
  expect(stopped.sort()).toEqual(['answers', 'waits']);
});

it('each member of a fleet starts exactly once, even if many members answer at the same time', async () => {
  const started: string[] = [];
  const member = { description: undefined, weight: 1_000, isManager: false, tier: 1 };
  const members = Array.from({ length: 16 }, (_, n) => ({ ...member, name: `m${n}`, agent: `m${n}` }));
  const fleet = fleetOf({ members, coordination: { mode: 'peer', by: 'merge' }, concurrency: 16 });
  const handler = new FleetHandler(fleet, {
    handlerOf: ({ name }) => ({
      run: async () => {
        started.push(name);
        return { text: name };
      },
    }),
    readDefinition: async () => fleet,
  });
  await new KillableRun().attempt(handler, aJob());
  expect(started.length).toBe(16);
});
