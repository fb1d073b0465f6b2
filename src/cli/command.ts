// Base of all command lines: a common style for help and errors, and the exit codes. The library commander
// parses the arguments; each command declares its own arguments and options (CommandModule).
//
// No error message repeats a value from the command line, because the value may be a secret (A9,
// ARCHITECTURE.md).

import { Command, CommanderError } from 'commander';
import { withProgramName } from './program-name.ts';

const USAGE_ERROR = 2;

export type ParsedCommandLine<Options> =
  | { readonly do: 'run'; readonly options: Options }
  | { readonly do: 'exit'; readonly code: number };

/** A command's code, imported when the command runs. */
export interface CommandModule {
  /** Complete command lines, the last part of the help. */
  readonly examples: readonly string[];
  /** Declares arguments, options and help. */
  declare(command: Command): void;
  /** Returns the exit code. Rejects with CommandLineError and ApiProblem. */
  run(command: Command): Promise<number>;
}

/** Returns a program without commands. Commands added to it inherit these settings. */
export function newProgram(name = 'actor-gateway'): Command {
  return new Command(name)
    .allowExcessArguments(false)
    .enablePositionalOptions()
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .showHelpAfterError('(--help explains the options)')
    .configureOutput({
      writeOut: (text) => process.stdout.write(withProgramName(text)),
      writeErr: (text) => process.stderr.write(withProgramName(text)),
      outputError: (text, write) => write(withoutValue(text)),
    })
    .exitOverride();
}

/** Appends example command lines to the help. */
export function addExamples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n'));
}

/** Parses `args` and reads the options. For `exit`, the help, version or usage error is already printed. */
export function parse<Options>(
  program: Command,
  args: readonly string[],
  readOptions: (program: Command) => Options,
): ParsedCommandLine<Options> {
  try {
    program.parse([...args], { from: 'user' });
    return { do: 'run', options: readOptions(program) };
  } catch (error) {
    return { do: 'exit', code: exitCodeOf(error) };
  }
}

/** Returns the exit code if commander has printed the error. Throws other errors. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof CommanderError)) throw error;
  return error.exitCode === 0 ? 0 : USAGE_ERROR;
}

/** Removes the values that commander repeats: unknown words, invalid values, values of unknown options. */
function withoutValue(text: string): string {
  const cut = text
    .replace(/(unknown option) '(--[\w-]+|-\w).*'/s, "$1 '$2'")
    .replace(/(unknown command) '.*'(?=\n|$)/s, '$1')
    .replace(/ argument '.*' is invalid\./s, ':')
    .replace(/command-argument value '.*' is invalid for argument ('[\w-]+')\./s, 'argument $1:');
  // For a flag with a value (`--json=1`), commander reports an unknown option and suggests the same flag.
  return cut.replace(/unknown option '(--[\w-]+)'\n\(Did you mean \1\?\)/, "option '$1' takes no value");
}
