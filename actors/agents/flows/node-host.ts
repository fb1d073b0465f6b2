// What a node of a flow is given when it works, and what it gives.

import { ExpressionError } from '../../../config/expressions/expression.ts';
import {
  renderedValue,
  type Template,
  textOf,
  type ValueTemplate,
} from '../../../config/expressions/template.ts';
import type { AskingWork, FlowNode } from '../../../config/resources/flows/flow.ts';
import type { Effects } from '../../events/inbox/work.ts';
import { type Handler, HandlerError, type Job } from '../handlers/handler.ts';
import type { HandlerContext } from '../handlers/handler-context.ts';

/** What expressions may name. */
export type Values = Readonly<Record<string, unknown>>;

export interface NodeReply {
  readonly output: unknown;
  /** The end of an agent's journal. */
  readonly effects?: Pick<Effects, 'steps' | 'emit'> | undefined;
}

export interface NodeHost {
  /** Its name. */
  readonly flow: string;
  readonly node: FlowNode;
  /** The same for each attempt at this node, and no other's. */
  readonly key: string;
  readonly job: Job;
  readonly context: HandlerContext;
  readonly values: Values;
  readonly hasWaited: boolean;
  handlerOf(work: AskingWork): Handler | undefined;
  /** Rows that send the text to that channel. Rejects with a HandlerError for one that cannot be reached. */
  said(text: string, channel: string): Promise<Effects['emit']>;
}

/** Of a template that is text in any case. */
export const textIn = (template: Template, values: Values): string =>
  textOf(guarded(() => template.render(values)));

export const valueIn = (value: ValueTemplate, values: Values): unknown =>
  guarded(() => renderedValue(value, values));

/** What an expression fails with fails its node, and trying again does not help. */
export function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExpressionError)
      throw new HandlerError(error.message, { isFinal: true, cause: error });
    throw error;
  }
}
