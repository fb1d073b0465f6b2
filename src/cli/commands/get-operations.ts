// `get triggers` and `get agents`: those of a running gateway, or with -f those in files, without one.

import type { Command } from 'commander';
import type { LoadedResources } from '../../../config/resources/load-resources.ts';
import { type ApiClient, ApiProblem, type ApiResponse } from '../api/api-client.ts';
import type { AgentList, AgentRecord, TriggerList, TriggerRecord } from '../api/api-responses.ts';
import { UsageError } from '../api/target-options.ts';
import { explainUnknown, hintFor } from '../api/unknown-name.ts';
import { agentFileTable, agentTable, triggerFileTable, triggerTable } from '../views/automation-views.ts';
import type { Operation, Situation } from './operation.ts';
import type { AgentInFile, TriggerInFile } from './resource-files.ts';

const READ_SECONDS = 10;
const DONE = 200;

function declareFiles(command: Command): void {
  command.option(
    '-f, --file <path...>',
    'read files or folders instead of asking a gateway; may be given several times',
  );
}

const filesOf = ({ options }: Situation) => options.file as readonly string[] | undefined;

const agentPath = 'agents';
export const triggerPath = (...segments: readonly string[]): string =>
  ['triggers', ...segments.map(encodeURIComponent)].join('/');

interface Named {
  readonly name: string;
}

/** What the files have, told as the API would. What is wrong with them is printed, and with an error nothing else. */
async function fromFiles<Row extends Named>(
  { args: [name], options }: Situation,
  noun: string,
  rowsOf: (files: typeof import('./resource-files.ts'), found: LoadedResources) => readonly Row[],
): Promise<ApiResponse> {
  const paths = options.file as readonly string[];
  // With them the whole of the schemas is loaded, which no other command needs.
  const files = await import('./resource-files.ts');
  const { printProblems } = await import('./check.ts');
  const found = await files.readResourceFiles(paths);
  printProblems(found.problems);
  if (!files.isGood(found)) throw new UsageError('the files have errors, as printed above');
  const rows = rowsOf(files, found);
  if (name === undefined) return answered({ [`${noun}s`]: rows });
  const row = rows.find((each) => each.name === name);
  if (row !== undefined) return answered(row);
  const known = rows.map((each) => each.name);
  throw new ApiProblem(`there is no ${noun} ${JSON.stringify(name)}; ${hintFor(name, known)}`, false);
}

function answered(body: object): ApiResponse {
  return { status: DONE, body, text: JSON.stringify(body) };
}

export function explainUnknownTrigger(problem: ApiProblem, situation: Situation): Promise<ApiProblem> {
  return explainUnknown(problem, situation, 'trigger', async ({ client, timeoutMs }) => {
    const { body } = await client.ask('GET', 'triggers', timeoutMs);
    return (body as TriggerList).triggers.map(({ name }) => name);
  });
}

export function explainUnknownAgent(problem: ApiProblem, situation: Situation): Promise<ApiProblem> {
  return explainUnknown(problem, situation, 'agent', async ({ client, timeoutMs }) => {
    const { body } = await client.ask('GET', agentPath, timeoutMs);
    return (body as AgentList).agents.map(({ name }) => name);
  });
}

/** The API has no address for one agent: there are few. */
export async function askAgents(
  client: ApiClient,
  name: string | undefined,
  timeoutMs: number,
): Promise<ApiResponse> {
  const answer = await client.ask('GET', agentPath, timeoutMs);
  if (name === undefined) return answer;
  const { agents } = answer.body as AgentList;
  const agent = agents.find((each) => each.name === name);
  if (agent !== undefined) return answered(agent);
  const known = agents.map((each) => each.name);
  throw new ApiProblem(`there is no agent ${JSON.stringify(name)}; ${hintFor(name, known)}`, false);
}

export const getOperations = {
  'get triggers': {
    description: 'The triggers of a running gateway, or those in files.',
    args: [['[name]', 'name of a trigger']],
    examples: ['get triggers', 'get triggers deploy --json', 'get triggers -f triggers/ agents/'],
    timeoutSeconds: READ_SECONDS,
    declare: declareFiles,
    ask: (situation) =>
      filesOf(situation) === undefined
        ? situation.client.ask('GET', triggerPath(...situation.args), situation.timeoutMs)
        : fromFiles(situation, 'trigger', ({ triggerInFile }, { triggers }) => triggers.map(triggerInFile)),
    show: ({ body }, situation) => {
      const { args, paint, width } = situation;
      const rows = args.length > 0 ? [body] : (body as { triggers: readonly unknown[] }).triggers;
      return filesOf(situation) === undefined
        ? triggerTable(rows as readonly TriggerRecord[], paint, width)
        : triggerFileTable(rows as readonly TriggerInFile[], width);
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
      filesOf(situation) === undefined
        ? askAgents(situation.client, situation.args[0], situation.timeoutMs)
        : fromFiles(situation, 'agent', ({ agentInFile }, { agents }) => agents.map(agentInFile)),
    show: ({ body }, situation) => {
      const { args, width } = situation;
      const rows = args.length > 0 ? [body] : (body as { agents: readonly unknown[] }).agents;
      return filesOf(situation) === undefined
        ? agentTable(rows as readonly AgentRecord[], width)
        : agentFileTable(rows as readonly AgentInFile[], width);
    },
  },
} satisfies Readonly<Record<string, Operation>>;
