// Counts the work of an evaluation. The CEL library evaluates an expression as a tree of nodes, without a
// limit. Therefore each node gets functions that spend its cost from a budget of steps before they call the
// library's functions.
//
// The fields of a checked node are internals of the library; evaluation-budget.test.ts fails if they change.

import type { ASTNode } from '@marcbachmann/cel-js';
import { nodesIn } from './environment.ts';
import type { EvaluationBudget } from './evaluation-budget.ts';
import { costOf, spendResult } from './operation-costs.ts';
import { spendType } from './value-costs.ts';

/** Budget of the current evaluation of an expression. */
export interface Meter {
  budget: EvaluationBudget;
}

type EvaluationStep = (...args: readonly unknown[]) => unknown;

interface CheckedNode {
  readonly op: string;
  readonly args: unknown;
  readonly meta: {
    readonly evaluate: EvaluationStep;
    /** Expansion of a macro such as `map`. */
    readonly alternate?: CheckedNode;
  };
  /** Operation on the values of the operands; missing for nodes without operands. */
  handle?: EvaluationStep;
  setMeta(key: string, value: unknown): void;
}

/** Cost of an error: creating one takes long, and a loop may create one per item. */
const FAILURE_STEPS = 100;

const binaryOperators: ReadonlySet<string> = new Set('== != in + - * / % < <= > >='.split(' '));

/** Makes the evaluation of a checked expression spend from the meter's budget. */
export function meterNodes(root: ASTNode, meter: Meter): void {
  for (const node of evaluatedNodes(root as unknown as CheckedNode, new Set())) {
    meterEvaluation(node, meter);
    meterOperation(node, meter);
  }
}

function meterEvaluation(node: CheckedNode, meter: Meter): void {
  const { evaluate } = node.meta;
  node.setMeta('evaluate', (...args: readonly unknown[]) => {
    meter.budget.spendSteps(1);
    try {
      return evaluate(...args);
    } catch (error) {
      meter.budget.spendSteps(FAILURE_STEPS);
      throw error;
    }
  });
}

function meterOperation(node: CheckedNode, meter: Meter): void {
  const { handle, op } = node;
  const isCall = op === 'call' || op === 'rcall';
  if (handle === undefined || !(isCall || op === 'comprehension' || binaryOperators.has(op))) return;
  const cost = costOf(op, isCall ? (node.args as readonly [string])[0] : undefined);
  const metered: EvaluationStep = (...args) => {
    const { budget } = meter;
    // A call has a list of operands; the operands of an operator are the first arguments.
    const operands = isCall ? (args[0] as readonly unknown[]) : args.slice(0, op === 'comprehension' ? 1 : 2);
    // Before the operation, the library determines the type of each operand: slow for lists and maps.
    for (const operand of operands) spendType(operand, budget);
    cost(operands, budget);
    const result = handle(...args);
    if (isCall) spendResult(result, budget);
    return result;
  };
  Object.assign(node, { handle: metered });
}

/** Yields each node once. The expansion of a macro contains nodes of the expression. */
function* evaluatedNodes(root: CheckedNode, seen: Set<CheckedNode>): Iterable<CheckedNode> {
  if (seen.has(root)) return;
  seen.add(root);
  yield root;
  const { alternate } = root.meta;
  if (alternate !== undefined) yield* evaluatedNodes(alternate, seen);
  for (const child of nodesIn(operandsOf(root))) yield* evaluatedNodes(child as unknown as CheckedNode, seen);
}

/** Returns the operands; the only operator with named operands is the loop of a macro. */
function operandsOf({ op, args }: CheckedNode): unknown {
  if (op !== 'comprehension') return args;
  const { iterable, init, step } = args as Readonly<Record<string, unknown>>;
  return [iterable, init, step];
}
