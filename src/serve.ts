// Serves a configuration: loads and composes the program, starts it, and stops it on a signal or an internal error.

import type { Log } from '../actors/base/errors/log.ts';
import { urlOf } from '../config/gateway-file/listen-addr.ts';
import { type Loaded, loadTarget } from '../config/load-config.ts';
import { ConfigError, formatProblem, type Problem } from '../config/reader/problem.ts';
import type { CliOptions } from './cli/options.ts';
import { complain, print } from './cli/views/output.ts';
import { printProblems } from './cli/views/problem-lines.ts';
import { compose, type Program, type RunningProgram } from './compose.ts';
import { version } from './version.ts';
import { stopYoungGenerationGrowth } from './young-generation.ts';

/** Time beyond the shutdown deadline after which the process exits. */
const LAST_RESORT_MS = 5_000;

/** Ctrl-C under `npm start` arrives twice, from the terminal and from npm; a second signal of the operator comes later. */
const SAME_SIGNAL_MS = 300;

/** Returns the exit code if the program could not start; undefined while it runs. */
export async function serve(options: CliOptions): Promise<number | undefined> {
  stopYoungGenerationGrowth();
  const { target, listen } = options;
  const warnings: Problem[] = [];
  let loaded: Loaded;
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
  stopOnSignals(program);
  const started = program.start();
  process.on('SIGHUP', () => {
    // A reload compares with the servers, which are there after the start. Errors are in the log.
    started.then(({ reloads }) => reloads.ask()).catch(() => {});
  });
  let running: RunningProgram;
  try {
    running = await started;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    const text = `the gateway could not start: ${message}`;
    log.error({ code }, text);
    // The reason is needed without a log as well.
    if (['fatal', 'silent'].includes(config.log_level)) complain(redactor.redact(text));
    return 1;
  }
  await greet(running, log);
  life.whenFailed((error) => {
    log.error({ reason: (error as Error).message }, 'the gateway has failed');
    process.exit(1);
  });
  return undefined;
}

/** Stops the program at a signal, and ends it after an internal error. */
function stopOnSignals({ config, life, log }: Program): void {
  const { shutdown_seconds } = config;
  let stopping: Promise<void> | undefined;
  function stop(why: string): Promise<void> {
    if (stopping !== undefined) return stopping;
    log.info({ why, shutdown_seconds }, 'stopping');
    const lastResort = setTimeout(
      () => {
        log.error({}, 'the drain did not end in time');
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

  function fault(what: string, error: unknown): void {
    log.error({ reason: String((error as Error)?.stack ?? error) }, what);
    void stop(what).then(() => process.exit(1));
  }
  process.on('uncaughtException', (error) => fault('uncaught exception', error));
  process.on('unhandledRejection', (error) => fault('unhandled rejection', error));

  let signalledAt = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      const sinceMs = performance.now() - signalledAt;
      signalledAt = performance.now();
      if (stopping === undefined) void stop(signal).then(() => process.exit());
      else if (sinceMs > SAME_SIGNAL_MS) {
        log.warn({ why: signal }, 'a second signal: everything is ended at once');
        life.kill();
        process.exit(1);
      }
    });
  }
}

/** Logs that the gateway is ready, and shows a person where to go on. */
async function greet({ gateway, front, triggers }: RunningProgram, log: Log): Promise<void> {
  const { address, kind } = front;
  const automation = triggers?.automation;
  if (hasReader()) {
    // Links are for terminals only: a log file would keep them.
    const isTerminal = process.stdout.isTTY || process.stderr.isTTY;
    const { banner } = await import('./cli/views/banner.ts');
    const { reachingCommand } = await import('./cli/reaching-command.ts');
    const greeting = banner(gateway, {
      address,
      kind,
      hasInspector: front.hasInspector,
      link: isTerminal ? front.openLink() : undefined,
      triggers: automation?.operator.shownTriggers() ?? [],
      command: await reachingCommand(urlOf(address), process.env),
    });
    if (process.stdout.isTTY) void print(`${greeting}\n`);
    else complain(greeting);
  }
  const servers = gateway.mcp.servers.all().length;
  log.info(
    { address, http: kind, servers, triggers: automation?.triggers.all().length, version },
    'gateway is ready',
  );
}

/** True on a terminal and under `npm start`, where the log lines on stdout stay JSON. */
function hasReader(): boolean {
  return process.stdout.isTTY || process.env.npm_lifecycle_event === 'start';
}
