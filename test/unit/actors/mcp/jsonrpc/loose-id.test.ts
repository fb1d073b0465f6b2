// The id of messages that are not valid JSON.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { looseIdOf } from '../../../../../actors/mcp/jsonrpc/loose-id.ts';

const find = (text: string) => looseIdOf(Buffer.from(text));

describe('the id of an invalid message', () => {
  test.each([
    ['NaN', '{"jsonrpc":"2.0","id":7,"result":{"x":NaN}}', '7'],
    ['-Infinity before the id', '{"result":{"x":-Infinity},"id":7}', '7'],
    ['a raw control character', '{"id" : 7 ,"result":{"text":"a\tb\n"}}', '7'],
    ['a line break before the colon', '{"id"\n: 7,"result":{"x":NaN}}', '7'],
    ['a trailing comma', '{"id":7,"result":[],}', '7'],
    ['single quotes', `{"id":7,"result":{'a':1}}`, '7'],
    ['an unfinished string', '{"id":7,"result":{"text":"abc', '7'],
    ['an unfinished escape', '{"id":7,"error":{"message":"abc\\', '7'],
    ['a text id', '{"id":"seven","result":{"x":NaN}}', '"seven"'],
    ['a decimal id', '{"id":7.0,"result":{"x":NaN}}', '7.0'],
  ])('is found despite %s', (_, text, rawId) => {
    expect(find(text)).toEqual({ rawId, kind: 'answer' });
  });

  test.each([
    ['an inner id only', '{"result":{"id":7,"x":NaN}}'],
    ['an id as a value', '{"a":"id","result":NaN}'],
    ['an id that is an object', '{"id":{"id":7},"result":NaN}'],
    ['an id with a control character', '{"id":"a\u0001b","result":NaN}'],
    ['an id with a leading zero', '{"id":007,"result":NaN}'],
    ['no object', 'NaN'],
    ['nothing', ''],
  ])('is not found in %s', (_, text) => {
    expect(find(text).rawId).toBeUndefined();
  });

  test.each([
    ['request', '{"jsonrpc":"2.0","id":7,"params":{"x":NaN},"method":"ping"}'],
    ['answer', '{"id":7,"result":{"method":"x","y":NaN}}'],
    ['answer', '{"jsonrpc":"2.0","id":7}'],
    ['other', '{"level":30,"id":7,"msg":"handling request"}'],
    ['other', '{"level":30,"id":7,"method":"GET","msg":"handling request"}'],
  ])('belongs to a message of the kind %s in %s', (kind, text) => {
    expect(find(text)).toEqual({ rawId: '7', kind });
  });

  test('is found at any position among the members of the message', () => {
    const faults = fc.constantFrom('NaN', 'undefined', "'x'", ',', '\u0001');
    fc.assert(
      fc.property(fc.nat(), fc.json(), fc.json(), faults, (id, before, after, fault) => {
        expect(find(`{"a":${before},"id":${id},"result":[${after},${fault}]}`).rawId).toBe(`${id}`);
      }),
    );
  });
});
