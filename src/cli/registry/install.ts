// `servers install`: adds a server from a registry to the catalog. The server is third-party code. Therefore
// the command first prints the entry and the command line, and asks for consent; in a script --yes is
// required.

import { Option } from 'commander';
import type { RegistryEntry } from '../../../actors/mcp/registry/entry.ts';
import { Registry } from '../../../actors/mcp/registry/registry.ts';
import { type EntryToWrite, linesOf } from '../../../config/catalog/edit-block.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/client.ts';
import { CommandLineError } from '../api/target-options.ts';
import { checkServerId } from '../catalog/add-server.ts';
import { CatalogFile } from '../catalog/file.ts';
import { locateCatalog } from '../catalog/location.ts';
import { printOutcome, relativePath } from '../catalog/outcome.ts';
import { reloadGateway } from '../catalog/reload-gateway.ts';
import { SecretStore } from '../catalog/secret-store.ts';
import {
  type CatalogOptions,
  catalogHelp,
  declareCatalog,
  readCatalogOptions,
  reportProblems,
} from '../catalog/shared-options.ts';
import type { CommandModule } from '../command.ts';
import { isOnPath } from '../commands/start-obstacle.ts';
import { collectValues } from '../option-values.ts';
import { printMessage } from '../views/output.ts';
import { shellWord } from '../views/shell-word.ts';
import { type Kind, kinds, type Plan, plansFor } from './install-plan.ts';
import { installHint } from './package-command.ts';
import { requirePermissions } from './permissions.ts';
import {
  type Answers,
  answerError,
  describe,
  type EntryQuestion,
  questionName,
  unansweredQuestions,
} from './questions.ts';
import { registryHelp, withRegistryErrors } from './search.ts';
import { canAsk, TerminalPrompt } from './terminal-prompt.ts';

interface InstallOptions {
  readonly as?: string;
  readonly version?: string;
  readonly set?: readonly string[];
  readonly from?: Kind;
  readonly registry?: string;
  readonly tag?: readonly string[];
  readonly allow?: readonly string[];
  readonly yes?: boolean;
  readonly force?: boolean;
}

interface Options extends CatalogOptions {
  readonly name: string;
  readonly installOptions: InstallOptions;
}

const after = `
Inputs of the entry are asked on the terminal; --set answers them in advance, which scripts must do. Secret
answers are written to .env next to the gateway file, with mode 0600; the catalog gets a reference. An answer
\${NAME} is itself a reference.

Registry entries are foreign content. Variables such as PATH, options of the program that runs the package,
an unusual package registry, and a private or unencrypted address need permission: on the terminal, or by
--allow. --yes does not include them. In a script the error lists the --allow options to add.
${registryHelp}
${catalogHelp}`;

export const installServer: CommandModule = {
  examples: [
    'actor-gateway servers install io.github.example/weather',
    `actor-gateway servers install io.github.example/weather --as weather --set WEATHER_API_KEY='\${MY_KEY}' --yes`,
  ],
  declare: (command) => {
    command
      .option('--as <id>', 'id in the catalog (default: last part of the name)')
      .option('--version <version>', 'install this version instead of the newest')
      .addOption(new Option('--from <kind>', 'kind of package or remote to use').choices([...kinds]))
      .option('--set <NAME=value>', 'answer to an input of the entry; repeatable', collectValues)
      .option('--tag <word>', 'keyword for tool search; repeatable', collectValues)
      .option('--registry <address>', 'use this registry')
      .option('--allow <item>', 'allow one item that needs permission; repeatable', collectValues)
      .option('-y, --yes', 'do not ask for consent')
      .option('--force', 'replace an existing server of that id')
      .addHelpText('after', after);
    declareCatalog(command);
  },
  run: (command) => {
    const options = {
      ...readCatalogOptions(command),
      name: command.args[0] ?? '',
      installOptions: command.opts<InstallOptions>(),
    };
    return reportProblems(() => runInstall(options));
  },
};

