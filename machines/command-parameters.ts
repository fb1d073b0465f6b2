// The parameters of a command, from the text after it, as people write it:
//   deploy env=production "release 4" because the old one is slow
// A `name=value` counts when the name is declared, wherever it stands; what is left goes to the parameters that are not
// named, in the order in which they are declared, a word or a quoted text each, and the last one takes the rest.
//
// CPA1  text never gives an error: a quote that is not closed is a character like any other.

import type { Parameter } from '../config/resources/triggers/binding.ts';

export type CommandParameters =
  | { readonly isMissing: false; readonly values: Readonly<Record<string, string>> }
  | {
      readonly isMissing: true;
      readonly missing: readonly string[];
      /** What to answer to whoever wrote the command. */
      readonly help: string;
      /** What is there already. */
      readonly values: Readonly<Record<string, string>>;
    };

/** `given` are values by name that came beside the text; they go before the text, and all of them are passed on. */
export function commandParameters(
  parameters: readonly Parameter[],
  text: string,
  given: Readonly<Record<string, string>> = {},
  command?: string,
): CommandParameters {
  const values: Record<string, string> = Object.assign(Object.create(null), given);
  const isOpen = ({ name }: Parameter) => values[name] === undefined;
  const words: Word[] = [];
  for (const word of wordsOf(text)) {
    const named = parameters.find(({ name }) => word.name === name);
    if (named === undefined) words.push(word);
    else if (!Object.hasOwn(given, named.name)) values[named.name] = word.value;
  }
  const open = parameters.filter(isOpen);
  for (const [index, { name }] of open.entries()) {
    const mine = index === open.length - 1 ? words.slice(index) : words.slice(index, index + 1);
    const [only] = mine;
    if (only === undefined) break;
    values[name] = mine.length === 1 ? only.whole : restOf(mine);
  }
  for (const { name, default: byDefault } of parameters.filter(isOpen)) {
    if (byDefault !== undefined) values[name] = byDefault;
  }
  const missing = parameters.filter((each) => each.required && isOpen(each));
  if (missing.length === 0) return { isMissing: false, values };
  return {
    isMissing: true,
    missing: missing.map(({ name }) => name),
    help: helpText(parameters, missing, command),
    values,
  };
}

/** Several words as they were written; what stood by name among them is gone. */
function restOf(words: readonly Word[]): string {
  return words.map(({ gap, raw }, index) => (index === 0 ? raw : gap + raw)).join('');
}

/** What a person may write, in one line: `deploy <env> [reason …]`. */
function usage(parameters: readonly Parameter[], command: string | undefined): string {
  const shown = parameters.map(({ name, required }, index) => {
    const more = index === parameters.length - 1 ? ' …' : '';
    return required ? `<${name}${more}>` : `[${name}${more}]`;
  });
  return [...(command === undefined ? [] : [command]), ...shown].join(' ');
}

function helpText(
  parameters: readonly Parameter[],
  missing: readonly Parameter[],
  command: string | undefined,
): string {
  const wanted = missing.map(({ name, description }) =>
    description === undefined ? `- ${name}` : `- ${name}: ${description}`,
  );
  return [
    missing.length === 1 ? 'A parameter is missing:' : 'Some parameters are missing:',
    ...wanted,
    `Usage: ${usage(parameters, command)}`,
    `Values may also be given by name: ${missing[0]?.name ?? 'name'}="some text"`,
  ].join('\n');
}

interface Word {
  /** The white space before it. */
  readonly gap: string;
  /** As it was written. */
  readonly raw: string;
  /** Of `name=value`, without quotes; undefined name for anything else. */
  readonly name: string | undefined;
  readonly value: string;
  /** All of it, without quotes around it. */
  readonly whole: string;
}

/** A quote that is not closed is looked for to the end, at each word anew: so the end must not be far. */
const MAX_READ = 8192;

/** A quote opens at the beginning of a word or of a value only, and closes before white space or the end. */
const pattern =
  /(?:([A-Za-z_][\w-]*)=)?(?:"((?:[^"\\]|\\[\s\S])*)"(?!\S)|'((?:[^'\\]|\\[\s\S])*)'(?!\S)|(\S*))/y;

function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  const read = text.slice(0, MAX_READ).trimEnd();
  for (let at = 0; at < read.length; ) {
    const start = at + (/\S/.exec(read.slice(at))?.index ?? 0);
    pattern.lastIndex = start;
    const [raw = '', name, double, single, plain = ''] = pattern.exec(read) ?? [];
    const quoted = double ?? single;
    const value = quoted === undefined ? plain : quoted.replace(/\\([\\"'])/g, '$1');
    words.push({
      gap: read.slice(at, start),
      raw,
      name,
      value,
      whole: name === undefined ? value : raw,
    });
    at = start + raw.length;
  }
  const tail = text.slice(read.length).trimEnd();
  if (tail !== '') words.push({ gap: '', raw: tail, name: undefined, value: tail, whole: tail });
  return words;
}
