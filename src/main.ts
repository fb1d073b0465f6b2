#!/usr/bin/env node
// actor-gateway, also by the name of gateway-http: reads the configuration, starts the gateway with its HTTP front, and
// obeys signals. Named with a command it asks a gateway that runs instead.

import { fileURLToPath } from 'node:url';
import type { ClusterPart } from '../actors/cluster/cluster-part.ts';
import { Gateway } from '../actors/gateway/gateway.ts';
import type { OpenStore } from '../actors/store/store-part.ts';
import { urlOf } from '../config/gateway-file/listen-addr.ts';
import { resourceFolders } from '../config/gateway-file/resource-folders.ts';
import { type Loaded, loadTarget } from '../config/load-config.ts';
import { ConfigError, formatProblem } from '../config/reader/problem.ts';
import type { Automated } from './automate.ts';
import { type CliOptions, parseOptions } from './cli/options.ts';
import { complain, print } from './cli/views/output.ts';
import { printProblems } from './cli/views/problem-lines.ts';
import { ConfigurationFiles } from './configuration-files.ts';
import { Front } from './http/front.ts';
import type { NodesFront } from './http/nodes/nodes-front.ts';
import { createLog } from './log.ts';
import { addOwnPrograms } from './own-programs.ts';
import { Reloads } from './reloads.ts';
import { version } from './version.ts';

/** Beyond the deadline of the drain: whatever still hangs then is a fault. */
const LAST_RESORT_MS = 5_000;

/** Ctrl-C under `npm start` comes twice, from the terminal and from npm; a person's second one comes later. */
const SAME_SIGNAL_MS = 300;

async function main(): Promise<number | undefined> {
  addOwnPrograms(process.env);
  const [first, ...rest] = process.argv.slice(2);
  if (first === 'stdio') {
    const { runStdio } = await import('./stdio/run-stdio.ts');
    return runStdio(rest, [fileURLToPath(import.meta.url), 'stdio']);
  }
  if (first !== undefined && !first.startsWith('-')) {
    // Only when one is named: the plain form starts without them.
    const { runCommand } = await import('./cli/commands/run-command.ts');
    return runCommand(first, rest, version);
  }
  const parsed = parseOptions(process.argv.slice(2), version);
  if (parsed.do === 'exit') return parsed.code;
  const { options } = parsed;
  if (options.isCheck) {
    const { check } = await import('./cli/commands/check.ts');
    return check(options);
  }

  const { target, listen } = options;
  let loaded: Loaded;
  try {
    loaded = await loadTarget(target, process.env, { hasTriggers: true, isListening: true, listen });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printProblems(error.problems);
    return 2;
  }
  return run(loaded, options);
}

/** Its code is loaded with the first store that is opened. */
const openStore: OpenStore = async (config, host) => {
  const { openStore: open } =
    config.store.postgres === undefined
      ? await import('../actors/store/open-store.ts')
      : await import('../actors/store/postgres/open-store.ts');
  return open(config, host);
};

/** Undefined where the store is this gateway's own: then the code of clusters is not even loaded. */
async function clusterOf({ store, node }: Loaded['config']): Promise<ClusterPart | undefined> {
  if (store.postgres === undefined) return undefined;
  const { ClusterPart } = await import('../actors/cluster/cluster-part.ts');
  return new ClusterPart({ version, node });
}

/** Undefined without a folder of triggers or agents: then their code is not even loaded. */
async function automationOf(
  config: Loaded['config'],
  files: ConfigurationFiles,
  front: Front,
  addSecrets: (secrets: readonly string[]) => void,
): Promise<Automated | undefined> {
  if (resourceFolders(config.spec).length === 0) return undefined;
  const { automate } = await import('./automate.ts');
  return automate({ config, files, front, addSecrets });
}

/** Undefined where no other node can reach this one: then their code is not even loaded. */
async function nodesOf({ store, node }: Loaded['config'], front: Front): Promise<NodesFront | undefined> {
  if (store.postgres === undefined || node.address === undefined) return undefined;
  const { NodesFront: Nodes } = await import('./http/nodes/nodes-front.ts');
  front.nodes = new Nodes(front);
  return front.nodes;
}

