// Options that select the gateway for a command: address and key. The default key is the operator token in
// the gateway's state folder (operator-key.ts).
//
// The key is never an argument, because other users can list the arguments of processes (A9,
// ARCHITECTURE.md). From the gateway file only the address and the state folder are read: the user's shell
// often lacks the variables that other fields need. If neither --url nor --config is set, gateway.yaml in the
// current folder is used, as for a start.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { parseListenAddr } from '../../../config/gateway-file/listen-addr.ts';
import { readGateway } from '../../../config/gateway-file/read-gateway.ts';
import { environmentBeside } from '../../../config/reader/env-file.ts';
import { formatProblem } from '../../../config/reader/problem.ts';
import { SchemaReader } from '../../../config/reader/schema-reader.ts';
import { SecretValues } from '../../../config/reader/secret-values.ts';
import { readSourceFile, SourceFile } from '../../../config/reader/source-file.ts';
import type { Environment } from '../../../config/reader/substitute.ts';
import { parseYamlTree } from '../../../config/reader/yaml-tree.ts';
import { secondsParser } from '../option-values.ts';
import { DEFAULT_CONFIG } from '../options.ts';
import type { GatewayTarget } from './client.ts';
import { findOperatorKey, requestStateFolder } from './operator-key.ts';

export interface TargetOptions {
  readonly url?: string;
  readonly config?: string;
  readonly apiKeyFile?: string;
  /** Seconds. */
  readonly timeout?: number;
}

/** The command line is invalid, or names an unusable file or value. Exit code 2. */
export class CommandLineError extends Error {}

export const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Environment variable that contains the key, if --api-key-file is not set. */
export const KEY_VARIABLE = 'GATEWAY_API_KEY';

const targetHelp = `
The address is --url, else listen_addr in the file of --config, else in ./${DEFAULT_CONFIG} if it exists,
else ${DEFAULT_URL}. The key is read from --api-key-file, else from GATEWAY_API_KEY in the
environment or in .env next to the gateway file. Without a key the command uses the operator token of a
gateway on this machine, if this user may read it.

Exit codes: 0 success, 1 failure, 2 invalid usage`;

/** Declares the options for commands that send requests to a running gateway, and appends their help. */
export function declareTarget(command: Command, timeoutSeconds: number, moreExitCodes = ''): void {
  declareTargetOptions(command, timeoutSeconds, 'config').addHelpText('after', targetHelp + moreExitCodes);
}

/**
 * Declares the same options without help text, for commands that also use other parts of the gateway file.
 */
export function declareTargetOptions(
  command: Command,
  timeoutSeconds: number,
  ...conflicting: readonly string[]
): Command {
  refuseKeyArgument(command);
  return command
    .addOption(new Option('--url <address>', 'address of the gateway').conflicts([...conflicting]))
    .option('-c, --config <file>', 'read the address from this gateway configuration (YAML)')
    .option('--api-key-file <file>', 'file with the key on its first line')
    .option(
      '--timeout <seconds>',
      `timeout for the response (default: ${timeoutSeconds})`,
      secondsParser(0.1, 3600),
    );
}

/** Rejects a key on the command line; the error does not repeat it. */
export function refuseKeyArgument(command: Command): void {
  command
    .addOption(new Option('--api-key [key]').hideHelp())
    .on('option:api-key', () =>
      command.error(
        'error: a key on the command line is visible in process lists; ' +
          'put it into a file (--api-key-file FILE) or into GATEWAY_API_KEY',
      ),
    );
}

/** Default of `state_dir`, relative to the gateway file. */
export const DEFAULT_STATE_DIR = '.gateway';

/** Returns address and key. Throws CommandLineError if address or file are invalid. */
export async function readTarget(options: TargetOptions, env: NodeJS.ProcessEnv): Promise<GatewayTarget> {
  const { url: text, config, apiKeyFile } = options;
  const defaultFile = existsSync(DEFAULT_CONFIG) ? DEFAULT_CONFIG : undefined;
  const file = config ?? defaultFile;
  const environment = file === undefined ? env : (await environmentBeside(resolve(file), env)).environment;
  const gatewayFile =
    file === undefined ? undefined : await readGatewayFile(file, environment, config !== undefined);
  const url = readUrl(text ?? gatewayFile?.url ?? DEFAULT_URL);
  // The .env file applies to the gateway file in the same folder.
  const key = readKey(apiKeyFile, text === undefined ? environment : env);
  return {
    url,
    ...(text === undefined ? { source: sourceOf(config, gatewayFile) } : {}),
    key: key ?? (await findTokenKey(url, gatewayFile?.stateDir ?? resolve(DEFAULT_STATE_DIR))),
  };
}

