// The language of conditions and templates: CEL, with what is known of its variables. It has no loops, no state and no way out: what an
// expression can reach is what it is given.
//
// CEL1  what is written is bounded, in nodes and depth, so that reading it takes a moment.
// CEL2  working it out takes time in proportion to what it is given: no loop is within another, and patterns are those of RE2 (`find`).

import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';
import { registerTextFunctions } from './text-functions.ts';

/** Types of CEL by the names of variables. */
export type Variables = Readonly<Record<string, string>>;

const MAX_PATTERN = 1_000;

const arithmetic = {
  '+': (a: number, b: number) => a + b,
  '-': (a: number, b: number) => a - b,
  '*': (a: number, b: number) => a * b,
  '/': (a: number, b: number) => a / b,
  '%': (a: number, b: number) => a % b,
} as const;

let base: Environment | undefined;

/** Numbers of JSON are doubles there, numbers that are written are whole ones: both are taken together. */
function baseEnvironment(): Environment {
  const environment = new Environment({
    homogeneousAggregateLiterals: false,
    limits: {
      maxAstNodes: 2_000,
      maxDepth: 60,
      maxListElements: 500,
      maxMapEntries: 500,
      maxCallArguments: 16,
    },
  });
  for (const [sign, calculated] of Object.entries(arithmetic)) {
    environment.registerOperator(`double ${sign} int`, (a: number, b: bigint) => calculated(a, Number(b)));
    environment.registerOperator(`int ${sign} double`, (a: bigint, b: number) => calculated(Number(a), b));
  }
  environment.registerFunction('find(string, string): string', found);
  registerTextFunctions(environment);
  return environment;
}

/** The first part of the text that matches; empty where nothing does. */
function found(text: string, pattern: string): string {
  if (pattern.length > MAX_PATTERN) throw new Error(`a pattern has at most ${MAX_PATTERN} characters`);
  const matcher = RE2JS.compile(pattern).matcher(text);
  return matcher.find() ? (matcher.group() ?? '') : '';
}

export function environmentFor(variables: Variables): Environment {
  base ??= baseEnvironment();
  const environment = base.clone();
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
  return environment;
}

const loops = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

export interface Refusal {
  readonly message: string;
  /** In the text, from 0. */
  readonly at: number;
}

/** What an expression may not use, and what is written instead. */
export function refusedIn(node: ASTNode, isInLoop = false): Refusal | undefined {
  const name = node.op === 'rcall' ? node.args[0] : undefined;
  if (name === 'matches')
    return { message: "matches() could take very long; write find(text, 'pattern') != ''", at: node.start };
  const isLoop = name !== undefined && loops.has(name);
  if (isLoop && isInLoop)
    return {
      message: `${name}() within another one could take very long; do it in a node before`,
      at: node.start,
    };
  for (const child of childrenOf(node.args)) {
    const refused = refusedIn(child, isInLoop || isLoop);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

export function* nodesOf(node: ASTNode): Iterable<ASTNode> {
  yield node;
  for (const child of childrenOf(node.args)) yield* nodesOf(child);
}

function childrenOf(args: unknown): readonly ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf);
  return isNode(args) ? [args] : [];
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
