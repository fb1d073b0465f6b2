// `get triggers`, `get agents`, `get fleets` and `get flows`: those of a running gateway, or with -f those in files, without one.

import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import type { ApiClient, ApiProblem, ApiResponse } from '../api/api-client.ts';
import type {
  AgentRecord,
  FleetRecord,
  FlowDetails,
  FlowRecord,
  TriggerList,
  TriggerRecord,
} from '../api/api-responses.ts';
import { explainUnknown } from '../api/unknown-name.ts';
import { agentFileTable, agentTable, triggerFileTable, triggerTable } from '../views/automation-views.ts';
import { fleetTable, flowPage, flowTable } from '../views/flow-views.ts';
import { answered, declareFiles, fromFiles, hasFiles, unknownName } from './from-files.ts';
import type { Operation, Situation } from './operation.ts';
import type { AgentInFile, TriggerInFile } from './resource-files.ts';

const READ_SECONDS = 10;

export const triggerPath = (...segments: readonly string[]): string =>
  ['triggers', ...segments.map(encodeURIComponent)].join('/');

/** `flows/deploy`. */
export const targetPath = (kind: TargetKind, ...segments: readonly string[]): string =>
  [`${kind}s`, ...segments.map(encodeURIComponent)].join('/');

export function explainUnknownTrigger(problem: ApiProblem, situation: Situation): Promise<ApiProblem> {
  return explainUnknown(problem, situation, 'trigger', async ({ client, timeoutMs }) => {
    const { body } = await client.ask('GET', 'triggers', timeoutMs);
    return (body as TriggerList).triggers.map(({ name }) => name);
  });
}

async function known(client: ApiClient, kind: TargetKind, timeoutMs: number) {
  const answer = await client.ask('GET', targetPath(kind), timeoutMs);
  const rows = (answer.body as Readonly<Record<string, readonly { readonly name: string }[]>>)[`${kind}s`];
  return { answer, rows: rows ?? [] };
}

export function explainUnknownTarget(
  kind: TargetKind,
  problem: ApiProblem,
  situation: Situation,
): Promise<ApiProblem> {
  return explainUnknown(problem, situation, kind, async ({ client, timeoutMs }) =>
    (await known(client, kind, timeoutMs)).rows.map(({ name }) => name),
  );
}

/** For those of which the API has no address for one: there are few. */
export async function askOneOf(
  client: ApiClient,
  kind: TargetKind,
  name: string | undefined,
  timeoutMs: number,
): Promise<ApiResponse> {
  const { answer, rows } = await known(client, kind, timeoutMs);
  if (name === undefined) return answer;
  const row = rows.find((each) => each.name === name);
  if (row !== undefined) return answered(row);
  throw unknownName(kind, name, rows);
}

/** Of a list, or the one that was asked for. */
const rowsIn = <Row>({ body }: ApiResponse, { args }: Situation, noun: string) =>
  (args.length > 0 ? [body] : (body as Readonly<Record<string, unknown>>)[`${noun}s`]) as readonly Row[];

export const getOperations = {
  'get triggers': {
    description: 'The triggers of a running gateway, or those in files.',
    args: [['[name]', 'name of a trigger']],
    examples: ['get triggers', 'get triggers deploy --json', 'get triggers -f triggers/ agents/'],
    timeoutSeconds: READ_SECONDS,
    declare: declareFiles,
    ask: (situation) =>
      hasFiles(situation)
        ? fromFiles(situation, 'trigger')
        : situation.client.ask('GET', triggerPath(...situation.args), situation.timeoutMs),
    show: (answer, situation) => {
      const { paint, width } = situation;
      return hasFiles(situation)
        ? triggerFileTable(rowsIn<TriggerInFile>(answer, situation, 'trigger'), width)
        : triggerTable(rowsIn<TriggerRecord>(answer, situation, 'trigger'), paint, width);
    },
    explain: explainUnknownTrigger,
  },
  'get agents': {
    description: 'The agents of a running gateway, or those in files.',
    args: [['[name]', 'name of an agent']],
    examples: ['get agents', 'get agents -f agents/'],
    timeoutSeconds: READ_SECONDS,
    declare: declareFiles,
    ask: (situation) =>
      hasFiles(situation)
        ? fromFiles(situation, 'agent')
        : askOneOf(situation.client, 'agent', situation.args[0], situation.timeoutMs),
    show: (answer, situation) =>
      hasFiles(situation)
        ? agentFileTable(rowsIn<AgentInFile>(answer, situation, 'agent'), situation.width)
        : agentTable(rowsIn<AgentRecord>(answer, situation, 'agent'), situation.width),
  },
  'get fleets': {
    description: 'The fleets of a running gateway, or those in files.',
    args: [['[name]', 'name of a fleet']],
    examples: ['get fleets', 'get fleets review --json', 'get fleets -f fleets/ agents/'],
    timeoutSeconds: READ_SECONDS,
    declare: declareFiles,
    ask: (situation) =>
      hasFiles(situation)
        ? fromFiles(situation, 'fleet')
        : askOneOf(situation.client, 'fleet', situation.args[0], situation.timeoutMs),
    show: (answer, situation) => fleetTable(rowsIn<FleetRecord>(answer, situation, 'fleet'), situation.width),
  },
  'get flows': {
    description: 'The flows of a running gateway, or those in files.',
    args: [['[name]', 'name of a flow']],
    examples: ['get flows', 'get flows deploy', 'get flows -f flows/ agents/'],
    timeoutSeconds: READ_SECONDS,
    declare: declareFiles,
    ask: (situation) =>
      hasFiles(situation)
        ? fromFiles(situation, 'flow')
        : situation.client.ask('GET', targetPath('flow', ...situation.args), situation.timeoutMs),
    show: (answer, situation) =>
      situation.args.length > 0
        ? flowPage(answer.body as FlowDetails, situation.width)
        : flowTable(rowsIn<FlowRecord>(answer, situation, 'flow'), situation.width),
    explain: (problem, situation) => explainUnknownTarget('flow', problem, situation),
  },
} satisfies Readonly<Record<string, Operation>>;
