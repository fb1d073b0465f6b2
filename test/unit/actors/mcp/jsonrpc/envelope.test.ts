// Messages by example: the strange ones that clients and servers do send, and those that must be refused.

import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readClientMessage, readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault } from '../../../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { whole } from '../../../../../actors/mcp/jsonrpc/span.ts';

const client = (text: string) => readClientMessage(Buffer.from(text));
const server = (text: string) => readServerMessage(Buffer.from(text));

function fault(act: () => unknown): RpcFault {
  try {
    act();
  } catch (error) {
    if (error instanceof RpcFault) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('a message', () => {
  test('keeps numbers that JavaScript would change', () => {
    const numbers = '[9007199254740993,1.0,1e400,-0,0.10,123456789012345678901234567890]';
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":${numbers}}}`;
    const { bytes, id } = client(text);
    const out = whole(applyEdits(bytes, id === undefined ? [] : [{ ...id, text: '77' }]));
    expect(out.toString()).toBe(text.replace('"id":1', '"id":77'));
  });

  test('has ids 1 and "1", which are not the same', () => {
    expect(client('{"jsonrpc":"2.0","id":1,"method":"ping"}').rawId).toBe('1');
    expect(client('{"jsonrpc":"2.0","id":"1","method":"ping"}').rawId).toBe('"1"');
  });

  test('is found by its keys in any spelling', () => {
    const text =
      '{"\\u006asonrpc":"2.0","i\\u0064":"x","m\\u0065thod":"tools\\/call","par\\u0061ms":{"na\\u006de":"a\\u0062"}}';
    const envelope = client(text);
    expect([envelope.kind, envelope.method, envelope.rawId]).toEqual(['request', 'tools/call', '"x"']);
    expect(envelope.paramText('name')).toBe('ab');
  });

  test('has its line breaks between tokens turned into spaces, and those in strings left alone', () => {
    const text = '{\r\n "jsonrpc" : "2.0",\n"method":"a\\nb",\n"params":{"name":"c\\r\\nd\u2028"}\n}\n';
    const envelope = client(text);
    expect(envelope.bytes.toString()).toBe(text.replace(/[\r\n]/g, ' '));
    expect([envelope.method, envelope.paramText('name')]).toEqual(['a\nb', 'c\r\nd\u2028']);
  });

  test('without an id is a notification; with a result or an error it is an answer', () => {
    expect(client('{"jsonrpc":"2.0","method":"x"}').kind).toBe('notification');
    expect(client('{"jsonrpc":"2.0","id":1,"result":null}').kind).toBe('answer');
    expect(client('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}').kind).toBe('answer');
    expect(server('{"id":1,"result":{}}').kind).toBe('answer');
  });

  test('may have positional params, which are left alone', () => {
    expect(client('{"jsonrpc":"2.0","id":1,"method":"x","params":["name"]}').param('name')).toBeUndefined();
  });

  test('may hold names of any case where they decide nothing, and from a server everywhere', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"NAME":1,"ID":2},"_meta":{"NAME":3}}}';
    expect(client(text).kind).toBe('request');
    expect(server('{"id":1,"result":{},"ID":2}').rawId).toBe('1');
  });

  test('has members of params only where they are members of params', () => {
    const envelope = client(
      '{"jsonrpc":"2.0","id":1,"method":"x","name":"top","params":{"arguments":{"name":"inner","_meta":{"progressToken":1}}}}',
    );
    expect([envelope.param('name'), envelope.askedToken]).toEqual([undefined, undefined]);
  });
});

describe('an envelope', () => {
  const RESERVED = 'io.modelcontextprotocol/';
  const request = (params: object) => client(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params }));
  const reserved = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${RESERVED}${index}`, index]));

  test.each([
    ['"id":1234567,', 1_234_567],
    ['"id":5.0,', 5],
    ['"id":5e1,', 50],
    ['"id":"5a",', Number.NaN],
    ['', Number.NaN],
  ])('has the id %s as the number %d', (id, number) => {
    expect(client(`{"jsonrpc":"2.0",${id}"method":"x"}`).numericId).toBe(number);
  });

  test('has members as text only where they are strings, however often they are read', () => {
    const envelope = request({
      name: 5,
      uri: 'a\n',
      _meta: { [`${RESERVED}a`]: [1], [`${RESERVED}b`]: 'c' },
    });
    for (const _ of [1, 2]) {
      expect([envelope.paramText('name'), envelope.paramText('uri')]).toEqual([undefined, 'a\n']);
      expect([envelope.metaText(`${RESERVED}a`), envelope.metaText(`${RESERVED}b`)]).toEqual([
        undefined,
        'c',
      ]);
    }
  });

  test('has only reserved members of _meta among the given keys, or others besides', () => {
    const isOnly = (meta: object) => request({ _meta: meta }).hasMetaOnlyOf({ [`${RESERVED}0`]: 1 });
    expect([reserved(1), reserved(2), {}, { ...reserved(1), own: 1 }].map(isOnly)).toEqual([
      ...[true, false, false, false],
    ]);
  });

  test('takes 64 reserved members of _meta, each once', () => {
    expect(request({ _meta: reserved(64) }).meta(`${RESERVED}63`)).toBeDefined();
    expect(fault(() => request({ _meta: reserved(65) })).message).toContain('more than 64 reserved members');
    const twice = `{"${RESERVED}a":1,"${RESERVED}a":1}`;
    const text = `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":${twice}}}`;
    expect(fault(() => client(text)).message).toContain('occurs twice in params._meta');
  });
});

