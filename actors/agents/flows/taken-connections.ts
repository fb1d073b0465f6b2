// Which connections of a node are taken once it has ended well, by their places among its own.

import type { FlowBody, FlowNode } from '../../../config/resources/flows/flow.ts';
import { bodyIndex } from './body-index.ts';
import { guarded, type Values } from './node-host.ts';

/**
 * Returns the indexes of the connections that are taken. `values` is called for a condition, and includes the output of the node.
 * Throws a HandlerError when a condition cannot be evaluated.
 */
export function takenOf(
  body: FlowBody,
  { id, work }: FlowNode,
  output: unknown,
  values: () => Values,
): readonly number[] {
  const own = bodyIndex(body).connectionsFrom.get(id) ?? [];
  let known: Values | undefined;
  const isTaken = ({ when }: (typeof own)[number]): boolean => {
    if (when.kind === 'expression') {
      known ??= values();
      const given = known;
      return guarded(() => when.expression.evaluate(given)) === true;
    }
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
