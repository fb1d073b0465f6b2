// One call and its clock: whatever is done to it in whatever order, it ends once (C1).

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  ConnectionLostError,
  type GatewayError,
  StartTimeoutError,
} from '../../../../../../actors/base/errors/errors.ts';
import { Deadlines } from '../../../../../../actors/base/time/deadlines.ts';
import { readServerMessage } from '../../../../../../actors/mcp/jsonrpc/read-message.ts';
import { Call, type CallOutcome } from '../../../../../../actors/mcp/servers/calls/call.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';
import { Ear, toolCall } from '../../../../../fixtures/server/fake-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

let isOneOfMany = false;

function make(timeoutMs = 100, maxMs = 1000, failure?: GatewayError) {
  const ear = new Ear();
  const outcomes: CallOutcome[] = [];
  const abandoned: string[] = [];
  const call = new Call(
    { envelope: toolCall('1', 'm'), exchange: ear },
    {
      server: 's',
      patience: { timeoutMs, maxMs },
      onEnd: (_, outcome) => outcomes.push(outcome),
      whyShut: () => failure,
      ...(isOneOfMany ? { deadlines: new Deadlines<Call>(timeoutMs) } : {}),
    },
  );
  const connection = {
    abandon: (_: Call, reason: string) => abandoned.push(reason),
  } as unknown as Connection;
  return { call, ear, outcomes, abandoned, connection };
}

const answer = () => readServerMessage(Buffer.from('{"id":1,"result":"r"}'));
const refusal = () => readServerMessage(Buffer.from('{"id":1,"error":{"code":1,"message":"no"}}'));

describe.each([
  ['with a timer of its own', false],
  ['among many', true],
])('a call %s', (_, isAmongMany) => {
  beforeEach(() => {
    isOneOfMany = isAmongMany;
  });

  test('ends once, and hears nothing afterwards, under any sequence of events', () => {
    const happens = fc.oneof(
      fc.constantFrom(
        ...(['answer', 'refusal', 'fail', 'cancel', 'relay', 'touch', 'expire', 'send'] as const),
        ...(['suspend', 'resume'] as const),
      ),
      fc.integer({ min: 1, max: 150 }),
    );
    fc.assert(
      fc.property(fc.array(happens, { maxLength: 20 }), (list) => {
        const { call, ear, outcomes, connection } = make();
        let relays = 0;
        for (const one of list) {
          if (!call.isDone && one === 'relay') relays += 1;
          if (typeof one === 'number') vi.advanceTimersByTime(one);
          else if (one === 'answer') call.answer(answer());
          else if (one === 'refusal') call.answer(refusal());
          else if (one === 'fail') call.fail(new ConnectionLostError('x'));
          else if (one === 'relay') call.relay(Buffer.from('{}'));
          else if (one === 'send') call.connection = connection;
          else call[one as 'cancel' | 'touch' | 'expire' | 'suspend' | 'resume']();
          expect(ear.ends).toBe(call.isDone ? 1 : 0);
          expect(outcomes).toHaveLength(ear.ends);
          expect(ear.relayed).toHaveLength(relays);
        }
        call.resume();
        vi.advanceTimersByTime(1000);
        expect(ear.ends).toBe(1);
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  test('fails at its deadline, tells its server, and says where it was lost and what to do', () => {
    const { call, ear, abandoned, connection } = make();
    call.connection = connection;
    vi.advanceTimersByTime(99);
    expect(ear.ends).toBe(0);
    vi.advanceTimersByTime(1);
    expect(ear.errors[0]).toMatchObject({ code: 'ERR_DEADLINE', rpcCode: -32001 });
    expect(ear.errors[0]?.message).toMatch(
      /tools\/call on server s timed out after 0\.1 s.*request_timeout_seconds/,
    );
    expect(abandoned).toEqual(['the deadline has passed']);
  });

  test('that never left fails at its deadline too', () => {
    const { ear } = make();
    vi.advanceTimersByTime(100);
    expect(ear.errors[0]?.message).toContain('while waiting to be sent');
  });

  test('that never left because its server fails is told why, and not to have more time', () => {
    const { ear } = make(100, 1000, new StartTimeoutError('server s did not finish initialize within 30 s'));
    vi.advanceTimersByTime(100);
    expect(ear.errors[0]).toMatchObject({
      code: 'ERR_DEADLINE',
      message:
        'tools/call on server s timed out after 0.1 s while the server was being started: ' +
        'server s did not finish initialize within 30 s',
    });
  });

  test('that was sent says nothing of a failure of its server that others wait for', () => {
    const { call, ear, connection } = make(100, 1000, new ConnectionLostError('gone'));
    call.connection = connection;
    vi.advanceTimersByTime(100);
    expect(ear.errors[0]?.message).toContain('without an answer; raise request_timeout_seconds');
  });

  test('gets more time with each progress, up to the hard maximum and not a moment beyond', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 99 }), { minLength: 12, maxLength: 40 }), (pauses) => {
        const { call, ear } = make(100, 500);
        const startedAt = performance.now();
        for (const pause of pauses) {
          vi.advanceTimersByTime(pause);
          const age = performance.now() - startedAt;
          expect(ear.ends, `at ${age}`).toBe(age >= 500 ? 1 : 0);
          call.touch();
        }
        call.cancel();
      }),
      { numRuns: 200 },
    );
  });

  test('without progress gets no more than its plain deadline, however long the maximum', () => {
    const { ear } = make(100, 1_000_000);
    vi.advanceTimersByTime(100);
    expect(ear.ends).toBe(1);
  });

  test('whose client is asked something is not due until it has answered, and then has its time again', () => {
    const { call, ear } = make();
    vi.advanceTimersByTime(90);
    call.suspend();
    call.touch();
    vi.advanceTimersByTime(5000);
    expect(ear.ends).toBe(0);
    call.resume();
    vi.advanceTimersByTime(99);
    expect(ear.ends).toBe(0);
    vi.advanceTimersByTime(1);
    expect(ear.errors[0]).toMatchObject({ code: 'ERR_DEADLINE' });
  });

  test('that its client cancels is dropped without a word to the client, and its server is told', () => {
    const { call, ear, abandoned, connection } = make();
    call.connection = connection;
    call.cancel();
    call.cancel();
    expect([ear.drops, ear.answers.length, ear.errors.length]).toEqual([1, 0, 0]);
    expect(abandoned).toEqual(['the client cancelled the request']);
  });
});
