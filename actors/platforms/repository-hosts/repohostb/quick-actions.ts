// The host carries out lines of a note that begin with a slash (`/merge`, `/close`), by the right of the token; what an agent
// repeats may be a stranger's. So no such line leaves: a backslash goes before the slash, and nobody sees it on the page.
//
// In code nothing is changed, since people copy it, where it is certain that every version of the host reads it as code: a block
// between lines of three backticks, and before it nothing that only the whole of Markdown would tell. In doubt it is text,
// of which only what may be the name of a command is changed.
// The host takes carriage returns out before it looks for lines, so they are line ends here; zeros it does not take at all.
// They are replaced, not left out: what they part must not become a name, or a mark of ours.

/** What may begin a block of code, in whatever list or quotation. */
const FENCE = /`{3}|~{3}/;
const OPENING = /^`{3}[^`]*$/;
/** What may end one for some version; older ones end with `</` what they take for HTML: our mark before the note, say. */
const ENDS = /^\s*`{3,}\s*$|^<\//;
/** HTML and quotations of the host's own, in which a fence may be none, or end early. */
const MISLEADING = /^[\s>]*(<|>>>)/;
const SLASH = /^( {0,3})\//;
const COMMAND = /^( {0,3})\/(?=\w)/;

/** The text in which nothing is a command of the host. */
export function withoutQuickActions(text: string): string {
  if (!text.includes('/')) return cleaned(text);
  const lines = cleaned(text).split('\n');
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

function cleaned(text: string): string {
  return text.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd');
}

/** By a line that ends it for every version, before any that does for some, and with something in it. */
function isClosed(lines: readonly string[], opening: number): boolean {
  let end = opening + 1;
  while (end < lines.length && !ENDS.test(lines[end] ?? '')) end += 1;
  return end > opening + 1 && lines[end] === '```';
}
