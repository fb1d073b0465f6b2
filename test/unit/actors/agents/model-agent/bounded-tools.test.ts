import { expect, test } from 'vitest';
import { boundedTools, foundTool } from '../../../../../actors/agents/model-agent/agent-tool-boxes.ts';
import type { FoundTool } from '../../../../../actors/agents/model-agent/tool-box.ts';
import { TooManyToolsError } from '../../../../../actors/base/errors/errors.ts';

const tools = (server: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => foundTool(server, { name: `tool-${at}`, ...more }) as FoundTool);

test('an agent may see 128 tools of 256 KiB together', () => {
  const all = [...tools('files', 64), ...tools('shop', 64)];
  expect(boundedTools('clerk', all)).toEqual(all);
});

test('more of them are an error that names their servers and how to narrow them (BDT1)', () => {
  const all = [...tools('files', 9), ...tools('shop', 120)];
  expect(() => boundedTools('clerk', all)).toThrow(TooManyToolsError);
  expect(() => boundedTools('clerk', all)).toThrow(
    'agent clerk sees 129 tools (shop: 120, files: 9), and 128 are the most; narrow them by `tools`, such as ' +
      'tools: ["files/tool-0", "read_*"], or by tools.allow of a server',
  );
});

test.each([
  ['descriptions', { description: 'x'.repeat(27_000) }],
  ['schemas', { inputSchema: { type: 'object', description: 'x'.repeat(27_000) } }],
])('so are %s that are longer together (BDT1)', (_, more) => {
  expect(() => boundedTools('clerk', tools('files', 10, more))).toThrow(/sees tools with 27\d+ bytes of/);
});

test.each([
  [{}, [false, true, false]],
  [{ destructiveHint: false }, [false, false, false]],
  [{ idempotentHint: true }, [false, true, true]],
  [{ readOnlyHint: true, destructiveHint: true }, [true, false, true]],
  [{ readOnlyHint: 'yes', destructiveHint: 'no' }, [false, true, false]],
  [null, [false, true, false]],
])(
  'what a server says of the effects of a tool is taken as the protocol has it: %j',
  (annotations, hints) => {
    const [isReadOnly, isDestructive, isIdempotent] = hints;
    expect(foundTool('files', { name: 'a', annotations })?.hints).toEqual({
      isReadOnly,
      isDestructive,
      isIdempotent,
    });
  },
);

test('a tool that providers would reject is made valid, or takes any arguments', () => {
  const properties = { a: null, b: { type: 'string', description: 'cut \ud83d' } };
  const inputSchema = { type: 'object', properties, required: null };
  expect(foundTool('files', { name: 'a', description: '\ud83d', inputSchema })).toMatchObject({
    description: '\ufffd',
    inputSchema: { type: 'object', properties: { a: {}, b: { description: 'cut \ufffd' } } },
  });
  const found = foundTool('files', { name: 'a', inputSchema, annotations: { readOnlyHint: true, title: 5 } });
  expect(found?.inputSchema).not.toHaveProperty('required');
  expect(found?.hints.isReadOnly).toBe(true);
  expect(foundTool('files', { name: 'a', description: 'd', inputSchema: { type: 'string' } })).toMatchObject({
    description: 'd',
    inputSchema: { type: 'object' },
  });
  expect(foundTool('files', { name: 'cut \ud83d' })).toBeUndefined();
});

test('a tool without a name is none, and a schema says that it is one of an object', () => {
  expect(foundTool('files', { name: '' })).toBeUndefined();
  expect(foundTool('files', { name: 5 } as never)).toBeUndefined();
  const schema = { properties: { a: { type: 'string' } } };
  expect(foundTool('files', { name: 'a', title: 'A tool', inputSchema: schema })).toMatchObject({
    description: 'A tool',
    inputSchema: { ...schema, type: 'object' },
  });
  expect(foundTool('files', { name: 'a', description: 7, inputSchema: 'none' })).toMatchObject({
    description: '',
    inputSchema: { type: 'object' },
  });
});
