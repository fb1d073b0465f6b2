// The command line of `connect`.

import { type Command, Option } from 'commander';
import { refuseBareKey } from '../api/target-options.ts';
import { type Parsed, parseProgram } from '../command.ts';
import { sentenceOf } from '../command-list.ts';

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

/** Reads the arguments after `connect`. Help and usage errors have been printed when it says exit. */
export function parseConnectOptions(args: readonly string[], version: string): Parsed<ConnectOptions> {
  return parseProgram<ConnectOptions>(
    {
      name: 'actor-gateway connect',
      description: sentenceOf('connect'),
      version,
      after,
      declare: (command) =>
        command
          .argument('[client]', 'claude-desktop, claude-code, cursor, vscode, windsurf, zed, gemini or cline')
          .option('--url <address>', 'where the gateway listens')
          .option('-c, --config <file>', 'gateway configuration (YAML), see above')
          .option('--name <name>', 'name of the entry', 'actor-gateway')
          .option('--profile <name>', 'only what this profile of the gateway has')
          .option('--stdio', 'an entry that starts a program, for a client that takes an address as well')
          .addOption(
            new Option('--scope <scope>', 'whose file: yours, or that of the project in this folder')
              .choices(['user', 'project'])
              .default('user'),
          )
          .option('--api-key-file <file>', 'a started program reads the key from the first line of this file')
          .option('--api-key-variable <name>', 'the key is in this variable (default: GATEWAY_API_KEY)')
          .option('--write', "put the entry into the client's file")
          .option('--undo', 'take it out again')
          .option('--json', 'print lists and results as JSON')
          .addOption(new Option('--api-key [key]').hideHelp()),
      read: (command) => {
        refuseBareKey(command);
        return readOptions(command);
      },
    },
    args,
  );
}

function readOptions(command: Command): ConnectOptions {
  const [client] = command.args;
  const written = command.opts<Omit<ConnectOptions, 'client'>>();
  const { name, profile, write, undo, apiKeyFile, apiKeyVariable } = written;
  if (client === undefined && (write === true || undo === true))
    return command.error('error: say which client; without one they are listed');
  if (write === true && undo === true) return command.error('error: give either --write or --undo');
  if (!/^[\w-]{1,64}$/.test(name))
    return command.error('error: --name takes letters, digits, _ and -, at most 64 of them');
  if (profile !== undefined && !/^[\w.-]{1,64}$/.test(profile))
    return command.error('error: --profile expects the name of a profile');
  if (apiKeyFile !== undefined && apiKeyVariable !== undefined)
    return command.error('error: give either --api-key-file or --api-key-variable');
  if (apiKeyVariable !== undefined && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(apiKeyVariable))
    return command.error('error: --api-key-variable expects the name of a variable');
  return { ...written, client };
}
