// A flow with nodes of many types. Its processes are killed at random commits. The flow always returns the
// same answer, sends each message once, and repeats no completed node.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { FlowHandler } from '../../../../../actors/agents/flows/handler.ts';
import { type Handler, HandlerError, type Job } from '../../../../../actors/agents/handlers/handler.ts';
import { isParked } from '../../../../../actors/agents/handlers/parked.ts';
import type { NewEvent } from '../../../../../actors/store/event.ts';
import type { HandlerWork } from '../../../../../config/resources/flows/flow.ts';
import { freeSlots } from '../../../../fixtures/agents/free-slots.ts';
import { flowOf } from '../../../../fixtures/automation/flow-files.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KillableRun, ProcessKilled } from '../../../../fixtures/automation/killable-run.ts';

const flow = await flowOf(`  parameters: [{ name: version, required: true }]
  nodes:
    - { id: check, type: Agent, config: { agent: checker, input: "Check {{ parameters.version }}" } }
    - { id: names, type: Transform, config: { set: { all: [ada, ben], n: "{{ size(steps.check.output.text) }}" } } }
    - id: each
      type: Loop
      config:
        over: steps.names.output.all
        nodes:
          - { id: greet, type: Agent, config: { agent: greeter, input: "{{ item }}" }, retry: { attempts: 3, min_backoff_seconds: 0.001, max_backoff_seconds: 0.001 } }
    - { id: pause, type: Wait, config: { seconds: 0.001 } }
    - { id: both, type: Join, config: { strategy: all } }
    - { id: never, type: Response, config: { text: never } }
    - { id: broken, type: Agent, config: { agent: breaker }, on_error: rescue }
    - { id: rescue, type: Response, config: { text: "rescued: {{ steps.broken.error }}" } }
    - { id: rest, type: Wait, config: { seconds: 0.001 } }
    - { id: summary, type: Response, config: { text: "{{ steps.each.output.results[1].text }} of {{ steps.each.output.count }}" } }
    - { id: end, type: End, config: { output: { n: "{{ steps.names.output.n }}", greeted: "{{ steps.each.output.results }}" } } }
  connections:
    - { from: check, to: names, when: steps.check.output.data.ok }
    - { from: check, to: never, when: else }
    - { from: names, to: each }
    - { from: names, to: pause }
    - { from: each, to: both }
    - { from: pause, to: both }
    - { from: both, to: broken }
    - { from: rescue, to: rest }
    - { from: rest, to: summary }
    - { from: summary, to: end }
`);

it('a flow returns the same answer wherever its process is killed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 7 }), { maxLength: 8 }), async (commitsUntilKill) => {
      const run = new KillableRun();
      const emittedIds = () => run.committedEffects.flatMap(({ emit = [] }) => emit.map(({ id }) => id));
      const rows = async (text: string, step: string) => [{ id: `${step}: ${text}` } as NewEvent];
      const messages = { canSend: true, rows };
      /** Idempotency keys of the greetings that failed once. */
      const failedOnce = new Set<string>();
      const idempotencyKeys = new Set<string>();
      const agents: Readonly<
        Record<string, (job: Job) => { readonly text: string; readonly data?: unknown }>
      > = {
        checker: ({ input }) => ({ text: input, data: { ok: true } }),
        greeter: ({ input, idempotencyKey }) => {
          if (!failedOnce.has(idempotencyKey)) {
            failedOnce.add(idempotencyKey);
            throw new HandlerError('for now');
          }
          return { text: `hello ${input}` };
        },
        breaker: () => {
          throw new HandlerError('no', { isFinal: true });
        },
      };
      const handlerOf = (work: HandlerWork): Handler => ({
        run: async (job) => {
          idempotencyKeys.add(job.idempotencyKey);
          await new Promise((resolve) => setImmediate(resolve));
          return agents[work.type === 'Agent' ? String(work.agent) : '']?.(job) ?? { text: '' };
        },
      });
      const handler = new FlowHandler(flow, {
        slots: freeSlots,
        handlerOf,
        readDefinition: async () => flow,
      });
      const remainingKills = [...commitsUntilKill];
      const job = aJob({ input: 'go', parameters: { version: '1.2' } });
      for (let attempt = 0; ; attempt += 1) {
        expect(attempt).toBeLessThan(200);
        run.killedAtCommit = run.commits + (remainingKills.shift() ?? Number.POSITIVE_INFINITY);
        try {
          const reply = await run.attempt(handler, job, { messages });
          if (isParked(reply)) {
            // Longer than a wait of the flow.
            await new Promise((resolve) => setTimeout(resolve, 2));
            continue;
          }
          expect(reply.text).toBe('hello ben of 2');
          expect(reply.data).toEqual({
            // The length of `Check 1.2`.
            n: 9,
            greeted: [
              { text: 'hello ada', data: null },
              { text: 'hello ben', data: null },
            ],
          });
          break;
        } catch (error) {
          expect(error).toBeInstanceOf(ProcessKilled);
          // Calls that the killed process has started can still run in the test. They get time to end.
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
      }
      // `summary` sends no message: its text is the answer, because no slow node follows it.
      expect(emittedIds()).toEqual(['rescue: rescued: no']);
      // A completed node has a row `left`, a failed node a row `failed`; `in` is the path of the node.
      const finishedNodes = run.rows
        .filter(({ kind }) => kind === 'left' || kind === 'failed')
        .map((row) => row.in);
      expect(new Set(finishedNodes).size).toBe(finishedNodes.length);
      // The nodes `check` and `broken`, and `greet` for two names.
      expect(idempotencyKeys.size).toBe(4);
    }),
    { numRuns: 60 },
  );
});
