// gateway-stdio, also as a command of the whole program: the gateway for one client, which talks to it on stdin and stdout. With
// --config or --catalog it runs the servers of a catalog in this process, beside any other gateway on the same state
// folder: it takes no lock and opens no listener. With --url it is the same program over a catalog of one remote server.
//
// It stops within STOP_SECONDS of the end of stdin, SIGTERM, SIGINT, SIGHUP or EPIPE on stdout, and exits with 0.

import { Console } from 'node:console';
import { Redactor } from '../../actors/base/errors/redact.ts';
import { Gateway } from '../../actors/gateway/gateway.ts';
import { Life } from '../../actors/gateway/life.ts';
import { BRIDGED, bridgeTo } from '../../config/catalog/bridge.ts';
import { type Loaded, loadTarget } from '../../config/load-config.ts';
import { ConfigError, formatProblem } from '../../config/reader/problem.ts';
import type { Environment } from '../../config/reader/substitute.ts';
import { KEY_VARIABLE, readKeyFile, UsageError } from '../cli/api/target-options.ts';
import { hintFor } from '../cli/api/unknown-name.ts';
import { desktopEntry } from '../cli/commands/print-config.ts';
import { parseStdioOptions, type StdioOptions, type StdioTarget } from '../cli/stdio-options.ts';
import { complain } from '../cli/views/output.ts';
import { printProblems } from '../cli/views/problem-lines.ts';
import { createLog } from '../log.ts';
import { version } from '../version.ts';
import { StdioFront } from './stdio-front.ts';

/**
 * One second for calls in flight, and 2.5 for processes that do not end by themselves. Clients built on the public
 * SDK send SIGKILL four seconds after they have closed our stdin.
 */
const STOP_SECONDS = 3.5;

/** Whatever still hangs then is a fault. */
const LAST_RESORT_MS = 400;

/** Ctrl-C reaches a group of processes, and some parents pass it on as well. */
const SAME_SIGNAL_MS = 300;

type RemoteTarget = Extract<StdioTarget, { readonly url: string }>;

interface Program {
  readonly loaded: Pick<Loaded, 'config' | 'catalog' | 'secrets'>;
  readonly warnings: readonly string[];
  readonly state: 'shared' | 'none';
  readonly server: string | undefined;
  readonly profile?: string | undefined;
}

/**
 * Runs until the client has left, and ends the process then; gives the exit code where there is nothing to run.
 * `script` is what starts this program again: the path of a file, and the words that belong to it.
 */
export async function runStdio(
  args: readonly string[],
  script: readonly string[],
): Promise<number | undefined> {
  // stdout is the protocol's, whatever a package may want to print.
  globalThis.console = new Console(process.stderr, process.stderr);
  const parsed = parseStdioOptions(args);
  if (parsed.do === 'exit') return parsed.code;
  try {
    return await prepared(parsed.options, script);
  } catch (error) {
    if (error instanceof UsageError) complain(`gateway-stdio: ${error.message}`);
    else if (error instanceof ConfigError) printProblems(error.problems);
    else throw error;
    return 2;
  }
}

async function prepared(
  { target, isPrintConfig }: StdioOptions,
  script: readonly string[],
): Promise<number | undefined> {
  const { program, files } = await read(target);
  if (program === undefined) return 2;
  if (!isPrintConfig) return run(program);
  for (const warning of program.warnings) complain(`gateway-stdio: warning: ${warning}`);
  process.stdout.write(desktopEntry(target, script, files));
  return 0;
}

