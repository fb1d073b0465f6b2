// `agents`, `fleets` and `flows`: lists, shows and runs them, on a running gateway or from files (-f).

import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import type { AgentRecord, FleetRecord, FlowDetails, FlowRecord } from '../../http/api/target-shapes.ts';
import type { GatewayResponse } from '../api/client.ts';
import { agentFileTable, agentTable } from '../views/automation.ts';
import { flowChart } from '../views/flow-chart.ts';
import { fleetTable, flowPage, flowTable } from '../views/flows.ts';
import { declareFiles, fromFiles, hasFiles } from './from-files.ts';
import { type CommandContext, type Operation, operationCommands } from './operation.ts';
import type { AgentInFile } from './resource-files.ts';
import { explainUnknownTarget, requestTarget, targetPath } from './resource-requests.ts';
import { runTarget } from './run-target.ts';

const READ_SECONDS = 10;

const readOperation = (kind: TargetKind) =>
  ({
    timeoutSeconds: READ_SECONDS,
    declare: declareFiles,
    request: (context: CommandContext): Promise<GatewayResponse> => {
      const { client, args, timeoutMs } = context;
      if (hasFiles(context)) return fromFiles(context, kind);
      return kind === 'flow'
        ? client.request('GET', targetPath(kind, ...args), timeoutMs)
        : requestTarget(client, kind, args[0], timeoutMs);
    },
    explain: (problem, context) => explainUnknownTarget(kind, problem, context),
  }) satisfies Partial<Operation>;

/** Returns the operations for a kind. `table` formats a list. */
function operationsFor<Row>(
  kind: TargetKind,
  table: (rows: readonly Row[], context: CommandContext) => readonly string[],
) {
  const noun = `${kind}s`;
  return {
    list: {
      ...readOperation(kind),
      examples: [noun, `${noun} -f ${noun}/`],
      show: ({ body }, context) => table((body as Record<string, readonly Row[]>)[noun] ?? [], context),
    },
    show: {
      ...readOperation(kind),
      examples: [`${noun} show NAME`, `${noun} show NAME -f ${noun}/`],
      show: ({ body }, context) => table([body as Row], context),
    },
    run: runTarget(kind),
  } satisfies Readonly<Record<string, Operation>>;
}

export const agentCommands = operationCommands(
  operationsFor<AgentRecord & AgentInFile>('agent', (rows, context) =>
    hasFiles(context) ? agentFileTable(rows, context.width) : agentTable(rows, context.width),
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
    ...readOperation('flow'),
    examples: ['flows graph deploy', 'flows graph deploy -f flows/deploy.yaml agents/ > deploy.mmd'],
    show: ({ body }) => [flowChart(body as FlowDetails).trimEnd()],
  },
});
