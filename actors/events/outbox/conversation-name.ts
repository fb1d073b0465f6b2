// The name of a conversation as handlers are told it, `botmessenger/4711/-100200300/5`: the word of its platform, the account, and
// what tells the conversations of that account apart.

import type { ConnectedAccount } from './connected-account.ts';

/** What follows the account, part by part, as it stands there; undefined for a conversation of anybody else. */
export function partsOfConversation(
  { platform, account }: ConnectedAccount,
  conversation: string,
): readonly string[] | undefined {
  const own = `${platform}/${account}/`;
  return conversation.startsWith(own) ? conversation.slice(own.length).split('/') : undefined;
}