/** What is wrong with the target has been printed when there is no program. Throws ConfigError. */
async function read(target: StdioTarget): Promise<{ program?: Program; files: readonly string[] }> {
  if ('url' in target) {
    const loaded = bridgeTo(target.url, headersOf(target), environmentOf(target));
    if (!('problems' in loaded))
      return { program: { loaded, warnings: loaded.warnings, state: 'none', server: BRIDGED }, files: [] };
    for (const problem of loaded.problems) complain(`gateway-stdio: ${problem}`);
    return { files: [] };
  }
  const loaded = await loadTarget(target, givenEnvironment(), { defaultIsolation: 'session' });
  const { server, profile } = target;
  const ids = Object.keys(loaded.catalog.servers);
  const profiles = Object.keys(loaded.config.profiles);
  if (server !== undefined && !ids.includes(server)) {
    complain(
      `gateway-stdio: --server: there is no server ${JSON.stringify(server)}; ${hintFor(server, ids)}`,
    );
    return { files: [] };
  }
  if (profile !== undefined && !profiles.includes(profile)) {
    const advice = profiles.length === 0 ? 'the gateway file has no profiles' : hintFor(profile, profiles);
    complain(`gateway-stdio: --profile: there is no profile ${JSON.stringify(profile)}; ${advice}`);
    return { files: [] };
  }
  const warnings = loaded.warnings.map(formatProblem);
  return {
    program: { loaded, warnings, state: 'shared', server, profile },
    files: [loaded.configPath, loaded.catalogPath].filter((path) => path !== ''),
  };
}

/** The key goes the way of every other: as a variable, whose value is kept out of logs. */
function headersOf({ headers, keyFile, keyVariable }: RemoteTarget): RemoteTarget['headers'] {
  const variable = keyFile === undefined ? keyVariable : KEY_VARIABLE;
  return variable === undefined ? headers : { ...headers, 'X-API-Key': `\${${variable}}` };
}

function environmentOf({ keyFile }: RemoteTarget): Environment {
  const given = givenEnvironment();
  return keyFile === undefined ? given : { ...given, [KEY_VARIABLE]: readKeyFile(keyFile) };
}

/** A reference that the client was to replace in its configuration file, and has passed on as it was, is no value. */
function givenEnvironment(): Environment {
  const given = Object.entries(process.env).filter(([name, value]) => value !== `\${${name}}`);
  return Object.fromEntries(given);
}

async function run({ loaded, warnings, state, server, profile }: Program): Promise<number | undefined> {
  const { catalog, secrets } = loaded;
  const { learn = 'at_start' } = loaded.config;
  // The front knows the one client, in whose name it has servers started.
  const config = { ...loaded.config, shutdown_seconds: STOP_SECONDS, learn: 'on_demand' as const };
  const redactor = new Redactor([]);
  const log = await createLog({ level: config.log_level, fd: 2, redactor });
  const life = new Life(STOP_SECONDS * 1000);
  for (const warning of warnings) log.warn({}, warning);

  process.on('uncaughtException', (error) => fault('uncaught exception', error));
  process.on('unhandledRejection', (error) => fault('unhandled rejection', error));
  function fault(what: string, error: unknown): void {
    log.error({ reason: String((error as Error)?.stack ?? error) }, what);
    atOnce();
  }

  function atOnce(): void {
    life.kill();
    process.exit(1);
  }

  const started = life.start(async () => {
    const gateway = await Gateway.boot({
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
          // A single server is learnt by its own requests.
          isLearning: server === undefined && learn === 'at_start',
          onEnd: (error) => {
            if (error !== undefined)
              log.error({ reason: error.message }, 'the client does not read what it is sent');
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
        log.error({}, 'the drain did not end in time');
        atOnce();
      },
      STOP_SECONDS * 1000 + LAST_RESORT_MS,
    );
    void life
      .stop()
      .then(() => started)
      // If the start failed, there is no output.
      .then(
        ({ front }) => front.flush(),
        () => {},
      )
      .then(() => {
        log.info({ dead_letters: life.deadLetters }, 'stopped');
        process.exit(code);
      });
  }

  let signalledAt: number | undefined;
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => {
      const before = signalledAt;
      signalledAt = performance.now();
      // The first one after the end of stdin only means that the client grows impatient.
      if (before === undefined && isStopping) started.then(({ front }) => front.cutShort()).catch(() => {});
      else if (before === undefined) end(signal, 0);
      else if (signalledAt - before > SAME_SIGNAL_MS) atOnce();
    });
  }

  const { gateway } = await started;
  log.info({ servers: gateway.mcp.servers.all().length, version }, 'gateway is ready');
  life.whenFailed((error) => {
    log.error({ reason: (error as Error).message }, 'the gateway has failed');
    process.exit(1);
  });
  return undefined;
}
