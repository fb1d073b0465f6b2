// Turns (iterations) of Loop nodes: the list of items, the condition for the next turn, and the results.

import type { FlowNode, NodeWork } from '../../../config/resources/flows/flow.ts';
import type { FlowState } from '../../../machines/flow-run/flow-state.ts';
import { HandlerError } from '../handlers/handler.ts';
import { evaluate, type Values } from './node-host.ts';
import { MAX_OUTPUT, outputFault } from './output-limit.ts';
import type { TurnResults } from './turn-results.ts';

type Loop = Extract<NodeWork, { readonly type: 'Loop' }>;

/** Evaluates a loop's list when the loop starts; undefined for loops with a condition. */
export function itemsOf(
  { over, max }: Loop,
  { id }: FlowNode,
  values: Values,
): readonly unknown[] | undefined {
  if (over === undefined) return undefined;
  const items = evaluate(() => over.evaluate(values));
  if (!Array.isArray(items))
    throw new HandlerError(`${id} needs a list, and ${over.text} is none`, { isFinal: true });
  if (items.length > max)
    throw new HandlerError(`${id} has a list of ${items.length} items, and max is ${max}`, { isFinal: true });
  const fault = outputFault(items);
  if (fault !== undefined) throw new HandlerError(`the list of ${id} ${fault}`, { isFinal: true });
  return items;
}

/** Throws a HandlerError if the results of the turns exceed the output limit. */
export function checkResults(
  { id }: FlowNode,
  { jsonLength: length }: Pick<TurnResults, 'jsonLength'>,
): void {
  if (length > MAX_OUTPUT)
    throw new HandlerError(
      `the results of ${id} have more than ${MAX_OUTPUT} characters: return less from an End in the loop`,
      { isFinal: true },
    );
}

/** Returns true if the loop has the turn `n`, counted from 1. Throws a HandlerError above `max` turns. */
export function hasTurn(
  work: Loop,
  { id }: FlowNode,
  n: number,
  items: readonly unknown[] | undefined,
  values: Values,
): boolean {
  if (work.while === undefined) return n <= (items?.length ?? 0);
  const holds = work.while;
  if (evaluate(() => holds.evaluate(values)) !== true) return false;
  if (n > work.max)
    throw new HandlerError(`${id} would exceed max (${work.max} turns)`, {
      isFinal: true,
    });
  return true;
}

/** Returns the result of the last turn: the output of an End, else the outputs of the last nodes. */
export function resultOfTurn(state: FlowState, loop: string): unknown {
  const turn = state.lastTurn(loop);
  if (turn === undefined) return null;
  if (turn.end !== undefined) return state.outputOf(turn.end) ?? null;
  const outputs = turn.leaves.flatMap((path) => {
    const output = state.outputOf(path);
    return output === undefined ? [] : [[path.slice(path.lastIndexOf('/') + 1), output] as const];
  });
  return outputs.length === 1 ? (outputs[0]?.[1] ?? null) : Object.fromEntries(outputs);
}
