// What may stand at the end of a command line that is being typed, from what the commands declare of themselves: nothing is
// said here of any one of them, so a new command is completed as soon as it is there.
//
// CMP1  whatever the words are, there is an answer, and nothing is run.

import type { Argument, Command, Option } from 'commander';
import { fittingWords } from './fitting-words.ts';
import { type Noun, placeholderNoun, wordsIn } from './value-nouns.ts';

/** A word with what it is for, which some shells show. */
export type Candidate = readonly [word: string, meaning: string];

export interface Completed {
  /** Whether the shell completes names of files instead. */
  readonly mode: 'words' | 'files' | 'folders';
  readonly candidates: readonly Candidate[];
}

/** Loads a command: declares its arguments, options and subcommands. */
export type Declare = (command: Command) => Promise<void>;

/** What was given of a command before the word that is completed. */
export interface Given {
  /** Of the options that take one, by their long names: `--url`. */
  readonly options: ReadonlyMap<string, string>;
  /** The arguments, each with what it names. */
  readonly args: readonly { readonly noun: Noun | undefined; readonly word: string }[];
}

/** The names of what a noun stands for, of which `word` may be the beginning. */
export type NamesOf = (noun: Noun, word: string, given: Given) => Promise<readonly Candidate[]>;

const nothing: Completed = { mode: 'words', candidates: [] };

/** `words` are those after the program's name; the last of them, perhaps empty, is completed. */
export async function completed(
  words: readonly string[],
  program: Command,
  declare: Declare,
  namesOf: NamesOf,
): Promise<Completed> {
  const word = words.at(-1) ?? '';
  let command = program;
  let before = words.slice(0, -1);
  for (;;) {
    const next = command.commands.find((each) => each.name() === before[0]);
    if (next === undefined) break;
    await declare(next);
    command = next;
    before = before.slice(1);
  }
  const [first] = before;
  const isNoun = command.commands.length > 0;
  if (isNoun && first === undefined && !word.startsWith('-'))
    return beginning(
      word,
      command.commands.map((each) => [each.name(), each.description()] as const),
    );
  if (isNoun && first !== undefined && !first.startsWith('-')) return nothing;
  return ofCommand(command, before, word, namesOf);
}

async function ofCommand(
  command: Command,
  before: readonly string[],
  word: string,
  namesOf: NamesOf,
): Promise<Completed> {
  const { given, waiting, isPastOptions } = read(command, before);
  const equals = /^(--[\w-]+=)(.*)$/s.exec(word);
  if (equals !== null && !isPastOptions) {
    const [, start = '', rest = ''] = equals;
    const option = optionNamed(command, start.slice(0, -1));
    if (option === undefined) return nothing;
    const values = await valuesOf(option, rest, given, namesOf);
    return { ...values, candidates: values.candidates.map(([each, why]) => [start + each, why]) };
  }
  // The value of an option that must have one, even where it begins with a dash.
  if (waiting?.required === true && !waiting.variadic) return valuesOf(waiting, word, given, namesOf);
  if (word.startsWith('-') && !isPastOptions) return beginning(word, optionsOf(command, given));
  if (waiting !== undefined) return valuesOf(waiting, word, given, namesOf);
  const argument = argumentAt(command, given.args.length);
  if (argument !== undefined) return valuesOf(argument, word, given, namesOf);
  return word === '' ? beginning(word, optionsOf(command, given)) : nothing;
}

/** Reads what stands before the word; `waiting` is an option that takes the word as its value. */
function read(command: Command, words: readonly string[]) {
  const options = new Map<string, string>();
  const args: { noun: Noun | undefined; word: string }[] = [];
  let waiting: Option | undefined;
  let isPastOptions = false;
  for (const word of words) {
    if (!isPastOptions && word === '--') {
      isPastOptions = true;
      waiting = undefined;
    } else if (waiting?.required === true && !options.has(waiting.long ?? '')) {
      options.set(waiting.long ?? '', word);
      if (!waiting.variadic) waiting = undefined;
    } else if (!isPastOptions && word.startsWith('-') && word !== '-') {
      const [start = '', ...rest] = word.split('=');
      const option = optionNamed(command, start);
      const takesValue = option !== undefined && (option.required || option.optional);
      waiting = takesValue && rest.length === 0 ? option : undefined;
      if (option !== undefined && !takesValue) options.set(option.long ?? start, '');
      if (takesValue && rest.length > 0) options.set(option.long ?? start, rest.join('='));
      else if (option?.variadic === true) options.delete(option.long ?? '');
    } else if (waiting !== undefined) {
      options.set(waiting.long ?? '', word);
      if (!waiting.variadic) waiting = undefined;
    } else {
      const argument = argumentAt(command, args.length);
      args.push({ noun: argument && placeholderNoun(argument.name(), argument.description), word });
    }
  }
  return { given: { options, args }, waiting, isPastOptions };
}

/** The last one may stand for many. */
function argumentAt(command: Command, at: number): Argument | undefined {
  const all = command.registeredArguments;
  return all[at] ?? (all.at(-1)?.variadic === true ? all.at(-1) : undefined);
}

function optionNamed(command: Command, name: string): Option | undefined {
  return command.options.find(({ long, short }) => name === long || name === short);
}

function optionsOf(command: Command, { options }: Given): Candidate[] {
  const shown = command.createHelp().visibleOptions(command);
  return shown.flatMap(({ long, short, variadic, description }) => {
    const name = long ?? short ?? '';
    return options.has(name) && !variadic ? [] : [[name, description] as const];
  });
}

/** Of an argument or of an option. */
async function valuesOf(
  of: Argument | Option,
  word: string,
  given: Given,
  namesOf: NamesOf,
): Promise<Completed> {
  const { argChoices, description } = of;
  if (argChoices !== undefined) return beginning(word, argChoices.map(plain));
  const isOption = 'long' in of;
  const placeholder = isOption ? (/[<[]([\w-]+)/.exec(of.flags)?.[1] ?? '') : of.name();
  const noun = placeholderNoun(placeholder, description, isOption ? of.long?.slice(2) : undefined);
  if (noun === 'file') return { mode: 'files', candidates: [] };
  if (noun === 'folder') return { mode: 'folders', candidates: [] };
  if (noun !== undefined) return beginning(word, await namesOf(noun, word, given));
  return beginning(word, wordsIn(description).map(plain));
}

const plain = (word: string): Candidate => [word, ''];

function beginning(word: string, candidates: readonly Candidate[]): Completed {
  return { mode: 'words', candidates: fittingWords(word, candidates) };
}
