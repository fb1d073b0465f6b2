// Patterns of `find`: RE2, whose time is linear in the text. Compiled patterns are cached, because a loop
// uses the same pattern for each item. Costs are in steps of the evaluation budget (evaluation-budget.ts):
// a step takes about as long as evaluating one part of an expression.

import { RE2JS } from 're2js';

const MAX_PATTERN = 1_000;
const MAX_CACHED = 256;
/** Steps per character of the text, and additional steps per instruction of the pattern. */
const STEPS_PER_CHARACTER = 0.3;
const STEPS_PER_INSTRUCTION = 1 / 32;
/** Steps to compile a character of a pattern. */
const COMPILE_STEPS = 50;

const cache = new Map<string, RE2JS>();

/** Returns the first match of the pattern, or an empty text. Throws an Error for an invalid pattern. */
export function findMatch(text: string, pattern: string): string {
  const matcher = compilePattern(pattern).matcher(text);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

/** Throws an Error for an invalid pattern. */
export function compilePattern(pattern: string): RE2JS {
  assertLength(pattern);
  const cached = cache.get(pattern);
  if (cached !== undefined) return cached;
  const compiled = RE2JS.compile(pattern);
  const [oldest] = cache.keys();
  if (cache.size >= MAX_CACHED && oldest !== undefined) cache.delete(oldest);
  cache.set(pattern, compiled);
  return compiled;
}

/** Returns the steps that compiling the pattern takes; none if it is cached. */
export function compileSteps(pattern: string): number {
  assertLength(pattern);
  if (cache.has(pattern)) return 0;
  // A counted repetition such as `a{100}` is compiled as this number of copies.
  const repetitions = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].flatMap(([, least, most]) => [
    Number(least),
    Number(most ?? 0),
  ]);
  return COMPILE_STEPS * pattern.length * Math.max(1, ...repetitions);
}

/** Returns the steps that a search takes if the pattern does not match. */
export function searchSteps(text: string, pattern: string): number {
  const instructions = compilePattern(pattern).programSize();
  return text.length * (STEPS_PER_CHARACTER + instructions * STEPS_PER_INSTRUCTION);
}

function assertLength(pattern: string): void {
  if (pattern.length > MAX_PATTERN) throw new Error(`a pattern has at most ${MAX_PATTERN} characters`);
}
