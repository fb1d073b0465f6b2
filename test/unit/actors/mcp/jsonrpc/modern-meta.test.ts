import { describe, expect, test } from 'vitest';
import { readCaller } from '../../../../../actors/mcp/clients/eras/modern-caller.ts';
import {
  asksForInput,
  completeResult,
  legacyEdits,
  resultType,
  toModern,
} from '../../../../../actors/mcp/jsonrpc/modern-meta.ts';
import { readServerMessage } from '../../../../../actors/mcp/jsonrpc/read-message.ts';

const caller = { clientInfo: { name: 'c', version: '1' }, capabilities: {} };
const read = (text: string) => readServerMessage(Buffer.from(text));

test('what a client says of itself is bounded, since it may be kept (IZ1)', () => {
  const saying = (size: number) =>
    toModern(read('{"id":1,"method":"m"}'), { ...caller, capabilities: { experimental: 'x'.repeat(size) } });
  expect(readCaller(saying(60_000)).capabilities).toHaveProperty('experimental');
  expect(() => readCaller(saying(66_000))).toThrow('larger than 65536 bytes');
});

describe('a request carried into the other era', () => {
  test('has params where it had none', () => {
    const after = toModern(read(' {"jsonrpc":"2.0","id":1,"method":"tools/list"} '), caller, {
      cursor: '"a"',
    });
    expect(JSON.parse(after.bytes.toString()).params).toEqual({
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': caller.clientInfo,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
      cursor: 'a',
    });
  });

  test('keeps a progress token, and gives up a _meta that is no object', () => {
    const token = toModern(read('{"id":1,"method":"m","params":{"_meta":{"progressToken":1.0}}}'), caller);
    expect(token.bytes.toString()).toContain('"progressToken":1.0}');
    for (const meta of ['5', 'null', '"x"', '[]']) {
      const after = toModern(read(`{"id":1,"method":"m","params":{"_meta":${meta},"a":1.0}}`), caller);
      expect(Object.keys(JSON.parse(after.bytes.toString()).params)).toEqual(['_meta', 'a']);
      expect(JSON.parse(after.bytes.toString()).params._meta).toHaveProperty([
        'io.modelcontextprotocol/clientInfo',
      ]);
    }
  });

  test('with a list for params goes as it is: no server of this protocol takes one', () => {
    const text = '{"id":1,"method":"m","params":[1.0, {"_meta":{}}]}';
    expect(toModern(read(text), caller).bytes.toString()).toBe(text);
    expect(legacyEdits(read(text))).toEqual([]);
  });
});

describe('a result of the gateway for a modern client', () => {
  const complete = (raw: string) =>
    JSON.parse(completeResult(raw, { name: 'g' }, { ttlMs: 5, scope: 'public' }));

  test('says that it is complete, who gives it and how long it holds', () => {
    const added = {
      resultType: 'complete',
      ttlMs: 5,
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'g' } },
    };
    expect(complete('{}')).toEqual(added);
    expect(complete('{"tools":[]}')).toEqual({ ...added, tools: [] });
  });

  test('says so too where the word stands in a schema', () => {
    const tool = {
      name: 't',
      inputSchema: { type: 'object', properties: { resultType: { type: 'string' } } },
    };
    expect(complete(JSON.stringify({ tools: [tool] }))).toMatchObject({
      resultType: 'complete',
      tools: [tool],
    });
  });

  test('keeps the type it names itself', () => {
    expect(complete('{"resultType":"input_required","requestState":"s"}')).toMatchObject({
      resultType: 'input_required',
      requestState: 's',
    });
  });
});

test.each([
  ['{"id":1,"result":{}}', 'complete'],
  ['{"id":1,"result":{"resultType":"input_required"}}', 'input_required'],
  ['{"id":1,"result":{"deep":{"resultType":"x"}}}', 'complete'],
  ['{"id":1,"error":{"code":1,"message":"m"}}', undefined],
])('the type of %s is %s', (text, type) => {
  expect(resultType(read(text))).toBe(type);
});

test.each([
  ['{"id":1,"result":{"resultType":"input_required"}}', true],
  ['{"id":1,"result":{"resultType":"\\u0069nput_required"}}', true],
  ['{"id":1,"result":{"\\u0072esultType":"input_required"}}', true],
  ['{"id":1,"result":{"content":[{"text":"input_required"}]}}', false],
  ['{"id":1,"result":{"resultType":"complete"}}', false],
  ['{"id":1,"error":{"code":1,"message":"input_required"}}', false],
])('whether %s asks for input: %s', (text, isAsked) => {
  expect(asksForInput(read(text))).toBe(isAsked);
});
