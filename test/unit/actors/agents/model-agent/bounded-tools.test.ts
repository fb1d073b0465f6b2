// Limits of the tools that an agent offers to its model, and the conversion of tool definitions.

import { expect, test } from 'vitest';
import {
  AgentToolBoxes,
  checkToolCount,
  checkToolSize,
  convertTool,
  type ToolsHost,
} from '../../../../../actors/agents/model-agent/agent-tool-boxes.ts';
import type { AgentTool } from '../../../../../actors/agents/model-agent/tool-box.ts';
import { TooManyToolsError } from '../../../../../actors/base/errors/errors.ts';

const tools = (server: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, n) => convertTool(server, { name: `tool-${n}`, ...more }) as AgentTool);

test('an agent may have 128 tools', () => {
  const all = [...tools('files', 64), ...tools('shop', 64)];
  expect(() => checkToolCount('clerk', all)).not.toThrow();
  expect(checkToolSize('clerk', all)).toEqual(all);
});

test('the error for too many tools names their servers and how to restrict them', () => {
  const all = [...tools('files', 9), ...tools('shop', 120)];
  expect(() => checkToolCount('clerk', all)).toThrow(TooManyToolsError);
  expect(() => checkToolCount('clerk', all)).toThrow(
    'agent clerk sees 129 tools (shop: 120, files: 9), at most 128 are allowed; restrict them by `tools`, e.g. ' +
      'tools: ["files/tool-0", "read_*"], or by tools.allow of a server',
  );
});

test.each([
  ['descriptions', { description: 'x'.repeat(27_000) }],
  ['schemas', { inputSchema: { type: 'object', description: 'x'.repeat(27_000) } }],
])('tool %s above the total size limit are an error', (_, more) => {
  expect(() => checkToolSize('clerk', tools('files', 10, more))).toThrow(/sees tools with 27\d+ bytes of/);
});

test.each([
  [{}, [false, true, false]],
  [{ destructiveHint: false }, [false, false, false]],
  [{ idempotentHint: true }, [false, true, true]],
  [{ readOnlyHint: true, destructiveHint: true }, [true, false, true]],
  [{ readOnlyHint: 'yes', destructiveHint: 'no' }, [false, true, false]],
  [null, [false, true, false]],
])('the hints of a tool are its annotations, with the defaults of the protocol: %j', (annotations, hints) => {
  const [isReadOnly, isDestructive, isIdempotent] = hints;
  expect(convertTool('files', { name: 'a', annotations })?.hints).toEqual({
    isReadOnly,
    isDestructive,
    isIdempotent,
  });
});

test('an input schema that model providers would reject is corrected, or replaced by a schema for any arguments', () => {
  const properties = { a: null, b: { type: 'string', description: 'cut \ud83d' } };
  const inputSchema = { type: 'object', properties, required: null };
  expect(convertTool('files', { name: 'a', description: '\ud83d', inputSchema })).toMatchObject({
    description: '\ufffd',
    inputSchema: { type: 'object', properties: { a: {}, b: { description: 'cut \ufffd' } } },
  });
  const converted = convertTool('files', {
    name: 'a',
    inputSchema,
    annotations: { readOnlyHint: true, title: 5 },
  });
  expect(converted?.inputSchema).not.toHaveProperty('required');
  expect(converted?.hints.isReadOnly).toBe(true);
  expect(
    convertTool('files', { name: 'a', description: 'd', inputSchema: { type: 'string' } }),
  ).toMatchObject({
    description: 'd',
    inputSchema: { type: 'object' },
  });
  expect(convertTool('files', { name: 'cut \ud83d' })).toBeUndefined();
});

test('a tool without a name is ignored, and each input schema has type object', () => {
  expect(convertTool('files', { name: '' })).toBeUndefined();
  expect(convertTool('files', { name: 5 } as never)).toBeUndefined();
  const schema = { properties: { a: { type: 'string' } } };
  expect(convertTool('files', { name: 'a', title: 'A tool', inputSchema: schema })).toMatchObject({
    description: 'A tool',
    inputSchema: { ...schema, type: 'object' },
  });
  expect(convertTool('files', { name: 'a', description: 7, inputSchema: 'none' })).toMatchObject({
    description: '',
    inputSchema: { type: 'object' },
  });
});

test('too many tools are an error before any of them is converted', async () => {
  const tool = (n: number) => ({
    name: `tool-${n}`,
    get inputSchema(): unknown {
      throw new Error('the tool was converted');
    },
  });
  const listTools = async () => Array.from({ length: 129 }, (_, n) => tool(n));
  const boxes = new AgentToolBoxes({ inProcess: { listTools } } as unknown as ToolsHost);
  const tools = { allow: ['*'], deny: [] };
  const box = boxes.open('clerk', [{ name: 'files', entry: undefined, tools }], []);
  await expect(box.list(new AbortController().signal, 1_000)).rejects.toThrow('sees 129 tools (files: 129)');
});
