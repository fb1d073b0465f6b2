// The handler of model agents with random failures: crashes around each commit, model and tool failures, and
// approvals that arrive in random order, late or never. Each call follows its row in the journal (the stored
// steps of the run), a destructive call follows its approval, and each request contains exactly the messages
// of the journal.

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

/** Called tool name. `gone` does not exist. */
const arbTool = fc.constantFrom('read', 'write', 'pay', 'gone');
const arbScenario = fc.record({
  /** Tool calls in the model answers. The answer after these is text. */
  answers: fc.array(fc.array(arbTool, { minLength: 1, maxLength: 4 }), { maxLength: 5 }),
  interrupted_calls: fc.constantFrom<'tell' | 'ask'>('tell', 'ask'),
  /** Crash before or after a commit. */
  crashes: fc.infiniteStream(fc.constantFrom('no', 'no', 'no', 'before', 'after')),
  modelFails: fc.infiniteStream(fc.constantFrom(false, false, false, true)),
  toolFails: fc.infiniteStream(fc.constantFrom('no', 'no', 'lost', 'error')),
  decisions: fc.infiniteStream(
    fc.constantFrom('approved', 'approved', 'denied', 'expired', 'nothing', 'nothing'),
  ),
});
type Scenario = typeof arbScenario extends fc.Arbitrary<infer T> ? T : never;

const crashError = new Error('killed');

async function runScenario(scenario: Scenario) {
  const { answers, interrupted_calls, crashes, modelFails, toolFails, decisions } = scenario;
  let crash: 'no' | 'before' | 'after' = 'no';
  const violations: string[] = [];
  const requestedMessages = new Set<string>();
  const world: AgentWorld = new AgentWorld({
    tools,
    runtime: aRuntime({ policy, interrupted_calls }),
    onCommit: () => {
      crash = crashes.next().value;
      if (crash === 'before') throw crashError;
    },
    afterCommit: () => {
      if (crash === 'after') throw crashError;
    },
    answer: ({ messages }) => {
      if (modelFails.next().value === true) throw new HandlerError('local:one answered 503');
      requestedMessages.add(JSON.stringify(messages));
      const resultCount = messages.filter(({ role }) => role === 'tool').length;
      const calls = answers[resultCount];
      if (calls === undefined) return modelAnswer('done');
      return modelAnswer(
        '',
        // Different arguments, so that calls can be distinguished.
        calls.map((name, n) => [name, { resultCount, n }] as const),
      );
    },
    call: async (tool, args, { key }) => {
      const id = key.split('/').at(-1);
      if (!world.ofKind('called').some((row) => row.id === id))
        violations.push(`${key} was called before its journal row`);
      if (tool === 'pay' && !isApproved(world, args)) violations.push(`${key} was not approved`);
      const outcome = toolFails.next().value;
      if (outcome === 'lost') throw new ConnectionLostError('the connection ended');
      return { text: `${tool} done`, isError: outcome === 'error' };
    },
  });
  // Repeats attempts until a reply. Between attempts, some pending approvals are decided.
  let reply: AgentReply | Parked | undefined;
  for (let attempt = 0; attempt < 500; attempt += 1) {
    reply = await world.attempt().catch((error: unknown) => {
      if (error !== crashError && !(error instanceof HandlerError && !error.isFinal)) throw error;
      return undefined;
    });
    if (reply !== undefined && !isParked(reply)) break;
    for (const [id, { state }] of world.outcomes) {
      const decision = decisions.next().value;
      if (state === 'pending' && decision !== 'nothing') world.decide(id, decision);
    }
  }
  // A request contained exactly the messages of the preceding rows.
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
  test('replies once, stores each model answer once, and uses one idempotency key per call', async () => {
    await fc.assert(
      fc.asyncProperty(arbScenario, async (scenario) => {
        const { world, violations, reply } = await runScenario(scenario);
        expect(violations).toEqual([]);
        expect(reply).toMatchObject({ text: 'done' });
        const iterations = world.ofKind('answer').map(({ iteration }) => iteration);
        expect(iterations).toEqual(iterations.map((_, n) => n + 1));
        expect(world.ofKind('ended')).toHaveLength(1);
        expect(world.ofKind('begun')).toHaveLength(1);
        const keysByCall = new Map<string, Set<string>>();
        for (const { tool, args, key } of world.made) {
          const call = `${tool} ${JSON.stringify(args)}`;
          keysByCall.set(call, (keysByCall.get(call) ?? new Set()).add(key));
        }
        for (const [call, keys] of keysByCall) expect([call, keys.size]).toEqual([call, 1]);
        const writeKeys = world.made.filter(({ tool }) => tool === 'write').map(({ key }) => key);
        // With `tell`, the model learns that the outcome of an interrupted call is unknown. The gateway does
        // not repeat the call.
        if (scenario.interrupted_calls === 'tell') expect(new Set(writeKeys).size).toBe(writeKeys.length);
        // Every opened tool box (the tools of one attempt) was released.
        expect(world.released).toBe(world.opened);
      }),
      { numRuns: 300 },
    );
  });
});
