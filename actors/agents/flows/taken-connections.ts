// Which connections of a node are taken once it has ended well, by their places among its own.

import type { FlowBody, FlowNode } from '../../../config/resources/flows/flow.ts';
import { guarded, type Values } from './node-host.ts';

/** `values` have the output of the node. Throws a HandlerError where a condition cannot be worked out. */
export function takenOf(
  { connections }: FlowBody,
  { id, work }: FlowNode,
  output: unknown,
  values: Values,
): readonly number[] {
  const own = connections.filter(({ from }) => from === id);
  const isTaken = ({ when }: (typeof own)[number]): boolean => {
    if (when.kind === 'expression') return guarded(() => when.expression.evaluate(values)) === true;
    if (when.kind === 'always') return true;
    const { decision } = (output ?? {}) as { readonly decision?: unknown };
    return when.kind !== 'else' && decision === when.kind;
  };
  const places = own.flatMap((connection, place) => (isTaken(connection) ? [place] : []));
  // Of a Conditional the first that holds is the only one.
  const counted = work.type === 'Conditional' ? places.slice(0, 1) : places;
  const otherwise = own.findIndex(({ when }) => when.kind === 'else');
  return counted.length === 0 && otherwise !== -1 ? [otherwise] : counted;
}
