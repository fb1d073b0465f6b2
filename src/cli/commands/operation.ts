// Base of commands that send one request to a running gateway and print the response.

import type { Command } from 'commander';
import { columnsOf, isTerminal, type Paint, paintFor } from '../../terminal/paint.ts';
import { ApiClient, ApiProblem, type GatewayResponse } from '../api/client.ts';
import {
  type CommandLineError,
  declareTarget,
  readTarget,
  type TargetOptions,
} from '../api/target-options.ts';
import type { CommandModule } from '../command.ts';
import { print, printJson } from '../views/output.ts';

export interface CommandContext {
  readonly client: ApiClient;
  readonly args: readonly string[];
  /** Options by name in camel case. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly paint: Paint;
  /** Width of the terminal; undefined if there is none. */
  readonly width: number | undefined;
}

export interface Operation {
  /** Example command lines, omitting the program's name. */
  readonly examples: readonly string[];
  /** Text after the options. */
  readonly help?: string;
  /** True if the command has the option -f, which starts a local gateway (chat/with-gateway.ts). */
  readonly hasLocalGateway?: boolean;
  /** Timeout without --timeout. */
  readonly timeoutSeconds: number;
  /** Declares options of this command, in addition to the common ones. */
  declare?(command: Command): void;
  /** Sends the request; `--json` prints its response. */
  request(context: CommandContext): Promise<GatewayResponse>;
  show(response: GatewayResponse, context: CommandContext): Promise<readonly string[]> | readonly string[];
  /** Returns the exit code. If undefined, each response means success. */
  exitCode?(response: GatewayResponse): number;
  /**
   * Returns a better error for a failed request, or `problem` itself. CommandLineError: invalid arguments.
   */
  explain?(problem: ApiProblem, context: CommandContext): Promise<ApiProblem | CommandLineError>;
}

/** Returns one command per operation. */
export function operationCommands<Name extends string>(
  operations: Readonly<Record<Name, Operation>>,
): Readonly<Record<Name, CommandModule>> {
  const commands = Object.entries<Operation>(operations).map(([name, operation]) => [
    name,
    {
      examples: withProgram(operation.examples),
      declare: (command: Command) => declareOperation(command, operation),
      run: (command: Command) => runOperation(command, operation),
    },
  ]);
  return Object.fromEntries(commands) as Readonly<Record<Name, CommandModule>>;
}

/** Returns complete command lines. */
export function withProgram(examples: readonly string[]): readonly string[] {
  return examples.map((line) => `actor-gateway ${line}`);
}

function declareOperation(command: Command, operation: Operation): void {
  const { help, timeoutSeconds } = operation;
  operation.declare?.(command);
  if (help !== undefined) command.addHelpText('after', `\n${help.trim()}`);
  declareTarget(command, timeoutSeconds);
  command.option('--json', 'print the response of the HTTP API');
}

type Options = TargetOptions & { readonly json?: boolean; readonly file?: readonly string[] };

async function runOperation(command: Command, operation: Operation): Promise<number> {
  const options = command.opts<Options>();
  // Other commands with -f read the files themselves (from-files.ts).
  if (operation.hasLocalGateway !== true || options.file === undefined)
    return sendAndPrint(command, operation, new ApiClient(await readTarget(options, process.env)));
  const { withGateway } = await import('../chat/with-gateway.ts');
  return withGateway(options, (client) => sendAndPrint(command, operation, client));
}

async function sendAndPrint(command: Command, operation: Operation, client: ApiClient): Promise<number> {
  const { stdout } = process;
  const isScreen = isTerminal(stdout, process.env);
  const options = command.opts<Options>();
  const context = {
    client,
    args: command.args,
    options: { ...options },
    timeoutMs: (options.timeout ?? operation.timeoutSeconds) * 1000,
    paint: paintFor(stdout, process.env),
    width: isScreen ? columnsOf(stdout) : undefined,
  };
  try {
    const response = await operation.request(context);
    if (options.json === true) await printJson(asJson(response.text, isScreen));
    else {
      const lines = await operation.show(response, context);
      if (lines.length > 0) await print(`${lines.join('\n')}\n`);
    }
    return operation.exitCode?.(response) ?? 0;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const hasBody = options.json === true && error.response?.body !== undefined;
    if (hasBody) await printJson(asJson(error.response?.text ?? '', isScreen));
    throw (await operation.explain?.(error, context)) ?? error;
  }
}

/** Returns JSON on one line, or indented for a terminal. */
function asJson(text: string, isScreen: boolean): string {
  return isScreen ? JSON.stringify(JSON.parse(text), undefined, 2) : text;
}
