// Derives the noun (kind of value) from the help texts: `<server>`, `--agent <name>`, "name of a
// trigger". So commands need no separate declaration for completion.

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

export type ValueNoun = (typeof nouns)[number];

/** Other words for nouns. */
const synonyms: Readonly<Record<string, ValueNoun>> = {
  path: 'file',
  dir: 'folder',
  directory: 'folder',
  triggers: 'trigger',
  deliveries: 'delivery',
};

const nounOf = (word: string): ValueNoun | undefined =>
  nouns.find((each) => each === word) ?? (Object.hasOwn(synonyms, word) ? synonyms[word] : undefined);

/** Returns the noun for a placeholder such as `<name>`, using the description and the name of the option. */
export function placeholderNoun(
  placeholder: string,
  description: string,
  option?: string,
): ValueNoun | undefined {
  const ownNoun = nounOf(placeholder.toLowerCase());
  if (ownNoun !== undefined) return ownNoun;
  // For `<name>` and `<id>`, the noun is in the description, or the option's name serves as the noun.
  if (!/^(?:ids?|names?)$/.test(placeholder)) return undefined;
  const namedNoun = /\b(?:ids?|names?) of (?:an? |the )?(\w+)/i.exec(description)?.[1];
  return nounOf(namedNoun?.toLowerCase() ?? '') ?? nounOf(option ?? '');
}

/**
 * Returns the values listed in a description: `only of this kind: agent, fleet, flow`, `one of a, b and c`.
 */
export function parseChoices(description: string): readonly string[] {
  const list = (/^((?:[\w-]+, )+[\w-]+,? or [\w-]+)$/.exec(description) ??
    /(?::|\bone of) ((?:[\w-]+, )*[\w-]+(?:,? (?:or|and) [\w-]+)?)(?=$|[;.])/.exec(description))?.[1];
  const choices = list?.split(/,? (?:or|and) |, /) ?? [];
  return choices.length > 1 ? choices : [];
}
