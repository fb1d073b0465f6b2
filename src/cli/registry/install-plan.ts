// Plans how a registry entry becomes a catalog entry: one plan per package and per remote address. A plan
// contains the questions to ask, and creates the catalog entry from the answers.
//
// RGP1  Values from a registry are plain text: `${NAME}` in them is escaped, so that they cannot read the
//       user's variables. References in the new entry are stored secrets, or were typed by the user as an
//       answer.

import type {
  NamedInput,
  RegistryArgument,
  RegistryEntry,
  RegistryInput,
  RegistryPackage,
  RegistryRemote,
} from '../../../actors/mcp/registry/entry.ts';
import type { EntryToWrite } from '../../../config/catalog/edit-block.ts';
import { type TextPiece, withoutSecrets } from '../catalog/secret-store.ts';
import {
  anyMachine,
  commandLine,
  type InstallingMachine,
  inheritedVariables,
  isPackage,
  literal,
  manualInstallText,
  optionsOf,
  programFor,
} from './package-command.ts';
import {
  type Answers,
  type EntryQuestion,
  isVariableReference,
  normalizeAnswer,
  QuestionList,
  questionName,
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

/** Stores a secret and returns its reference. */
export type StoreSecret = (name: string, value: string) => string;

export interface Plan {
  readonly kind: Kind;
  /** A text such as `npm package @a/b 1.2.3`. */
  readonly title: string;
  /** Program that runs the package; undefined for a remote server. */
  readonly program: string | undefined;
  readonly questions: readonly EntryQuestion[];
  entry(answers: Answers, store: StoreSecret): EntryToWrite;
  /** Returns the items that need permission (unusual-items.ts). */
  unusual(answers: Answers): readonly UnusualItem[];
}

export interface Plans {
  readonly plans: readonly Plan[];
  /** Packages and addresses that cannot be used, each with the reason. */
  readonly unusable: readonly string[];
}

/** Returns the plans: packages in the order of the entry, then addresses, with SSE addresses last. */
export function plansFor({ packages, remotes }: RegistryEntry, machine = anyMachine): Plans {
  const newerFirst = [...remotes].sort((a, b) => Number(a.type === 'sse') - Number(b.type === 'sse'));
  const all = [...packages.map((each) => planForPackage(each, machine)), ...newerFirst.map(planForRemote)];
  return {
    plans: all.filter((each) => typeof each !== 'string'),
    unusable: all.filter((each) => typeof each === 'string'),
  };
}

function planForPackage(registryPackage: RegistryPackage, machine: InstallingMachine): Plan | string {
  const { registryType: kind, identifier, version, transport, registryBaseUrl } = registryPackage;
  const what = `${kind} package ${identifier}`;
  if (!isPackage(registryPackage)) return `${what}: invalid name or version`;
  const program = programFor(registryPackage, machine);
  if (program === undefined) return `${what}: ${manualInstallText(registryPackage)}`;
  if (transport !== 'stdio')
    return `${what}: it listens at an address (${transport}); start it yourself and run: actor-gateway servers add NAME URL`;
  if (
    kind === 'pypi' &&
    registryBaseUrl !== undefined &&
    !/^https:\/\/pypi\.org(?:\/|$)/.test(registryBaseUrl)
  )
    return `${what}: unsupported package index ${registryBaseUrl}`;
  const questions = new QuestionList();
  const { runtimeArguments, packageArguments, environmentVariables } = registryPackage;
  for (const argument of [...runtimeArguments, ...packageArguments]) askArgument(questions, argument);
  for (const variable of environmentVariables) askInput(questions, variable.name, variable);
  return {
    kind: kind as Kind,
    title: version === undefined ? what : `${what} ${version}`,
    program,
    questions: questions.all,
    unusual: (answers) => {
      const writer = new ValueWriter(questions.all, answers, asReference);
      return [
        ...unusualSource(registryPackage, program),
        ...unusualOptions(program, optionsOf(registryPackage, writer.args(runtimeArguments))),
        ...unusualVariables(writer.fillNamed(environmentVariables)),
      ];
    },
    entry: (answers, store) => {
      const writer = new ValueWriter(questions.all, answers, store);
      const env = writer.fillNamed(environmentVariables);
      const args = commandLine(
        registryPackage,
        program,
        writer.args(runtimeArguments),
        writer.args(packageArguments),
        Object.keys(env),
      );
      const inherited = inheritedVariables(registryPackage, machine);
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
  if (type !== 'streamable-http' && type !== 'sse') return `${url}: unsupported transport ${type}`;
  const questions = new QuestionList();
  for (const name of namesIn(url))
    if (variables[name] !== undefined) askInput(questions, name, variables[name]);
  for (const header of headers) askInput(questions, header.name, header);
  return {
    kind: 'remote',
    title: `${type} at ${url}`,
    program: undefined,
    questions: questions.all,
    unusual: (answers) =>
      unusualAddress(
        new ValueWriter(questions.all, answers, asReference).fill(url, variables) ?? literal(url),
      ),
    entry: (answers, store) => {
      const writer = new ValueWriter(questions.all, answers, store);
      const written = writer.fillNamed(headers);
      return {
        url: writer.fill(url, variables) ?? literal(url),
        ...(type === 'sse' ? { runtime: 'sse' } : {}),
        ...(Object.keys(written).length === 0 ? {} : { headers: written }),
      };
    },
  };
}

const asReference: StoreSecret = (name) => `\${${name}}`;

/** Adds the input's question. If the entry fixes the value, adds questions for the variables in it. */
function askInput(questions: QuestionList, name: string, input: RegistryInput, isRepeated = false): void {
  if (input.value === undefined) questions.ask(questionName(name), input, isRepeated);
  for (const variable of namesIn(input.value ?? '')) {
    const variableInput = input.variables[variable];
    if (variableInput !== undefined && variableInput.value === undefined)
      questions.ask(variable, variableInput);
  }
}

function askArgument(questions: QuestionList, argument: RegistryArgument): void {
  if (isBareFlag(argument)) return;
  askInput(questions, nameOf(argument), argument, argument.isRepeated);
}

const nameOf = ({ name, valueHint }: RegistryArgument): string => name ?? valueHint ?? 'argument';

/** Returns true for options that take no value. */
function isBareFlag({
  type,
  value,
  description,
  format,
  choices,
  isRequired,
  ...rest
}: RegistryArgument): boolean {
  const details = [value, description, format, rest.default, rest.placeholder];
  return (
    type === 'named' && !isRequired && choices.length === 0 && details.every((each) => each === undefined)
  );
}

const namesIn = (template: string): readonly string[] =>
  [...template.matchAll(variable)].map(([, name = '']) => name);

const variable = /\{([^{}\s]+)\}/g;

/** Creates the values of the catalog entry from the answers. */
class ValueWriter {
  readonly #questions: ReadonlyMap<string, EntryQuestion>;
  readonly #answersByName: Answers;
  readonly #store: StoreSecret;

  constructor(questions: readonly EntryQuestion[], answers: Answers, store: StoreSecret) {
    this.#questions = new Map(questions.map((each) => [each.name, each]));
    this.#answersByName = answers;
    this.#store = store;
  }

  /** Returns the environment variables or headers, unless they have no value. */
  fillNamed(inputs: readonly NamedInput[]): Record<string, string> {
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

  /** Replaces the variables in a template. Returns undefined if one of them has no value. */
  fill(template: string, variables: Readonly<Record<string, RegistryInput>>): string | undefined {
    let written = '';
    // Adjacent texts are escaped together, because together they may form a reference.
    let text = '';
    let position = 0;
    for (const match of template.matchAll(variable)) {
      const [whole, name = ''] = match;
      const input = variables[name];
      // The entry does not declare this name, so it is text.
      if (input === undefined) continue;
      const pieces =
        input.value === undefined ? this.#answers(name)[0] : [{ text: input.value, isReference: false }];
      if (pieces === undefined) return undefined;
      text += template.slice(position, match.index);
      position = match.index + whole.length;
      for (const piece of pieces) {
        if (!piece.isReference) {
          text += piece.text;
          continue;
        }
        written += literal(text) + piece.text;
        text = '';
      }
    }
    return written + literal(text + template.slice(position));
  }

  #values(name: string, input: RegistryInput): string[] {
    if (input.value === undefined)
      return this.#answers(questionName(name)).map((pieces) =>
        pieces.map(({ text, isReference }) => (isReference ? text : literal(text))).join(''),
      );
    const value = this.fill(input.value, input.variables);
    return value === undefined ? [] : [value];
  }

  #answers(name: string): (readonly TextPiece[])[] {
    const question = this.#questions.get(name);
    if (question === undefined) return [];
    const answers = this.#answersByName[name];
    const all = answers ?? (question.default === undefined ? [] : [question.default]);
    return all
      .filter((answer) => answer !== '')
      .map((answer) => {
        if (answers !== undefined && isVariableReference(answer))
          return [{ text: answer, isReference: true }];
        if (question.isSecret) return [{ text: this.#store(name, answer), isReference: true }];
        const text = normalizeAnswer(question, answer);
        // A default is text of the registry.
        if (answers === undefined) return [{ text, isReference: false }];
        return withoutSecrets(name, text, (word, value) => this.#store(word, value));
      });
  }
}
