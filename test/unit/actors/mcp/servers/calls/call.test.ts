// A call is completed exactly once, after any sequence of actions and timeouts.

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
import { MAX_PAUSE_MS } from '../../../../../../actors/mcp/servers/calls/limits.ts';
import type { Connection } from '../../../../../../actors/mcp/servers/pool/connection.ts';
import { ResponseRecorder, toolCall } from '../../../../../fixtures/server/fake-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

let isOneOfMany = false;

function make(timeoutMs = 100, maxMs = 1000, failure?: GatewayError) {
  const recorder = new ResponseRecorder();
  const outcomes: CallOutcome[] = [];
  const abandoned: string[] = [];
  const call = new Call(
    { envelope: toolCall('1', 'm'), exchange: recorder },
    {
      server: 's',
      timeouts: { timeoutMs, maxMs },
      onEnd: (_, outcome) => outcomes.push(outcome),
      failureSince: () => failure,
      ...(isOneOfMany ? { deadlines: new Deadlines<Call>(timeoutMs) } : {}),
    },
  );
  const connection = {
    abandon: (_: Call, reason: string) => abandoned.push(reason),
  } as unknown as Connection;
  return { call, recorder, outcomes, abandoned, connection };
}

const answer = () => readServerMessage(Buffer.from('{"id":1,"result":"r"}'));
const refusal = () => readServerMessage(Buffer.from('{"id":1,"error":{"code":1,"message":"no"}}'));

describe.each([
  ['with its own timer', false],
  ['among many', true],
])('call timeouts: a call %s', (_, isAmongMany) => {
  beforeEach(() => {
    isOneOfMany = isAmongMany;
  });

  test('a tool call ends exactly once, under any sequence of events', () => {
    const happens = fc.oneof(
      fc.constantFrom(
        ...(['answer', 'refusal', 'fail', 'cancel', 'relay', 'touch', 'expire', 'send'] as const),
        ...(['suspend', 'resume', 'pause', 'end-pause'] as const),
      ),
      fc.integer({ min: 1, max: 150 }),
    );
    fc.assert(
      fc.property(fc.array(happens, { maxLength: 20 }), (list) => {
        const { call, recorder, outcomes, connection } = make();
        let relays = 0;
        for (const one of list) {
          if (!call.isDone && one === 'relay') relays += 1;
          if (typeof one === 'number') vi.advanceTimersByTime(one);
          else if (one === 'answer') call.answer(answer());
          else if (one === 'refusal') call.answer(refusal());
          else if (one === 'fail') call.fail(new ConnectionLostError('x'));
          else if (one === 'relay') call.relay(Buffer.from('{}'));
          else if (one === 'send') call.connection = connection;
          else if (one === 'pause') call.pause(recorder);
          else if (one === 'end-pause') call.resume(recorder);
          else call[one as 'cancel' | 'touch' | 'expire' | 'suspend' | 'resume']();
          expect(recorder.ends).toBe(call.isDone ? 1 : 0);
          expect(outcomes).toHaveLength(recorder.ends);
          expect(recorder.relayed).toHaveLength(relays);
        }
        call.resume();
        vi.advanceTimersByTime(1000);
        expect(recorder.ends).toBe(1);
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  test('a tool call that times out is cancelled at its server, and the error names the phase and the setting to raise', () => {
    const { call, recorder, abandoned, connection } = make();
    call.connection = connection;
    vi.advanceTimersByTime(99);
    expect(recorder.ends).toBe(0);
    vi.advanceTimersByTime(1);
    expect(recorder.errors[0]).toMatchObject({ code: 'ERR_DEADLINE', rpcCode: -32001 });
    expect(recorder.errors[0]?.message).toMatch(
      /tools\/call on server s timed out after 0\.1 s.*request_timeout_seconds/,
    );
    expect(abandoned).toEqual(['the deadline has passed']);
  });

  test('a tool call that was never sent to its server also times out', () => {
    const { recorder } = make();
    vi.advanceTimersByTime(100);
    expect(recorder.errors[0]?.message).toContain('while waiting to be sent');
  });

  test('a tool call that times out because its server cannot start reports the start error', () => {
    const { recorder } = make(
      100,
      1000,
      new StartTimeoutError('server s did not finish initialize within 30 s'),
    );
    vi.advanceTimersByTime(100);
    expect(recorder.errors[0]).toMatchObject({
      code: 'ERR_DEADLINE',
      message:
        'tools/call on server s timed out after 0.1 s while the server was being started: ' +
        'server s did not finish initialize within 30 s',
    });
  });

  test('a tool call that times out after it was sent does not report an earlier failure of its server', () => {
    const { call, recorder, connection } = make(100, 1000, new ConnectionLostError('gone'));
    call.connection = connection;
    vi.advanceTimersByTime(100);
    expect(recorder.errors[0]?.message).toContain('without a response; raise request_timeout_seconds');
  });

  test('each progress message extends the deadline of a tool call, up to the maximum', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 99 }), { minLength: 12, maxLength: 40 }), (pauses) => {
        const { call, recorder } = make(100, 500);
        const startedAt = performance.now();
        for (const pause of pauses) {
          vi.advanceTimersByTime(pause);
          const age = performance.now() - startedAt;
          expect(recorder.ends, `at ${age}`).toBe(age >= 500 ? 1 : 0);
          call.touch();
        }
        call.cancel();
      }),
      { numRuns: 200 },
    );
  });

  test('a tool call without progress times out at its deadline, even if its maximum duration is longer', () => {
    const { recorder } = make(100, 1_000_000);
    vi.advanceTimersByTime(100);
    expect(recorder.ends).toBe(1);
  });

  test('the deadline of a tool call is paused while its client is asked for input, and restarts afterwards', () => {
    const { call, recorder } = make();
    vi.advanceTimersByTime(90);
    call.suspend();
    call.touch();
    vi.advanceTimersByTime(5000);
    expect(recorder.ends).toBe(0);
    call.resume();
    vi.advanceTimersByTime(99);
    expect(recorder.ends).toBe(0);
    vi.advanceTimersByTime(1);
    expect(recorder.errors[0]).toMatchObject({ code: 'ERR_DEADLINE' });
  });

  test('a tool call times out even if its server never withdraws its question to the client', () => {
    const { call, recorder } = make();
    call.pause(recorder);
    vi.advanceTimersByTime(MAX_PAUSE_MS + 99);
    expect(recorder.ends).toBe(0);
    vi.advanceTimersByTime(1);
    expect(recorder.errors[0]).toMatchObject({ code: 'ERR_DEADLINE' });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('questions that the client answers immediately do not extend a tool call beyond its maximum time', () => {
    const { call, recorder } = make(100, 500);
    for (let n = 0; n < 5; n += 1) {
      call.pause(recorder);
      call.resume(recorder);
      vi.advanceTimersByTime(99);
    }
    expect(recorder.ends).toBe(0);
    call.pause(recorder);
    call.resume(recorder);
    vi.advanceTimersByTime(5);
    expect(recorder.ends).toBe(1);
  });

  test('a tool call cancelled by its client gets no response and is cancelled at its server', () => {
    const { call, recorder, abandoned, connection } = make();
    call.connection = connection;
    call.cancel();
    call.cancel();
    expect([recorder.drops, recorder.answers.length, recorder.errors.length]).toEqual([1, 0, 0]);
    expect(abandoned).toEqual(['the client cancelled the request']);
  });
});
