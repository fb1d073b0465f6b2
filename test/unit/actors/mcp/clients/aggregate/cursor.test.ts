// A cursor, which clients send for the next page of a merged list, is valid only for this list, in the
// gateway process that created it.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CursorSeal } from '../../../../../../actors/mcp/clients/aggregate/cursor.ts';
import { RpcFault } from '../../../../../../actors/mcp/jsonrpc/rpc-fault.ts';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

function codeOf(act: () => unknown): number | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof RpcFault) return error.code;
    throw error;
  }
}

describe('a cursor', () => {
  test('decodes to its original text, for any text', () => {
    const seal = new CursorSeal();
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, kind) => {
        expect(seal.open(kind, seal.seal(kind, text))).toBe(text);
      }),
    );
  });

  test('does not reveal its text, and is the same for the same text', () => {
    const seal = new CursorSeal();
    const cursor = seal.seal('tools', 'a recognisable text');
    expect(cursor).toBe(seal.seal('tools', 'a recognisable text'));
    expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toContain('recognisable');
  });

  test('is rejected if any bit is flipped, including bits that base64 decoding ignores', () => {
    const seal = new CursorSeal();
    for (const text of ['', 'a', 'ab', 'abc']) {
      const cursor = seal.seal('tools', text);
      for (let at = 0; at < cursor.length; at += 1) {
        const value = alphabet.indexOf(cursor.charAt(at));
        for (let bit = 1; bit < 256; bit <<= 1) {
          const char = String.fromCharCode(cursor.charCodeAt(at) ^ bit);
          const other = cursor.slice(0, at) + char + cursor.slice(at + 1);
          expect(codeOf(() => seal.open('tools', other))).toBe(-32602);
        }
        for (let bit = 1; bit < 64; bit <<= 1) {
          const other = cursor.slice(0, at) + alphabet.charAt(value ^ bit) + cursor.slice(at + 1);
          expect(codeOf(() => seal.open('tools', other))).toBe(-32602);
        }
      }
    }
  });

  test('is rejected for another list, by another process, and if it is malformed', () => {
    const seal = new CursorSeal();
    const cursor = seal.seal('tools', 'x');
    expect(codeOf(() => seal.open('tools', cursor))).toBeUndefined();
    expect(codeOf(() => seal.open('prompts', cursor))).toBe(-32602);
    expect(codeOf(() => new CursorSeal().open('tools', cursor))).toBe(-32602);
    const bad = [
      '',
      ' ',
      'x',
      `${cursor}=`,
      `${cursor}\n`,
      ` ${cursor}`,
      cursor.slice(1),
      'A'.repeat(100_000),
      'é',
    ];
    for (const other of bad) expect(codeOf(() => seal.open('tools', other))).toBe(-32602);
  });
});
