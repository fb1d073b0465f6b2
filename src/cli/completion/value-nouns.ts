// What a value of a command names, read off the words with which the help tells of it: `<server>`, `--agent <name>`, or
// "name of a trigger". So whoever declares a command says it once.

const nouns = [
  'server',
  'tool',
  'trigger',
  'agent',
  'fleet',
  'flow',
  'run',
  'delivery',
  'approval',
  'profile',
  'field',
  'file',
  'folder',
] as const;

export type Noun = (typeof nouns)[number];

/** Other words for them. */
const synonyms: Readonly<Record<string, Noun>> = {
  path: 'file',
  dir: 'folder',
  directory: 'folder',
  triggers: 'trigger',
  deliveries: 'delivery',
};

const nounOf = (word: string): Noun | undefined =>
  nouns.find((each) => each === word) ?? (Object.hasOwn(synonyms, word) ? synonyms[word] : undefined);

/** Of the word between `<` and `>`, what the help says of it, and the name of its option. */
export function placeholderNoun(placeholder: string, description: string, option?: string): Noun | undefined {
  const own = nounOf(placeholder.toLowerCase());
  if (own !== undefined) return own;
  // `<text>`, `<count>`: only a name can name something.
  if (!/^(?:ids?|names?)$/.test(placeholder)) return undefined;
  const said = /\b(?:ids?|names?) of (?:an? |the )?(\w+)/i.exec(description)?.[1];
  return nounOf(said?.toLowerCase() ?? '') ?? nounOf(option ?? '');
}

/** The words of a list that the help gives alone, or at its end: `only of this kind: agent, fleet, flow`, `one of a, b and c`. */
export function wordsIn(description: string): readonly string[] {
  const list = (/^((?:[\w-]+, )+[\w-]+,? or [\w-]+)$/.exec(description) ??
    /(?::|\bone of) ((?:[\w-]+, )*[\w-]+(?:,? (?:or|and) [\w-]+)?)(?=$|[;.])/.exec(description))?.[1];
  const words = list?.split(/,? (?:or|and) |, /) ?? [];
  return words.length > 1 ? words : [];
}
