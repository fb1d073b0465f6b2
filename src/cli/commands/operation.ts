// Commands that send one request to a running gateway: the request, and the page made of the response.

import type { Command } from 'commander';
import { columnsOf, isTerminal, type Paint, paintFor } from '../../terminal/paint.ts';
import { ApiClient, ApiProblem, type ApiResponse } from '../api/api-client.ts';
import { declareTarget, readTarget, type TargetOptions, type UsageError } from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { print, printJson } from '../views/output.ts';

export interface Situation {
  readonly client: ApiClient;
  readonly args: readonly string[];
  /** The command's own options, by their names in camel case. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly paint: Paint;
  /** Characters in a line of the terminal; undefined elsewhere. */
  readonly width: number | undefined;
}

export interface Operation {
  /** Command lines for the help, without the program's name. */
  readonly examples?: readonly string[];
  /** Text after the examples. */
  readonly help?: string;
  /** With -f it asks a gateway of its own (chat/with-gateway.ts). */
  readonly isWithOwnGateway?: boolean;
  /** Longest wait for a response without --timeout. */
  readonly timeoutSeconds: number;
  /** Declares options of its own. */
  declare?(command: Command): void;
  /** Sends the request whose response `--json` prints. */
  ask(situation: Situation): Promise<ApiResponse>;
  show(answer: ApiResponse, situation: Situation): Promise<readonly string[]> | readonly string[];
  /** The exit code if the response alone does not mean success. */
  exitCode?(answer: ApiResponse): number;
  /** Returns a better explanation of a refusal, or the same. UsageError: the request cannot be fulfilled. */
  explain?(problem: ApiProblem, situation: Situation): Promise<ApiProblem | UsageError>;
}

/** Returns the command of each operation. */
export function operationCommands<Name extends string>(
  operations: Readonly<Record<Name, Operation>>,
): Readonly<Record<Name, CommandModule>> {
  const commands = Object.entries<Operation>(operations).map(([name, operation]) => [
    name,
    {
      declare: (command: Command) => declareOperation(command, operation),
      run: (command: Command) => runOperation(command, operation),
    },
  ]);
  return Object.fromEntries(commands) as Readonly<Record<Name, CommandModule>>;
}

/** Returns the paragraph of the help with `lines`, command lines without the program's name. */
export function exampleHelp(lines: readonly string[], help = ''): string {
  const examples =
    lines.length === 0 ? [] : ['', 'Examples:', ...lines.map((line) => `  actor-gateway ${line}`)];
  return [...examples, ...(help === '' ? [] : [help.trimEnd()])].join('\n');
}

function declareOperation(command: Command, operation: Operation): void {
  const { examples = [], help, timeoutSeconds } = operation;
  operation.declare?.(command);
  command.addHelpText('after', exampleHelp(examples, help));
  declareTarget(command, timeoutSeconds);
  command.option('--json', 'print what the HTTP API answers');
}

type Options = TargetOptions & { readonly json?: boolean; readonly file?: readonly string[] };

async function runOperation(command: Command, operation: Operation): Promise<number> {
  const options = command.opts<Options>();
  // Commands that read files themselves need no gateway.
  if (operation.isWithOwnGateway !== true || options.file === undefined)
    return perform(command, operation, new ApiClient(await readTarget(options, process.env)));
  const { withGateway } = await import('../chat/with-gateway.ts');
  return withGateway(options, (client) => perform(command, operation, client));
}

async function perform(command: Command, operation: Operation, client: ApiClient): Promise<number> {
  const { stdout } = process;
  const isScreen = isTerminal(stdout, process.env);
  const options = command.opts<Options>();
  const situation = {
    client,
    args: command.args,
    options: { ...options },
    timeoutMs: (options.timeout ?? operation.timeoutSeconds) * 1000,
    paint: paintFor(stdout, process.env),
    width: isScreen ? columnsOf(stdout) : undefined,
  };
  try {
    const answer = await operation.ask(situation);
    if (options.json === true) await printJson(asJson(answer.text, isScreen));
    else {
      const lines = await operation.show(answer, situation);
      if (lines.length > 0) await print(`${lines.join('\n')}\n`);
    }
    return operation.exitCode?.(answer) ?? 0;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const isShown = options.json === true && error.answer?.body !== undefined;
    if (isShown) await printJson(asJson(error.answer?.text ?? '', isScreen));
    throw (await operation.explain?.(error, situation)) ?? error;
  }
}

/** Returns the response on one line, or indented on a terminal. */
function asJson(text: string, isScreen: boolean): string {
  return isScreen ? JSON.stringify(JSON.parse(text), undefined, 2) : text;
}
