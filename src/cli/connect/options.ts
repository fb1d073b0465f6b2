// Options of `connect`.

import { type Command, Option } from 'commander';
import { CommandLineError, refuseKeyArgument } from '../api/target-options.ts';
import { parseVariableName, patternParser } from '../option-values.ts';

const ENTRY = /^[\w-]{1,64}$/;
const PROFILE = /^[\w.-]{1,64}$/;

export interface ConnectOptions {
  readonly client: string | undefined;
  readonly url?: string;
  readonly config?: string;
  readonly name: string;
  readonly scope: 'user' | 'project';
  readonly stdio?: boolean;
  readonly profile?: string;
  readonly apiKeyFile?: string;
  readonly apiKeyVariable?: string;
  readonly write?: boolean;
  readonly undo?: boolean;
  readonly json?: boolean;
}

const after = `
If no client is named, the command lists the supported clients and their files on this machine. Otherwise it
prints the entry for the client's file. Keys are never printed, only references to them. --write adds the
entry to the file and keeps a backup next to it; all other content is unchanged. --undo removes the entry.

The address is --url, else listen_addr in the file of --config, else http://127.0.0.1:8080. An entry that
starts a program forwards all messages to this address; with --config the program runs the servers of that
file itself.

Exit codes: 0 success, 1 failure, 2 invalid usage or unusable file`;

export function declareConnect(command: Command): void {
  command
    .argument('[client]', 'claude-desktop, claude-code, cursor, vscode, windsurf, zed, gemini or cline')
    .option('--url <address>', 'address of the gateway')
    .option('-c, --config <file>', 'gateway configuration (YAML), see above')
    .option(
      '--name <name>',
      'name of the entry',
      patternParser(ENTRY, 'up to 64 letters, digits, _ and -'),
      'actor-gateway',
    )
    .option(
      '--profile <name>',
      'only servers and tools of this gateway profile',
      patternParser(PROFILE, 'the name of a profile'),
    )
    .option('--stdio', 'entry that starts a program, even if the client supports addresses')
    .addOption(
      new Option('--scope <scope>', "write to the user's file or to that of the project in this folder")
        .choices(['user', 'project'])
        .default('user'),
    )
    .option(
      '--api-key-file <file>',
      'file with the key on its first line, for an entry that starts a program',
    )
    .addOption(
      new Option('--api-key-variable <name>', 'environment variable with the key (default: GATEWAY_API_KEY)')
        .argParser(parseVariableName)
        .conflicts('apiKeyFile'),
    )
    .option('--write', "put the entry into the client's file")
    .addOption(new Option('--undo', 'remove the entry').conflicts('write'))
    .option('--json', 'print lists and results as JSON')
    .addHelpText('after', after);
  refuseKeyArgument(command);
}

/** Returns the options. Throws CommandLineError for invalid combinations. */
export function readConnectOptions(command: Command): ConnectOptions {
  const [client] = command.args;
  const options = command.opts<Omit<ConnectOptions, 'client'>>();
  if (client === undefined && (options.write === true || options.undo === true))
    throw new CommandLineError('the client is missing; "connect" without arguments lists the clients');
  return { ...options, client };
}
