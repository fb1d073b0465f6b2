// Parsing of JSON-RPC messages: unusual forms of clients and servers, and invalid messages.

import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../../../../actors/mcp/jsonrpc/apply-edits.ts';
import { readClientMessage, readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';
import { RpcFault } from '../../../../../actors/mcp/jsonrpc/rpc-fault.ts';
import { toBuffer } from '../../../../../actors/mcp/jsonrpc/span.ts';

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

describe('a JSON-RPC message', () => {
  test('keeps numbers that JavaScript would change', () => {
    const numbers = '[9007199254740993,1.0,1e400,-0,0.10,123456789012345678901234567890]';
    const text = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":${numbers}}}`;
    const { bytes, id } = client(text);
    const out = toBuffer(applyEdits(bytes, id === undefined ? [] : [{ ...id, text: '77' }]));
    expect(out.toString()).toBe(text.replace('"id":1', '"id":77'));
  });

  test('distinguishes the ids 1 and "1"', () => {
    expect(client('{"jsonrpc":"2.0","id":1,"method":"ping"}').rawId).toBe('1');
    expect(client('{"jsonrpc":"2.0","id":"1","method":"ping"}').rawId).toBe('"1"');
  });

  test('may contain keys with Unicode escapes', () => {
    const text =
      '{"\\u006asonrpc":"2.0","i\\u0064":"x","m\\u0065thod":"tools\\/call","par\\u0061ms":{"na\\u006de":"a\\u0062"}}';
    const envelope = client(text);
    expect([envelope.kind, envelope.method, envelope.rawId]).toEqual(['request', 'tools/call', '"x"']);
    expect(envelope.paramText('name')).toBe('ab');
  });

  test('has line breaks between tokens replaced by spaces, but not in strings', () => {
    const text = '{\r\n "jsonrpc" : "2.0",\n"method":"a\\nb",\n"params":{"name":"c\\r\\nd\u2028"}\n}\n';
    const envelope = client(text);
    expect(envelope.bytes.toString()).toBe(text.replace(/[\r\n]/g, ' '));
    expect([envelope.method, envelope.paramText('name')]).toEqual(['a\nb', 'c\r\nd\u2028']);
  });

  test('without an id is a notification, and with a result or an error a response', () => {
    expect(client('{"jsonrpc":"2.0","method":"x"}').kind).toBe('notification');
    expect(client('{"jsonrpc":"2.0","id":1,"result":null}').kind).toBe('answer');
    expect(client('{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}').kind).toBe('answer');
    expect(server('{"id":1,"result":{}}').kind).toBe('answer');
  });

  test.each([
    [
      'an error next to a result',
      '"id":1,"result":{"a":[1,null]},"error":null',
      'answer',
      '"id":1,"result":{"a":[1,null]}',
    ],
    [
      'a result next to an error',
      '"result":null,"id":1,"error":{"code":1,"message":""}',
      'answer',
      '"id":1,"error":{"code":1,"message":""}',
    ],
    [
      'a method and params next to a result',
      '"id":1,"method":null,"params":null,"result":null',
      'answer',
      '"id":1,"result":null',
    ],
    ['params of a request', '"id":1,"method":"x","params":null', 'request', '"id":1,"method":"x"'],
    [
      'result and error of a notification',
      '"method":"x","result":null,"error":null',
      'notification',
      '"method":"x"',
    ],
  ])('is read without null members: %s', (_, members, kind, rest) => {
    for (const read of [client, server]) {
      const envelope = read(`{"jsonrpc":"2.0",${members}}`);
      expect([envelope.kind, envelope.bytes.toString()]).toEqual([kind, `{"jsonrpc":"2.0",${rest}}`]);
    }
  });

  test('of a server may have a null id next to its method', () => {
    const envelope = server('{"id":null,"method":"x"}');
    expect([envelope.kind, envelope.bytes.toString()]).toEqual(['notification', '{"method":"x"}']);
    expect(server('{"id":null,"error":{"code":1,"message":""}}').rawId).toBe('null');
  });

  test('may start with a byte order mark, which is not forwarded', () => {
    for (const read of [client, server])
      expect(read('\ufeff{"jsonrpc":"2.0","method":"x"}').bytes.toString()).toBe(
        '{"jsonrpc":"2.0","method":"x"}',
      );
  });

  test('may have positional params, which stay unchanged', () => {
    expect(client('{"jsonrpc":"2.0","id":1,"method":"x","params":["name"]}').param('name')).toBeUndefined();
  });

  test('from a client may contain upper-case variants of member names in arguments and _meta, from a server anywhere', () => {
    const text =
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{"NAME":1,"ID":2},"_meta":{"NAME":3}}}';
    expect(client(text).kind).toBe('request');
    expect(server('{"id":1,"result":{},"ID":2}').rawId).toBe('1');
  });

  test('has its name and progress token read only from the top level of params', () => {
    const envelope = client(
      '{"jsonrpc":"2.0","id":1,"method":"x","name":"top","params":{"arguments":{"name":"inner","_meta":{"progressToken":1}}}}',
    );
    expect([envelope.param('name'), envelope.progressToken]).toEqual([undefined, undefined]);
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
    ['"id":"5",', 5],
    ['"id":"5a",', Number.NaN],
    ['"id":"",', Number.NaN],
    ['', Number.NaN],
  ])('reads the id %s as the number %d', (id, number) => {
    expect(client(`{"jsonrpc":"2.0",${id}"method":"x"}`).numericId).toBe(number);
  });

  test('returns only string members as text, at the first and at each later read', () => {
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

  test.each([
    [{}, undefined],
    [{ cursor: null }, undefined],
    [{ cursor: '' }, undefined],
    [{ cursor: 'null' }, 'null'],
    [{ cursor: 'a' }, 'a'],
    [{ cursor: 5 }, '5'],
    [{ cursor: {} }, '{}'],
  ])('of the params %j has the cursor %j', (params, cursor) => {
    expect(request(params).cursor).toBe(cursor);
  });

  test('detects unexpected reserved members of _meta', () => {
    const isOnly = (meta: object) => request({ _meta: meta }).hasMetaOnlyOf({ [`${RESERVED}0`]: 1 });
    expect([reserved(1), reserved(2), {}, { ...reserved(1), own: 1 }].map(isOnly)).toEqual([
      ...[true, false, false, false],
    ]);
  });

  test('accepts at most 64 reserved _meta members, each once', () => {
    expect(request({ _meta: reserved(64) }).meta(`${RESERVED}63`)).toBeDefined();
    expect(fault(() => request({ _meta: reserved(65) })).message).toContain('more than 64 reserved members');
    const twice = `{"${RESERVED}a":1,"${RESERVED}a":1}`;
    const text = `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":${twice}}}`;
    expect(fault(() => client(text)).message).toContain('occurs twice in params._meta');
  });
});

describe('a client message is rejected with the matching error code', () => {
  test.each([
    ['an empty text', '', -32700],
    ['white space', ' \n', -32700],
    ['a text that is not JSON', 'hello', -32700],
    ['an incomplete message', '{"jsonrpc":"2.0","id":1', -32700],
    ['two messages', '{"jsonrpc":"2.0","method":"x"}{}', -32700],
    ['a trailing comma', '{"jsonrpc":"2.0","method":"x",}', -32700],
    ['a raw line break in a string', '{"jsonrpc":"2.0","method":"a\nb"}', -32700],
    ['a second byte order mark', '\ufeff\ufeff{"jsonrpc":"2.0","method":"x"}', -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['an empty batch', '[]', -32600],
    ['a broken batch', '[{]', -32700],
    ['a string', '"x"', -32600],
    ['null', 'null', -32600],
    ['a missing version', '{"id":1,"method":"x"}', -32600],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"x"}', -32600],
    ['a version that is a number', '{"jsonrpc":2.0,"id":1,"method":"x"}', -32600],
    ['a null id', '{"jsonrpc":"2.0","id":null,"method":"x"}', -32600],
    ['a boolean id', '{"jsonrpc":"2.0","id":true,"method":"x"}', -32600],
    ['an object id', '{"jsonrpc":"2.0","id":{},"method":"x"}', -32600],
    ['an array id', '{"jsonrpc":"2.0","id":[1],"method":"x"}', -32600],
    ['an id above the length limit', `{"jsonrpc":"2.0","id":"${'x'.repeat(1100)}","method":"x"}`, -32600],
    ['a method that is a number', '{"jsonrpc":"2.0","id":1,"method":1}', -32600],
    ['params that are a string', '{"jsonrpc":"2.0","id":1,"method":"x","params":"y"}', -32600],
    ['a null error alone', '{"jsonrpc":"2.0","id":1,"error":null}', -32600],
    ['a null method alone', '{"jsonrpc":"2.0","id":1,"method":null}', -32600],
    ['an id without method and result', '{"jsonrpc":"2.0","id":1}', -32600],
    ['result and error', '{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', -32600],
    ['method and result', '{"jsonrpc":"2.0","id":1,"method":"x","result":1}', -32600],
    ['a result without id', '{"jsonrpc":"2.0","result":1}', -32600],
    ['two names', '{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":"a","n\\u0061me":"b"}}', -32600],
    ['two methods', '{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}', -32600],
    ['a second id in upper case', '{"jsonrpc":"2.0","id":1,"ID":2,"method":"x"}', -32600],
    ['a second method in another case', '{"jsonrpc":"2.0","id":1,"method":"x","m\\u0045thod":"y"}', -32600],
    ['a second params with a long s', '{"jsonrpc":"2.0","id":1,"method":"x","param\u017f":{}}', -32600],
    ['a name in another case', '{"jsonrpc":"2.0","id":1,"method":"x","params":{"Name":"b"}}', -32600],
    [
      'duplicate arguments',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{},"arguments":{}}}',
      -32600,
    ],
    [
      'a second arguments in another case',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":{},"Arguments":{}}}',
      -32600,
    ],
    ['a _meta in upper case', '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_META":{}}}', -32600],
    [
      'a progress token key with a Kelvin sign',
      '{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressTo\u212aen":5}}}',
      -32600,
    ],
  ])('for %s', (_, text, code) => {
    expect(fault(() => client(text)).code).toBe(code);
  });

  test('for invalid UTF-8', () => {
    for (const bad of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      const bytes = Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'),
        Buffer.from(bad),
        Buffer.from('"}'),
      ]);
      expect(fault(() => readClientMessage(bytes)).code).toBe(-32700);
    }
  });

  test('and with its id, if the id was readable', () => {
    expect(fault(() => client('{"jsonrpc":"1.0","id":"a","method":"x"}')).rawId).toBe('"a"');
    expect(fault(() => client('{"jsonrpc":"2.0","id":7,"method":"x","params":3}')).rawId).toBe('7');
    expect(fault(() => client('{"jsonrpc":"2.0","id":{},"method":"x"}')).rawId).toBeUndefined();
  });
});

describe('unlimited nesting', () => {
  test.each(['[', '{"a":', '[{"a":', '{"a":['])('of %s is rejected without a stack overflow', (piece) => {
    const deep = piece.repeat(500_000);
    for (const text of [
      deep,
      `{"jsonrpc":"2.0","id":1,"method":"x","params":{"name":${deep}`,
      `{"id":1,"result":${deep}`,
    ])
      expect(fault(() => client(text)).code).toBe(-32700);
  });

  test('is not assumed for an array of a million items', () => {
    const text = `{"jsonrpc":"2.0","id":1,"result":[${'[],'.repeat(1_000_000)}[]]}`;
    expect(client(text).kind).toBe('answer');
  });
});
