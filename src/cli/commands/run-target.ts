// `agents run`, `fleets run`, `flows run`: starts a run and prints its answer. stdout receives only the
// answer; on a terminal, stderr shows the progress.

import type { Command } from 'commander';
import type { TargetKind } from '../../../config/resources/triggers/target.ts';
import type { RunResultRecord } from '../../http/api/run-shapes.ts';
import type { FlowDetails } from '../../http/api/target-shapes.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import type { ApiProblem, GatewayResponse } from '../api/client.ts';
import { CommandLineError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import { awaitRun, WAITING_EXIT_CODE } from '../chat/await-run.ts';
import { declareLocalFiles, LOCAL_FILES_HELP } from '../chat/files-option.ts';
import { collectKeyValue, secondsParser } from '../option-values.ts';
import type { CommandContext, Operation } from './operation.ts';
import { explainUnknownTarget, targetPath } from './resource-requests.ts';
import { readStdin } from './stdin-text.ts';

const WAIT_SECONDS = 600;

interface RunOptions {
  readonly input?: string;
  readonly param?: Readonly<Record<string, string>>;
  readonly session?: string;
  readonly user?: string;
  readonly wait?: number;
  /** Files for a local gateway, which stops with the command. */
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
    help: `${LOCAL_FILES_HELP}
Exit code 3: waiting for approval; stderr shows the commands that approve and deny.`,
    hasLocalGateway: true,
    timeoutSeconds: WAIT_SECONDS,
    declare: (command: Command) => {
      if (isFlow) command.option('--param <key=value...>', 'a parameter; repeatable', collectKeyValue);
      command
        .option('--input <text>', `${isFlow ? 'input of the flow' : 'question'}; - reads it from stdin`)
        .option('--session <name>', 'name of the conversation (default: a new one)')
        .option('--user <name>', 'name of the user, for the agent and for approvals')
        .option('--wait <seconds>', 'timeout for the answer, same as --timeout', secondsParser(0.1, 3600));
      declareLocalFiles(command);
    },
    request: async ({
      client,
      args: [name = ''],
      options,
      timeoutMs,
    }: CommandContext): Promise<GatewayResponse> => {
      const { param, session, user, wait, file } = options as RunOptions;
      const input = await inputOf(options as RunOptions, isFlow);
      const runRequest = { target: { kind, name }, input, parameters: param, session, user };
      const waitMs = wait === undefined ? timeoutMs : wait * 1000;
      const body = await awaitRun(client, runRequest, waitMs, file !== undefined);
      return { status: 200, body, text: JSON.stringify(body) };
    },
    show: ({ body }: GatewayResponse) => {
      const { state, answer } = body as RunResultRecord;
      return state === 'done' && answer !== null && answer !== '' ? [printableLines(answer)] : [];
    },
    exitCode: ({ body }: GatewayResponse) => {
      const { state, waiting_for, approvals } = body as Pick<RunResultRecord, 'state' | 'waiting_for'> & {
        readonly approvals?: readonly string[];
      };
      if (state === 'done') return 0;
      return waiting_for === 'approval' && approvals?.length !== 0 ? WAITING_EXIT_CODE : 1;
    },
    explain: async (problem, context) =>
      (isFlow ? await explainParameters(problem, context) : undefined) ??
      explainUnknownTarget(kind, problem, context),
  };
}

/** Returns the input; only flows may omit it. Throws CommandLineError. */
async function inputOf({ input }: RunOptions, isFlow: boolean): Promise<string | undefined> {
  if (input === undefined && isFlow) return undefined;
  if (input === undefined)
    throw new CommandLineError(
      'the question is missing; add --input TEXT, or --input - to read it from stdin',
    );
  const text = input === '-' ? await readStdin() : input;
  if (text === '' && !isFlow) throw new CommandLineError('the question is empty; pass a text with --input');
  return text;
}

/** Returns an error that names unknown or missing parameters; undefined for other problems. */
async function explainParameters(
  problem: ApiProblem,
  { client, args: [name = ''], options, timeoutMs }: CommandContext,
): Promise<CommandLineError | undefined> {
  if (problem.response?.status !== 400) return undefined;
  const { body } = await client.request('GET', targetPath('flow', name), timeoutMs);
  const { parameters } = body as FlowDetails;
  const names = parameters.map((each) => each.name);
  const { param: values = {} } = options as RunOptions;
  const unknown = Object.keys(values).find((each) => !names.includes(each));
  if (unknown !== undefined)
    return new CommandLineError(
      printable(`flow ${name} has no parameter ${unknown}; ${hintFor(unknown, names)}`),
    );
  const missing = parameters.filter((each) => each.required && (values[each.name] ?? '') === '');
  if (missing.length === 0) return undefined;
  const lines = missing.map((each) => {
    const hint = each.description === undefined ? '' : `  (${each.description})`;
    return `  --param ${each.name}=…${hint}`;
  });
  return new CommandLineError([`flow ${printable(name)} needs`, ...lines.map(printable)].join('\n'));
}
