// Parses YAML to a plain tree with offsets, for all readers. YAML aliases share one value and are not copied.
// Reports duplicate keys, and refuses alias bombs, circular aliases, custom tags, unlimited nesting, and
// several documents if one is expected. JSON is parsed as YAML, so it has positions and may contain comments.
//
// The work is linear in the file's size: aliased values are counted, never expanded. Messages do not contain
// text of the file (A9, ARCHITECTURE.md), except keys: a password may begin with `*` or `!`.

import { Composer, type CST, isAlias, isMap, isScalar, isSeq, type Node, Parser, type YAMLError } from 'yaml';
import { excerpt } from './excerpt.ts';
import { withoutComments } from './json-comments.ts';
import type { Problem } from './problem.ts';
import type { SourceFile } from './source-file.ts';
import { syntaxMessage } from './yaml-errors.ts';

export interface YamlScalar {
  readonly kind: 'scalar';
  readonly offset: number;
  readonly end: number;
  readonly value: unknown;
}
interface YamlList {
  readonly kind: 'list';
  readonly offset: number;
  readonly items: readonly YamlTree[];
}
export interface YamlPair {
  readonly key: string;
  readonly keyOffset: number;
  readonly value: YamlTree;
}
export interface YamlMap {
  readonly kind: 'map';
  readonly offset: number;
  readonly pairs: readonly YamlPair[];
}
export type YamlTree = YamlScalar | YamlList | YamlMap;

/** Maximum number of aliased values in a file. */
const maxAliasedValues = 10_000;
const maxDepth = 64;
/** A mistake often causes further errors; only the first few matter. */
const maxSyntaxProblems = 20;
const quotesHint = 'put the value in quotes, if it is text';

export interface ParsedYaml {
  /** Undefined for a file without content. */
  readonly root: YamlTree | undefined;
  readonly problems: Problem[];
  /** True if the syntax is invalid; `root` is then a best guess. */
  readonly isBroken: boolean;
}

/** Document in a multi-document file. */
interface YamlDocument {
  /** Undefined for a document without content. */
  readonly root: YamlTree | undefined;
  readonly isBroken: boolean;
}

/** Parses YAML or JSON. Never throws. */
export function parseYamlTree(source: SourceFile): ParsedYaml {
  const { documents, problems } = parseYamlDocuments(source, 1);
  return { root: documents[0]?.root, problems, isBroken: documents[0]?.isBroken ?? problems.length > 0 };
}

/** Like `parseYamlTree`, for a file of up to `max` documents separated by `---`. */
export function parseYamlDocuments(
  source: SourceFile,
  max: number,
): { readonly documents: readonly YamlDocument[]; readonly problems: Problem[] } {
  const { text, openAt } = withoutComments(source);
  if (openAt !== undefined)
    return { documents: [], problems: [source.problem(openAt, 'this comment is not closed')] };
  const tokens = [...new Parser().parse(text)];
  const { tooDeep, quotes, brackets } = survey(tokens);
  if (tooDeep !== undefined) {
    return { documents: [], problems: [source.problem(tooDeep, 'values are nested too deeply')] };
  }
  const composer = new Composer({
    prettyErrors: false,
    stringKeys: true,
    // The package compares every pair of keys; `#map` has a faster check.
    uniqueKeys: false,
    logLevel: 'silent',
    schema: 'core',
    resolveKnownTags: false,
  });
  const problems: Problem[] = [];
  const builder = new TreeBuilder(source, problems);
  const documents: YamlDocument[] = [];
  for (const { errors, warnings, contents, range } of composer.compose(tokens, true, source.text.length)) {
    if (documents.length === max) {
      const message =
        max === 1
          ? 'only one YAML document is expected; remove what follows "---"'
          : `a file has at most ${max} documents; move the others to another file`;
      problems.push(source.problem(range[0], message));
      break;
    }
    const before = problems.length;
    problems.push(...syntaxProblems(source, [...errors, ...warnings], { quotes, brackets }));
    const root = contents === null ? undefined : builder.build(contents);
    const isBroken = errors.length > 0;
    if (isBroken) problems.push(...firstOfEachLine(problems.splice(before)));
    documents.push({ root, isBroken });
  }
  return { documents, problems };
}

/** Offsets, in ascending order. */
interface Survey {
  /** Offsets of quoted texts. */
  readonly quotes: readonly number[];
  /** Offsets of unclosed `[` and `{`. */
  readonly brackets: readonly number[];
}

const ascending = (a: number, b: number): number => a - b;

/**
 * Surveys the tokens before composition: the offset where nesting is too deep, quotes and brackets. The
 * package composes recursively, and near the end of the stack V8 may abort the process (in its regular
 * expression compiler), which cannot be caught. The depth is therefore limited before composition.
 */
function survey(tokens: readonly CST.Token[]): Survey & { readonly tooDeep?: number } {
  const quotes: number[] = [];
  const brackets: number[] = [];
  let level: {
    readonly value?: CST.Token | null | undefined;
    readonly key?: CST.Token | null | undefined;
  }[] = tokens.map((value) => ({ value }));
  for (let depth = 0; level.length > 0; depth += 1) {
    const children: typeof level = [];
    for (const { key, value } of level) {
      for (const token of [key, value]) {
        if (!token) continue;
        if (depth > maxDepth) return { tooDeep: token.offset, quotes, brackets };
        if (/^(?:double|single)-quoted-scalar$/.test(token.type)) quotes.push(token.offset);
        if (token.type === 'flow-collection' && token.end.length === 0) brackets.push(token.offset);
        if (token.type === 'document') children.push({ value: token.value });
        else if ('items' in token) for (const item of token.items) children.push(item);
      }
    }
    level = children;
  }
  return { quotes: quotes.sort(ascending), brackets: brackets.sort(ascending) };
}