describe('refused, with the code that tells why:', () => {
  test.each([
    ['nothing', '', -32700],
    ['white space', ' \n', -32700],
    ['no JSON', 'hello', -32700],
    ['half a message', '{"jsonrpc":"2.0","id":1', -32700],
    ['two messages', '{"jsonrpc":"2.0","method":"x"}{}', -32700],
    ['a comma too many', '{"jsonrpc":"2.0","method":"x",}', -32700],
    ['a raw line break in a string', '{"jsonrpc":"2.0","method":"a\nb"}', -32700],
    ['a byte order mark', '\ufeff{"jsonrpc":"2.0","method":"x"}', -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['an empty batch', '[]', -32600],
    ['a broken batch', '[{]', -32700],
    ['a string', '"x"', -32600],
    ['null', 'null', -32600],
    ['no version', '{"id":1,"method":"x"}', -32600],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"x"}', -32600],
    ['a version that is a number', '{"jsonrpc":2.0,"id":1,"method":"x"}', -32600],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"x"}', -32600],
    ['an id that is true', '{"jsonrpc":"2.0","id":true,"method":"x"}', -32600],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"x"}', -32600],
    ['an id that is an array', '{"jsonrpc":"2.0","id":[1],"method":"x"}', -32600],
    ['an id without end', `{"jsonrpc":"2.0","id":"${'x'.repeat(1100)}","method":"x"}`, -32600],
    ['a method that is a number', '{"jsonrpc":"2.0","id":1,"method":1}', -32600],
    ['params that are a string', '{"jsonrpc":"2.0","id":1,"method":"x","params":"y"}', -32600],
    ['params that are null', '{"jsonrpc":"2.0","id":1,"method":"x","params":null}', -32600],
    ['neither method nor result', '{"jsonrpc":"2.0","id":1}', -32600],
    ['result and error', '{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', -32600],
    ['method and result', '{"jsonrpc":"2.0","id":1,"method":"x","result":1}', -32600],
    ['a result without id', '{"jsonrpc":"2.0","result":1}', -32600],
    ['two names', '{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","n\\u0061me":"b"}}', -32600],
    ['two methods', '{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}', -32600],
    ['a twin of the id in another case', '{"jsonrpc":"2.0","id":1,"ID":2,"method":"x"}', -32600],
    ['a twin of the method', '{"jsonrpc":"2.0","id":1,"method":"x","m\\u0045thod":"y"}', -32600],
    ['a twin of params by a long s', '{"jsonrpc":"2.0","id":1,"method":"x","param\u017f":{}}', -32600],
    ['a twin of a name', '{"jsonrpc":"2.0","id":1,"method":"x","params":{"Name":"b"}}', -32600],
    [
      'arguments given twice',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{},"arguments":{}}}',
      -32600,
    ],
    [
      'a twin of arguments',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{},"Arguments":{}}}',
      -32600,
    ],
    ['a twin of _meta', '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_META":{}}}', -32600],
    [
      'a twin of a token by a Kelvin sign',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressTo\u212aen":5}}}',
      -32600,
    ],
  ])('%s', (_, text, code) => {
    expect(fault(() => client(text)).code).toBe(code);
  });

  test('bytes that are no UTF-8', () => {
    for (const bad of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      const bytes = Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'),
        Buffer.from(bad),
        Buffer.from('"}'),
      ]);
      expect(fault(() => readClientMessage(bytes)).code).toBe(-32700);
    }
  });

  test('a refusal names the id where it could be read', () => {
    expect(fault(() => client('{"jsonrpc":"1.0","id":"a","method":"x"}')).rawId).toBe('"a"');
    expect(fault(() => client('{"jsonrpc":"2.0","id":7,"method":"x","params":3}')).rawId).toBe('7');
    expect(fault(() => client('{"jsonrpc":"2.0","id":{},"method":"x"}')).rawId).toBeUndefined();
  });
});

describe('nesting without end', () => {
  test.each(['[', '{"a":', '[{"a":', '{"a":['])('of %s is refused and overflows no stack', (piece) => {
    const deep = piece.repeat(500_000);
    for (const text of [
      deep,
      `{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":${deep}`,
      `{"id":1,"result":${deep}`,
    ])
      expect(fault(() => client(text)).code).toBe(-32700);
  });

  test('in breadth is fine: a million items', () => {
    const text = `{"jsonrpc":"2.0","id":1,"result":[${'[],'.repeat(1_000_000)}[]]}`;
    expect(client(text).kind).toBe('answer');
  });
});
