// `agents run`, `fleets run`, `flows run`: one run. stdout has the answer alone; on a terminal stderr shows the progress.

import type { Command } from 'commander';
import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import type { RunAnswer } from '../../http/api/run-shapes.ts';
import type { FlowDetails } from '../../http/api/target-shapes.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import type { ApiProblem, ApiResponse } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import { answerOf } from '../chat/answered-run.ts';
import { declareFiles, FILES_HELP } from '../chat/local-files.ts';
import { keyValue, seconds } from '../option-values.ts';
import type { Operation, Situation } from './operation.ts';
import { explainUnknownTarget, targetPath } from './resource-requests.ts';
import { readStdin } from './stdin-text.ts';

const WAIT_SECONDS = 600;
const WAITS = 3;

interface RunOptions {
  readonly input?: string;
  readonly param?: Readonly<Record<string, string>>;
  readonly session?: string;
  readonly user?: string;
  readonly wait?: number;
  /** The gateway ends with the command. */
  readonly file?: readonly string[];
}

const examples: Readonly<Record<TargetKind, readonly string[]>> = {
  agent: [
    'agents run oncall --input "what is wrong with the shop?"',
    'agents run notes --input - --session monday < notes.txt',
    'agents run notes --input "what is in the folder?" -f agents/notes.yaml',
  ],
  fleet: [
    'fleets run review --input - < change.diff',
    'fleets run review --input "look at it" -f fleets/ agents/',
  ],
  flow: [
    'flows run deploy --param version=1.2.3 --param to=staging',
    'flows run deploy --param version=1.2.3 -f flows/deploy.yaml agents/',
  ],
};

/** Returns the operation that runs an agent, a fleet or a flow once. */
export function runTarget(kind: TargetKind): Operation {
  const isFlow = kind === 'flow';
  return {
    examples: examples[kind],
    help: `${FILES_HELP}
Exit code 3: it waits for approval; stderr says which, and how to decide.`,
    isWithOwnGateway: true,
    timeoutSeconds: WAIT_SECONDS,
    declare: (command: Command) => {
      if (isFlow)
        command.option('--param <key=value...>', 'a parameter; may be given several times', keyValue);
      command
        .option(
          '--input <text>',
          `what ${isFlow ? 'the flow has as its input' : 'to ask'}; - reads it from stdin`,
        )
        .option('--session <name>', 'the conversation that it is of (default: one of its own)')
        .option('--user <name>', 'who asks, as the agent and approvals are told')
        .option('--wait <seconds>', 'longest wait for the answer, as --timeout', seconds(0.1, 3600));
      declareFiles(command);
    },
    ask: async ({ client, args: [name = ''], options, timeoutMs }: Situation): Promise<ApiResponse> => {
      const { param, session, user, wait, file } = options as RunOptions;
      const input = await inputOf(options as RunOptions, isFlow);
      const question = { target: { kind, name }, input, parameters: param, session, user };
      const waitMs = wait === undefined ? timeoutMs : wait * 1000;
      const body = await answerOf(client, question, waitMs, file !== undefined);
      return { status: 200, body, text: JSON.stringify(body) };
    },
    show: ({ body }: ApiResponse) => {
      const { state, answer } = body as RunAnswer;
      return state === 'done' && answer !== null && answer !== '' ? [printableLines(answer)] : [];
    },
    exitCode: ({ body }: ApiResponse) => {
      const { state, waiting_for, approvals } = body as Pick<RunAnswer, 'state' | 'waiting_for'> & {
        readonly approvals?: readonly string[];
      };
      if (state === 'done') return 0;
      return waiting_for === 'approval' && approvals?.length !== 0 ? WAITS : 1;
    },
    explain: async (problem, situation) =>
      (isFlow ? await explainParameters(problem, situation) : undefined) ??
      explainUnknownTarget(kind, problem, situation),
  };
}

/** A flow may do without. Throws UsageError. */
async function inputOf({ input }: RunOptions, isFlow: boolean): Promise<string | undefined> {
  if (input === undefined && isFlow) return undefined;
  if (input === undefined)
    throw new UsageError('--input TEXT says what to ask; with --input - it is read from stdin');
  const text = input === '-' ? await readStdin() : input;
  if (text === '' && !isFlow) throw new UsageError('there is nothing to ask: what --input gives is empty');
  return text;
}

/** Where the parameters are not those of the flow: which, and what it has. Undefined for any other problem. */
async function explainParameters(
  problem: ApiProblem,
  { client, args: [name = ''], options, timeoutMs }: Situation,
): Promise<UsageError | undefined> {
  if (problem.answer?.status !== 400) return undefined;
  const { body } = await client.ask('GET', targetPath('flow', name), timeoutMs);
  const { parameters } = body as FlowDetails;
  const names = parameters.map((each) => each.name);
  const { param: given = {} } = options as RunOptions;
  const unknown = Object.keys(given).find((each) => !names.includes(each));
  if (unknown !== undefined)
    return new UsageError(printable(`flow ${name} has no parameter ${unknown}; ${hintFor(unknown, names)}`));
  const missing = parameters.filter((each) => each.required && (given[each.name] ?? '') === '');
  if (missing.length === 0) return undefined;
  const wanted = missing.map((each) => {
    const what = each.description === undefined ? '' : `  (${each.description})`;
    return `  --param ${each.name}=…${what}`;
  });
  return new UsageError([`flow ${printable(name)} needs`, ...wanted.map(printable)].join('\n'));
}