/** Adds the excerpt to a problem. */
function withExcerpt(source: SourceFile, problem: Problem): Problem {
  return { ...problem, excerpt: excerpt(source.text, problem.line, problem.column) };
}

/** The package reports unclosed texts at the end of the file; returns their beginning instead. */
function errorOffset({ code, message, pos }: YAMLError, quotes: readonly number[]): number {
  const isUnclosed = code === 'MISSING_CHAR' && message.includes('quote');
  return (isUnclosed ? quotes.findLast((offset) => offset <= pos[0]) : undefined) ?? pos[0];
}

function syntaxProblems(
  source: SourceFile,
  errors: readonly YAMLError[],
  { quotes, brackets }: Survey,
): Problem[] {
  return errors.slice(0, maxSyntaxProblems).map((error) => {
    const bracket = brackets.findLast((offset) => offset < error.pos[0]);
    const openedOn = bracket === undefined ? undefined : source.problem(bracket, '').line;
    const message = syntaxMessage(source.text, error, openedOn);
    return withExcerpt(source, source.problem(errorOffset(error, quotes), message));
  });
}

/** Returns the first problem of each line: after a syntax error, the rest of the line is misread too. */
function firstOfEachLine(problems: readonly Problem[]): Problem[] {
  const first = new Map<number, Problem>();
  for (const problem of problems) {
    const earlier = first.get(problem.line);
    if (earlier === undefined || problem.column < earlier.column) first.set(problem.line, problem);
  }
  return [...first.values()];
}

class TreeBuilder {
  readonly #source: SourceFile;
  readonly #problems: Problem[];
  /** Values by anchor; `open` while the value of the anchor is being built. */
  readonly #anchors = new Map<string, { tree: YamlTree; size: number } | 'open'>();
  #aliased = 0;

  constructor(source: SourceFile, problems: Problem[]) {
    this.#source = source;
    this.#problems = problems;
  }

  /** Anchors are per document; the limit for aliased values is per file. */
  build(node: Node): YamlTree {
    this.#anchors.clear();
    return this.#node(node).tree;
  }

  /** `size` is the number of values after alias expansion. */
  #node(node: Node): { tree: YamlTree; size: number } {
    const offset = node.range?.[0] ?? 0;
    if (isAlias(node)) return this.#alias(node.source, offset);
    const { anchor } = node as { anchor?: string };
    if (anchor !== undefined) this.#anchors.set(anchor, 'open');
    const built = this.#plainNode(node, offset);
    // `password: &abc`: an anchor with no value is a mistake.
    if (anchor !== undefined && isScalar(node) && node.value === null && !node.source)
      this.#add(
        offset,
        `a value that begins with & is an anchor in YAML, and its value is missing; ${quotesHint}`,
      );
    if (anchor !== undefined) this.#anchors.set(anchor, built);
    return built;
  }

  #plainNode(node: Node, offset: number): { tree: YamlTree; size: number } {
    if (isMap(node)) return this.#map(node, offset);
    if (isSeq(node)) {
      const items = node.items.map((item) => this.#node(item as Node));
      const size = items.reduce((sum, item) => sum + item.size, 1);
      return { tree: { kind: 'list', offset, items: items.map(({ tree }) => tree) }, size };
    }
    const value = isScalar(node) ? node.value : null;
    return { tree: { kind: 'scalar', offset, end: node.range?.[1] ?? offset, value }, size: 1 };
  }

  #map(node: { items: { key: unknown; value: unknown }[] }, offset: number) {
    const firstAt = new Map<string, number>();
    const pairs: YamlPair[] = [];
    let size = 1;
    for (const pair of node.items) {
      const keyNode = pair.key as Node | null;
      const keyOffset = keyNode?.range?.[0] ?? offset;
      if (!isScalar(keyNode)) {
        this.#problems.push(this.#source.problem(keyOffset, 'a key must be plain text'));
        continue;
      }
      const key = String(keyNode.value);
      const earlier = firstAt.get(key);
      if (earlier !== undefined) {
        const { line } = this.#source.problem(earlier, '');
        const message = `duplicate key ${JSON.stringify(key)}, already used on line ${line}`;
        this.#add(keyOffset, message);
        continue;
      }
      firstAt.set(key, keyOffset);
      const end = keyNode.range?.[1] ?? keyOffset;
      const value =
        pair.value === null
          ? { tree: { kind: 'scalar', offset: end, end, value: null } as const, size: 1 }
          : this.#node(pair.value as Node);
      size += value.size;
      pairs.push({ key, keyOffset, value: value.tree });
    }
    return { tree: { kind: 'map', offset, pairs } as const, size };
  }

  #alias(name: string, offset: number): { tree: YamlTree; size: number } {
    const target = this.#anchors.get(name);
    if (target === undefined)
      return this.#refuse(
        offset,
        `a value that begins with * is an alias in YAML, and no anchor (&) of its name precedes it; ${quotesHint}`,
      );
    if (target === 'open') return this.#refuse(offset, 'this alias is inside its own anchor');
    this.#aliased += target.size;
    if (this.#aliased > maxAliasedValues) {
      return this.#refuse(offset, `the aliases of this file expand to more than ${maxAliasedValues} values`);
    }
    return target;
  }

  #add(offset: number, message: string): void {
    this.#problems.push(withExcerpt(this.#source, this.#source.problem(offset, message)));
  }

  #refuse(offset: number, message: string): { tree: YamlTree; size: number } {
    this.#add(offset, message);
    return { tree: { kind: 'scalar', offset, end: offset, value: null }, size: 1 };
  }
}
