import { expect, test, vi } from 'vitest';
import { OrderGate } from '../../../../../../actors/mcp/links/streamable-http/order-gate.ts';

function gateWithLog() {
  const sent: string[] = [];
  const settle: (() => void)[] = [];
  const gate = new OrderGate(({ bytes }, onSettled) => {
    sent.push(bytes.toString());
    settle.push(onSettled);
  });
  const send = (text: string, call?: number) =>
    gate.send({ bytes: Buffer.from(text), call, traceparent: undefined });
  return { gate, sent, settle, send };
}

test('messages after the first notification wait until the server has accepted the notification', () => {
  const { gate, sent, settle, send } = gateWithLog();
  send('initialize', 1);
  send('pong');
  gate.arm();
  send('initialized');
  send('list', 2);
  gate.after(() => sent.push('stream'));
  expect(sent).toEqual(['initialize', 'pong', 'initialized']);
  expect(gate.queuedBytes).toBe(4);
  settle[1]?.();
  settle[2]?.();
  expect(sent).toEqual(['initialize', 'pong', 'initialized', 'list', 'stream']);
  expect(gate.queuedBytes).toBe(0);
  send('progress');
  send('call', 3);
  expect(sent.slice(5)).toEqual(['progress', 'call']);
});

test('a server that never accepts the notification delays other messages by five seconds', () => {
  vi.useFakeTimers();
  try {
    const { gate, sent, send } = gateWithLog();
    gate.arm();
    send('initialized');
    send('list', 2);
    vi.advanceTimersByTime(4_999);
    expect(sent).toEqual(['initialized']);
    vi.advanceTimersByTime(1);
    expect(sent).toEqual(['initialized', 'list']);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a waiting request can be removed, and close() returns the other requests', () => {
  const { gate, sent, settle, send } = gateWithLog();
  gate.arm();
  send('initialized');
  send('a', 1);
  send('b', 2);
  expect(gate.forget(1)).toBe(true);
  expect(gate.forget(1)).toBe(false);
  expect(gate.close().map(({ call }) => call)).toEqual([2]);
  settle[0]?.();
  expect(sent).toEqual(['initialized']);
});

test('notifications are sent one after the other, and requests overtake them', () => {
  const { sent, settle, send } = gateWithLog();
  send('progress 1');
  send('progress 2');
  send('answer');
  send('call', 1);
  expect(sent).toEqual(['progress 1', 'call']);
  settle[0]?.();
  settle[0]?.();
  expect(sent).toEqual(['progress 1', 'call', 'progress 2']);
  settle[2]?.();
  expect(sent).toEqual(['progress 1', 'call', 'progress 2', 'answer']);
});

test('a notification that is never accepted delays the next one by five seconds, and at most 1024 notifications wait', () => {
  vi.useFakeTimers();
  try {
    const { gate, sent, send } = gateWithLog();
    for (let i = 0; i < 1_100; i += 1) send(String(i % 10));
    expect(sent).toEqual(['0']);
    expect(gate.queuedBytes).toBe(1_024);
    vi.advanceTimersByTime(5_000);
    expect(sent).toEqual(['0', '1']);
    gate.close();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
