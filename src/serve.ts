// Runs the gateway: loads the configuration, composes and starts the program, and stops it on a signal or an
// internal error.

import type { Log } from '../actors/base/errors/log.ts';
import { urlOf } from '../config/gateway-file/listen-addr.ts';
import { type LoadedConfig, loadTarget } from '../config/load-config.ts';
import { ConfigError, formatProblem, type Problem } from '../config/reader/problem.ts';
import type { CliOptions } from './cli/options.ts';
import { print, printMessage } from './cli/views/output.ts';
import { printProblems } from './cli/views/problem-lines.ts';
import { compose, type Program, type RunningProgram } from './compose.ts';
import { terminalHangup } from './terminal-hangup.ts';
import { version } from './version.ts';
import { stopYoungGenerationGrowth } from './young-generation.ts';

/** Time beyond the shutdown deadline after which the process exits. */
const LAST_RESORT_MS = 5_000;

/**
 * Signals within this time count as one: under `npm start`, a single Ctrl-C arrives from the terminal and
 * from npm.
 */
const SAME_SIGNAL_MS = 300;

/** Starts the gateway. Returns an exit code if the start failed; undefined as soon as it is ready. */
export async function serve(options: CliOptions): Promise<number | undefined> {
  stopYoungGenerationGrowth();
  const { target, listen } = options;
  const warnings: Problem[] = [];
  let loaded: LoadedConfig;
  let program: Program;
  try {
    loaded = await loadTarget(target, process.env, { hasTriggers: true, isListening: true, listen });
    warnings.push(...loaded.warnings);
    program = await compose(loaded, options);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printProblems([...warnings, ...error.problems]);
    return 2;
  }
  const { config, redactor, life, log } = program;
  for (const warning of warnings) log.warn({}, formatProblem(warning));
  const stop = stopOnSignalOrFault(program);
  const started = program.start();
  const isTerminalClosed = terminalHangup();
  process.on('SIGHUP', () => {
    // A reload requires the started servers. Reload errors are logged elsewhere.
    if (isTerminalClosed()) stop('the terminal was closed');
    else started.then(reloadOnSignal).catch(() => {});
  });
  let running: RunningProgram;
  try {
    running = await started;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    const text = `the gateway could not start: ${message}`;
    log.error({ code }, text);
    // The operator needs the reason even if logging is off.
    if (['fatal', 'silent'].includes(config.log_level)) printMessage(redactor.redact(text));
    return 1;
  }
  await greet(running, log);
  life.onFailed((error) => {
    log.error({ reason: (error as Error).message }, 'the gateway has failed');
    process.exit(1);
  });
  return undefined;
}

/** Reloads the configuration. Programs that rename the audit file send this signal, too. */
async function reloadOnSignal({ gateway: { audit }, reloads }: RunningProgram): Promise<void> {
  await audit?.reopen();
  let outcome = 'refused';
  try {
    await reloads.request();
    outcome = 'ok';
  } finally {
    audit?.record({ principal: 'gateway', action: 'admin/reload', target: 'SIGHUP', outcome });
  }
}

/**
 * Stops the program on a signal, an uncaught exception or an unhandled rejection, and exits the process.
 * Returns a function that does this for a different reason.
 */
function stopOnSignalOrFault({ config, life, log }: Program): (why: string) => void {
  const { shutdown_seconds } = config;
  let stopping: Promise<void> | undefined;
  function stop(why: string): Promise<void> {
    if (stopping !== undefined) return stopping;
    log.info({ why, shutdown_seconds }, 'stopping');
    const lastResort = setTimeout(
      () => {
        log.error({}, 'shutdown timed out');
        process.exit(1);
      },
      shutdown_seconds * 1000 + LAST_RESORT_MS,
    );
    stopping = life.stop().then(() => {
      clearTimeout(lastResort);
      log.info({ dead_letters: life.deadLetters }, 'stopped');
    });
    return stopping;
  }

  function stopAfterFault(message: string, error: unknown): void {
    log.error({ reason: String((error as Error)?.stack ?? error) }, message);
    void stop(message).then(() => process.exit(1));
  }
  process.on('uncaughtException', (error) => stopAfterFault('uncaught exception', error));
  process.on('unhandledRejection', (error) => stopAfterFault('unhandled rejection', error));

  const stopAndExit = (why: string) => void stop(why).then(() => process.exit());

  let signalledAt = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      const sinceMs = performance.now() - signalledAt;
      signalledAt = performance.now();
      if (stopping === undefined) stopAndExit(signal);
      else if (sinceMs > SAME_SIGNAL_MS) {
        log.warn({ why: signal }, 'second signal: exiting without a graceful shutdown');
        life.kill();
        process.exit(1);
      }
    });
  }
  return stopAndExit;
}

/** Logs that the gateway is ready. Prints the banner if a person is likely to read it. */
async function greet({ gateway, front, triggers }: RunningProgram, log: Log): Promise<void> {
  const { address, kind } = front;
  const automation = triggers?.automation;
  if (hasReader()) {
    // The link contains a secret, which must not get into a log file.
    const isTerminal = process.stdout.isTTY || process.stderr.isTTY;
    const { banner } = await import('./cli/views/banner.ts');
    const { gatewayCommandLine } = await import('./cli/gateway-command-line.ts');
    const greeting = banner(gateway, {
      address,
      kind,
      hasInspector: front.hasInspector,
      link: isTerminal ? front.createEntryLink() : undefined,
      triggers: automation?.operator.listTriggers() ?? [],
      targets: automation?.operator.loadedTargets ?? { agents: [], fleets: [], flows: [] },
      command: await gatewayCommandLine(urlOf(address), process.env),
    });
    if (process.stdout.isTTY) void print(`${greeting}\n`);
    else printMessage(greeting);
  }
  const servers = gateway.mcp.servers.all().length;
  log.info(
    { address, http: kind, servers, triggers: automation?.triggers.all().length, version },
    'gateway is ready',
  );
}

/** Returns true on a terminal and under `npm start`, whose stdout is not a terminal. */
function hasReader(): boolean {
  return process.stdout.isTTY || process.env.npm_lifecycle_event === 'start';
}
