// `servers install`: adds a server of a registry to the catalog. It runs code of strangers, so it prints the entry and the
// command first and requires consent: an answer on a terminal, --yes in a script.

import { Option } from 'commander';
import { Registry } from '../../../actors/mcp/registry/registry.ts';
import type { RegistryEntry } from '../../../actors/mcp/registry/registry-entry.ts';
import { type EntryToWrite, linesOf } from '../../../config/catalog/edit-block.ts';
import { printable } from '../../terminal/terminal-text.ts';
import { ApiProblem } from '../api/api-client.ts';
import { UsageError } from '../api/target-options.ts';
import { refuseNoId } from '../catalog/add-server.ts';
import {
  type CatalogOptions,
  catalogHelp,
  declareCatalog,
  readCatalogOptions,
  reportingProblems,
} from '../catalog/catalog-options.ts';
import { findCatalog } from '../catalog/catalog-place.ts';
import { CatalogFile } from '../catalog/change-catalog.ts';
import { shortPath, tell } from '../catalog/outcome.ts';
import { tellGateway } from '../catalog/running-gateway.ts';
import { SecretKeeper } from '../catalog/secret-words.ts';
import type { CommandModule } from '../command.ts';
import { isOnPath } from '../commands/unstartable.ts';
import { collected } from '../option-values.ts';
import { complain } from '../views/output.ts';
import { shellWord } from '../views/shell-word.ts';
import { allowed } from './allowed-items.ts';
import { type Kind, kinds, type Plan, plansFor } from './install-plan.ts';
import { whereFrom } from './package-command.ts';
import { type Answers, describe, faultOf, missingOf, type Question, questionName } from './questions.ts';
import { asking, registryHelp } from './search-registry.ts';
import { canAsk, TerminalQuestions } from './terminal-questions.ts';

interface Given {
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
  readonly given: Given;
}

const after = `
What the entry asks for is asked in the terminal; --set answers beforehand, and in a script it has to. Answers that are secret go
into .env beside the gateway file, with mode 0600, and a reference into the catalog. An answer \${NAME} is a reference itself.

Entries are written by strangers. Variables such as PATH, options of the program that runs the package, an unusual package registry, and a
private or unencrypted address each need permission: in the terminal, or by --allow. --yes does not include them. In a script the error
lists the --allow options to add.
${registryHelp}
${catalogHelp}

Examples:
  actor-gateway servers install io.github.example/weather
  actor-gateway servers install io.github.example/weather --as weather --set WEATHER_API_KEY='\${MY_KEY}' --yes`;

export const installServer: CommandModule = {
  declare: (command) => {
    command
      .option('--as <id>', 'its id in the catalog (default: the end of its name)')
      .option('--version <version>', 'that version instead of the newest')
      .addOption(
        new Option('--from <kind>', 'how to have it, where there are several ways').choices([...kinds]),
      )
      .option('--set <NAME=value>', 'an answer to what the entry asks; repeatable', collected)
      .option('--tag <word>', 'a word for tool search; repeatable', collected)
      .option('--registry <address>', 'ask this registry')
      .option('--allow <item>', 'allow one item that needs permission; repeatable', collected)
      .option('-y, --yes', 'do not ask whether to write and run it')
      .option('--force', 'replace a server of that id')
      .addHelpText('after', after);
    declareCatalog(command);
  },
  run: (command) => {
    const options = {
      ...readCatalogOptions(command),
      name: command.args[0] ?? '',
      given: command.opts<Given>(),
    };
    return reportingProblems(() => installed(options));
  },
};

async function installed(options: Options): Promise<number> {
  const { given, name } = options;
  const id = given.as ?? idFrom(name);
  refuseNoId(id);
  const file = await CatalogFile.open(await findCatalog(options, process.env));
  file.refuseTaken(id, given.force === true);
  const registry = await asking(async () => new Registry(given.registry ?? file.place.registryUrl));
  const entry = await found(registry, name, given.version);
  warnOf(entry);
  const plan = chosen(entry, given.from);
  const preset = presetAnswers(plan, given.set ?? []);
  const terminal = canAsk() ? new TerminalQuestions() : undefined;
  try {
    const answers = await answered(plan, preset, terminal);
    const keeper = new SecretKeeper(id, file.draft);
    const keep = (word: string, value: string) =>
      /^[A-Z][A-Z0-9_]*$/.test(word) ? keeper.keep(word, value) : keeper.keepOfServer(word, value);
    const written = { ...plan.entry(answers, keep), ...(given.tag === undefined ? {} : { tags: given.tag }) };
    complain(preview(id, entry, plan, written, file));
    await allowed(plan.unusual(answers), given.allow ?? [], terminal);
    await agreed(given.yes === true, terminal);
    const did = file.names.includes(id) ? 'replaced' : 'added';
    await file.change({ do: 'add', name: id, entry: written, isReplacing: given.force === true });
    terminal?.close();
    return await tell(
      { server: id, did, file, after: await tellGateway(options, file.place, id) },
      options.isJson,
    );
  } finally {
    terminal?.close();
  }
}

function idFrom(name: string): string {
  const last = name.split('/').at(-1) ?? '';
  return last.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 64);
}

const fullName = /^[A-Za-z0-9.-]+\/[A-Za-z0-9._-]+$/;

/** Throws ApiProblem, with names that may be meant. */
async function found(registry: Registry, name: string, version: string | undefined): Promise<RegistryEntry> {
  if (!fullName.test(name)) throw new ApiProblem(await noSuch(registry, name, 'is no whole name'), false);
  try {
    return await asking(() => registry.entry(name, version));
  } catch (error) {
    const deleted = await registry.deleted(name, version);
    if (deleted !== undefined) refuseDeleted(deleted);
    if (!(error instanceof ApiProblem) || !error.message.endsWith('does not have it')) throw error;
    const what = version === undefined ? 'is not there' : `has no version ${version}`;
    throw new ApiProblem(await noSuch(registry, name, what), false);
  }
}

