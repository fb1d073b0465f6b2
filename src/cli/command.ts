// Base of every command line: one style of help and errors, and exit codes. Commander reads the words; each command
// declares its own arguments and options (CommandModule).
//
// No error repeats a value of the command line, which may be a secret (A9).

import { Command, CommanderError } from 'commander';
import { asInvoked } from './program-name.ts';

const USAGE_ERROR = 2;

export type Parsed<Options> =
  | { readonly do: 'run'; readonly options: Options }
  | { readonly do: 'exit'; readonly code: number };

/** A command whose code is loaded when it runs. */
export interface CommandModule {
  /** Declares arguments, options and help. */
  declare(command: Command): void;
  /** Returns the exit code. Rejects with UsageError and ApiProblem. */
  run(command: Command): Promise<number>;
}

/** Returns an empty program; its subcommands inherit these settings. Texts name it `actor-gateway`. */
export function newProgram(name = 'actor-gateway'): Command {
  return new Command(name)
    .allowExcessArguments(false)
    .enablePositionalOptions()
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .showHelpAfterError('(--help explains the options)')
    .configureOutput({
      writeOut: (text) => process.stdout.write(asInvoked(text)),
      writeErr: (text) => process.stderr.write(asInvoked(text)),
      outputError: (text, write) => write(withoutValue(text)),
    })
    .exitOverride();
}

/** Parses `words` and reads the options. After `exit`, help, version or the usage error has been printed. */
export function parse<Options>(
  program: Command,
  words: readonly string[],
  read: (program: Command) => Options,
): Parsed<Options> {
  try {
    program.parse([...words], { from: 'user' });
    return { do: 'run', options: read(program) };
  } catch (error) {
    return { do: 'exit', code: exitCodeOf(error) };
  }
}

/** Returns the exit code of an error that commander has printed. Throws any other. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof CommanderError)) throw error;
  return error.exitCode === 0 ? 0 : USAGE_ERROR;
}

/** Commander repeats unknown words, values that are invalid, and an unknown option with its value. */
function withoutValue(text: string): string {
  const cut = text
    .replace(/(unknown option) '(--[\w-]+|-\w).*'/s, "$1 '$2'")
    .replace(/(unknown command) '.*'(?=\n|$)/s, '$1')
    .replace(/ argument '.*' is invalid\./s, ':')
    .replace(/command-argument value '.*' is invalid for argument ('[\w-]+')\./s, 'argument $1:');
  // Commander suggests the option itself if a flag has a value.
  return cut.replace(/unknown option '(--[\w-]+)'\n\(Did you mean \1\?\)/, "option '$1' takes no value");
}
