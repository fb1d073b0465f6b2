// `graph FLOW`: the graph of a flow as a Mermaid flowchart, of a running gateway, or with -f of files, without one.

import type { FlowDetails } from '../api/api-responses.ts';
import { flowChart } from '../views/flow-chart.ts';
import { declareFiles, fromFiles, hasFiles } from './from-files.ts';
import { explainUnknownTarget, targetPath } from './get-operations.ts';
import type { Operation } from './operation.ts';

const READ_SECONDS = 10;

export const graphFlow = {
  description: 'Print the graph of a flow as a Mermaid flowchart.',
  args: [['<flow>', 'name of a flow']],
  examples: ['graph deploy', 'graph deploy -f flows/deploy.yaml agents/ > deploy.mmd', 'graph deploy --json'],
  timeoutSeconds: READ_SECONDS,
  declare: declareFiles,
  ask: (situation) =>
    hasFiles(situation)
      ? fromFiles(situation, 'flow')
      : situation.client.ask('GET', targetPath('flow', ...situation.args), situation.timeoutMs),
  show: ({ body }) => [flowChart(body as FlowDetails).trimEnd()],
  explain: (problem, situation) => explainUnknownTarget('flow', problem, situation),
} satisfies Operation;
