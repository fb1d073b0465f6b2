// Runs gateway-stdio (also `actor-gateway stdio`): the gateway for one client on stdin and stdout. With
// --config or --catalog this process starts the servers itself. The state folder is not locked, so other
// gateways may use the same folder. With --url, the catalog consists of one remote server.
//
// It stops within STOP_SECONDS and exits with 0 when stdin closes, on SIGTERM, SIGINT and SIGHUP, and on
// EPIPE at stdout.

import { Console } from 'node:console';
import { Redactor } from '../../actors/base/errors/redact.ts';
import { GatewayRuntime } from '../../actors/gateway/gateway.ts';
import { Life } from '../../actors/gateway/life.ts';
import { BRIDGED, bridgeTo } from '../../config/catalog/bridge.ts';
import { type LoadedConfig, loadTarget } from '../../config/load-config.ts';
import { ConfigError, formatProblem } from '../../config/reader/problem.ts';
import type { Environment } from '../../config/reader/substitute.ts';
import { CommandLineError, KEY_VARIABLE, readKeyFile } from '../cli/api/target-options.ts';
import { hintFor } from '../cli/api/unknown-name.ts';
import { desktopEntry } from '../cli/commands/print-config.ts';
import { parseStdioOptions, type StdioOptions, type StdioTarget } from '../cli/stdio-options.ts';
import { printMessage } from '../cli/views/output.ts';
import { printProblems } from '../cli/views/problem-lines.ts';
import { createLog } from '../log.ts';
import { version } from '../version.ts';
import { StdioFront } from './stdio-front.ts';

/**
 * Shutdown limit: 0.7 seconds for calls in flight, and 2.5 to terminate processes that do not exit on
 * their own. Clients built on the public SDK send SIGKILL four seconds after closing stdin.
 */
const STOP_SECONDS = 3.2;

/** Time beyond the deadline after which the process is killed. */
const LAST_RESORT_MS = 700;

/** Signals within this time count as one: Ctrl-C reaches the process group, and some parents forward it. */
const SAME_SIGNAL_MS = 300;

type RemoteStdioTarget = Extract<StdioTarget, { readonly url: string }>;

interface StdioProgram {
  readonly loaded: Pick<LoadedConfig, 'config' | 'catalog' | 'secrets'>;
  readonly warnings: readonly string[];
  /**
   * Use of the state folder: shared with other processes, or none for a catalog with only a remote server.
   */
  readonly state: 'shared' | 'none';
  /** Server whose tools are offered under their own names; undefined for all servers. */
  readonly server: string | undefined;
  readonly profile?: string | undefined;
}

/**
 * Starts the gateway, and returns undefined as soon as it is ready; the process exits when the client
 * disconnects. Returns an exit code if the arguments or files are invalid, and for --print-config. `script`
 * is the command that starts this program again (a path and the first arguments), for the printed
 * configuration.
 */
export async function runStdio(
  args: readonly string[],
  script: readonly string[],
): Promise<number | undefined> {
  // Stdout is reserved for the protocol.
  globalThis.console = new Console(process.stderr, process.stderr);
  const parsed = parseStdioOptions(args);
  if (parsed.do === 'exit') return parsed.code;
  try {
    return await runOrPrint(parsed.options, script);
  } catch (error) {
    if (error instanceof CommandLineError) printMessage(`gateway-stdio: ${error.message}`);
    else if (error instanceof ConfigError) printProblems(error.problems);
    else throw error;
    return 2;
  }
}

/** With --print-config, prints the entry for a client's configuration file; otherwise starts the gateway. */
async function runOrPrint(
  { target, shouldPrintConfig }: StdioOptions,
  script: readonly string[],
): Promise<number | undefined> {
  const { program, files } = await loadProgram(target);
  if (program === undefined) return 2;
  if (!shouldPrintConfig) return run(program);
  for (const warning of program.warnings) printMessage(`gateway-stdio: warning: ${warning}`);
  process.stdout.write(desktopEntry(target, script, files));
  return 0;
}

/**
 * Loads the configuration. If the arguments are invalid, prints the problems and returns no program. `files`
 * are the paths of the loaded files. Throws ConfigError.
 */
async function loadProgram(
  target: StdioTarget,
): Promise<{ program?: StdioProgram; files: readonly string[] }> {
  if ('url' in target) {
    const loaded = bridgeTo(target.url, headersOf(target), environmentOf(target));
    if (!('problems' in loaded))
      return { program: { loaded, warnings: loaded.warnings, state: 'none', server: BRIDGED }, files: [] };
    for (const problem of loaded.problems) printMessage(`gateway-stdio: ${problem}`);
    return { files: [] };
  }
  const loaded = await loadTarget(target, substitutedEnvironment(), { defaultIsolation: 'session' });
  const { server, profile } = target;
  const ids = Object.keys(loaded.catalog.servers);
  const profiles = Object.keys(loaded.config.profiles);
  if (server !== undefined && !ids.includes(server)) {
    printMessage(
      `gateway-stdio: --server: there is no server ${JSON.stringify(server)}; ${hintFor(server, ids)}`,
    );
    return { files: [] };
  }
  if (profile !== undefined && !profiles.includes(profile)) {
    const advice = profiles.length === 0 ? 'the gateway file has no profiles' : hintFor(profile, profiles);
    printMessage(`gateway-stdio: --profile: there is no profile ${JSON.stringify(profile)}; ${advice}`);
    return { files: [] };
  }
  const warnings = loaded.warnings.map(formatProblem);
  return {
    program: { loaded, warnings, state: 'shared', server, profile },
    files: [loaded.configPath, loaded.catalogPath].filter((path) => path !== ''),
  };
}

