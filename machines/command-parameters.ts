// Parses the parameters of a command from the text after it, for example:
//   deploy env=production "release 4" because the old one is slow
// `name=value` sets a declared parameter at any position. The remaining parameters receive the other words in
// declared order, one token or quoted text each; the last parameter receives the rest.
// Any text is valid: an unclosed quote is an ordinary character.

import type { Parameter } from '../config/resources/triggers/binding.ts';

export type CommandParameters =
  | { readonly isMissing: false; readonly values: Readonly<Record<string, string>> }
  | {
      readonly isMissing: true;
      readonly missing: readonly string[];
      /** Reply to the sender of the command. */
      readonly help: string;
      /** Values that are present. */
      readonly values: Readonly<Record<string, string>>;
    };

/**
 * Parses the parameters. `namedValues` are values that the platform sent in addition to the text. They
 * override the text. The result contains all of them, also undeclared ones.
 */
export function commandParameters(
  parameters: readonly Parameter[],
  text: string,
  namedValues: Readonly<Record<string, string>> = {},
  command?: string,
): CommandParameters {
  const values: Record<string, string> = Object.assign(Object.create(null), namedValues);
  const hasNoValue = ({ name }: Parameter) => values[name] === undefined;
  const words: Word[] = [];
  for (const word of wordsOf(text)) {
    const parameter = parameters.find(({ name }) => word.name === name);
    if (parameter === undefined) words.push(word);
    else if (!Object.hasOwn(namedValues, parameter.name)) values[parameter.name] = word.value;
  }
  const unnamedParameters = parameters.filter(hasNoValue);
  for (const [index, { name }] of unnamedParameters.entries()) {
    const assigned =
      index === unnamedParameters.length - 1 ? words.slice(index) : words.slice(index, index + 1);
    const [only] = assigned;
    if (only === undefined) break;
    values[name] = assigned.length === 1 ? only.whole : restOf(assigned);
  }
  for (const { name, default: byDefault } of parameters.filter(hasNoValue)) {
    if (byDefault !== undefined) values[name] = byDefault;
  }
  const missing = parameters.filter((each) => each.required && hasNoValue(each));
  if (missing.length === 0) return { isMissing: false, values };
  return {
    isMissing: true,
    missing: missing.map(({ name }) => name),
    help: helpText(parameters, missing, command),
    values,
  };
}

/** Joins words as they were written, without the named values between them. */
function restOf(words: readonly Word[]): string {
  return words.map(({ gap, raw }, index) => (index === 0 ? raw : gap + raw)).join('');
}

/** Returns the usage line: `deploy <env> [reason …]`. */
function usage(parameters: readonly Parameter[], command: string | undefined): string {
  const names = parameters.map(({ name, required }, index) => {
    const more = index === parameters.length - 1 ? ' …' : '';
    return required ? `<${name}${more}>` : `[${name}${more}]`;
  });
  return [...(command === undefined ? [] : [command]), ...names].join(' ');
}

function helpText(
  parameters: readonly Parameter[],
  missing: readonly Parameter[],
  command: string | undefined,
): string {
  const descriptions = missing.map(({ name, description }) =>
    description === undefined ? `- ${name}` : `- ${name}: ${description}`,
  );
  return [
    missing.length === 1 ? 'A parameter is missing:' : 'Some parameters are missing:',
    ...descriptions,
    `Usage: ${usage(parameters, command)}`,
    `Values may also be given by name: ${missing[0]?.name ?? 'name'}="some text"`,
  ].join('\n');
}

interface Word {
  /** Preceding white space. */
  readonly gap: string;
  /** Original text. */
  readonly raw: string;
  /** Name of `name=value`, otherwise undefined. `value` has no quotes. */
  readonly name: string | undefined;
  readonly value: string;
  /** Token without quotes; for `name=value` the original text. */
  readonly whole: string;
}

/** Maximum scanned length, because each token may scan the whole text for a closing quote. */
const MAX_SCANNED = 8192;

/** Typographic quotes that keyboards insert: an opening quote, then its closing quotes. */
const TYPOGRAPHIC = ['“”', '„“”', '””', '«»', '»«', '‹›', '›‹', '‘’', '‚‘’', '「」', '『』', '＂＂'];
const typographic = TYPOGRAPHIC.map(
  ([open, ...closing]) => `${open}([\\s\\S]*?)[${closing.join('')}](?!\\S)`,
).join('|');
const quoted = String.raw`"((?:[^"\\]|\\[\s\S])*)"(?!\S)|'((?:[^'\\]|\\[\s\S])*)'(?!\S)`;
/** A quote opens at the beginning of a token or value. It closes before white space or at the text's end. */
const pattern = new RegExp(String.raw`(?:([A-Za-z_][\w-]*)=)?(?:${quoted}|${typographic}|(\S*))`, 'y');

/** Removes the spaces that some languages write within « and ». */
const unspaced = (raw: string, value: string) => (/[»›]$/.test(raw) ? value.trim() : value);

function wordsOf(text: string): Word[] {
  const words: Word[] = [];
  const scanned = text.slice(0, MAX_SCANNED).trimEnd();
  for (let at = 0; at < scanned.length; ) {
    const start = at + (/\S/.exec(scanned.slice(at))?.index ?? 0);
    pattern.lastIndex = start;
    const [raw = '', name, double, single, ...others] = pattern.exec(scanned) ?? [];
    const escaped = double ?? single;
    const plain = others.find((each) => each !== undefined) ?? '';
    const value = escaped === undefined ? unspaced(raw, plain) : escaped.replace(/\\([\\"'])/g, '$1');
    words.push({
      gap: scanned.slice(at, start),
      raw,
      name,
      value,
      whole: name === undefined ? value : raw,
    });
    at = start + raw.length;
  }
  const tail = text.slice(scanned.length).trimEnd();
  if (tail !== '') words.push({ gap: '', raw: tail, name: undefined, value: tail, whole: tail });
  return words;
}
