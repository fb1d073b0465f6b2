// What an entry of a registry leaves to its user: one question for each name, with the answers that were given, and what is
// wrong with them.

import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { RegistryInput } from '../../../actors/mcp/registry/registry-entry.ts';
import { isCredentialName } from '../../../config/credentials/credential-names.ts';
import { isReference } from '../../../config/reader/references.ts';

export interface Question extends RegistryInput {
  /** By which it is answered: --set NAME=VALUE. */
  readonly name: string;
  /** Several answers are fine. */
  readonly isRepeated: boolean;
}

/** By the names of the questions. */
export type Answers = Readonly<Record<string, readonly string[]>>;

/** Collects questions; the same name asks once. */
export class Questions {
  readonly #all = new Map<string, Question>();

  ask(name: string, input: RegistryInput, isRepeated = false): void {
    const known = this.#all.get(name);
    this.#all.set(name, {
      ...input,
      ...known,
      name,
      isRepeated: isRepeated || known?.isRepeated === true,
      isRequired: input.isRequired || known?.isRequired === true,
      isSecret: input.isSecret || known?.isSecret === true || isCredentialName(name),
    });
  }

  get all(): readonly Question[] {
    return [...this.#all.values()];
  }
}

/** Without dashes before it, as it is typed behind --set. */
export const questionName = (name: string): string => name.replace(/^-+/, '');

/** Those that have neither an answer nor a default, and need one. */
export function missingOf(questions: readonly Question[], answers: Answers): readonly Question[] {
  return questions.filter(({ name, isRequired, ...input }) => {
    return isRequired && answers[name] === undefined && input.default === undefined;
  });
}

/** What is wrong with an answer, never repeating it; undefined for a good one. */
export function faultOf({ format, choices, isRequired }: Question, answer: string): string | undefined {
  if (isOwnReference(answer)) return undefined;
  if (answer === '') return isRequired ? 'it needs a value' : undefined;
  if (answer.includes('\0') || /[\r\n]$/.test(answer)) return 'it has a character that no value can have';
  if (choices.length > 0 && !choices.includes(answer)) return `it is one of ${choices.join(', ')}`;
  if (format === 'number' && !/^-?\d+(?:\.\d+)?$/.test(answer)) return 'it is a number';
  if (format === 'boolean' && !/^(?:true|false)$/.test(answer)) return 'it is true or false';
  return undefined;
}

/** Whether the user refers to a variable, instead of giving a value. */
export const isOwnReference = (answer: string): boolean => isReference(answer, /^$/);

/** As it is written down: a path is one from everywhere. */
export function settled({ format }: RegistryInput, answer: string): string {
  if (format !== 'filepath' || answer === '' || isOwnReference(answer)) return answer;
  return resolve(answer.replace(/^~(?=\/|$)/, homedir()));
}

/** What the question is, on one line. */
export function describe({ name, description, placeholder, choices, ...input }: Question): string {
  const more = [
    ...(description === undefined ? [] : [description]),
    ...(choices.length === 0 ? [] : [`one of ${choices.join(', ')}`]),
    ...(placeholder === undefined ? [] : [`such as ${placeholder}`]),
    ...(input.default === undefined ? [] : [`default ${input.default}`]),
  ];
  return more.length === 0 ? name : `${name}: ${more.join('; ')}`;
}
