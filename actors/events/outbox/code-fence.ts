// Recognises Markdown code blocks when a text is split (split-text.ts). A line that starts with at least
// three backticks or tildes opens a block; a line of at least as many of the same character closes it.
// Indentation is ignored, since lists can contain blocks.

export interface CodeFence {
  /** Opening line as written. The next part repeats it if the block is split. */
  readonly opening: string;
  /** Line that closes the block. */
  readonly closing: string;
}

const OPENING = /^([ \t]*)(`{3,}(?=[^`]*$)|~{3,})/;

/** Returns the open block after the line; `fence` is the open block before it. */
export function fenceAfter(line: string, fence: CodeFence | undefined): CodeFence | undefined {
  if (fence !== undefined) return isClosing(line, fence) ? undefined : fence;
  // Fast path: most lines contain no fence, and the pattern dominates the cost of splitting.
  if (!line.includes('```') && !line.includes('~~~')) return undefined;
  const match = OPENING.exec(line);
  if (match === null) return undefined;
  return { opening: line.trimEnd(), closing: `${match[1]}${match[2]}` };
}

function isClosing(line: string, { closing }: CodeFence): boolean {
  const text = line.trim();
  const marks = closing.trim();
  return text.startsWith(marks) && text === marks.charAt(0).repeat(text.length);
}