async function noSuch(registry: Registry, name: string, what: string): Promise<string> {
  const text = `${name} ${what} in the registry at ${registry.address}`;
  const word = name.split('/').at(-1) ?? name;
  const { entries } = await asking(() => registry.search(word, 5));
  const others = entries.map((entry) => entry.name).filter((each) => each !== name);
  return others.length === 0 ? text : `${text}; there are ${others.join(', ')}`;
}

function refuseDeleted({ name, version, statusMessage }: RegistryEntry): never {
  const why = statusMessage === undefined ? '' : `: ${printable(statusMessage)}`;
  throw new ApiProblem(`${name} ${version} has been deleted from the registry${why}`, false);
}

function warnOf(entry: RegistryEntry): void {
  const { name, version, status, statusMessage } = entry;
  if (status === 'deleted') refuseDeleted(entry);
  if (status === 'active') return;
  const why = statusMessage === undefined ? '' : `: ${printable(statusMessage)}`;
  complain(`warning: ${name} ${version} is ${printable(status)}${why}`);
}

/** The first way whose program is there. Throws ApiProblem where there is none at all. */
function chosen(entry: RegistryEntry, from: Kind | undefined): Plan {
  const hasProgram = (program: string) => isOnPath(program, process.env);
  const hasVariable = (name: string) => (process.env[name] ?? '') !== '';
  const { plans, others } = plansFor(entry, { hasProgram, hasVariable });
  const wanted = plans.filter(({ kind }) => from === undefined || kind === from);
  const plan = wanted.find(({ program }) => program === undefined || hasProgram(program)) ?? wanted[0];
  if (plan === undefined) {
    const has = plans.map(({ kind }) => kind).join(', ') || 'none that can be used';
    const what = from === undefined ? 'cannot be installed' : `has no ${from}: there is ${has}`;
    throw new ApiProblem(`${entry.name} ${what}`, false, undefined, others.map(printable));
  }
  const { program } = plan;
  if (program !== undefined && !hasProgram(program))
    complain(`warning: there is no program ${program} on PATH here; ${whereFrom(program)}`);
  return plan;
}

function presetAnswers({ questions }: Plan, set: readonly string[]): Answers {
  const answers: Record<string, string[]> = {};
  const faults: string[] = [];
  for (const text of set) {
    const at = text.indexOf('=');
    if (at < 1) throw new UsageError('--set expects NAME=value');
    const name = questionName(text.slice(0, at));
    const question = questions.find((each) => each.name === name);
    const answer = text.slice(at + 1);
    const fault =
      question === undefined
        ? `nothing of that name is asked; there are ${questions.map((each) => each.name).join(', ') || 'no questions'}`
        : answers[name] !== undefined && !question.isRepeated
          ? 'it takes one value'
          : faultOf(question, answer);
    if (fault !== undefined) faults.push(`--set ${name}: ${printable(fault)}`);
    answers[name] = [...(answers[name] ?? []), answer];
  }
  if (faults.length > 0) throw new UsageError(faults.join('\n  '));
  return answers;
}

/** Asks for what is required. Throws UsageError with all that is missing where nobody can be asked. */
async function answered(
  plan: Plan,
  preset: Answers,
  terminal: TerminalQuestions | undefined,
): Promise<Answers> {
  const { questions } = plan;
  if (terminal === undefined) {
    const missing = missingOf(questions, preset);
    if (missing.length === 0) return preset;
    const lines = missing.map((each) => `  --set ${each.name}=…   ${printable(describe(each))}`);
    throw new UsageError([`${plan.title} needs what nobody is here to be asked for:`, ...lines].join('\n'));
  }
  const answers: Record<string, readonly string[]> = { ...preset };
  for (const question of questions) {
    if (!question.isRequired || preset[question.name] !== undefined) continue;
    const given = await terminal.ask(question);
    if (given !== undefined) answers[question.name] = given;
  }
  const optional = questions.filter(({ name, isRequired }) => !isRequired && answers[name] === undefined);
  if (optional.length > 0) complain(`also possible, with --set: ${optional.map(optionalName).join(', ')}`);
  return answers;
}

const optionalName = (question: Question): string => {
  const { name, default: byDefault } = question;
  return byDefault === undefined ? name : `${name} (${printable(byDefault)})`;
};

function preview(
  id: string,
  entry: RegistryEntry,
  plan: Plan,
  written: EntryToWrite,
  { place, draft }: CatalogFile,
): string {
  const { command, args = [] } = written as { readonly command?: string; readonly args?: readonly string[] };
  const runs =
    command === undefined ? [] : [`and run, as you: ${[command, ...args].map(shellWord).join(' ')}`];
  const secrets =
    draft.added.length === 0
      ? []
      : [`secrets go into ${shortPath(place.envPath)}: ${draft.added.join(', ')}`];
  return [
    `${entry.name} ${entry.version}: ${printable(plan.title)}`,
    `this will be written into ${shortPath(place.catalogPath)}:`,
    linesOf(id, written, '  ', 2, '\n').trimEnd(),
    ...secrets,
    ...runs,
  ].join('\n');
}

async function agreed(isAgreed: boolean, terminal: TerminalQuestions | undefined): Promise<void> {
  if (isAgreed) return;
  if (terminal === undefined)
    throw new UsageError('this runs code of others: --yes agrees to that in a script');
  if (!(await terminal.agrees('Write it?'))) throw new UsageError('nothing was written');
}
