// A text that may be a command: its first word, and what stands behind that.

export interface CommandWord {
  /** Without a slash before it; empty where there is no word. */
  readonly name: string;
  readonly rest: string;
}

export function commandWordOf(text: string): CommandWord {
  const [, name = '', rest = ''] = /^\s*\/?(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
  return { name, rest };
}
