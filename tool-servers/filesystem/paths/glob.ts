// Glob patterns for names, matched in time proportional to pattern times name. Patterns come from a model and names from
// whoever may write files: as a regular expression, five stars against a name of a's would hold the process for minutes.
//
// `*` any characters but `/`; `?` one; `[a-z]` `[!a-z]` sets; `{a,b}` alternatives; `**` as a whole segment any folders;
// `\` before a sign takes it literally. Names with a leading dot match like others. Upper and lower case differ.
//
// A pattern without `/` is for the name alone, at any depth; one with `/` for the whole path below the start.

import { ToolError } from '../../tool-error.ts';
import { MAX_ALTERNATIVES, MAX_PATTERN_CHARS } from '../limits.ts';

/** Whether a path matches; its segments are joined by `/` and relative to the start. */
export type Glob = (relative: string) => boolean;

/**
 * Whether a path matches any of `patterns`.
 * @throws ToolError when one is too long or leads out of the start, or when they have too many alternatives together
 */
export function compileGlobs(patterns: readonly string[]): Glob {
  const expanded = new Set<string>();
  for (const pattern of patterns) for (const plain of expand(pattern)) expanded.add(plain);
  if (expanded.size > MAX_ALTERNATIVES) throw tooManyAlternatives();
  const alternatives = [...expanded].map(alternativeOf);
  return (relative) => {
    const segments = relative.normalize('NFC').split('/').map(signsOf);
    const name = segments.at(-1) ?? [];
    return alternatives.some((wanted) =>
      wanted.isName ? isSegment(wanted.segment, name) : matches(wanted.segments, segments, isSegment, '**'),
    );
  };
}

function expand(pattern: string): string[] {
  if (pattern.length > MAX_PATTERN_CHARS)
    throw new ToolError(
      `The pattern has ${pattern.length} characters; ${MAX_PATTERN_CHARS} are allowed. Shorten it, or search twice.`,
    );
  return expandBraces(pattern.normalize('NFC'));
}

/** Whether `pattern` is a plain name, without any sign that has a meaning. */
export function isPlainName(pattern: string): boolean {
  return !/[*?[\]{}\\/]/.test(pattern);
}

interface SignSet {
  readonly isNegated: boolean;
  readonly ranges: readonly (readonly [number, number])[];
}
type Token = { readonly literal: string } | SignSet | '*' | '?';
type Segment = readonly Token[] | '**';
type Alternative =
  | { readonly isName: true; readonly segment: Segment }
  | { readonly isName: false; readonly segments: readonly Segment[] };

/**
 * Wildcard matching by the last star alone: a later star makes going back to an earlier one needless, as the earlier one
 * took as little as it could.
 */
function matches<Wanted, Given>(
  wanted: readonly Wanted[],
  given: readonly Given[],
  fits: (wanted: Wanted, given: Given) => boolean,
  star: unknown,
): boolean {
  let at = 0;
  let next = 0;
  let starAt = -1;
  let starTook = 0;
  while (at < given.length) {
    const token = wanted[next];
    if (next < wanted.length && token === star) {
      starAt = next++;
      starTook = at;
    } else if (next < wanted.length && fits(token as Wanted, given[at] as Given)) {
      next++;
      at++;
    } else if (starAt >= 0) {
      next = starAt + 1;
      at = ++starTook;
    } else {
      return false;
    }
  }
  while (next < wanted.length && wanted[next] === star) next++;
  return next === wanted.length;
}

function isSegment(wanted: Segment, given: readonly string[]): boolean {
  return wanted === '**' || matches(wanted, given, isSign, '*');
}

function isSign(wanted: Token, given: string): boolean {
  if (wanted === '?') return true;
  if (wanted === '*') return false;
  if ('literal' in wanted) return wanted.literal === given;
  const code = given.codePointAt(0) ?? 0;
  return wanted.ranges.some(([low, high]) => low <= code && code <= high) !== wanted.isNegated;
}

function signsOf(text: string): readonly string[] {
  return Array.from(text);
}

