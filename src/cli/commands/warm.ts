// `warm`: installs a catalog's servers ahead of time; no gateway has to run. Skips commands that are no
// launchers.

import type { Command } from 'commander';
import { silentLog } from '../../../actors/base/errors/log.ts';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import { Installs } from '../../../actors/mcp/installs/installs.ts';
import { ServerInstall } from '../../../actors/mcp/installs/server-install.ts';
import { gatewayEnvironment } from '../../../actors/mcp/links/stdio/child-env.ts';
import type { Catalog, StdioEntry } from '../../../config/catalog/catalog-schema.ts';
import { loadTarget } from '../../../config/load-config.ts';
import { ConfigError } from '../../../config/reader/problem.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import type { CommandModule } from '../command.ts';
import { ProgressLine } from '../mcp/progress-line.ts';
import { DEFAULT_CONFIG } from '../options.ts';
import { counted } from '../views/figures.ts';
import { print, printMessage } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';

interface Options {
  readonly config?: string;
  readonly catalog?: string;
}

const DRAW_INTERVAL_MS = 200;

const after = `
Installs with the launchers of the servers: npx, uvx, bunx, pnpm dlx, docker and podman. Without names it
installs all enabled servers. It starts no server and needs no running gateway.

Exit codes: 0 success, 1 an installation failed, 2 invalid configuration or usage`;

export const warm: CommandModule = {
  examples: ['actor-gateway warm', 'actor-gateway warm --config gateway.yaml search files'],
  declare: (command: Command) =>
    command
      .argument('[servers...]', 'ids of servers')
      .option('-c, --config <file>', `gateway configuration (YAML) (default: ./${DEFAULT_CONFIG})`)
      .option('--catalog <file>', "catalog, or a client's file, in place of a gateway configuration")
      .addHelpText('after', after),
  run: async (command) => {
    try {
      return await installServers(command.args, command.opts<Options>());
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      printProblems(error.problems);
      return 2;
    }
  },
};

async function installServers(names: readonly string[], { config, catalog: file }: Options): Promise<number> {
  const target = file === undefined ? { config: config ?? DEFAULT_CONFIG } : { catalog: file };
  const { config: settings, catalog, secrets } = await loadTarget(target, process.env);
  const environment = gatewayEnvironment(process.env, settings);
  const redactor = new Redactor(secrets);
  const installs = new Installs(silentLog, redactor);
  process.once('SIGINT', () => void installs.close());
  process.once('SIGTERM', () => void installs.close());
  const progress = new WarmProgress();
  const failures: string[] = [];
  await Promise.all(
    selected(catalog, names).map(async ([server, entry]) => {
      const install = new ServerInstall({ server, entry, environment, installs });
      const whenInstalled = install.ensure();
      if (whenInstalled === undefined) return;
      progress.add(server, install);
      await whenInstalled.catch((error: Error) => failures.push(redactor.redact(error.message)));
      progress.remove(server);
    }),
  );
  progress.close();
  for (const message of failures) printMessage(printable(message));
  await print(`installed ${counted(progress.total - failures.length, 'server')}\n`);
  return failures.length === 0 ? 0 : 1;
}

/** Returns the local servers to install. Throws CommandLineError if a name is unknown. */
function selected({ servers }: Catalog, names: readonly string[]): [string, StdioEntry][] {
  for (const name of names)
    if (!Object.hasOwn(servers, name))
      throw new CommandLineError(
        `there is no server ${JSON.stringify(name)}; ${hintFor(name, Object.keys(servers))}`,
      );
  return Object.entries(servers).flatMap(([id, entry]) => {
    const isSelected = names.length === 0 ? entry.enabled : names.includes(id);
    return isSelected && entry.runtime === 'stdio' ? [[id, entry]] : [];
  });
}

/** Shows the number of installed servers, and the servers that are being installed. */
class WarmProgress {
  readonly #line = new ProgressLine();
  readonly #open = new Map<string, ServerInstall>();
  readonly #timer = setInterval(() => this.#draw(), DRAW_INTERVAL_MS);
  total = 0;

  add(server: string, install: ServerInstall): void {
    this.total += 1;
    this.#open.set(server, install);
  }

  remove(server: string): void {
    this.#open.delete(server);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#line.close();
  }

  #draw(): void {
    const running = [...this.#open].flatMap(([server, { current }]) =>
      current?.startedAt === undefined ? [] : [`${server} (${current.seconds} s)`],
    );
    const progress = this.total - this.#open.size;
    this.#line.show({ progress, total: this.total, message: `installing ${running.join(', ')}` });
  }
}
