// Questions for the inputs in a registry entry, and validation of the answers.

import { homedir } from 'node:os';
import { resolve } from 'node:path';
import type { RegistryInput } from '../../../actors/mcp/registry/entry.ts';
import { isCredentialName } from '../../../config/credentials/credential-names.ts';
import { isReference } from '../../../config/reader/references.ts';

export interface EntryQuestion extends RegistryInput {
  /** NAME in --set NAME=VALUE. */
  readonly name: string;
  /** True if several answers are allowed. */
  readonly isRepeated: boolean;
}

/** Answers by the name of the question. */
export type Answers = Readonly<Record<string, readonly string[]>>;

/** Collects questions. Merges questions with the same name. */
export class QuestionList {
  readonly #all = new Map<string, EntryQuestion>();

  ask(name: string, input: RegistryInput, isRepeated = false): void {
    const previous = this.#all.get(name);
    this.#all.set(name, {
      ...input,
      ...previous,
      name,
      isRepeated: isRepeated || previous?.isRepeated === true,
      isRequired: input.isRequired || previous?.isRequired === true,
      isSecret: input.isSecret || previous?.isSecret === true || isCredentialName(name),
    });
  }

  get all(): readonly EntryQuestion[] {
    return [...this.#all.values()];
  }
}

/** Returns the name for --set: without leading dashes. */
export const questionName = (name: string): string => name.replace(/^-+/, '');

/** Returns the required questions that have neither an answer nor a default. */
export function unansweredQuestions(
  questions: readonly EntryQuestion[],
  answers: Answers,
): readonly EntryQuestion[] {
  return questions.filter(({ name, isRequired, ...input }) => {
    return isRequired && answers[name] === undefined && input.default === undefined;
  });
}

/** Returns why an answer is invalid; undefined for a valid answer. Does not repeat the answer. */
export function answerError(
  { format, choices, isRequired }: EntryQuestion,
  answer: string,
): string | undefined {
  if (isVariableReference(answer)) return undefined;
  if (answer === '') return isRequired ? 'it needs a value' : undefined;
  if (answer.includes('\0') || /[\r\n]$/.test(answer))
    return 'it contains a character that is not allowed in values';
  if (choices.length > 0 && !choices.includes(answer)) return `it is one of ${choices.join(', ')}`;
  if (format === 'number' && !/^-?\d+(?:\.\d+)?$/.test(answer)) return 'it is a number';
  if (format === 'boolean' && !/^(?:true|false)$/.test(answer)) return 'it is true or false';
  return undefined;
}

/** Returns true if the answer is a reference to a variable. */
export const isVariableReference = (answer: string): boolean => isReference(answer, /^$/);

/** Returns the value to write. Paths become absolute. */
export function normalizeAnswer({ format }: RegistryInput, answer: string): string {
  if (format !== 'filepath' || answer === '' || isVariableReference(answer)) return answer;
  return resolve(answer.replace(/^~(?=\/|$)/, homedir()));
}

/** Returns a question as a single line of text. */
export function describe({ name, description, placeholder, choices, ...input }: EntryQuestion): string {
  const more = [
    ...(description === undefined ? [] : [description]),
    ...(choices.length === 0 ? [] : [`one of ${choices.join(', ')}`]),
    ...(placeholder === undefined ? [] : [`such as ${placeholder}`]),
    ...(input.default === undefined ? [] : [`default ${input.default}`]),
  ];
  return more.length === 0 ? name : `${name}: ${more.join('; ')}`;
}
