// Blocks of code in Markdown, as far as cutting a text needs them: a line of backticks or tildes opens one, and a line of at
// least as many closes it. Indentation does not matter: blocks stand in lists.

export interface CodeFence {
  /** The line that opens it, as it is written; a cut block is opened again with it. */
  readonly opening: string;
  /** A line that closes it. */
  readonly closing: string;
}

const OPENING = /^([ \t]*)(`{3,}(?=[^`]*$)|~{3,})/;

/** What is open behind the line where `fence` is open before it. */
export function fenceAfter(line: string, fence: CodeFence | undefined): CodeFence | undefined {
  if (fence !== undefined) return isClosing(line, fence) ? undefined : fence;
  // Most lines have none; a pattern at each would be most of what a split costs.
  if (!line.includes('```') && !line.includes('~~~')) return undefined;
  const found = OPENING.exec(line);
  if (found === null) return undefined;
  return { opening: line.trimEnd(), closing: `${found[1]}${found[2]}` };
}

function isClosing(line: string, { closing }: CodeFence): boolean {
  const text = line.trim();
  const marks = closing.trim();
  return text.startsWith(marks) && text === marks.charAt(0).repeat(text.length);
}
