// The distance between progress and answer, and the bounds of what waits for a client that does not read.

import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readClientMessage } from '../../../actors/mcp/jsonrpc/read-message.ts';
import { LineOutlet } from '../../../src/stdio/line-outlet.ts';
import { LineOutput } from '../../../src/stdio/line-output.ts';
import { ReadReceipts } from '../../../src/stdio/read-receipts.ts';

const progress = Buffer.from('{"jsonrpc":"2.0","method":"notifications/progress","params":{}}');
const answer = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}');
const note = Buffer.from('{"jsonrpc":"2.0","method":"notifications/message"}');

/** An output of which at most `highWaterMark` bytes leave before somebody reads. */
function output(maxBytes = 1 << 20, highWaterMark = 1 << 20) {
  const pipe = new PassThrough({ highWaterMark });
  const seen = { stuffed: [] as boolean[], lost: [] as unknown[], done: 0 };
  const lines = new LineOutput({
    output: pipe,
    maxBytes,
    onStuffed: (isStuffed) => seen.stuffed.push(isStuffed),
    onLost: (error) => seen.lost.push(error),
  });
  const outlet = () =>
    new LineOutlet(lines, undefined, () => {
      seen.done += 1;
    });
  return { pipe, lines, outlet, seen };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const textOf = (pipe: PassThrough) => (pipe.read() as Buffer | null)?.toString() ?? '';

async function until(look: () => boolean): Promise<number> {
  const began = performance.now();
  while (!look()) {
    if (performance.now() - began > 5_000) throw new Error('waited 5 s in vain');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return performance.now() - began;
}

describe('an answer', () => {
  test('leaves at once when no progress came before it', async () => {
    const { pipe, outlet, seen } = output();
    const plain = outlet();
    plain.send(note);
    plain.finish(answer);
    await turn();
    expect(textOf(pipe)).toBe(`${note}\n${answer}\n`);
    expect(seen.done).toBe(1);
  });

  test('keeps its distance from the progress before it, while others pass', async () => {
    const { pipe, outlet, seen } = output();
    const slow = outlet();
    slow.send(progress);
    slow.finish(answer);
    outlet().finish(note);
    await turn();
    expect(textOf(pipe)).toBe(`${progress}\n${note}\n`);
    expect(seen.done).toBe(1);
    expect(await until(() => seen.done === 2)).toBeGreaterThan(20);
    await turn();
    expect(textOf(pipe)).toBe(`${answer}\n`);
  });

  test('waits for progress that has not left yet, however long that takes', async () => {
    const { pipe, lines, outlet, seen } = output(1 << 20, 16);
    const slow = outlet();
    for (let n = 0; n < 3; n += 1) lines.write(Buffer.alloc(70_000, 0x20));
    slow.send(progress);
    slow.finish(answer);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(seen.done).toBe(0);
    let text = '';
    pipe.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    await until(() => seen.done === 1);
    await until(() => text.endsWith(`${answer}\n`));
    expect(text.trim()).toBe(`${progress}\n${answer}`);
  });

  test('waits in a session until the client has answered a ping, and not for ever', async () => {
    const { pipe, lines, seen } = output();
    const receipts = new ReadReceipts(lines);
    const answered = (rawId: string) =>
      receipts.take(readClientMessage(Buffer.from(`{"jsonrpc":"2.0","id":${rawId},"result":{}}`)));
    const outlet = () =>
      new LineOutlet(lines, receipts, () => {
        seen.done += 1;
      });
    for (let n = 0; n < 2; n += 1) {
      const slow = outlet();
      slow.send(progress);
      slow.finish(answer);
    }
    await turn();
    const ping = (n: number) => `{"jsonrpc":"2.0","id":"gateway-ping-${n}","method":"ping"}`;
    expect(textOf(pipe)).toBe(`${progress}\n${ping(1)}\n${progress}\n${ping(2)}\n`);
    expect(answered('"gateway-ping-9"')).toBe(false);
    expect(answered('1')).toBe(false);
    expect(answered('"gateway-ping-2"')).toBe(true);
    expect(answered('"gateway-ping-2"')).toBe(false);
    expect(seen.done).toBe(1);
    expect(await until(() => seen.done === 2)).toBeGreaterThan(150);
    expect(answered('"gateway-ping-1"')).toBe(false);
    await turn();
    expect(textOf(pipe)).toBe(`${answer}\n${answer}\n`);
  });

  test('is released at the end, and its progress stays before it', async () => {
    const { pipe, lines, outlet, seen } = output();
    const slow = outlet();
    slow.send(progress);
    slow.finish(answer);
    slow.release();
    slow.release();
    await lines.flush(1_000);
    expect(textOf(pipe)).toBe(`${progress}\n${answer}\n`);
    expect(seen.done).toBe(1);
  });
});

describe('what waits for a client that does not read', () => {
  test('stops the input above 4 MiB and lets it go on when all has left (LO1)', async () => {
    const { pipe, lines, seen } = output(64 << 20, 16);
    const mebibyte = Buffer.alloc(1 << 20, 0x20);
    for (let n = 0; n < 6; n += 1) lines.write(mebibyte);
    expect(seen.stuffed).toEqual([true]);
    pipe.resume();
    await lines.flush(5_000);
    expect(seen.stuffed).toEqual([true, false]);
    expect(seen.lost).toEqual([]);
  });

  test('is given up beyond the bound, once (LO2)', () => {
    const { lines, seen } = output(1000, 16);
    for (let n = 0; n < 50; n += 1) lines.write(note);
    expect(seen.lost).toHaveLength(1);
    expect(String(seen.lost[0])).toContain('does not read');
  });

  test('is given up without a word when the pipe breaks', async () => {
    const { pipe, lines, seen } = output();
    lines.write(note);
    pipe.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    await turn();
    lines.write(note);
    await lines.flush(5_000);
    expect(seen.lost).toEqual([undefined]);
  });
});
