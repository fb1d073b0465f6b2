import { expect, test } from 'vitest';
import { toolArguments } from '../../../../machines/agent-run/tool-arguments.ts';

const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

test('tool arguments that are nested too deeply are refused', () => {
  expect(toolArguments(nested(128))).toBeTypeOf('object');
  for (const levels of [129, 100_000])
    expect(toolArguments(nested(levels))).toBe('nested deeper than 128 levels');
  const brackets = '[{"'.repeat(200);
  expect(toolArguments(JSON.stringify({ a: brackets, b: `\\${brackets}\\` }))).toBeTypeOf('object');
  expect(toolArguments(JSON.stringify(Array.from({ length: 300 }, () => [])))).toBe('not a JSON object');
});

test('deep tool arguments are refused without being parsed', () => {
  const deep = nested(100_000);
  const { parse } = JSON;
  let parsed = 0;
  JSON.parse = (...args) => {
    parsed += 1;
    return parse(...args);
  };
  try {
    expect(toolArguments(deep)).toMatch(/levels/);
  } finally {
    JSON.parse = parse;
  }
  expect(parsed).toBe(0);
});

test.each([
  ['a lone high surrogate', '{"a":"x\\ud83d"}', 'x\ufffd'],
  ['a lone low surrogate', '{"a":"\\uDE00x"}', '\ufffdx'],
  ['an unescaped lone surrogate', '{"a":"x\ud83d"}', 'x\ufffd'],
  ['a surrogate pair', '{"a":"\\ud83d\\ude00 \\uD83D\\uDE00"}', '😀 😀'],
  ['an escaped backslash before u', '{"a":"\\\\ud83d"}', '\\ud83d'],
  ['a lone surrogate after a backslash', '{"a":"\\\\\\ud83d"}', '\\\ufffd'],
])('%s in tool arguments reaches the tool as valid Unicode', (_, input, a) => {
  expect(toolArguments(input)).toEqual({ a });
});