async function run(loaded: Loaded, { target, listen }: CliOptions): Promise<number | undefined> {
  const { config, catalog, secrets } = loaded;
  // The logger is there before the gateway, whose redactor it uses.
  let redact = (line: string) => line;
  const log = await createLog({ level: config.log_level, fd: 1, redact: (line) => redact(line) });
  const addressSetting = listen === undefined ? undefined : '--listen';
  const front = new Front({ reload: () => reloads.ask(), addressSetting });
  const triggerSecrets: string[] = [];
  let addSecrets = (values: readonly string[]): void => void triggerSecrets.push(...values);
  const files = new ConfigurationFiles(loaded, () => loadTarget(target, process.env, { listen }));
  let automated: Automated | undefined;
  try {
    automated = await automationOf(config, files, front, (values) => addSecrets(values));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printProblems([...loaded.warnings, ...error.problems]);
    return 2;
  }
  const automation = automated?.automation;
  const nodes = await nodesOf(config, front);
  const gateway = new Gateway({
    config,
    catalog,
    secrets: [...secrets, ...triggerSecrets],
    log,
    version,
    environment: process.env,
    openStore,
    cluster: await clusterOf(config),
    parts: [nodes, automation, front].filter((part) => part !== undefined),
    prints: loaded.prints,
  });
  front.attach(gateway);
  automation?.attach(gateway);
  redact = (line) => gateway.redactor.redact(line);
  addSecrets = (values) => gateway.redactor.add(...values);
  for (const warning of loaded.warnings) log.warn({}, formatProblem(warning));

  const reloads = new Reloads({
    files,
    applyCatalog: (next) => {
      for (const warning of next.warnings) log.warn({}, formatProblem(warning));
      // Profiles are taken over.
      if (JSON.stringify({ ...next.config, profiles: config.profiles }) !== JSON.stringify(config)) {
        log.warn(
          {},
          'the gateway file has changed too; its settings need a restart, only catalog, profiles and triggers were reloaded',
        );
      }
      // The other settings of the gateway file are not taken over.
      const { catalog: catalogPrint, profiles } = next.prints;
      const prints = { catalog: catalogPrint, profiles };
      return gateway.reload(next.catalog, next.secrets, next.config.profiles, prints);
    },
    triggers: automated,
    isStopping: () => gateway.isDraining,
    log,
  });

  process.on('uncaughtException', (error) => fault('uncaught exception', error));
  process.on('unhandledRejection', (error) => fault('unhandled rejection', error));
  function fault(what: string, error: unknown): void {
    log.error({ reason: String((error as Error)?.stack ?? error) }, what);
    void stop(what).then(() => process.exit(1));
  }

  let stopping: Promise<void> | undefined;
  function stop(why: string): Promise<void> {
    if (stopping !== undefined) return stopping;
    log.info({ why, shutdown_seconds: config.shutdown_seconds }, 'stopping');
    const lastResort = setTimeout(
      () => {
        log.error({}, 'the drain did not end in time');
        process.exit(1);
      },
      config.shutdown_seconds * 1000 + LAST_RESORT_MS,
    );
    stopping = gateway.stop().then(() => {
      clearTimeout(lastResort);
      log.info({ dead_letters: gateway.deadLetters }, 'stopped');
    });
    return stopping;
  }

  let signalledAt = 0;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      const sinceMs = performance.now() - signalledAt;
      signalledAt = performance.now();
      if (stopping === undefined) void stop(signal).then(() => process.exit());
      else if (sinceMs > SAME_SIGNAL_MS) {
        log.warn({ why: signal }, 'a second signal: everything is ended at once');
        gateway.kill();
        process.exit(1);
      }
    });
  }
  process.on('SIGHUP', () => {
    // One that comes early waits: until its servers are there nothing can be compared. What is wrong stands in the log.
    started.then(() => reloads.ask()).catch(() => {});
  });

  const started = gateway.start();
  try {
    await started;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    const text = `the gateway could not start: ${message}`;
    log.error({ code }, text);
    // Whoever wants no log wants to know all the same why nothing runs.
    if (['fatal', 'silent'].includes(config.log_level)) complain(gateway.redactor.redact(text));
    return 1;
  }
  const { address, kind } = front;
  if (address !== undefined && hasReader()) {
    // Links are for terminals only: a log file would keep them.
    const isTerminal = process.stdout.isTTY || process.stderr.isTTY;
    const { banner } = await import('./cli/views/banner.ts');
    const { reachingCommand } = await import('./cli/reaching-command.ts');
    const greeting = banner(gateway, {
      address,
      kind: kind ?? '',
      hasInspector: front.hasInspector,
      link: isTerminal ? front.openLink() : undefined,
      triggers: automation?.operator.shownTriggers() ?? [],
      command: await reachingCommand(urlOf(address), process.env),
    });
    if (process.stdout.isTTY) void print(`${greeting}\n`);
    else complain(greeting);
  }
  const triggers = automation?.triggers.all().length;
  log.info(
    { address, http: kind, servers: gateway.servers.all().length, triggers, version },
    'gateway is ready',
  );

  gateway.whenFailed((error) => {
    log.error({ reason: (error as Error).message }, 'the gateway has failed');
    process.exit(1);
  });
  return undefined;
}

/** Whether people are greeted: on a terminal, and under `npm start`, where the log lines on stdout stay JSON for whoever reads them. */
function hasReader(): boolean {
  return process.stdout.isTTY || process.env.npm_lifecycle_event === 'start';
}

const code = await main().catch((error: unknown) => {
  complain(error);
  return 1;
});
if (code !== undefined) process.exit(code);
