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

test('the gateway rejects client metadata above 64 KiB in _meta', () => {
  const requestWith = (size: number) =>
    toModern(read('{"id":1,"method":"m"}'), { ...caller, capabilities: { experimental: 'x'.repeat(size) } });
  expect(readCaller(requestWith(60_000)).capabilities).toHaveProperty('experimental');
  expect(() => readCaller(requestWith(66_000))).toThrow('exceed 65536 bytes');
});

describe('converting a request to the other protocol era', () => {
  test('adds params to a request without params', () => {
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

  test('keeps the progress token, and replaces a _meta that is not an object', () => {
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

  test('leaves a request whose params are an array unchanged', () => {
    const text = '{"id":1,"method":"m","params":[1.0, {"_meta":{}}]}';
    expect(toModern(read(text), caller).bytes.toString()).toBe(text);
    expect(legacyEdits(read(text))).toEqual([]);
  });
});

describe('a gateway result for a modern client', () => {
  const complete = (raw: string) =>
    JSON.parse(completeResult(raw, { name: 'g' }, { ttlMs: 5, scope: 'public' }));

  test('contains the result type, the server info and the cache hint', () => {
    const added = {
      resultType: 'complete',
      ttlMs: 5,
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'g' } },
    };
    expect(complete('{}')).toEqual(added);
    expect(complete('{"tools":[]}')).toEqual({ ...added, tools: [] });
  });

  test('contains resultType even if a tool schema has a property of that name', () => {
    const tool = {
      name: 't',
      inputSchema: { type: 'object', properties: { resultType: { type: 'string' } } },
    };
    expect(complete(JSON.stringify({ tools: [tool] }))).toMatchObject({
      resultType: 'complete',
      tools: [tool],
    });
  });

  test('keeps the result type that it already has', () => {
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
])('the result type of the response %s is %s', (text, type) => {
  expect(resultType(read(text))).toBe(type);
});

test.each([
  ['{"id":1,"result":{"resultType":"input_required"}}', true],
  ['{"id":1,"result":{"resultType":"\\u0069nput_required"}}', true],
  ['{"id":1,"result":{"\\u0072esultType":"input_required"}}', true],
  ['{"id":1,"result":{"content":[{"text":"input_required"}]}}', false],
  ['{"id":1,"result":{"resultType":"complete"}}', false],
  ['{"id":1,"error":{"code":1,"message":"input_required"}}', false],
])('the response %s requests input from the client: %s', (text, isAsked) => {
  expect(asksForInput(read(text))).toBe(isAsked);
});
