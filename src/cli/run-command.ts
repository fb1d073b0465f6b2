// Runs the command that the first argument of gateway-http names. Loaded only then: the plain form starts without it.

import { suggest } from '../../config/suggest.ts';
import { ApiClient, ApiProblem } from './api-client.ts';
import { type Parsed, parseProgram } from './command.ts';
import { type CommandName, commandHelp, commandList } from './command-list.ts';
import { printable } from './figures.ts';
import { type Operation, operations } from './operations.ts';
import { print } from './output.ts';
import { isTerminal, paintFor } from './paint.ts';
import {
  declareTarget,
  readTarget,
  refuseBareKey,
  type TargetOptions,
  targetHelp,
  UsageError,
} from './target-options.ts';
import { explainUnknownServer } from './unknown-server.ts';

/** Runs `name` with the arguments after it, and gives the exit code. */
export async function runCommand(name: string, args: readonly string[], version: string): Promise<number> {
  const known = Object.keys(commandList);
  if (name === 'help') {
    await print(`${commandHelp()}\n`);
    return 0;
  }
  if (!isCommand(name)) {
    // The word itself may be anything, a secret too, and is not repeated.
    const close = suggest(name, known);
    const hint = close === undefined ? `there are ${known.join(', ')}` : `did you mean ${close}?`;
    console.error(`error: unknown command; ${hint}\n(--help lists the commands and options)`);
    return 2;
  }
  try {
    if (name === 'machines') return await (await import('./machines.ts')).machines(args, version);
    if (name === 'top') return await (await import('./top.ts')).top(args, version);
    return await operate(name, operations[name], args, version);
  } catch (error) {
    return failed(error);
  }
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commandList, name);
}

/** Prints what went wrong and gives the exit code. Throws what is a fault of ours. */
function failed(error: unknown): number {
  if (error instanceof UsageError) {
    console.error(`error: ${error.message}`);
    return 2;
  }
  if (!(error instanceof ApiProblem)) throw error;
  console.error([error.message, ...error.details].map(printable).join('\n  '));
  return 1;
}

interface Options extends TargetOptions {
  readonly id: string | undefined;
  readonly json?: boolean;
}

async function operate(
  name: CommandName,
  operation: Operation,
  args: readonly string[],
  version: string,
): Promise<number> {
  const parsed = parse(name, operation, args, version);
  if (parsed.do === 'exit') return parsed.code;
  const { options } = parsed;
  const client = new ApiClient(await readTarget(options, process.env));
  const { stdout } = process;
  const isScreen = isTerminal(stdout, process.env);
  const situation = {
    client,
    id: options.id,
    timeoutMs: (options.timeout ?? operation.timeoutSeconds) * 1000,
    paint: paintFor(stdout, process.env),
    width: isScreen ? stdout.columns : undefined,
  };
  try {
    const answer = await operation.ask(situation);
    const text =
      options.json === true
        ? asJson(answer.text, isScreen)
        : (await operation.show(answer, situation)).join('\n');
    await print(`${text}\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof ApiProblem)) throw error;
    const isShown = options.json === true && error.answer?.body !== undefined;
    if (isShown) await print(`${asJson(error.answer?.text ?? '', isScreen)}\n`);
    throw await explainUnknownServer(error, situation);
  }
}

function parse(
  name: CommandName,
  { id, timeoutSeconds }: Operation,
  args: readonly string[],
  version: string,
): Parsed<Options> {
  return parseProgram(
    {
      name: `gateway-http ${name}`,
      description: `${commandList[name].description}.`,
      version,
      after: targetHelp,
      declare: (command) => {
        if (id !== 'none') command.argument(commandList[name].usage, 'id of a server, as the catalog has it');
        declareTarget(command, timeoutSeconds);
        command.option('--json', 'print what the HTTP API answers');
      },
      read: (command) => {
        refuseBareKey(command);
        return { ...command.opts<TargetOptions & { json?: boolean }>(), id: command.args[0] };
      },
    },
    args,
  );
}

/** As it came, on one line; indented for a person. */
function asJson(text: string, isScreen: boolean): string {
  return isScreen ? JSON.stringify(JSON.parse(text), undefined, 2) : text;
}
