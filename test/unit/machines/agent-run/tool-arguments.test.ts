import { expect, test } from 'vitest';
import { toolArguments } from '../../../../machines/agent-run/tool-arguments.ts';

const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

test('arguments that are nested too deeply to be written again cannot be used', () => {
  expect(toolArguments(nested(128))).toBeTypeOf('object');
  for (const levels of [129, 100_000])
    expect(toolArguments(nested(levels))).toBe('they are nested more than 128 levels deep');
});

test.each([
  ['half of a pair', '{"a":"x\\ud83d"}', 'x\ufffd'],
  ['the other half', '{"a":"\\uDE00x"}', '\ufffdx'],
  ['a half that was not written as an escape', '{"a":"x\ud83d"}', 'x\ufffd'],
  ['a whole pair', '{"a":"\\ud83d\\ude00 \\uD83D\\uDE00"}', '😀 😀'],
  ['what only looks like a half', '{"a":"\\\\ud83d"}', '\\ud83d'],
  ['a half after a backslash', '{"a":"\\\\\\ud83d"}', '\\\ufffd'],
])('%s in them reaches a tool as what any tool can read', (_, input, a) => {
  expect(toolArguments(input)).toEqual({ a });
});
