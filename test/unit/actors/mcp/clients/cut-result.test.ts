// Large tool results: agents and flows receive only the beginning and a note.

import { expect, it } from 'vitest';
import { cutResult } from '../../../../../actors/mcp/clients/cut-result.ts';
import { readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';

const REASON = 'at most 100000 are read';
const answer = (result: unknown) =>
  readServerMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result })));
const textsOf = (result: ReturnType<typeof cutResult>) =>
  (result?.content ?? []).map((part) => (part as { readonly text: string }).text);
const note = /^\(the result has \d+ bytes, at most 100000 are read: request less at a time\)$/;

it.each(['x', '"', '\\', '\n', 'ü', '😀', '\u0001', 'a"\\ü😀\n'])(
  'a large tool result becomes the beginning of its text, and a note: %j',
  (piece) => {
    const text = piece.repeat(300_000);
    const cut = cutResult(answer({ isError: true, content: [{ type: 'text', text }] }), REASON);
    const [beginning = '', last = '', ...others] = textsOf(cut);
    expect(text.startsWith(beginning)).toBe(true);
    expect(beginning.length).toBeGreaterThan(5_000);
    expect(last).toMatch(note);
    expect(others).toEqual([]);
    expect(cut?.isError).toBe(true);
  },
);

it('a large tool result without a text near its start is replaced by a short text with the reason', () => {
  const data = 'A'.repeat(500_000);
  for (const result of [
    { content: [{ type: 'image', data, mimeType: 'image/png' }] },
    { structuredContent: { rows: Array.from({ length: 50_000 }, (_, index) => index) }, content: [] },
  ]) {
    const [last = '', ...others] = textsOf(cutResult(answer(result), REASON));
    expect(last).toMatch(note);
    expect(others).toEqual([]);
  }
});
