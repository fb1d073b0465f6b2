// The handler of model agents with arbitrary failures: crashes around each commit, model and tool failures,
// and approvals that arrive in random order, late or never.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AgentReply, HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import { isParked, type Parked } from '../../../../../actors/agents/handlers/parked.ts';
import { ConnectionLostError } from '../../../../../actors/base/errors/errors.ts';
import { messagesOf } from '../../../../../machines/agent-run/messages.ts';
import { AgentWorld, aFoundTool, aRuntime, modelAnswer } from '../../../../fixtures/agents/agent-world.ts';

const tools = [
  aFoundTool('read', { isReadOnly: true, isIdempotent: true }),
  aFoundTool('write'),
  aFoundTool('pay', { isDestructive: true }),
];
const policy = { ...aRuntime().policy, ask: ['destructive'] };

const call = fc.constantFrom('read', 'write', 'pay', 'gone');
const scene = fc.record({
  /** Calls per answer. The last answer is text. */
  answers: fc.array(fc.array(call, { minLength: 1, maxLength: 4 }), { maxLength: 5 }),
  interrupted_calls: fc.constantFrom<'tell' | 'ask'>('tell', 'ask'),
  crashes: fc.infiniteStream(fc.constantFrom('no', 'no', 'no', 'before', 'after')),
  modelFails: fc.infiniteStream(fc.constantFrom(false, false, false, true)),
  toolFails: fc.infiniteStream(fc.constantFrom('no', 'no', 'lost', 'error')),
  decisions: fc.infiniteStream(
    fc.constantFrom('approved', 'approved', 'denied', 'expired', 'nothing', 'nothing'),
  ),
});
type Scene = typeof scene extends fc.Arbitrary<infer T> ? T : never;

const crashed = new Error('killed');

async function runScene(scenario: Scene) {
  const { answers, interrupted_calls, crashes, modelFails, toolFails, decisions } = scenario;
  let crash: 'no' | 'before' | 'after' = 'no';
  const violations: string[] = [];
  const requestedMessages = new Set<string>();
  const world: AgentWorld = new AgentWorld({
    tools,
    runtime: aRuntime({ policy, interrupted_calls }),
    onCommit: () => {
      crash = crashes.next().value;
      if (crash === 'before') throw crashed;
    },
    afterCommit: () => {
      if (crash === 'after') throw crashed;
    },
    answer: ({ messages }) => {
      if (modelFails.next().value === true) throw new HandlerError('local:one answered 503');
      requestedMessages.add(JSON.stringify(messages));
      const resultCount = messages.filter(({ role }) => role === 'tool').length;
      const calls = answers[resultCount];
      if (calls === undefined) return modelAnswer('done');
      return modelAnswer(
        '',
        calls.map((name, n) => [name, { said: resultCount, n }] as const),
      );
    },
    call: async (tool, args, { key }) => {
      const id = key.split('/').at(-1);
      if (!world.ofKind('called').some((row) => row.id === id))
        violations.push(`${key} was made before its row`);
      if (tool === 'pay' && !isApproved(world, args)) violations.push(`${key} was not approved`);
      const how = toolFails.next().value;
      if (how === 'lost') throw new ConnectionLostError('the connection ended');
      return { text: `${tool} done`, isError: how === 'error' };
    },
  });
  let reply: AgentReply | Parked | undefined;
  for (let attempt = 0; attempt < 500; attempt += 1) {
    reply = await world.attempt().catch((error: unknown) => {
      if (error !== crashed && !(error instanceof HandlerError && !error.isFinal)) throw error;
      return undefined;
    });
    if (reply !== undefined && !isParked(reply)) break;
    for (const [id, { state }] of world.outcomes) {
      const decision = decisions.next().value;
      if (state === 'pending' && decision !== 'nothing') world.decide(id, decision);
    }
  }
  // A request contained exactly the messages of the rows before its answer.
  for (const [n, { kind }] of world.rows.entries())
    if (kind === 'answer' && !requestedMessages.has(JSON.stringify(messagesOf(world.rows.slice(0, n)))))
      violations.push(`row ${n} answers a request with other messages`);
  return { world, violations, reply };
}

/** Returns true if exactly these arguments were approved. */
function isApproved(world: AgentWorld, args: unknown): boolean {
  const text = JSON.stringify(args);
  return world.requests.some(
    ({ tool }, n) =>
      JSON.stringify(tool?.arguments) === text &&
      world.outcomes.get(`approval-${n + 1}`)?.state === 'approved',
  );
}

describe('a model agent with arbitrary failures', () => {
  test('replies once, stores each model answer once, and makes no call with effects under two keys', async () => {
    await fc.assert(
      fc.asyncProperty(scene, async (scenario) => {
        const { world, violations, reply } = await runScene(scenario);
        expect(violations).toEqual([]);
        expect(reply).toMatchObject({ text: 'done' });
        const iterations = world.ofKind('answer').map(({ iteration }) => iteration);
        expect(iterations).toEqual(iterations.map((_, n) => n + 1));
        expect(world.ofKind('ended')).toHaveLength(1);
        expect(world.ofKind('begun')).toHaveLength(1);
        const keys = new Map<string, Set<string>>();
        for (const { tool, args, key } of world.made) {
          const of = `${tool} ${JSON.stringify(args)}`;
          keys.set(of, (keys.get(of) ?? new Set()).add(key));
        }
        for (const [of, under] of keys) expect([of, under.size]).toEqual([of, 1]);
        const writeKeys = world.made.filter(({ tool }) => tool === 'write').map(({ key }) => key);
        // With `tell`, the model decides about a call of unknown outcome; the gateway does not repeat it.
        if (scenario.interrupted_calls === 'tell') expect(new Set(writeKeys).size).toBe(writeKeys.length);
        expect(world.released).toBe(world.opened);
      }),
      { numRuns: 300 },
    );
  });
});
