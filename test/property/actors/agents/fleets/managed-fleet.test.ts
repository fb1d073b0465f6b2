// A manager whose tools are the members, in processes that end at any commit, with members that fail and members that wait for people: the
// manager is given the same results, no member is asked again whose answer was durable, and one that was interrupted goes on.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digestOf } from '../../../../../actors/agents/approvals/approval-record.ts';
import {
  type ApprovalOutcome,
  approvalWake,
  type RunApprovals,
} from '../../../../../actors/agents/approvals/run-approvals.ts';
import { FleetHandler } from '../../../../../actors/agents/fleets/fleet-handler.ts';
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
import { aRuntime, says } from '../../../../fixtures/agents/agent-world.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KeptRun, ProcessEnded } from '../../../../fixtures/automation/kept-run.ts';

type Deed = 'answers' | 'fails' | 'waits';
const deeds: readonly Deed[] = ['answers', 'fails', 'waits'];

function fleetOf(more: Partial<Fleet> = {}): Fleet {
  const member = { description: undefined, weight: 1_000, isManager: false, tier: 1 };
  return {
    ...{
      name: 'f',
      file: '/f.yaml',
      hash: '',
      description: undefined,
      timeout_seconds: 60,
      definition: '{}',
    },
    members: [
      { ...member, name: 'lead', agent: 'lead', isManager: true },
      ...deeds.map((name) => ({ ...member, name, agent: name, description: `it ${name}` })),
    ],
    coordination: { mode: 'hierarchical' },
    on_failure: 'fail',
    budget: { tokens: undefined, tool_calls: undefined, cost: undefined },
    concurrency: 8,
    ...more,
  };
}

class Office {
  readonly outcomes = new Map<string, ApprovalOutcome>();
  readonly answered: string[] = [];
  /** Between two commits of a process. */
  atWork = 0;
  most = 0;

  readonly approvals: RunApprovals = {
    ask: async (request) => {
      const id = `approval-${this.outcomes.size + 1}`;
      const rest = { by: undefined, comment: undefined, expiresInMs: undefined, agent: 'waits' };
      this.outcomes.set(id, { state: 'pending', digest: digestOf(request), ...rest });
      return { id, effects: { asks: [{ id } as never] }, expiresInMs: undefined, whom: undefined as never };
    },
    outcome: async (id) => this.outcomes.get(id),
  };

  member(deed: Deed): Handler {
    return {
      run: async (job: Job, context: HandlerContext): Promise<AgentReply | Parked> => {
        this.atWork += 1;
        this.most = Math.max(this.most, this.atWork);
        try {
          expect(context.runTools).toBeUndefined();
          await new Promise((resolve) => setImmediate(resolve));
          if (deed === 'fails') throw new HandlerError('not my day', { isFinal: true });
          const asked = context.state;
          if (deed === 'waits' && asked === undefined) {
            const node = { flow: 'f', id: 'x', message: job.input };
            const { id, effects } = await this.approvals.ask({
              kind: 'node',
              node,
              title: 'x',
              who: {} as never,
            });
            return { parkedOn: approvalWake(job.event.id), state: id, effects };
          }
          if (asked !== undefined && this.outcomes.get(asked)?.state === 'pending')
            return { parkedOn: approvalWake(job.event.id), state: asked };
          this.answered.push(`${deed} ${job.idempotencyKey}`);
          return { text: `${deed}: ${job.input}` };
        } finally {
          this.atWork -= 1;
        }
      },
    };
  }
}

