// `agents`, `fleets` and `flows`: commands for those of a running gateway, or with -f of files.

import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import type { AgentRecord, FleetRecord, FlowDetails, FlowRecord } from '../../http/api/target-shapes.ts';
import type { ApiResponse } from '../api/api-client.ts';
import { agentFileTable, agentTable } from '../views/automation-views.ts';
import { flowChart } from '../views/flow-chart.ts';
import { fleetTable, flowPage, flowTable } from '../views/flow-views.ts';
import { declareFiles, fromFiles, hasFiles } from './from-files.ts';
import { type Operation, operationCommands, type Situation } from './operation.ts';
import type { AgentInFile } from './resource-files.ts';
import { askOneOf, explainUnknownTarget, targetPath } from './resource-requests.ts';
import { runTarget } from './run-target.ts';

const READ_SECONDS = 10;

const read = (kind: TargetKind) =>
  ({
    timeoutSeconds: READ_SECONDS,
    declare: declareFiles,
    ask: (situation: Situation): Promise<ApiResponse> => {
      const { client, args, timeoutMs } = situation;
      if (hasFiles(situation)) return fromFiles(situation, kind);
      return kind === 'flow'
        ? client.ask('GET', targetPath(kind, ...args), timeoutMs)
        : askOneOf(client, kind, args[0], timeoutMs);
    },
    explain: (problem, situation) => explainUnknownTarget(kind, problem, situation),
  }) satisfies Partial<Operation>;

/** Returns the operations that list, show and run one kind. */
function operationsFor<Row>(
  kind: TargetKind,
  table: (rows: readonly Row[], situation: Situation) => readonly string[],
) {
  const noun = `${kind}s`;
  return {
    list: {
      ...read(kind),
      examples: [noun, `${noun} -f ${noun}/`],
      show: ({ body }, situation) => table((body as Record<string, readonly Row[]>)[noun] ?? [], situation),
    },
    show: {
      ...read(kind),
      examples: [`${noun} show NAME`, `${noun} show NAME -f ${noun}/`],
      show: ({ body }, situation) => table([body as Row], situation),
    },
    run: runTarget(kind),
  } satisfies Readonly<Record<string, Operation>>;
}

export const agentCommands = operationCommands(
  operationsFor<AgentRecord & AgentInFile>('agent', (rows, situation) =>
    hasFiles(situation) ? agentFileTable(rows, situation.width) : agentTable(rows, situation.width),
  ),
);

export const fleetCommands = operationCommands(
  operationsFor<FleetRecord>('fleet', (rows, { width }) => fleetTable(rows, width)),
);

const flows = operationsFor<FlowRecord>('flow', (rows, { width }) => flowTable(rows, width));

export const flowCommands = operationCommands({
  ...flows,
  show: { ...flows.show, show: ({ body }, { width }) => flowPage(body as FlowDetails, width) },
  graph: {
    ...read('flow'),
    examples: ['flows graph deploy', 'flows graph deploy -f flows/deploy.yaml agents/ > deploy.mmd'],
    show: ({ body }) => [flowChart(body as FlowDetails).trimEnd()],
  },
});
