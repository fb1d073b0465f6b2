// The command line of `connect`.

import { type Command, Option } from 'commander';
import { refuseBareKey, UsageError } from '../api/target-options.ts';
import { matching, variableName } from '../option-values.ts';

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
Without a client it lists them, and where their files are found here. With one it prints what belongs into its file; a
key is never printed, only a reference to it. --write puts that into the file, and keeps everything else as it is; the file
as it was stays beside it. --undo takes it out again.

The address is --url, else listen_addr of the file of --config, else http://127.0.0.1:8080. An entry that starts a program
passes everything on to that address; with --config instead, the program runs the servers of that file itself.

Examples:
  actor-gateway connect
  actor-gateway connect cursor --url http://127.0.0.1:8080
  actor-gateway connect claude-desktop --write
  actor-gateway connect claude-desktop --undo
  actor-gateway connect vscode --scope project --profile work --write

Exit codes: 0 done, 1 it failed, 2 wrong usage, or a file that cannot be used`;

export function declareConnect(command: Command): void {
  command
    .argument('[client]', 'claude-desktop, claude-code, cursor, vscode, windsurf, zed, gemini or cline')
    .option('--url <address>', 'where the gateway listens')
    .option('-c, --config <file>', 'gateway configuration (YAML), see above')
    .option(
      '--name <name>',
      'name of the entry',
      matching(ENTRY, 'at most 64 letters, digits, _ and -'),
      'actor-gateway',
    )
    .option(
      '--profile <name>',
      'only what this profile of the gateway has',
      matching(PROFILE, 'the name of a profile'),
    )
    .option('--stdio', 'an entry that starts a program, for a client that takes an address as well')
    .addOption(
      new Option('--scope <scope>', 'whose file: yours, or that of the project in this folder')
        .choices(['user', 'project'])
        .default('user'),
    )
    .option('--api-key-file <file>', 'a started program reads the key from the first line of this file')
    .addOption(
      new Option('--api-key-variable <name>', 'the key is in this variable (default: GATEWAY_API_KEY)')
        .argParser(variableName)
        .conflicts('apiKeyFile'),
    )
    .option('--write', "put the entry into the client's file")
    .addOption(new Option('--undo', 'take it out again').conflicts('write'))
    .option('--json', 'print lists and results as JSON')
    .addHelpText('after', after);
  refuseBareKey(command);
}

/** Throws UsageError. */
export function readConnectOptions(command: Command): ConnectOptions {
  const [client] = command.args;
  const written = command.opts<Omit<ConnectOptions, 'client'>>();
  if (client === undefined && (written.write === true || written.undo === true))
    throw new UsageError('say which client; without one they are listed');
  return { ...written, client };
}
