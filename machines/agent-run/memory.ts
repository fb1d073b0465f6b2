// What an agent remembers of its conversation: the newest messages within its bounds.

interface Message {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** Messages begin with what a person said: an answer to something that is forgotten explains nothing. */
export function remembered<T extends Message>(
  history: readonly T[],
  bounds: { readonly messages: number; readonly characters: number },
): readonly T[] {
  let room = bounds.characters;
  let from = history.length;
  while (from > 0 && history.length - from < bounds.messages) {
    room -= history[from - 1]?.text.length ?? 0;
    if (room < 0) break;
    from -= 1;
  }
  while (history[from]?.role === 'assistant') from += 1;
  return history.slice(from);
}
