// Converts the platform's message text to plain text. The platform escapes `&`, `<` and `>`, and writes
// mentions, channels and links in angle brackets (sequences).

const LEADING = /^[\s\p{Default_Ignorable_Code_Point}]*<@([A-Z0-9]+)(?:\|[^>]*)?>[\s,:]*/u;
const SEQUENCE = /<([^<>]*)>|&(amp|lt|gt);/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>' };

/** Returns true if the text mentions one of the users. */
export function hasMention(text: string, users: readonly string[]): boolean {
  return users.some((user) => text.includes(`<@${user}>`) || text.includes(`<@${user}|`));
}

/**
 * Returns the plain text without leading mentions of the bot, unless it contains nothing else. If the bot is
 * mentioned but its user id is unknown, the first mention counts as the bot's.
 */
export function plainText(text: string, bots: readonly string[], isMention: boolean): string {
  const isNamed = hasMention(text, bots);
  let rest = text;
  for (let match = LEADING.exec(rest); match !== null; match = LEADING.exec(rest)) {
    const [whole, user = ''] = match;
    const isOwn = isNamed ? bots.includes(user) : isMention && rest === text;
    if (!isOwn) break;
    rest = rest.slice(whole.length);
  }
  return decode(rest.trim() === '' ? text : rest);
}

/** Decodes entities and sequences. */
export function decode(text: string): string {
  return text.replace(SEQUENCE, (whole, sequence: string | undefined, entity: string = '') =>
    sequence === undefined ? (ENTITIES[entity] ?? whole) : decodeSequence(sequence, whole),
  );
}

/** Users and channels keep their ids. */
function decodeSequence(sequence: string, whole: string): string {
  const [first = '', label] = sequence.split('|', 2);
  if (/^[@#]/.test(first) || first.startsWith('!subteam')) return decodeEntities(whole);
  if (first.startsWith('!')) return decodeEntities(label ?? `@${first.slice(1)}`);
  const address = decodeEntities(first);
  const labelText = label === undefined ? undefined : decodeEntities(label);
  // The platform adds a missing `https://` or `mailto:`.
  if (labelText === undefined || labelText === address) return address;
  return address.endsWith(labelText) || address.endsWith(`${labelText}/`)
    ? labelText
    : `${labelText} (${address})`;
}

/** Decodes entities only. */
export const decodeEntities = (text: string) =>
  text.replace(/&(amp|lt|gt);/g, (whole, entity: string) => ENTITIES[entity] ?? whole);
