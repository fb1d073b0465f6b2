// From an entry of a registry to an entry of the catalog: which of its packages and remotes is taken, what it asks, and what is
// written down.
//
// RGP1  whatever comes from a registry is text: a `${NAME}` in it is written so that no variable of the operator's comes out of it.
//      References in a new entry are those to secrets that were given, and those that the user has given as an answer.

import type {
  NamedInput,
  RegistryArgument,
  RegistryEntry,
  RegistryInput,
  RegistryPackage,
  RegistryRemote,
} from '../../../actors/mcp/registry/registry-entry.ts';
import type { EntryToWrite } from '../../../config/catalog/edit-block.ts';
import {
  anyMachine,
  byHand,
  commandLine,
  type InstallingMachine,
  inheritedBy,
  isPackage,
  literal,
  optionsOf,
  programFor,
} from './package-command.ts';
import {
  type Answers,
  isOwnReference,
  type Question,
  Questions,
  questionName,
  settled,
} from './questions.ts';
import {
  type UnusualItem,
  unusualAddress,
  unusualOptions,
  unusualSource,
  unusualVariables,
} from './unusual-items.ts';

export const kinds = ['npm', 'pypi', 'oci', 'remote'] as const;
export type Kind = (typeof kinds)[number];

/** Gives the reference to a secret that is kept. */
export type KeepSecret = (name: string, value: string) => string;

export interface Plan {
  readonly kind: Kind;
  /** `npm package @a/b 1.2.3`. */
  readonly title: string;
  /** The program that must be there; undefined for a remote. */
  readonly program: string | undefined;
  readonly questions: readonly Question[];
  entry(answers: Answers, keep: KeepSecret): EntryToWrite;
  /** Items that need permission, given the answers (unusual-items.ts). */
  unusual(answers: Answers): readonly UnusualItem[];
}

export interface Plans {
  readonly plans: readonly Plan[];
  /** Why others cannot be had. */
  readonly others: readonly string[];
}

/** All ways to have the server, as the entry orders them: packages, then addresses, of these the newer transport first. */
export function plansFor({ packages, remotes }: RegistryEntry, machine = anyMachine): Plans {
  const newerFirst = [...remotes].sort((a, b) => Number(a.type === 'sse') - Number(b.type === 'sse'));
  const all = [...packages.map((each) => planForPackage(each, machine)), ...newerFirst.map(planForRemote)];
  return {
    plans: all.filter((each) => typeof each !== 'string'),
    others: all.filter((each) => typeof each === 'string'),
  };
}

function planForPackage(given: RegistryPackage, machine: InstallingMachine): Plan | string {
  const { registryType: kind, identifier, version, transport, registryBaseUrl } = given;
  const what = `${kind} package ${identifier}`;
  if (!isPackage(given)) return `${what}: its name or its version is none of a package`;
  const program = programFor(given, machine);
  if (program === undefined) return `${what}: ${byHand(given)}`;
  if (transport !== 'stdio')
    return `${what}: it listens at an address (${transport}); start it yourself, and add that address: actor-gateway servers add NAME URL`;
  if (
    kind === 'pypi' &&
    registryBaseUrl !== undefined &&
    !/^https:\/\/pypi\.org(?:\/|$)/.test(registryBaseUrl)
  )
    return `${what}: it is in another index (${registryBaseUrl}), which this command does not use`;
  const questions = new Questions();
  const { runtimeArguments, packageArguments, environmentVariables } = given;
  for (const argument of [...runtimeArguments, ...packageArguments]) askArgument(questions, argument);
  for (const variable of environmentVariables) askInput(questions, variable.name, variable);
  return {
    kind: kind as Kind,
    title: version === undefined ? what : `${what} ${version}`,
    program,
    questions: questions.all,
    unusual: (answers) => {
      const writer = new Writer(questions.all, answers, asReference);
      return [
        ...unusualSource(given, program),
        ...unusualOptions(program, optionsOf(given, writer.args(runtimeArguments))),
        ...unusualVariables(writer.named(environmentVariables)),
      ];
    },
    entry: (answers, keep) => {
      const writer = new Writer(questions.all, answers, keep);
      const env = writer.named(environmentVariables);
      const args = commandLine(
        given,
        program,
        writer.args(runtimeArguments),
        writer.args(packageArguments),
        Object.keys(env),
      );
      const inherited = inheritedBy(given, machine);
      return {
        command: program,
        args,
        ...(Object.keys(env).length === 0 ? {} : { env }),
        ...(inherited.length === 0 ? {} : { inherit_env: inherited }),
      };
    },
  };
}