function managerThat(answer: (request: ModelRequest) => ModelAnswer): Handler {
  return new ModelAgent(aRuntime({ servers: [] }), '/lead.yaml', {
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

const results = ({ messages }: ModelRequest) =>
  messages.flatMap((message) => (message.role === 'tool' ? message.results : []));

const arbPlan = fc.array(fc.array(fc.constantFrom(...deeds), { minLength: 1, maxLength: 4 }), {
  maxLength: 3,
});

it('MBT1 MBT2 MBT3 MBT4 a manager comes to its answer wherever its process ends', async () => {
  await fc.assert(
    fc.asyncProperty(
      arbPlan,
      fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 6 }),
      fc.integer({ min: 1, max: 3 }),
      async (plan, endsAt, concurrency) => {
        const office = new Office();
        const manager = managerThat((request) => {
          const said = request.messages.filter(({ role }) => role === 'tool').length;
          const wanted = plan[said];
          if (wanted === undefined)
            return says(
              results(request)
                .map(({ text }) => text)
                .join(' | '),
            );
          return says(
            '',
            wanted.map((deed, n) => [`ask_${deed}`, { question: `q${said}.${n}` }] as const),
          );
        });
        const fleet = fleetOf({ concurrency });
        const handler = new FleetHandler(fleet, {
          handlerOf: ({ name }) => (name === 'lead' ? manager : office.member(name as Deed)),
          readDefinition: async () => fleet,
          firstPauseMs: 1,
        });
        const run = new KeptRun();
        const ends = [...endsAt];
        let text: string | undefined;
        for (let attempt = 0; text === undefined; attempt += 1) {
          expect(attempt).toBeLessThan(100);
          run.endsAt = run.commits + (ends.shift() ?? Number.POSITIVE_INFINITY);
          try {
            const reply = await run.attempt(handler, aJob({ input: 'go' }), { approvals: office.approvals });
            if (!isParked(reply)) text = reply.text;
            else {
              const open = [...office.outcomes].filter(([, { state }]) => state === 'pending');
              expect(open.length).toBeGreaterThan(0);
              const [[id, outcome] = ['', undefined]] = open;
              if (outcome !== undefined) office.outcomes.set(id, { ...outcome, state: 'approved' });
            }
          } catch (error) {
            expect(error).toBeInstanceOf(ProcessEnded);
            await new Promise((resolve) => setTimeout(resolve, 3));
          }
        }
        const expected = plan.flatMap((wanted, said) =>
          wanted.map((deed, n) =>
            deed === 'fails' ? 'It could not answer: not my day' : `${deed}: q${said}.${n}`,
          ),
        );
        expect(text).toBe(expected.join(' | '));
        expect(office.most).toBeLessThanOrEqual(concurrency);
        const ended = run.rows.filter(({ kind, in: at }) => kind === 'ended' && String(at).includes('/'));
        expect(new Set(ended.map((row) => row.in)).size).toBe(ended.length);
        expect(ended.length).toBe(plan.flat().filter((deed) => deed !== 'fails').length);
        const called = run.rows.filter(({ kind, in: at }) => kind === 'called' && at === 'lead');
        expect(called.length).toBe(plan.flat().length);
      },
    ),
    { numRuns: 120 },
  );
});

it('FLT5 the budget of a fleet is over all of its members: nothing more is begun when it is used up', async () => {
  let asked = 0;
  const model = managerThat((request) => {
    asked += 1;
    return results(request).length < 5 ? says('', [['ask_answers', { question: 'again' }]]) : says('done');
  });
  const fleet = fleetOf({ budget: { tokens: 30, tool_calls: undefined, cost: undefined } });
  const office = new Office();
  const handler = new FleetHandler(fleet, {
    handlerOf: ({ name }) => (name === 'lead' ? model : office.member('answers')),
    readDefinition: async () => fleet,
  });
  await expect(new KeptRun().attempt(handler, aJob())).rejects.toThrow('budget.tokens (30) is used up');
  // 12 tokens each: the third question is the last.
  expect(asked).toBe(3);
});

it('FLT3 a fleet that is cancelled cancels the members that its manager has asked', async () => {
  const stopped: string[] = [];
  const manager = managerThat(() =>
    says('', [
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
  const run = new KeptRun();
  await expect(run.attempt(handler, aJob(), { signal: cancel.signal })).rejects.toThrow('cancelled');
  expect(stopped.sort()).toEqual(['answers', 'waits']);
});

it('RPT1 FP1 members that answer in the same moment are asked once each', async () => {
  const asked: string[] = [];
  const member = { description: undefined, weight: 1_000, isManager: false, tier: 1 };
  const members = Array.from({ length: 16 }, (_, n) => ({ ...member, name: `m${n}`, agent: `m${n}` }));
  const fleet = fleetOf({ members, coordination: { mode: 'peer', by: 'merge' }, concurrency: 16 });
  const handler = new FleetHandler(fleet, {
    handlerOf: ({ name }) => ({
      run: async () => {
        asked.push(name);
        return { text: name };
      },
    }),
    readDefinition: async () => fleet,
  });
  await new KeptRun().attempt(handler, aJob());
  expect(asked.length).toBe(16);
});
