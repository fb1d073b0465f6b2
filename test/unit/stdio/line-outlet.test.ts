// Delay between progress and response, and limits for a client that does not read.

import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readClientMessage } from '../../../actors/mcp/jsonrpc/read-message.ts';
import { LineOutlet } from '../../../src/stdio/line-outlet.ts';
import { LineOutput } from '../../../src/stdio/line-output.ts';
import { ReadReceipts } from '../../../src/stdio/read-receipts.ts';

const progress = Buffer.from('{"jsonrpc":"2.0","method":"notifications/progress","params":{}}');
const answer = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}');
const note = Buffer.from('{"jsonrpc":"2.0","method":"notifications/message"}');

/** Creates an output that buffers up to `highWaterMark` bytes. */
function output(maxBytes = 1 << 20, highWaterMark = 1 << 20) {
  const pipe = new PassThrough({ highWaterMark });
  const observed = { stuffed: [] as boolean[], lost: [] as unknown[], done: 0 };
  const lines = new LineOutput({
    output: pipe,
    maxBytes,
    onBackpressure: (isStuffed) => observed.stuffed.push(isStuffed),
    onLost: (error) => observed.lost.push(error),
  });
  const outlet = () =>
    new LineOutlet(lines, undefined, () => {
      observed.done += 1;
    });
  return { pipe, lines, outlet, observed };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const textOf = (pipe: PassThrough) => (pipe.read() as Buffer | null)?.toString() ?? '';

async function until(check: () => boolean): Promise<number> {
  const began = performance.now();
  while (!check()) {
    if (performance.now() - began > 5_000) throw new Error('timed out after 5 s');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return performance.now() - began;
}

describe('a response to a stdio client', () => {
  test('is sent immediately without earlier progress', async () => {
    const { pipe, outlet, observed } = output();
    const plain = outlet();
    plain.send(note);
    plain.finish(answer);
    await nextTurn();
    expect(textOf(pipe)).toBe(`${note}\n${answer}\n`);
    expect(observed.done).toBe(1);
  });

  test('is delayed a little after its progress, and other responses overtake it', async () => {
    const { pipe, outlet, observed } = output();
    const slow = outlet();
    slow.send(progress);
    slow.finish(answer);
    outlet().finish(note);
    await nextTurn();
    expect(textOf(pipe)).toBe(`${progress}\n${note}\n`);
    expect(observed.done).toBe(1);
    expect(await until(() => observed.done === 2)).toBeGreaterThan(20);
    await nextTurn();
    expect(textOf(pipe)).toBe(`${answer}\n`);
  });

  test('waits for unsent progress, however long this takes', async () => {
    const { pipe, lines, outlet, observed } = output(1 << 20, 16);
    const slow = outlet();
    for (let n = 0; n < 3; n += 1) lines.write(Buffer.alloc(70_000, 0x20));
    slow.send(progress);
    slow.finish(answer);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(observed.done).toBe(0);
    let text = '';
    pipe.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    await until(() => observed.done === 1);
    await until(() => text.endsWith(`${answer}\n`));
    expect(text.trim()).toBe(`${progress}\n${answer}`);
  });

  test('in a session waits until the client has responded to a ping, up to a limit', async () => {
    const { pipe, lines, observed } = output();
    const receipts = new ReadReceipts(lines);
    const answered = (rawId: string) =>
      receipts.accept(readClientMessage(Buffer.from(`{"jsonrpc":"2.0","id":${rawId},"result":{}}`)));
    const outlet = () =>
      new LineOutlet(lines, receipts, () => {
        observed.done += 1;
      });
    for (let n = 0; n < 2; n += 1) {
      const slow = outlet();
      slow.send(progress);
      slow.finish(answer);
    }
    await nextTurn();
    const ping = (n: number) => `{"jsonrpc":"2.0","id":"gateway-ping-${n}","method":"ping"}`;
    expect(textOf(pipe)).toBe(`${progress}\n${ping(1)}\n${progress}\n${ping(2)}\n`);
    expect(answered('"gateway-ping-9"')).toBe(false);
    expect(answered('1')).toBe(false);
    expect(answered('"gateway-ping-2"')).toBe(true);
    expect(answered('"gateway-ping-2"')).toBe(false);
    expect(observed.done).toBe(1);
    expect(await until(() => observed.done === 2)).toBeGreaterThan(150);
    expect(answered('"gateway-ping-1"')).toBe(false);
    await nextTurn();
    expect(textOf(pipe)).toBe(`${answer}\n${answer}\n`);
  });

  test('that waits for the delivery of its progress is sent immediately after the progress when `release` is called', async () => {
    const { pipe, lines, outlet, observed } = output();
    const slow = outlet();
    slow.send(progress);
    slow.finish(answer);
    slow.release();
    slow.release();
    await lines.flush(1_000);
    expect(textOf(pipe)).toBe(`${progress}\n${answer}\n`);
    expect(observed.done).toBe(1);
  });
});

describe('the backlog for a client that does not read', () => {
  test('stops the input above 4 MiB and resumes it when everything was sent', async () => {
    const { pipe, lines, observed } = output(64 << 20, 16);
    const mebibyte = Buffer.alloc(1 << 20, 0x20);
    for (let n = 0; n < 6; n += 1) lines.write(mebibyte);
    expect(observed.stuffed).toEqual([true]);
    pipe.resume();
    await lines.flush(5_000);
    expect(observed.stuffed).toEqual([true, false]);
    expect(observed.lost).toEqual([]);
  });

  test('ends the connection once if it exceeds its limit', () => {
    const { lines, observed } = output(1000, 16);
    for (let n = 0; n < 50; n += 1) lines.write(note);
    expect(observed.lost).toHaveLength(1);
    expect(String(observed.lost[0])).toContain('does not read');
  });

  test('is dropped without an error if the pipe breaks', async () => {
    const { pipe, lines, observed } = output();
    lines.write(note);
    pipe.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await nextTurn();
    lines.write(note);
    await lines.flush(5_000);
    expect(observed.lost).toEqual([undefined]);
  });
});
