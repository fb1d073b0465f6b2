// What the command lines of all our programs have in common: help, version, and errors that never show a value.

import { Command, CommanderError } from 'commander';
import { asInvoked } from './program-name.ts';

export type Parsed<Options> =
  | { readonly do: 'run'; readonly options: Options }
  | { readonly do: 'exit'; readonly code: number };

export interface Program<Options> {
  /** `actor-gateway COMMAND`; shown as it was invoked, in `after` too. */
  readonly name: string;
  readonly description: string;
  readonly version: string;
  /** Where --version means something else there. @default '-V, --version' */
  readonly versionFlags?: string;
  /** Printed after the options. */
  readonly after: string;
  declare(command: Command): void;
  /** Reads what was given; what is missing or contradicts is told by `command.error`. */
  read(command: Command): Options;
}

let onDeclared: ((command: Command) => void) | undefined;

/**
 * What the program declares whose arguments `run` would read; undefined where it reads none. Nothing else of it is run: the
 * program is told to exit. One at a time.
 */
export async function declaredBy(run: () => unknown): Promise<Command | undefined> {
  let declared: Command | undefined;
  onDeclared = (command) => {
    declared ??= command;
  };
  try {
    await run();
    return declared;
  } finally {
    onDeclared = undefined;
  }
}

/** Reads the arguments after the program's name. Help, version and usage errors have been printed when it says exit. */
export function parseProgram<Options>(program: Program<Options>, args: readonly string[]): Parsed<Options> {
  const command = new Command(asInvoked(program.name))
    .description(program.description)
    .allowExcessArguments(false);
  program.declare(command);
  command
    .version(program.version, program.versionFlags ?? '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText('after', asInvoked(program.after))
    .showHelpAfterError('(--help explains the options)')
    .configureOutput({ outputError: (text, write) => write(withoutValue(text)) })
    .exitOverride();
  if (onDeclared !== undefined) {
    onDeclared(command);
    return { do: 'exit', code: 0 };
  }
  try {
    command.parse([...args], { from: 'user' });
    return { do: 'run', options: program.read(command) };
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { do: 'exit', code: error.exitCode === 0 ? 0 : 2 };
  }
}

/** An option with a slip in its name is repeated with the value that stands behind it, which may be a secret (A9). */
function withoutValue(text: string): string {
  const cut = text.replace(/(unknown option) '(--[\w-]+|-\w).*'/s, "$1 '$2'");
  // What it suggests is the option itself where one without a value was given one.
  return cut.replace(/unknown option '(--[\w-]+)'\n\(Did you mean \1\?\)/, "option '$1' takes no value");
}
