// Command target: a running gateway's address and key.
// The default key is the operator token in the gateway's state folder (operator-key.ts).
//
// The key is never an argument: whoever may list the processes of the machine would see it (A9). The file of --config
// is read for its address alone, since whoever asks seldom has the variables that the rest of it needs. Without --url and
// --config the gateway file of this folder has the address, as it has for a gateway that is started here.

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
import { seconds } from '../option-values.ts';
import { USUAL_CONFIG } from '../options.ts';
import type { Target } from './api-client.ts';
import { findOperatorKey, requestStateFolder } from './operator-key.ts';

export interface TargetOptions {
  readonly url?: string;
  readonly config?: string;
  readonly apiKeyFile?: string;
  /** Seconds. */
  readonly timeout?: number;
}

/** The command line is wrong, or what it names cannot be used: exit code 2. */
export class UsageError extends Error {}

export const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Where a key is looked for that no file is named for. */
export const KEY_VARIABLE = 'GATEWAY_API_KEY';

const targetHelp = `
The address is --url, else listen_addr of the file of --config, else that of ./${USUAL_CONFIG} where there is one, else
${DEFAULT_URL}. A key is taken from --api-key-file, else from the environment variable GATEWAY_API_KEY, which may
stand in .env beside that file. Without either the command uses the operator token of a gateway on this
machine, if it may read the token's file.

Exit codes: 0 done, 1 it failed, 2 wrong usage`;

/** Declares the options of a command that sends requests to a running gateway, and explains them after its own help. */
export function declareTarget(command: Command, timeoutSeconds: number, moreExitCodes = ''): void {
  declareGateway(command, timeoutSeconds, 'config').addHelpText('after', targetHelp + moreExitCodes);
}

/** Declares the same options for a command that reads more of the gateway file than its address. */
export function declareGateway(
  command: Command,
  timeoutSeconds: number,
  ...excluded: readonly string[]
): Command {
  refuseBareKey(command);
  return command
    .addOption(new Option('--url <address>', 'where the gateway listens').conflicts([...excluded]))
    .option('-c, --config <file>', 'take the address from this gateway configuration (YAML)')
    .option('--api-key-file <file>', 'file with the key on its first line')
    .option(
      '--timeout <seconds>',
      `longest wait for an answer (default: ${timeoutSeconds})`,
      seconds(0.1, 3600),
    );
}

/** Refuses a key on the command line with the reason. The value is not repeated. */
export function refuseBareKey(command: Command): void {
  command
    .addOption(new Option('--api-key [key]').hideHelp())
    .on('option:api-key', () =>
      command.error(
        'error: a key on the command line is shown to everybody who lists processes; ' +
          'put it into a file (--api-key-file FILE) or into GATEWAY_API_KEY',
      ),
    );
}

/** Default `state_dir`, relative to the gateway file. */
const USUAL_STATE_DIR = '.gateway';

/** Throws UsageError for an address or a file that cannot be used. */
export async function readTarget(written: TargetOptions, env: NodeJS.ProcessEnv): Promise<Target> {
  const { url: text, config, apiKeyFile } = written;
  const usual = existsSync(USUAL_CONFIG) ? USUAL_CONFIG : undefined;
  const file = config ?? usual;
  const environment = file === undefined ? env : (await environmentBeside(resolve(file), env)).environment;
  const read =
    file === undefined ? undefined : await readGatewayFile(file, environment, config !== undefined);
  const url = readUrl(text ?? read?.url ?? DEFAULT_URL);
  // The .env file applies to the gateway file in the same folder.
  const key = readKey(apiKeyFile, text === undefined ? environment : env);
  return {
    url,
    ...(text === undefined ? { source: sourceOf(config, read) } : {}),
    key: key ?? (await findTokenFor(url, read?.stateDir ?? resolve(USUAL_STATE_DIR))),
  };
}

/** `stateDir` counts if the gateway at `url` does not name its own. */
async function findTokenFor(url: URL, stateDir: string): Promise<Target['key']> {
  return findOperatorKey(url, (await requestStateFolder(url)) ?? stateDir);
}

/** The default file may lack an address. */
function sourceOf(config: string | undefined, read: GatewayFile | undefined): string {
  if (read === undefined) return 'the default';
  const name = config ?? `./${USUAL_CONFIG}`;
  return read.url === undefined ? `the default: ${name} has no usable listen_addr` : `listen_addr of ${name}`;
}

function readUrl(text: string): URL {
  const isHttp = /^https?:\/\/[^/]/i.test(text) && URL.canParse(text);
  if (!isHttp) throw new UsageError(`--url expects an address such as ${DEFAULT_URL}`);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw new UsageError('--url takes no user and password; the key has its own ways, see --help');
  url.search = '';
  url.hash = '';
  return url;
}

function readKey(file: string | undefined, env: Environment): Target['key'] {
  if (file !== undefined) return { value: readKeyFile(file), source: file };
  const value = (env[KEY_VARIABLE] ?? '').trim();
  return value === '' ? undefined : { value: sendable(value, KEY_VARIABLE), source: KEY_VARIABLE };
}

/** The key on the first line of a file. Throws UsageError for one that cannot be used. */
export function readKeyFile(file: string): string {
  const value = firstLine(file).trim();
  if (value === '') throw new UsageError(`--api-key-file ${file}: it has no key on its first line`);
  return sendable(value, file);
}

function sendable(value: string, source: string): string {
  if (/^[ -~]+$/.test(value)) return value;
  throw new UsageError(`the key from ${source} has characters that cannot be sent in a header`);
}

function firstLine(file: string): string {
  try {
    return readFileSync(file, 'utf8').split('\n', 1)[0] ?? '';
  } catch (error) {
    const { code = 'unknown reason' } = error as { code?: string };
    const why = code === 'ENOENT' ? 'the file does not exist' : `cannot be read (${code})`;
    throw new UsageError(`--api-key-file ${file}: ${why}`);
  }
}

interface GatewayFile {
  /** Undefined if no address is usable. */
  readonly url: string | undefined;
  readonly stateDir: string;
}

/** Throws UsageError if the named file has no address. */
async function readGatewayFile(path: string, env: Environment, isNamed: boolean): Promise<GatewayFile> {
  const source = await readSourceFile(resolve(path));
  if (!(source instanceof SourceFile)) {
    if (isNamed) throw new UsageError(`${path}: ${source.reason}`);
    return { url: undefined, stateDir: resolve(USUAL_STATE_DIR) };
  }
  const reader = new SchemaReader(source, env, new SecretValues());
  const { root, problems } = parseYamlTree(source);
  const { listen_addr, state_dir } = root === undefined ? {} : readGateway(reader, root, source.path);
  const stateDir = state_dir ?? resolve(dirname(source.path), USUAL_STATE_DIR);
  try {
    const { host, port } = parseListenAddr(listen_addr ?? '');
    if (port !== 0) return { url: `http://${hostOf(host)}:${port}`, stateDir };
  } catch {
    const found = [...problems, ...reader.problems].map(formatProblem);
    if (isNamed) throw new UsageError([`${path} has no usable listen_addr; give --url`, ...found].join('\n'));
    return { url: undefined, stateDir };
  }
  if (isNamed)
    throw new UsageError(`${path} has port 0: the log line "gateway is ready" has the address for --url`);
  return { url: undefined, stateDir };
}

/** Who listens on every address is reached on loopback. */
function hostOf(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
