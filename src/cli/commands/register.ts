// `triggers register`: puts the commands of the triggers of a configuration into the menus of their platforms. No gateway is needed for it,
// and none is disturbed: nothing is locked, and no store is opened.

import {
  type MenuResult,
  menuAccounts,
  registerMenu,
} from '../../../actors/automation/operator/register-menus.ts';
import { InternalError } from '../../../actors/base/errors/errors.ts';
import { silentLog } from '../../../actors/base/errors/log.ts';
import { Redactor } from '../../../actors/base/errors/redact.ts';
import type { AdapterServices } from '../../../actors/platforms/adapter.ts';
import { makeAdapters } from '../../../actors/platforms/adapters.ts';
import { loadConfig } from '../../../config/load-config.ts';
import { ConfigError, hasError } from '../../../config/reader/problem.ts';
import { SecretValues } from '../../../config/reader/secret-values.ts';
import { loadGatewayResources } from '../../../config/resources/gateway-resources.ts';
import type { Trigger } from '../../../config/resources/triggers/trigger.ts';
import { printable, printableLines } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import type { CommandModule } from '../command.ts';
import { complain, print, printJson } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';

const unopened = () => Promise.reject(new InternalError('a registration of menus opens no store'));
const noStore: AdapterServices['store'] = { get: unopened, put: unopened, delete: unopened, keys: unopened };

interface Options {
  readonly config: string;
  readonly guild?: string;
  readonly json?: boolean;
}

const after = `
Without names all menus are registered. A menu belongs to an account: names of triggers select their accounts, each with all its triggers. It replaces
what stands there. The variables that the files name must be set.

Examples:
  actor-gateway triggers register --config gateway.yaml
  actor-gateway triggers register --config gateway.yaml --guild 4711 team

Exit codes: 0 done, 1 a platform has refused it, 2 bad configuration or usage`;

export const register: CommandModule = {
  declare: (command) =>
    command
      .requiredOption('-c, --config <file>', 'gateway configuration (YAML)')
      .option('--guild <id>', 'for this guild alone, where it shows at once')
      .option('--json', 'print the result as JSON')
      .addHelpText('after', after),
  run: async (command) => {
    try {
      return await registered(command.args, command.opts<Options>());
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      printProblems(error.problems);
      return 2;
    }
  },
};

async function registered(
  names: readonly string[],
  { config, guild, json: isJson = false }: Options,
): Promise<number> {
  const { triggers, redactor, maxBodyBytes } = await read(config);
  checkNames(triggers, names);
  const adapters = makeAdapters({ maxBodyBytes, store: noStore, log: silentLog });
  const { accounts, without, keptOut } = menuAccounts(triggers, names, guild, adapters.ofType);
  if (guild !== undefined && accounts.length === 0 && keptOut.length === 0)
    throw new UsageError('--guild: no trigger is of a platform that has guilds');
  const results: MenuResult[] = [];
  for (const account of accounts) {
    const name = `${account.platform}/${account.account}`;
    const result = await registerMenu(account, guild, (ms) =>
      complain(`${name} takes no more for now; it is asked again in ${Math.ceil(ms / 1000)} s`),
    );
    results.push(shownOf(result, (text) => redactor.redact(text)));
    if (!isJson) await tell(results.at(-1) as MenuResult);
  }
  if (isJson) await printJson(JSON.stringify({ accounts: results, without, keptOut }));
  else {
    if (without.length > 0)
      await print(`no menu${guild === undefined ? '' : ' for a guild'}: ${without.join(', ')}\n`);
    if (keptOut.length > 0) {
      const why = guild === undefined ? 'register: never' : 'register: never, or for other guilds';
      await print(`left as it is (${why}): ${keptOut.join(', ')}\n`);
    }
  }
  return results.some(({ done }) => done === 'refused') ? 1 : 0;
}

/** Throws ConfigError. */
async function read(path: string) {
  const { config, catalog, secrets, environment } = await loadConfig(path, process.env, {
    hasTriggers: true,
  });
  if (config.spec.triggers.directory === undefined)
    throw new UsageError(`${path} names no folder of triggers (spec.triggers.directory)`);
  const values = new SecretValues();
  const servers = Object.keys(catalog.servers);
  const { triggers, problems } = await loadGatewayResources(config, environment, values, servers);
  if (hasError(problems)) throw new ConfigError(problems);
  const redactor = new Redactor([...secrets, ...values.list()]);
  return { triggers, redactor, maxBodyBytes: config.limits.body_bytes };
}

function checkNames(triggers: readonly Trigger[], names: readonly string[]): void {
  const known = triggers.map(({ name }) => name);
  for (const name of names) {
    if (!known.includes(name))
      throw new UsageError(`there is no trigger ${JSON.stringify(name)}; ${hintFor(name, known)}`);
    if (triggers.some((each) => each.name === name && !each.enabled))
      throw new UsageError(`${name} is switched off (spec.enabled)`);
  }
}

/** A platform may repeat what it was sent (A9). */
function shownOf(result: MenuResult, redact: (text: string) => string): MenuResult {
  return result.done === 'refused' ? { ...result, error: redact(result.error) } : result;
}

async function tell(result: MenuResult): Promise<void> {
  const name = printable(`${result.platform}/${result.account}`);
  if (result.done === 'refused') complain(`${name}: ${printable(result.error)}`);
  else if (result.done === 'by hand')
    await print(
      `${name}: commands stand in ${result.where}, and are not set from here:\n${printableLines(result.text)}\n`,
    );
  else {
    const commands = result.commands.map(printable).join(', ') || 'none';
    await print(`${name}: ${commands} (${result.triggers.join(', ')})\n`);
  }
}
