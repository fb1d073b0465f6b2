// Conversation name that handlers receive, `botmessenger/4711/-100200300/5`: platform, account, and the ids
// of the conversation in that account.

import type { ConnectedAccount } from './connected-account.ts';

/** Returns the parts after the account; undefined for a conversation of another account. */
export function conversationParts(
  { platform, account }: ConnectedAccount,
  conversation: string,
): readonly string[] | undefined {
  const own = `${platform}/${account}/`;
  return conversation.startsWith(own) ? conversation.slice(own.length).split('/') : undefined;
}
