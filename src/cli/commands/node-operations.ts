// `nodes`: the gateways that share a store with the one that is asked.

import type { NodesAnswer } from '../api/api-responses.ts';
import { nodesPage } from '../views/node-views.ts';
import type { Operation } from './operation.ts';

const READ_SECONDS = 10;

const nodes: Operation = {
  description: 'The gateways that share one store, and whether they differ.',
  args: [],
  examples: ['nodes', 'nodes --json'],
  timeoutSeconds: READ_SECONDS,
  ask: ({ client, timeoutMs }) => client.ask('GET', 'nodes', timeoutMs),
  show: ({ body }, { paint, width }) => nodesPage(body as NodesAnswer, paint, width),
};

export const nodeOperations = { 'nodes list': nodes, 'get nodes': nodes } satisfies Readonly<
  Record<string, Operation>
>;
