// Expression language of conditions and templates in flows: CEL (Common Expression Language) with typed
// variables, without state or side effects. An expression can only access the variables passed to it.
//
// Expressions are limited in nodes and depth, so parsing is fast. Evaluation has a budget of steps and bytes
// (CEL2, evaluation-budget.ts). Constructs that would exceed the budget for ordinary values are refused:
// nested loops, and patterns with backtracking.

import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { findMatch } from './patterns.ts';
import { registerTextFunctions } from './text-functions.ts';

/** CEL types by variable name. */
export type Variables = Readonly<Record<string, string>>;

const arithmetic = {
  '+': (a: number, b: number) => a + b,
  '-': (a: number, b: number) => a - b,
  '*': (a: number, b: number) => a * b,
  '/': (a: number, b: number) => a / b,
  '%': (a: number, b: number) => a % b,
} as const;

let base: Environment | undefined;

/**
 * Creates the environment that all expressions share, without variables. Numbers in JSON are doubles in CEL,
 * but literals are integers, so arithmetic accepts both together.
 */
function baseEnvironment(): Environment {
  const environment = new Environment({
    // Literal lists and maps may contain values of several types, as in JSON.
    homogeneousAggregateLiterals: false,
    limits: {
      maxAstNodes: 2_000,
      maxDepth: 60,
      maxListElements: 500,
      maxMapEntries: 500,
      maxCallArguments: 16,
    },
  });
  for (const [sign, calculate] of Object.entries(arithmetic)) {
    environment.registerOperator(`double ${sign} int`, (a: number, b: bigint) => calculate(a, Number(b)));
    environment.registerOperator(`int ${sign} double`, (a: bigint, b: number) => calculate(Number(a), b));
  }
  environment.registerFunction('find(string, string): string', findMatch);
  registerTextFunctions(environment);
  return environment;
}

export function environmentFor(variables: Variables): Environment {
  base ??= baseEnvironment();
  const environment = base.clone();
  for (const [name, type] of Object.entries(variables)) environment.registerVariable(name, type);
  return environment;
}

/** Functions that evaluate an expression for each item of a list. */
const loops = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

export interface ForbiddenConstruct {
  readonly message: string;
  /** Position in the text, from 0. */
  readonly at: number;
}

/** Returns the first construct that expressions must not use, with an alternative. */
export function findForbidden(node: ASTNode, isInLoop = false): ForbiddenConstruct | undefined {
  // `rcall` is a call with a receiver, such as `list.map(…)`.
  const name = node.op === 'rcall' ? node.args[0] : undefined;
  if (name === 'matches')
    return { message: "matches() can take very long; write find(text, 'pattern') != ''", at: node.start };
  const isLoop = name !== undefined && loops.has(name);
  if (isLoop && isInLoop)
    return {
      message: `nested ${name}() can take very long; compute the inner list in an earlier node`,
      at: node.start,
    };
  for (const child of nodesIn(node.args)) {
    const refused = findForbidden(child, isInLoop || isLoop);
    if (refused !== undefined) return refused;
  }
  return undefined;
}

/** Yields a node and all nodes below it. */
export function* nodesOf(node: ASTNode): Iterable<ASTNode> {
  yield node;
  for (const child of nodesIn(node.args)) yield* nodesOf(child);
}

/** Returns the nodes among the operands of a node. */
export function nodesIn(args: unknown): readonly ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(nodesIn);
  return isNode(args) ? [args] : [];
}

const isNode = (value: unknown): value is ASTNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value;
