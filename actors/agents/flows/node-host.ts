// Types for the work of flow nodes (input, services, result), and evaluation of their templates.

import type { EvaluationBudget } from '../../../config/expressions/evaluation-budget.ts';
import { ExpressionError } from '../../../config/expressions/expression.ts';
import {
  renderedValue,
  type Template,
  textOf,
  type ValueTemplate,
} from '../../../config/expressions/template.ts';
import type { FlowNode, HandlerWork } from '../../../config/resources/flows/flow.ts';
import type { Effects } from '../../events/inbox/work.ts';
import { type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';

/** Values for expressions, by name. */
export type Values = Readonly<Record<string, unknown>>;

export interface NodeResult {
  readonly output: unknown;
  /** Journal rows and messages of the node that are committed with its output. */
  readonly effects?: Pick<Effects, 'steps' | 'emit'> | undefined;
}

/** Input of the expressions of a node. */
export interface Scope {
  readonly values: Values;
  /** Shared by all expressions of the node. */
  readonly budget: EvaluationBudget;
}

export interface NodeHost extends Scope {
  /** Name of the flow. */
  readonly flow: string;
  readonly node: FlowNode;
  /** Idempotency key, unique per node and constant across attempts. */
  readonly key: string;
  readonly job: Job;
  readonly context: HandlerContext;
  /** True if the node resumes after waiting. */
  readonly hasWaited: boolean;
  handlerOf(work: HandlerWork): Handler | undefined;
  /**
   * Returns the rows that send the text to the channel. Rejects with a HandlerError for unreachable channels.
   */
  messageRows(text: string, channel: string): Promise<Effects['emit']>;
}

/** Renders a template as text. */
export const textIn = (template: Template, { values, budget }: Scope): string =>
  textOf(evaluate(() => template.render(values, budget)));

/** Renders a value whose texts may be templates. */
export const valueIn = (value: ValueTemplate, { values, budget }: Scope): unknown =>
  evaluate(() => renderedValue(value, values, budget));

/** Converts an ExpressionError into a final HandlerError, which fails the node. */
export function evaluate<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExpressionError)
      throw new HandlerError(error.message, { isFinal: true, cause: error });
    throw error;
  }
}
