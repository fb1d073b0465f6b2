// `triggers register`: registers the commands of triggers in the command menus of the chat platforms. Needs
// no running gateway and does not disturb one: it takes no lock and opens no store.

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
import { CommandLineError } from '../api/target-options.ts';
import { hintFor } from '../api/unknown-name.ts';
import type { CommandModule } from '../command.ts';
import { print, printJson, printMessage } from '../views/output.ts';
import { printProblems } from '../views/problem-lines.ts';

const rejectStoreUse = () =>
  Promise.reject(new InternalError('registration of menus must not open the store'));
const noStore: AdapterServices['store'] = {
  get: rejectStoreUse,
  put: rejectStoreUse,
  delete: rejectStoreUse,
  keys: rejectStoreUse,
  delivery: rejectStoreUse,
  withReceipt: rejectStoreUse,
};

interface Options {
  readonly config: string;
  readonly guild?: string;
  readonly json?: boolean;
}

const after = `
If no trigger is named, all menus are registered. A menu belongs to an account on a platform: a trigger name
selects its account, and the menu contains the commands of all triggers of the account. The new menu replaces
the old one. All variables in the files must be set.

Exit codes: 0 success, 1 rejected by a platform, 2 invalid configuration or usage`;

export const register: CommandModule = {
  examples: [
    'actor-gateway triggers register --config gateway.yaml',
    'actor-gateway triggers register --config gateway.yaml --guild 4711 team',
  ],
  declare: (command) =>
    command
      .requiredOption('-c, --config <file>', 'gateway configuration (YAML)')
      .option('--guild <id>', 'register for this guild only, where it appears immediately')
      .option('--json', 'print the result as JSON')
      .addHelpText('after', after),
  run: async (command) => {
    try {
      return await registerMenus(command.args, command.opts<Options>());
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      printProblems(error.problems);
      return 2;
    }
  },
};

async function registerMenus(
  names: readonly string[],
  { config, guild, json: isJson = false }: Options,
): Promise<number> {
  const { triggers, redactor, maxBodyBytes } = await loadTriggers(config);
  checkNames(triggers, names);
  const adapters = makeAdapters({ maxBodyBytes, store: noStore, log: silentLog });
  const { accounts, without: withoutMenu, keptOut } = menuAccounts(triggers, names, guild, adapters.ofType);
  if (guild !== undefined && accounts.length === 0 && keptOut.length === 0)
    throw new CommandLineError('--guild: no trigger belongs to a platform with guilds');
  const results: MenuResult[] = [];
  for (const account of accounts) {
    const name = `${account.platform}/${account.account}`;
    const result = await registerMenu(account, guild, (ms) =>
      printMessage(`${name} is rate limited; retrying in ${Math.ceil(ms / 1000)} s`),
    );
    results.push(redactResult(result, (text) => redactor.redact(text)));
    if (!isJson) await printResult(results.at(-1) as MenuResult);
  }
  if (isJson) await printJson(JSON.stringify({ accounts: results, without: withoutMenu, keptOut }));
  else {
    if (withoutMenu.length > 0)
      await print(`no menu${guild === undefined ? '' : ' for a guild'}: ${withoutMenu.join(', ')}\n`);
    if (keptOut.length > 0) {
      const why = guild === undefined ? 'register: never' : 'register: never, or for other guilds';
      await print(`unchanged (${why}): ${keptOut.join(', ')}\n`);
    }
  }
  return results.some(({ done }) => done === 'refused') ? 1 : 0;
}

/** Loads the triggers named in a gateway file. Throws ConfigError. */
async function loadTriggers(path: string) {
  const { config, catalog, secrets, environment } = await loadConfig(path, process.env, {
    hasTriggers: true,
  });
  if (config.spec.triggers.directory === undefined)
    throw new CommandLineError(`${path} has no folder of triggers; set spec.triggers.directory`);
  const values = new SecretValues();
  const servers = Object.keys(catalog.servers);
  const { triggers, problems } = await loadGatewayResources(config, environment, values, servers);
  if (hasError(problems)) throw new ConfigError(problems);
  const redactor = new Redactor([...secrets, ...values.list()]);
  return { triggers, redactor, maxBodyBytes: config.limits.body_bytes };
}

function checkNames(triggers: readonly Trigger[], names: readonly string[]): void {
  const triggerNames = triggers.map(({ name }) => name);
  for (const name of names) {
    if (!triggerNames.includes(name))
      throw new CommandLineError(
        `there is no trigger ${JSON.stringify(name)}; ${hintFor(name, triggerNames)}`,
      );
    if (triggers.some((each) => each.name === name && !each.enabled))
      throw new CommandLineError(`${name} is disabled (spec.enabled)`);
  }
}

/**
 * Redacts a platform's error, which can repeat the request with its token. No output contains a secret
 * (A9, ARCHITECTURE.md).
 */
function redactResult(result: MenuResult, redact: (text: string) => string): MenuResult {
  return result.done === 'refused' ? { ...result, error: redact(result.error) } : result;
}

async function printResult(result: MenuResult): Promise<void> {
  const name = printable(`${result.platform}/${result.account}`);
  if (result.done === 'refused') printMessage(`${name}: ${printable(result.error)}`);
  else if (result.done === 'by hand')
    await print(
      `${name}: enter the commands in ${result.formName} by hand:\n${printableLines(result.text)}\n`,
    );
  else {
    const commands = result.commands.map(printable).join(', ') || 'none';
    await print(`${name}: ${commands} (${result.triggers.join(', ')})\n`);
  }
}