/** Finds the operator token. `stateDir` is the folder if the gateway at `url` does not report its own. */
async function findTokenKey(url: URL, stateDir: string): Promise<GatewayTarget['key']> {
  return findOperatorKey(url, (await requestStateFolder(url)) ?? stateDir);
}

/** Describes where the address comes from, for messages. */
function sourceOf(config: string | undefined, gatewayFile: GatewayFile | undefined): string {
  if (gatewayFile === undefined) return 'the default';
  const name = config ?? `./${DEFAULT_CONFIG}`;
  return gatewayFile.url === undefined
    ? `the default: ${name} has no usable listen_addr`
    : `listen_addr of ${name}`;
}

function readUrl(text: string): URL {
  const isHttp = /^https?:\/\/[^/]/i.test(text) && URL.canParse(text);
  if (!isHttp) throw new CommandLineError(`--url expects an address such as ${DEFAULT_URL}`);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw new CommandLineError('--url must not contain user and password; --help explains how to pass a key');
  url.search = '';
  url.hash = '';
  return url;
}

function readKey(file: string | undefined, env: Environment): GatewayTarget['key'] {
  if (file !== undefined) return { value: readKeyFile(file), source: file };
  const value = (env[KEY_VARIABLE] ?? '').trim();
  return value === '' ? undefined : { value: checkHeaderValue(value, KEY_VARIABLE), source: KEY_VARIABLE };
}

/** Returns the key in the file's first line. Throws CommandLineError if there is none. */
export function readKeyFile(file: string): string {
  const value = firstLine(file).trim();
  if (value === '')
    throw new CommandLineError(`--api-key-file ${file}: the first line is empty; write the key there`);
  return checkHeaderValue(value, file);
}

function checkHeaderValue(value: string, source: string): string {
  if (/^[ -~]+$/.test(value)) return value;
  throw new CommandLineError(`the key from ${source} contains characters that are not allowed in a header`);
}

function firstLine(file: string): string {
  try {
    return readFileSync(file, 'utf8').split('\n', 1)[0] ?? '';
  } catch (error) {
    const { code = 'unknown reason' } = error as { code?: string };
    const why = code === 'ENOENT' ? 'the file does not exist' : `cannot be read (${code})`;
    throw new CommandLineError(`--api-key-file ${file}: ${why}`);
  }
}

interface GatewayFile {
  /** Undefined if the file has no usable listen_addr. */
  readonly url: string | undefined;
  readonly stateDir: string;
}

/** Reads the file. If --config names it (`isNamed`), throws CommandLineError if the address is unusable. */
async function readGatewayFile(path: string, env: Environment, isNamed: boolean): Promise<GatewayFile> {
  const source = await readSourceFile(resolve(path));
  if (!(source instanceof SourceFile)) {
    if (isNamed) throw new CommandLineError(`${path}: ${source.reason}`);
    return { url: undefined, stateDir: resolve(DEFAULT_STATE_DIR) };
  }
  const reader = new SchemaReader(source, env, new SecretValues());
  const { root, problems } = parseYamlTree(source);
  const { listen_addr, state_dir } = root === undefined ? {} : readGateway(reader, root, source.path);
  const stateDir = state_dir ?? resolve(dirname(source.path), DEFAULT_STATE_DIR);
  try {
    const { host, port } = parseListenAddr(listen_addr ?? '');
    if (port !== 0) return { url: `http://${reachableHost(host)}:${port}`, stateDir };
  } catch {
    const lines = [...problems, ...reader.problems].map(formatProblem);
    if (isNamed)
      throw new CommandLineError([`${path} has no usable listen_addr; add --url`, ...lines].join('\n'));
    return { url: undefined, stateDir };
  }
  if (isNamed)
    throw new CommandLineError(
      `${path} has port 0: the log line "gateway is ready" has the address for --url`,
    );
  return { url: undefined, stateDir };
}

/** Returns the host to connect to: loopback for a gateway that listens on all addresses. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
