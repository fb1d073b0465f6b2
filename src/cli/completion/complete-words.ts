// Completes the last word on a command line, based on the options and arguments that the commands declare.
// This file contains no data about single commands. It runs no command, and returns a result for each input.

import type { Argument, Command, Option } from 'commander';
import { matchPrefix } from './match-prefix.ts';
import { parseChoices, placeholderNoun, type ValueNoun } from './value-nouns.ts';

/** A word and its meaning, which some shells display. */
export type Candidate = readonly [word: string, meaning: string];

export interface Completion {
  /** `files` and `folders`: the shell completes a path itself. */
  readonly mode: 'words' | 'files' | 'folders';
  readonly candidates: readonly Candidate[];
}

/** Declares a command's arguments, options and subcommands. */
export type Declare = (command: Command) => Promise<void>;

/** Options and arguments before the completed word. */
export interface PrecedingArguments {
  /** Values by long option name, such as `--url`. */
  readonly options: ReadonlyMap<string, string>;
  /** Arguments, each with the kind of value: a server, a file. */
  readonly args: readonly { readonly noun: ValueNoun | undefined; readonly word: string }[];
}

/** Returns existing names, for example of servers, that may complete `word`. */
export type NamesOf = (
  noun: ValueNoun,
  word: string,
  preceding: PrecedingArguments,
) => Promise<readonly Candidate[]>;

const noCompletion: Completion = { mode: 'words', candidates: [] };

/** Completes the last of `words`, which follow the program's name. The last word can be empty. */
export async function completeWords(
  words: readonly string[],
  program: Command,
  declare: Declare,
  namesOf: NamesOf,
): Promise<Completion> {
  const word = words.at(-1) ?? '';
  let command = program;
  let remainingWords = words.slice(0, -1);
  for (;;) {
    const next = command.commands.find((each) => each.name() === remainingWords[0]);
    if (next === undefined) break;
    await declare(next);
    command = next;
    remainingWords = remainingWords.slice(1);
  }
  const [first] = remainingWords;
  const hasSubcommands = command.commands.length > 0;
  if (hasSubcommands && first === undefined && !word.startsWith('-'))
    return matchingWords(
      word,
      command.commands.map((each) => [each.name(), each.description()] as const),
    );
  if (hasSubcommands && first !== undefined && !first.startsWith('-')) return noCompletion;
  return completeCommand(command, remainingWords, word, namesOf);
}

async function completeCommand(
  command: Command,
  before: readonly string[],
  word: string,
  namesOf: NamesOf,
): Promise<Completion> {
  const { preceding, pendingOption, isPastOptions } = parsePreceding(command, before);
  const equals = /^(--[\w-]+=)(.*)$/s.exec(word);
  if (equals !== null && !isPastOptions) {
    const [, start = '', rest = ''] = equals;
    const option = optionNamed(command, start.slice(0, -1));
    if (option === undefined) return noCompletion;
    const values = await valuesOf(option, rest, preceding, namesOf);
    return { ...values, candidates: values.candidates.map(([value, meaning]) => [start + value, meaning]) };
  }
  // An option that requires a value gets the word, even if the word starts with a dash.
  if (pendingOption?.required === true && !pendingOption.variadic)
    return valuesOf(pendingOption, word, preceding, namesOf);
  if (word.startsWith('-') && !isPastOptions) return matchingWords(word, optionsOf(command, preceding));
  if (pendingOption !== undefined) return valuesOf(pendingOption, word, preceding, namesOf);
  const argument = argumentAt(command, preceding.args.length);
  if (argument !== undefined) return valuesOf(argument, word, preceding, namesOf);
  return word === '' ? matchingWords(word, optionsOf(command, preceding)) : noCompletion;
}

/**
 * Parses the words before the completed one. `pendingOption` is an option whose value is still missing, or
 * that accepts further values. Each use of a variadic option requires a value again, so its previous value
 * is removed from `options`.
 */
function parsePreceding(command: Command, words: readonly string[]) {
  const options = new Map<string, string>();
  const args: { noun: ValueNoun | undefined; word: string }[] = [];
  let pendingOption: Option | undefined;
  let isPastOptions = false;
  for (const word of words) {
    if (!isPastOptions && word === '--') {
      isPastOptions = true;
      pendingOption = undefined;
    } else if (pendingOption?.required === true && !options.has(pendingOption.long ?? '')) {
      options.set(pendingOption.long ?? '', word);
      if (!pendingOption.variadic) pendingOption = undefined;
    } else if (!isPastOptions && word.startsWith('-') && word !== '-') {
      const [start = '', ...rest] = word.split('=');
      const option = optionNamed(command, start);
      const takesValue = option !== undefined && (option.required || option.optional);
      pendingOption = takesValue && rest.length === 0 ? option : undefined;
      if (option !== undefined && !takesValue) options.set(option.long ?? start, '');
      if (takesValue && rest.length > 0) options.set(option.long ?? start, rest.join('='));
      else if (option?.variadic === true) options.delete(option.long ?? '');
    } else if (pendingOption !== undefined) {
      options.set(pendingOption.long ?? '', word);
      if (!pendingOption.variadic) pendingOption = undefined;
    } else {
      const argument = argumentAt(command, args.length);
      args.push({ noun: argument && placeholderNoun(argument.name(), argument.description), word });
    }
  }
  return { preceding: { options, args }, pendingOption, isPastOptions };
}

/** Returns the argument at a position; a variadic argument covers all later ones. */
function argumentAt(command: Command, at: number): Argument | undefined {
  const all = command.registeredArguments;
  return all[at] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined);
}

function optionNamed(command: Command, name: string): Option | undefined {
  return command.options.find(({ long, short }) => name === long || name === short);
}

function optionsOf(command: Command, { options }: PrecedingArguments): Candidate[] {
  const visibleOptions = command.createHelp().visibleOptions(command);
  return visibleOptions.flatMap(({ long, short, variadic, description }) => {
    const name = long ?? short ?? '';
    return options.has(name) && !variadic ? [] : [[name, description] as const];
  });
}

/** Completes a value for arguments and options. */
async function valuesOf(
  parameter: Argument | Option,
  word: string,
  preceding: PrecedingArguments,
  namesOf: NamesOf,
): Promise<Completion> {
  const { argChoices, description } = parameter;
  if (argChoices !== undefined) return matchingWords(word, argChoices.map(withoutDescription));
  const isOption = 'long' in parameter;
  const placeholder = isOption ? (/[<[]([\w-]+)/.exec(parameter.flags)?.[1] ?? '') : parameter.name();
  const noun = placeholderNoun(placeholder, description, isOption ? parameter.long?.slice(2) : undefined);
  if (noun === 'file') return { mode: 'files', candidates: [] };
  if (noun === 'folder') return { mode: 'folders', candidates: [] };
  if (noun !== undefined) return matchingWords(word, await namesOf(noun, word, preceding));
  return matchingWords(word, parseChoices(description).map(withoutDescription));
}

const withoutDescription = (word: string): Candidate => [word, ''];

function matchingWords(word: string, candidates: readonly Candidate[]): Completion {
  return { mode: 'words', candidates: matchPrefix(word, candidates) };
}