function planForRemote(remote: RegistryRemote): Plan | string {
  const { type, url, headers, variables } = remote;
  if (type !== 'streamable-http' && type !== 'sse') return `${url}: its transport ${type} is not known here`;
  const questions = new Questions();
  for (const name of namesIn(url))
    if (variables[name] !== undefined) askInput(questions, name, variables[name]);
  for (const header of headers) askInput(questions, header.name, header);
  return {
    kind: 'remote',
    title: `${type} at ${url}`,
    program: undefined,
    questions: questions.all,
    unusual: (answers) =>
      unusualAddress(new Writer(questions.all, answers, asReference).filled(url, variables) ?? literal(url)),
    entry: (answers, keep) => {
      const writer = new Writer(questions.all, answers, keep);
      const written = writer.named(headers);
      return {
        url: writer.filled(url, variables) ?? literal(url),
        ...(type === 'sse' ? { runtime: 'sse' } : {}),
        ...(Object.keys(written).length === 0 ? {} : { headers: written }),
      };
    },
  };
}

const asReference: KeepSecret = (name) => `\${${name}}`;

/** A value that stands fast asks for its variables only. */
function askInput(questions: Questions, name: string, input: RegistryInput, isRepeated = false): void {
  if (input.value === undefined) questions.ask(questionName(name), input, isRepeated);
  for (const variable of namesIn(input.value ?? '')) {
    const asked = input.variables[variable];
    if (asked !== undefined && asked.value === undefined) questions.ask(variable, asked);
  }
}

function askArgument(questions: Questions, argument: RegistryArgument): void {
  if (isBareFlag(argument)) return;
  askInput(questions, nameOf(argument), argument, argument.isRepeated);
}

const nameOf = ({ name, valueHint }: RegistryArgument): string => name ?? valueHint ?? 'argument';

/** An option of which nothing is said but its name. */
function isBareFlag({
  type,
  value,
  description,
  format,
  choices,
  isRequired,
  ...rest
}: RegistryArgument): boolean {
  const said = [value, description, format, rest.default, rest.placeholder];
  return type === 'named' && !isRequired && choices.length === 0 && said.every((each) => each === undefined);
}

const namesIn = (template: string): readonly string[] =>
  [...template.matchAll(variable)].map(([, name = '']) => name);

const variable = /\{([^{}\s]+)\}/g;

/** What is written, from the answers. */
class Writer {
  readonly #questions: ReadonlyMap<string, Question>;
  readonly #given: Answers;
  readonly #keep: KeepSecret;

  constructor(questions: readonly Question[], answers: Answers, keep: KeepSecret) {
    this.#questions = new Map(questions.map((each) => [each.name, each]));
    this.#given = answers;
    this.#keep = keep;
  }

  /** Variables, or headers: those that have a value. */
  named(inputs: readonly NamedInput[]): Record<string, string> {
    const written = inputs.flatMap((input) => {
      const [value] = this.#values(input.name, input);
      return value === undefined ? [] : [[input.name, value] as const];
    });
    return Object.fromEntries(written);
  }

  args(list: readonly RegistryArgument[]): string[] {
    return list.flatMap((argument) => {
      const { type, name = '', format } = argument;
      if (isBareFlag(argument)) return [literal(name)];
      const values = this.#values(nameOf(argument), argument);
      if (type === 'positional') return values;
      const option = literal(name);
      return values.flatMap((value) => {
        if (format === 'boolean') return value === 'true' ? [option] : [];
        return name.startsWith('--') ? [`${option}=${value}`] : [option, value];
      });
    });
  }

  /** The template with its variables; undefined where one of them has no value. */
  filled(template: string, variables: Readonly<Record<string, RegistryInput>>): string | undefined {
    let written = '';
    // Escaped as a whole: two harmless texts side by side may be a reference.
    let text = '';
    let done = 0;
    for (const match of template.matchAll(variable)) {
      const [whole, name = ''] = match;
      const input = variables[name];
      // What is no variable stays as it is.
      if (input === undefined) continue;
      const value =
        input.value === undefined ? this.#answers(name)[0] : { text: input.value, isReference: false };
      if (value === undefined) return undefined;
      text += template.slice(done, match.index);
      done = match.index + whole.length;
      if (!value.isReference) {
        text += value.text;
        continue;
      }
      written += literal(text) + value.text;
      text = '';
    }
    return written + literal(text + template.slice(done));
  }

  #values(name: string, input: RegistryInput): string[] {
    if (input.value === undefined)
      return this.#answers(questionName(name)).map(({ text, isReference }) =>
        isReference ? text : literal(text),
      );
    const value = this.filled(input.value, input.variables);
    return value === undefined ? [] : [value];
  }

  #answers(name: string): { readonly text: string; readonly isReference: boolean }[] {
    const question = this.#questions.get(name);
    if (question === undefined) return [];
    const given = this.#given[name];
    const all = given ?? (question.default === undefined ? [] : [question.default]);
    return all
      .filter((answer) => answer !== '')
      .map((answer) => {
        if (given !== undefined && isOwnReference(answer)) return { text: answer, isReference: true };
        if (question.isSecret) return { text: this.#keep(name, answer), isReference: true };
        return { text: settled(question, answer), isReference: false };
      });
  }
}
