// What a person wrote, out of what the platform makes of it: `&`, `<` and `>` are entities there, and mentions, channels and links
// stand in angle brackets.

const LEADING = /^\s*<@([A-Z0-9]+)(?:\|[^>]*)?>[\s,:]*/;
const SEQUENCE = /<([^<>]*)>|&(amp|lt|gt);/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>' };

/** Whether one of the users is mentioned in it. */
export function mentions(text: string, users: readonly string[]): boolean {
  return users.some((user) => text.includes(`<@${user}>`) || text.includes(`<@${user}|`));
}

/**
 * The text as it was written, without mentions of the bot before it; a mention of it alone stays, since nothing else was said.
 * Where it is certain that the bot is mentioned and not by which name, it is the first mention.
 */
export function writtenText(text: string, bots: readonly string[], isMention: boolean): string {
  const isNamed = mentions(text, bots);
  let rest = text;
  for (let found = LEADING.exec(rest); found !== null; found = LEADING.exec(rest)) {
    const [whole, user = ''] = found;
    const isOwn = isNamed ? bots.includes(user) : isMention && rest === text;
    if (!isOwn) break;
    rest = rest.slice(whole.length);
  }
  return decoded(rest.trim() === '' ? text : rest);
}

/** Entities and sequences in it as people write them. */
export function decoded(text: string): string {
  return text.replace(SEQUENCE, (whole, sequence: string | undefined, entity: string = '') =>
    sequence === undefined ? (ENTITIES[entity] ?? whole) : written(sequence, whole),
  );
}

/** People and channels stay as they are, with their ids. */
function written(sequence: string, whole: string): string {
  const [first = '', label] = sequence.split('|', 2);
  if (/^[@#]/.test(first) || first.startsWith('!subteam')) return plain(whole);
  if (first.startsWith('!')) return plain(label ?? `@${first.slice(1)}`);
  const address = plain(first);
  const words = label === undefined ? undefined : plain(label);
  // What was written without `https://` or `mailto:` is completed by the platform.
  if (words === undefined || words === address) return address;
  return address.endsWith(words) || address.endsWith(`${words}/`) ? words : `${words} (${address})`;
}

/** Without entities. */
export const plain = (text: string) =>
  text.replace(/&(amp|lt|gt);/g, (whole, entity: string) => ENTITIES[entity] ?? whole);
