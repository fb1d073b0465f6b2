// Parses and type-checks a CEL expression (Common Expression Language), and lists the names it refers to.
// After that, evaluation can only fail because of the values: a missing key, an unsuitable type, or too much
// work for the budget. Results are JSON.

import type { ASTNode } from '@marcbachmann/cel-js';
import { environmentFor, findForbidden, nodesOf, type Variables } from './environment.ts';
import { EvaluationBudget } from './evaluation-budget.ts';
import { jsonOf } from './json-value.ts';
import { type Meter, meterNodes } from './metered-nodes.ts';
import { compilePattern } from './patterns.ts';

/** Reference to a variable's member, such as `steps.check`. */
export interface Reference {
  readonly variable: string;
  /** Undefined for a computed name, as in `steps[x]`, and for the whole variable. */
  readonly member: string | undefined;
  /** Position in the text, from 0. */
  readonly at: number;
}

export interface Expression {
  readonly text: string;
  /** CEL type: `bool`, `string`, or `dyn` if only known at runtime. */
  readonly type: string;
  /** References to members of the variables in `trackedNames`. */
  readonly references: readonly Reference[];
  /** Names of the called functions. */
  readonly functions: ReadonlySet<string>;
  /** Throws ExpressionError, also at the limits of the budget. */
  evaluate(values: Readonly<Record<string, unknown>>, budget?: EvaluationBudget): unknown;
}

export interface ExpressionFault {
  readonly message: string;
  /** Position in the text, from 0. */
  readonly at: number;
}

/**
 * Evaluation of an expression in a flow failed; the message contains the reason.
 *
 * @remedy Correct the expression, or test for a missing member with `has()`. Then replay the event.
 */
export class ExpressionError extends Error {
  readonly code = 'ERR_EXPRESSION';
  override get name(): string {
    return 'ExpressionError';
  }
}

const MAX_LENGTH = 8_192;
/** Maximum length of messages of the CEL library, which may quote a whole value. */
const MAX_MESSAGE = 500;

/** Parses an expression. `trackedNames` lists the variables whose members are reported as references. */
export function readExpression(
  text: string,
  variables: Variables,
  trackedNames: readonly string[] = [],
): Expression | ExpressionFault {
  if (text.length > MAX_LENGTH)
    return { message: `an expression has at most ${MAX_LENGTH} characters`, at: 0 };
  const environment = environmentFor(variables);
  try {
    const parsed = environment.parse(text);
    const refused = findForbidden(parsed.ast);
    if (refused !== undefined) return refused;
    const { valid, type, error } = parsed.check();
    if (!valid) return findForeignOperator(text) ?? faultOf(error);
    compilePatterns(parsed.ast);
    // Each evaluation replaces the budget.
    const meter: Meter = { budget: new EvaluationBudget() };
    meterNodes(parsed.ast, meter);
    return {
      text,
      type: String(type),
      references: referencesIn(parsed.ast, new Set(trackedNames)),
      functions: functionsIn(parsed.ast),
      evaluate: (values, budget = new EvaluationBudget()) => {
        meter.budget = budget;
        try {
          const result: unknown = parsed(values);
          budget.assertNotExceeded();
          return jsonOf(result, budget);
        } catch (thrown) {
          if (thrown instanceof ExpressionError) throw thrown;
          throw new ExpressionError(`${quoted(text.trim())}: ${faultOf(thrown).message}`, { cause: thrown });
        }
      },
    };
  } catch (thrown) {
    return findForeignOperator(text) ?? faultOf(thrown);
  }
}

const operators: Readonly<Record<string, string>> = {
  and: '&&',
  or: '||',
  not: '!',
  '=': '==',
  '===': '==',
  '!==': '!=',
  '<>': '!=',
  '&': '&&',
  '|': '||',
};

/** Quoted texts, members such as `.or`, operators and names. */
const tokens = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\.\s*\w+|[=!]==|[=!<>]=|<>|&&|\|\||[=&|]|[A-Za-z_]\w*/g;

/** Detects operators from foreign languages, outside quotes. */
function findForeignOperator(text: string): ExpressionFault | undefined {
  for (const { 0: found, index } of text.matchAll(tokens)) {
    const sign = Object.hasOwn(operators, found) ? operators[found] : undefined;
    if (sign !== undefined) return { message: `use ${sign} instead of ${found}`, at: index };
  }
  return undefined;
}

export const isFault = (read: Expression | ExpressionFault): read is ExpressionFault => 'message' in read;

function referencesIn(root: ASTNode, trackedNames: ReadonlySet<string>): readonly Reference[] {
  const references: Reference[] = [];
  /** Nodes of variables with a member access, which are not also references to the whole variable. */
  const owners = new Set<ASTNode>();
  for (const node of nodesOf(root)) {
    if (node.op === '.' || node.op === '[]') {
      const [of, member] = node.args as readonly [ASTNode, string | ASTNode];
      if (of.op !== 'id' || !trackedNames.has(of.args)) continue;
      owners.add(of);
      const name = typeof member === 'string' ? member : member.op === 'value' ? member.args : undefined;
      references.push({
        variable: of.args,
        member: typeof name === 'string' ? name : undefined,
        at: of.start,
      });
    } else if (node.op === 'id' && trackedNames.has(node.args) && !owners.has(node)) {
      references.push({ variable: node.args, member: undefined, at: node.start });
    }
  }
  return references;
}

function functionsIn(root: ASTNode): ReadonlySet<string> {
  return new Set([...nodesOf(root)].flatMap((node) => (node.op === 'call' ? [node.args[0]] : [])));
}

/** Compiles the literal patterns of `find`. Throws an error with the position of the first invalid one. */
function compilePatterns(root: ASTNode): void {
  for (const node of nodesOf(root)) {
    if (node.op !== 'call' || node.args[0] !== 'find') continue;
    const [, pattern] = node.args[1];
    if (pattern?.op !== 'value' || typeof pattern.args !== 'string') continue;
    try {
      compilePattern(pattern.args);
    } catch (error) {
      throw Object.assign(new Error((error as Error).message), { range: pattern.range });
    }
  }
}

/** Converts an error of the library. Uses only the first line; the other lines repeat the expression. */
function faultOf(thrown: unknown): ExpressionFault {
  const { summary, message, range } = (thrown ?? {}) as {
    readonly summary?: unknown;
    readonly message?: unknown;
    readonly range?: { readonly start?: number } | undefined;
  };
  const text = typeof summary === 'string' ? summary : String(message ?? thrown).split('\n')[0];
  return { message: lowerFirst(text ?? '').slice(0, MAX_MESSAGE), at: range?.start ?? 0 };
}

const lowerFirst = (words: string) => words.charAt(0).toLowerCase() + words.slice(1);

const MAX_QUOTED = 120;

/** Returns an expression for messages, shortened. */
export const quoted = (text: string) =>
  `\`${text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text}\``;
