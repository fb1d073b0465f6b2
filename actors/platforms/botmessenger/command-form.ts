// The forms in which people give a bot a command: `/deploy x`, `/deploy@the_bot x`, `deploy x`, and any of them behind the
// bot's name, `@the_bot deploy x`. In a group with several bots `/deploy@another_bot` is nobody's here.

export type CommandForm =
  | { readonly kind: 'command'; readonly name: string; readonly rest: string }
  /** Plain words: the first of them may be a command all the same. */
  | { readonly kind: 'words'; readonly text: string }
  | { readonly kind: 'for another bot' };

const COMMAND = /^\s*\/([A-Za-z0-9_]{1,64})(?:@([A-Za-z0-9_]{1,64}))?(?![\w@/])\s*([\s\S]*)$/;
const MENTION = /^\s*@([A-Za-z0-9_]{1,64})(?!\w)[\s,:]*([\s\S]*)$/;

/** Whether it has to be known what the bot is called. */
export function namesABot(text: string): boolean {
  const [, name] = COMMAND.exec(text)?.slice(1) ?? [];
  return name !== undefined || MENTION.test(text);
}

/** `username` is the bot's, without `@`. */
export function commandFormOf(text: string, username: string | undefined): CommandForm {
  const words = withoutMention(text, username);
  const [found, name = '', bot, rest = ''] = COMMAND.exec(words) ?? [];
  if (found === undefined) return { kind: 'words', text: words };
  if (bot !== undefined && !isSame(bot, username)) return { kind: 'for another bot' };
  return { kind: 'command', name, rest };
}

/** What is said to the bot; a mention of it alone stays, since nothing else was said. */
function withoutMention(text: string, username: string | undefined): string {
  const [found, name = '', rest = ''] = MENTION.exec(text) ?? [];
  return found !== undefined && isSame(name, username) && rest !== '' ? rest : text;
}

/** The platform does not tell names of users apart by case. */
function isSame(name: string, username: string | undefined): boolean {
  return username !== undefined && name.toLowerCase() === username.toLowerCase();
}