async function runInstall(options: Options): Promise<number> {
  const { installOptions, name } = options;
  const id = installOptions.as ?? idOf(name);
  checkServerId(id);
  const file = await CatalogFile.open(await locateCatalog(options, process.env));
  file.refuseDuplicate(id, installOptions.force === true);
  const registry = await withRegistryErrors(
    async () => new Registry(installOptions.registry ?? file.location.registryUrl),
  );
  const entry = await findEntry(registry, name, installOptions.version);
  warnAboutStatus(entry);
  const plan = choosePlan(entry, installOptions.from);
  const preset = presetAnswers(plan, installOptions.set ?? []);
  const terminal = canAsk() ? new TerminalPrompt() : undefined;
  try {
    const answers = await collectAnswers(plan, preset, terminal);
    const secrets = new SecretStore(id, file.draft);
    const store = (word: string, value: string) =>
      /^[A-Z][A-Z0-9_]*$/.test(word) ? secrets.store(word, value) : secrets.storeForServer(word, value);
    const written = {
      ...plan.entry(answers, store),
      ...(installOptions.tag === undefined ? {} : { tags: installOptions.tag }),
    };
    printMessage(preview(id, entry, plan, written, file));
    await requirePermissions(plan.unusual(answers), installOptions.allow ?? [], terminal);
    await requireConsent(installOptions.yes === true, terminal);
    const did = file.names.includes(id) ? 'replaced' : 'added';
    await file.change({ do: 'add', name: id, entry: written, isReplacing: installOptions.force === true });
    terminal?.close();
    return await printOutcome(
      { server: id, did, file, reload: await reloadGateway(options, file.location, id) },
      options.isJson,
    );
  } finally {
    terminal?.close();
  }
}

function idOf(name: string): string {
  const last = name.split('/').at(-1) ?? '';
  return last.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 64);
}

const fullName = /^[A-Za-z0-9.-]+\/[A-Za-z0-9._-]+$/;

/** Requests the entry. If the name is unknown, throws an ApiProblem that lists similar names. */
async function findEntry(
  registry: Registry,
  name: string,
  version: string | undefined,
): Promise<RegistryEntry> {
  if (!fullName.test(name)) throw new ApiProblem(await notFoundText(registry, name, 'is not a full name'));
  try {
    return await withRegistryErrors(() => registry.entry(name, version));
  } catch (error) {
    const deleted = await registry.findDeleted(name, version);
    if (deleted !== undefined) refuseDeleted(deleted);
    if (!(error instanceof ApiProblem) || !error.message.endsWith('does not have it')) throw error;
    const what = version === undefined ? 'does not exist' : `has no version ${version}`;
    throw new ApiProblem(await notFoundText(registry, name, what));
  }
}

async function notFoundText(registry: Registry, name: string, what: string): Promise<string> {
  const text = `${name} ${what} in the registry at ${registry.address}`;
  const word = name.split('/').at(-1) ?? name;
  const { entries } = await withRegistryErrors(() => registry.search(word, 5));
  const others = entries.map((entry) => entry.name).filter((each) => each !== name);
  return others.length === 0 ? text : `${text}; there are ${others.join(', ')}`;
}

function refuseDeleted({ name, version, statusMessage }: RegistryEntry): never {
  const why = statusMessage === undefined ? '' : `: ${printable(statusMessage)}`;
  throw new ApiProblem(`${name} ${version} has been deleted from the registry${why}`);
}

function warnAboutStatus(entry: RegistryEntry): void {
  const { name, version, status, statusMessage } = entry;
  if (status === 'deleted') refuseDeleted(entry);
  if (status === 'active') return;
  const why = statusMessage === undefined ? '' : `: ${printable(statusMessage)}`;
  printMessage(`warning: ${name} ${version} is ${printable(status)}${why}`);
}

/**
 * Returns the first plan whose program is installed, else the first plan. Throws ApiProblem if no plan
 * exists.
 */
