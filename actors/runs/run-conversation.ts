// The conversations of agents that are asked without a trigger of a file, by the keys of their mailboxes.

/** The name of the agent follows, and that of the session. */
const PREFIX = 'conversation/manual/agent/';

/** Undefined for any other key. */
export function conversationOf(
  key: string,
): { readonly agent: string; readonly session: string } | undefined {
  if (!key.startsWith(PREFIX)) return undefined;
  const [agent = '', session = ''] = key.slice(PREFIX.length).split('/');
  return { agent, session };
}