function alternativeOf(pattern: string): Alternative {
  const plain = pattern.replace(/^(\.\/)+/, '').replace(/\/+$/, '');
  if (plain === '' || plain.startsWith('/'))
    throw new ToolError(
      `The pattern "${pattern}" is not relative. Give the folder as path, and a pattern for what is below it, such as "**/*.ts".`,
    );
  const parts = plain.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..'))
    throw new ToolError(
      `The pattern "${pattern}" leads out of the folder. Give that folder as path instead.`,
    );
  const segments = parts.map((part) => (/^\*{2,}$/.test(part) ? '**' : tokensOf(part)));
  const [segment] = segments;
  return segments.length === 1 && segment !== undefined && !plain.includes('/')
    ? { isName: true, segment }
    : { isName: false, segments };
}

function tokensOf(segment: string): Token[] {
  const signs = signsOf(segment);
  const tokens: Token[] = [];
  for (let at = 0; at < signs.length; at++) {
    const sign = signs[at] as string;
    if (sign === '*') {
      if (tokens.at(-1) !== '*') tokens.push('*');
    } else if (sign === '?') {
      tokens.push('?');
    } else if (sign === '\\' && at + 1 < signs.length) {
      tokens.push({ literal: signs[++at] as string });
    } else {
      const set = sign === '[' ? setAt(signs, at) : undefined;
      tokens.push(set?.set ?? { literal: sign });
      at = set?.end ?? at;
    }
  }
  return tokens;
}

/** The set that begins at `start`; undefined when it has no end, and the bracket stands for itself. */
function setAt(signs: readonly string[], start: number): { set: SignSet; end: number } | undefined {
  let at = start + 1;
  const isNegated = signs[at] === '!' || signs[at] === '^';
  if (isNegated) at++;
  const ranges: [number, number][] = [];
  for (let isFirst = true; at < signs.length; isFirst = false) {
    if (signs[at] === ']' && !isFirst) return { set: { isNegated, ranges }, end: at };
    if (signs[at] === '\\' && at + 1 < signs.length) at++;
    const low = codeOf(signs[at++]);
    const hasHigh = signs[at] === '-' && at + 1 < signs.length && signs[at + 1] !== ']';
    ranges.push([low, hasHigh ? codeOf(signs[at + 1]) : low]);
    if (hasHigh) at += 2;
  }
  return undefined;
}

function codeOf(sign: string | undefined): number {
  return sign?.codePointAt(0) ?? 0;
}

function tooManyAlternatives(): ToolError {
  return new ToolError(
    `The patterns stand for more than ${MAX_ALTERNATIVES} alternatives, those of braces included. Use fewer of them.`,
  );
}

/** `a{b,c}` as `ab` and `ac`. Braces without a comma, or without their other half, stand for themselves. */
function expandBraces(pattern: string): string[] {
  const done: string[] = [];
  const open = [pattern];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = groupOf(next);
    if (group === undefined) done.push(next);
    else for (const choice of group.choices) open.push(group.before + choice + group.after);
    if (done.length + open.length > MAX_ALTERNATIVES) throw tooManyAlternatives();
  }
  return done;
}

/** The first group of braces that holds a comma of its own. */
function groupOf(text: string): { before: string; choices: string[]; after: string } | undefined {
  for (let start = 0; start < text.length; start++) {
    if (text[start] === '\\') start++;
    else if (text[start] === '{') {
      const group = groupAt(text, start);
      if (group) return group;
    }
  }
  return undefined;
}

function groupAt(text: string, start: number): ReturnType<typeof groupOf> {
  const choices: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < text.length; at++) {
    const sign = text[at];
    if (sign === '\\') at++;
    else if (sign === '{') depth++;
    else if (sign === '}') {
      if (--depth > 0) continue;
      if (choices.length === 0) return undefined;
      choices.push(text.slice(from, at));
      return { before: text.slice(0, start), choices, after: text.slice(at + 1) };
    } else if (sign === ',' && depth === 1) {
      choices.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return undefined;
}
