// Hints on unknown keys of flow nodes. Other programs write the order of the nodes, and conditions, into the
// nodes; here they are connections.

import { type AliasAdvice, replacementAdvice } from '../../reader/alias-advice.ts';

const order = () => 'did you mean connections? Write connections: [{ from: NODE, to: NODE }] next to nodes';
const condition = () =>
  'did you mean connections? Write connections: [{ from: NODE, to: NODE, when: CONDITION }] next to nodes';
const config = () => replacementAdvice('config');

export const nodeAdvice: AliasAdvice = {
  names: {
    needs: order,
    dependson: order,
    after: order,
    before: order,
    next: order,
    goto: order,
    if: condition,
    when: condition,
    condition,
    with: config,
    inputs: config,
    params: config,
    settings: config,
    options: config,
  },
  forms: {},
};
