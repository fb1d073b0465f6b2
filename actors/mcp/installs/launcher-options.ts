// Splits a launcher's arguments into options and the rest, which begins with the package. The names
// of the options decide if a word is the value of an option.

export interface OptionNames {
  readonly switches: ReadonlySet<string>;
  /** Options with a value: `--name value` or `--name=value`, `-n value` or `-nvalue`. */
  readonly values: ReadonlySet<string>;
}

export interface SplitWords {
  readonly options: readonly string[];
  /** Values by option. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  /** Words after the options. */
  readonly rest: readonly string[];
}

/** Splits arguments. Returns undefined for an unknown option, and if the last option lacks its value. */
export function splitWords(args: readonly string[], names: OptionNames): SplitWords | undefined {
  const values = new Map<string, readonly string[]>();
  /** `options` is the end of the options in `args`, `rest` the start of the rest. */
  const split = (options: number, rest = options): SplitWords => ({
    options: args.slice(0, options),
    values,
    rest: args.slice(rest),
  });
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (word === '--') return split(at, at + 1);
    if (!word.startsWith('-') || word === '-') return split(at);
    if (isSwitch(word, names)) continue;
    const [name, inline] = nameAndValue(word, names);
    if (!names.values.has(name)) {
      // An unknown option with a value after `=` does not affect the other words.
      if (inline !== undefined && word.startsWith('--')) continue;
      return undefined;
    }
    if (inline === undefined) at += 1;
    const value = inline ?? args[at];
    if (value === undefined) return undefined;
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return split(args.length);
}

/** Returns true for a switch, or several switches of one letter (`-it`). */
function isSwitch(word: string, { switches }: OptionNames): boolean {
  if (switches.has(word)) return true;
  return /^-[a-zA-Z]{2,}$/.test(word) && [...word.slice(1)].every((letter) => switches.has(`-${letter}`));
}

function nameAndValue(word: string, { values }: OptionNames): [name: string, value: string | undefined] {
  const at = word.indexOf('=');
  const short = word.slice(0, 2);
  if (!word.startsWith('--') && word.length > 2 && values.has(short)) return [short, word.slice(2)];
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}
