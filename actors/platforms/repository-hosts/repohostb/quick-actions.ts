// Escapes quick actions in notes. The host runs lines that begin with a slash (`/merge`, `/close`) with the
// rights of the token, and an agent may repeat the text of a stranger. A backslash before the slash prevents
// this and is invisible on the page.
//
// - Code stays unchanged, because people copy it. A block counts as code only if every version of the host
//   parses it as code: a block fenced by three backticks, after lines that need no full Markdown parser.
// - Uncertain lines count as text, and only possible command names are escaped.
// - The host removes carriage returns before it splits lines, so here they count as line ends. It rejects NUL
//   characters. These are replaced, because removing them could join the text around them into a command or a
//   mark.

/** Possible code block start, also in a list or quotation. */
const FENCE = /`{3}|~{3}/;
const OPENING = /^`{3}[^`]*$/;
/** Possible code block end. In older versions `</` also ends HTML, such as the mark before the note. */
const ENDS = /^\s*`{3,}\s*$|^<\//;
/** HTML and the host's multi-line quotations, in which a fence may be plain text or may close early. */
const MISLEADING = /^[\s>]*(<|>>>)/;
const SLASH = /^( {0,3})\//;
const COMMAND = /^( {0,3})\/(?=\w)/;

/** Returns the text with all quick actions escaped. */
export function escapeQuickActions(text: string): string {
  if (!text.includes('/')) return clean(text);
  const lines = clean(text).split('\n');
  let isCertain = true;
  let isCode = false;
  return lines
    .map((line, at) => {
      if (isCode) {
        isCode = line !== '```';
        return line;
      }
      if (isCertain && OPENING.test(line) && isClosed(lines, at)) {
        isCode = true;
        return line;
      }
      isCertain &&= !FENCE.test(line) && !MISLEADING.test(line);
      return line.replace(isCertain ? SLASH : COMMAND, '$1\\/');
    })
    .join('\n');
}

function clean(text: string): string {
  return text.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd');
}

/** Returns true if the block is not empty, and its first possible end is an end in every version. */
function isClosed(lines: readonly string[], opening: number): boolean {
  let end = opening + 1;
  while (end < lines.length && !ENDS.test(lines[end] ?? '')) end += 1;
  return end > opening + 1 && lines[end] === '```';
}
