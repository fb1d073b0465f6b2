// The turns of a loop: whether there is another one, what it is about, and what all of them have given.

import type { FlowNode, NodeWork } from '../../../config/resources/flows/flow.ts';
import type { FlowState } from '../../../machines/flow-run/flow-state.ts';
import { HandlerError } from '../handlers/handler.ts';
import { guarded, type Values } from './node-host.ts';
import type { TurnResults } from './turn-results.ts';

/** Of a node, as JSON in UTF-16 units. */
export const MAX_OUTPUT = 262_144;

type Loop = Extract<NodeWork, { readonly type: 'Loop' }>;

/** What the turns of a loop over a list are about, worked out when it begins. Undefined for any other loop. */
export function itemsOf(
  { over, max }: Loop,
  { id }: FlowNode,
  values: Values,
): readonly unknown[] | undefined {
  if (over === undefined) return undefined;
  const items = guarded(() => over.evaluate(values));
  if (!Array.isArray(items))
    throw new HandlerError(`${id} goes over a list, and ${over.text} gives none`, { isFinal: true });
  if (items.length > max)
    throw new HandlerError(`${id} has ${items.length} turns to make, and max is ${max}`, { isFinal: true });
  const { length } = JSON.stringify(items);
  if (length > MAX_OUTPUT)
    throw new HandlerError(
      `${id} goes over a list of ${length} characters, and at most ${MAX_OUTPUT} are kept`,
      {
        isFinal: true,
      },
    );
  return items;
}

/** Throws a HandlerError where the turns have given more than a node may give. */
export function resultsFit({ id }: FlowNode, { jsonLength: length }: Pick<TurnResults, 'jsonLength'>): void {
  if (length > MAX_OUTPUT)
    throw new HandlerError(
      `the turns of ${id} have given ${length} characters, and at most ${MAX_OUTPUT} are kept: let an End in it give less`,
      { isFinal: true },
    );
}

/** Whether there is a turn of that number, counted from 1. */
export function hasTurn(
  work: Loop,
  { id }: FlowNode,
  n: number,
  items: readonly unknown[] | undefined,
  values: Values,
): boolean {
  if (work.while === undefined) return n <= (items?.length ?? 0);
  const holds = work.while;
  if (guarded(() => holds.evaluate(values)) !== true) return false;
  if (n > work.max)
    throw new HandlerError(`${id} has made ${work.max} turns, and goes on: max is ${work.max}`, {
      isFinal: true,
    });
  return true;
}

/** What a turn has given: the output of its End, else that of what nothing follows. */
export function resultOfTurn(state: FlowState, loop: string): unknown {
  const turn = state.lastTurn(loop);
  if (turn === undefined) return null;
  if (turn.end !== undefined) return state.outputOf(turn.end) ?? null;
  const given = turn.leaves.flatMap((path) => {
    const output = state.outputOf(path);
    return output === undefined ? [] : [[path.slice(path.lastIndexOf('/') + 1), output] as const];
  });
  return given.length === 1 ? (given[0]?.[1] ?? null) : Object.fromEntries(given);
}
