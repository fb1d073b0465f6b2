// Costs of operators and functions whose time or result depends on the size of their operands. The costs, in
// steps (the evaluation of one part of an expression), are counted before the operation (CEL2,
// evaluation-budget.ts).

import type { EvaluationBudget } from './evaluation-budget.ts';
import { compileSteps, searchSteps } from './patterns.ts';
import {
  COMPARED_PER_STEP,
  CONVERTED_PER_STEP,
  sizeOf,
  spendComparison,
  spendValue,
  textLength,
} from './value-costs.ts';

type Cost = (operands: readonly unknown[], budget: EvaluationBudget) => void;

/** Number of comparisons of a search that take the time of one step. */
const SEARCHED_PER_STEP = 256;
const BYTES_PER_CHARACTER = 2;
const BYTES_PER_ITEM = 8;
/** Cost of reading a part of a timestamp in a time zone, which creates a formatter. */
const TIME_ZONE_STEPS = 1_000;
/** Maximum characters of a duration, because the library's parser is slow for long texts. */
const MAX_DURATION = 100;

const operators: Readonly<Record<string, Cost>> = {
  '==': spendEquality,
  '!=': spendEquality,
  in: ([value, list], budget) => {
    if (Array.isArray(list)) for (const item of list) spendComparison(value, item, budget);
  },
  '+': ([left, right], budget) => {
    if (typeof left === 'string') spendText(left.length + textLength(right), budget);
    else if (Array.isArray(left)) spendItems(left.length + sizeOf(right), budget);
  },
  comprehension: ([items], budget) => budget.spendSteps(sizeOf(items)),
};

const functions: Readonly<Record<string, Cost>> = {
  find: ([text, pattern], budget) => {
    if (typeof text !== 'string' || typeof pattern !== 'string') return;
    budget.spendSteps(compileSteps(pattern));
    budget.spendSteps(searchSteps(text, pattern));
  },
  json: ([value], budget) => spendValue(value, budget),
  // The size of a text is found by a walk through its characters.
  size: spendConversion,
  join: ([list, separator], budget) => {
    if (!Array.isArray(list)) return;
    for (const text of list) {
      budget.spendSteps(1);
      spendText(textLength(text) + textLength(separator), budget);
    }
  },
  split: (operands, budget) => {
    spendSearch(operands, budget);
    spendItems(textLength(operands[0]), budget);
  },
  duration: ([text]) => {
    if (textLength(text) > MAX_DURATION)
      throw new RangeError(`a duration has at most ${MAX_DURATION} characters`);
  },
  startsWith: spendRead,
  endsWith: spendRead,
  contains: spendSearch,
  indexOf: spendSearch,
  lastIndexOf: spendSearch,
};

/** Returns the cost of a function; without a name, of an operator. */
export function costOf(operator: string, functionName: string | undefined): Cost {
  if (functionName === undefined)
    return Object.hasOwn(operators, operator) ? (operators[operator] as Cost) : spendRead;
  if (Object.hasOwn(functions, functionName)) return functions[functionName] as Cost;
  return /^get[A-Z]/.test(functionName) ? spendAccessor : spendConversion;
}

/** Spends the bytes of a function's result. */
export function spendResult(result: unknown, budget: EvaluationBudget): void {
  if (typeof result === 'string') spendText(result.length, budget);
  else if (result instanceof Uint8Array) budget.spendBytes(result.length);
}

function spendEquality([left, right]: readonly unknown[], budget: EvaluationBudget): void {
  spendComparison(left, right, budget);
}

/** Spends the cost of reading the texts among the operands once. */
function spendRead(operands: readonly unknown[], budget: EvaluationBudget): void {
  for (const operand of operands) budget.spendSteps(textLength(operand) / COMPARED_PER_STEP);
}

/** Spends the cost of converting the texts among the operands, which takes longer than reading. */
function spendConversion(operands: readonly unknown[], budget: EvaluationBudget): void {
  for (const operand of operands) budget.spendSteps(textLength(operand) / CONVERTED_PER_STEP);
}

/** Spends the cost of a timestamp accessor; the second operand, if any, is a time zone. */
function spendAccessor({ length }: readonly unknown[], budget: EvaluationBudget): void {
  if (length > 1) budget.spendSteps(TIME_ZONE_STEPS);
}

/** Spends the worst case of a search, which compares the whole searched text at each position. */
function spendSearch([text, searched]: readonly unknown[], budget: EvaluationBudget): void {
  const comparisons = textLength(text) * textLength(searched);
  budget.spendSteps(textLength(text) / COMPARED_PER_STEP + comparisons / SEARCHED_PER_STEP);
}

function spendText(length: number, budget: EvaluationBudget): void {
  budget.spendBytes(length * BYTES_PER_CHARACTER);
}

function spendItems(count: number, budget: EvaluationBudget): void {
  budget.spendSteps(count / CONVERTED_PER_STEP);
  budget.spendBytes(count * BYTES_PER_ITEM);
}