/** Adds the key as a variable reference, so that logs redact the value. */
function headersOf({ headers, keyFile, keyVariable }: RemoteStdioTarget): RemoteStdioTarget['headers'] {
  const variable = keyFile === undefined ? keyVariable : KEY_VARIABLE;
  return variable === undefined ? headers : { ...headers, 'X-API-Key': `\${${variable}}` };
}

function environmentOf({ keyFile }: RemoteStdioTarget): Environment {
  const variables = substitutedEnvironment();
  return keyFile === undefined ? variables : { ...variables, [KEY_VARIABLE]: readKeyFile(keyFile) };
}

/** Omits variables with the value `${NAME}`: clients that do not expand variables pass it literally. */
function substitutedEnvironment(): Environment {
  const variables = Object.entries(process.env).filter(([name, value]) => value !== `\${${name}}`);
  return Object.fromEntries(variables);
}

/** Calls `onFirst` for the first signal, and `onSecond` for later ones, except immediate repetitions. */
function watchSignals(onFirst: (signal: string) => void, onSecond: () => void): void {
  let signalledAt: number | undefined;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    process.on(signal, () => {
      const previousAt = signalledAt;
      signalledAt = performance.now();
      if (previousAt === undefined) onFirst(signal);
      else if (signalledAt - previousAt > SAME_SIGNAL_MS) onSecond();
    });
}

/** Starts the gateway and its stdio front. The handlers for signals and disconnects exit the process. */
async function run({ loaded, warnings, state, server, profile }: StdioProgram): Promise<number | undefined> {
  const { catalog, secrets } = loaded;
  const { learn = 'at_start' } = loaded.config;
  // StdioFront starts the servers, because it knows the client's session.
  const config = { ...loaded.config, shutdown_seconds: STOP_SECONDS, learn: 'on_demand' as const };
  const redactor = new Redactor([]);
  const log = await createLog({ level: config.log_level, fd: 2, redactor });
  const life = new Life(STOP_SECONDS * 1000);
  for (const warning of warnings) log.warn({}, warning);

  process.on('uncaughtException', (error) => stopAfterFault('uncaught exception', error));
  process.on('unhandledRejection', (error) => stopAfterFault('unhandled rejection', error));
  function stopAfterFault(message: string, error: unknown): void {
    log.error({ reason: String((error as Error)?.stack ?? error) }, message);
    kill();
  }

  function kill(): void {
    life.kill();
    process.exit(1);
  }

  const started = life.start(async () => {
    const gateway = await GatewayRuntime.boot({
      ...{ life, config, catalog, secrets, redactor, log, version, state },
      environment: process.env,
    });
    const front = await life.boot(
      'front',
      async () =>
        new StdioFront({
          gateway,
          input: process.stdin,
          output: process.stdout,
          server,
          profile,
          // A single server is started by the client's requests.
          isLearning: server === undefined && learn === 'at_start',
          onEnd: (error) => {
            if (error !== undefined)
              log.error({ reason: error.message }, 'the client does not read its messages');
            end('the client has left', error === undefined ? 0 : 1);
          },
        }),
    );
    return { gateway, front };
  });

  let isStopping = false;
  function end(why: string, code: number): void {
    if (isStopping) return;
    isStopping = true;
    log.info({ why, shutdown_seconds: STOP_SECONDS }, 'stopping');
    setTimeout(
      () => {
        log.error({}, 'shutdown timed out');
        kill();
      },
      STOP_SECONDS * 1000 + LAST_RESORT_MS,
    );
    void life
      .stop()
      .then(() => started)
      // After a failed start there is no output.
      .then(
        ({ front }) => front.flush(),
        () => {},
      )
      .then(() => {
        log.info({ dead_letters: life.deadLetters }, 'stopped');
        process.exit(code);
      });
  }

  watchSignals((signal) => {
    // After stdin is closed, the first signal only shortens the grace period.
    if (isStopping) started.then(({ front }) => front.cutShort()).catch(() => {});
    else end(signal, 0);
  }, kill);

  const { gateway } = await started;
  log.info({ servers: gateway.mcp.servers.all().length, version }, 'gateway is ready');
  life.onFailed((error) => {
    log.error({ reason: (error as Error).message }, 'the gateway has failed');
    process.exit(1);
  });
  return undefined;
}