function choosePlan(entry: RegistryEntry, from: Kind | undefined): Plan {
  const hasProgram = (program: string) => isOnPath(program, process.env);
  const hasVariable = (name: string) => (process.env[name] ?? '') !== '';
  const { plans, unusable } = plansFor(entry, { hasProgram, hasVariable });
  const candidates = plans.filter(({ kind }) => from === undefined || kind === from);
  const plan =
    candidates.find(({ program }) => program === undefined || hasProgram(program)) ?? candidates[0];
  if (plan === undefined) {
    const has = plans.map(({ kind }) => kind).join(', ') || 'no usable kind';
    const what = from === undefined ? 'cannot be installed' : `has no ${from}: there is ${has}`;
    throw new ApiProblem(`${entry.name} ${what}`, { details: unusable.map(printable) });
  }
  const { program } = plan;
  if (program !== undefined && !hasProgram(program))
    printMessage(`warning: there is no program ${program} on PATH here; ${installHint(program)}`);
  return plan;
}

/** Returns the answers in the --set options. Throws CommandLineError for invalid ones. */
function presetAnswers({ questions }: Plan, set: readonly string[]): Answers {
  const answers: Record<string, string[]> = {};
  const errors: string[] = [];
  for (const text of set) {
    const at = text.indexOf('=');
    if (at < 1) throw new CommandLineError('--set expects NAME=value');
    const name = questionName(text.slice(0, at));
    const question = questions.find((each) => each.name === name);
    const answer = text.slice(at + 1);
    let error: string | undefined;
    if (question === undefined)
      error = `the entry has no such input; there are ${questions.map((each) => each.name).join(', ') || 'no inputs'}`;
    else if (answers[name] !== undefined && !question.isRepeated) error = 'it allows only one value';
    else error = answerError(question, answer);
    if (error !== undefined) errors.push(`--set ${name}: ${printable(error)}`);
    answers[name] = [...(answers[name] ?? []), answer];
  }
  if (errors.length > 0) throw new CommandLineError(errors.join('\n  '));
  return answers;
}

/** Asks for the required inputs. In a script, throws CommandLineError that lists the missing inputs. */
async function collectAnswers(
  plan: Plan,
  preset: Answers,
  terminal: TerminalPrompt | undefined,
): Promise<Answers> {
  const { questions } = plan;
  if (terminal === undefined) {
    const missing = unansweredQuestions(questions, preset);
    if (missing.length === 0) return preset;
    const lines = missing.map((each) => `  --set ${each.name}=…   ${printable(describe(each))}`);
    throw new CommandLineError(
      [`${plan.title} needs more inputs; without a terminal, add:`, ...lines].join('\n'),
    );
  }
  const answers: Record<string, readonly string[]> = { ...preset };
  for (const question of questions) {
    if (!question.isRequired || preset[question.name] !== undefined) continue;
    const answer = await terminal.ask(question);
    if (answer !== undefined) answers[question.name] = answer;
  }
  const optional = questions.filter(({ name, isRequired }) => !isRequired && answers[name] === undefined);
  if (optional.length > 0)
    printMessage(`optional inputs for --set: ${optional.map(optionalName).join(', ')}`);
  return answers;
}

const optionalName = (question: EntryQuestion): string => {
  const { name, default: byDefault } = question;
  return byDefault === undefined ? name : `${name} (${printable(byDefault)})`;
};

function preview(
  id: string,
  entry: RegistryEntry,
  plan: Plan,
  written: EntryToWrite,
  { location, draft }: CatalogFile,
): string {
  const { command, args = [] } = written as { readonly command?: string; readonly args?: readonly string[] };
  const runs =
    command === undefined
      ? []
      : [`and run with your permissions: ${[command, ...args].map(shellWord).join(' ')}`];
  const secrets =
    draft.addedNames.length === 0
      ? []
      : [`secrets will be written to ${relativePath(location.envPath)}: ${draft.addedNames.join(', ')}`];
  return [
    `${entry.name} ${entry.version}: ${printable(plan.title)}`,
    `this will be written to ${relativePath(location.catalogPath)}:`,
    linesOf(id, written, '  ', 2, '\n').trimEnd(),
    ...secrets,
    ...runs,
  ].join('\n');
}

async function requireConsent(isAgreed: boolean, terminal: TerminalPrompt | undefined): Promise<void> {
  if (isAgreed) return;
  if (terminal === undefined)
    throw new CommandLineError('this runs third-party code; add --yes to consent in a script');
  if (!(await terminal.confirm('Write it?'))) throw new CommandLineError('nothing was written');
}
