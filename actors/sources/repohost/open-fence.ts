// Whether a text in Markdown ends inside a fenced block of code, which would take in whatever is written behind it: the block
// structure of CommonMark 0.31 (sections 4.5, 5.1 and 5.2) as far as it decides that. A fence inside of a quotation or a list
// ends with that, so it needs none to close it, and one more would open another.
//
// OF1  takes time that is linear in the text, however deep its quotations and lists.

/** A fence that is open at the end, outside of quotations and lists. */
export interface OpenFence {
  /** Where its line begins. */
  readonly start: number;
  /** The line that closes it. */
  readonly closing: string;
}

/** The columns by which the lines of a list's item are indented; 0 for a quotation. */
type Container = number;

/** Nobody quotes as deep as this. */
const MAX_DEPTH = 50;

const quotation = /^ {0,3}> ?/;
const opening = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/;
const closed = /^ {0,3}(`{3,}|~{3,}) *$/;
const rule = /^ {0,3}(?:(?:- *){3,}|(?:_ *){3,}|(?:\* *){3,})$/;
const underline = /^ {0,3}(?:=+|-+) *$/;
const heading = /^ {0,3}#{1,6}(?: |$)/;
const item = /^( {0,3}(?:[-+*]|(\d{1,9})[.)]))( *)(.*)$/;

class Blocks {
  containers: Container[] = [];
  fence: (OpenFence & { readonly depth: number }) | undefined;
  #isInParagraph = false;
  /** The item's first line was empty: a second one ends it. */
  #isBareItem = false;

  line(line: string, start: number): void {
    let { rest, matched } = this.#within(withoutTabs(line));
    if (this.fence !== undefined) {
      if (matched === this.fence.depth) {
        const run = closed.exec(rest)?.[1];
        if (run?.startsWith(this.fence.closing)) this.fence = undefined;
        return;
      }
      this.fence = undefined;
      this.#isInParagraph = false;
    }
    const isBareItem = this.#isBareItem;
    this.#isBareItem = false;
    // A line of a paragraph that goes on belongs to it, although the marks of its quotation are left out.
    let isLazy = matched < this.containers.length;
    const leave = () => {
      if (isLazy) this.containers.length = matched;
      isLazy = false;
    };
    for (;;) {
      if (rest.trim() === '') {
        if (isBareItem && !isLazy) this.containers.pop();
        leave();
        this.#isInParagraph = false;
        return;
      }
      if (/^ {4}/.test(rest)) {
        if (!this.#isInParagraph) leave();
        return;
      }
      const hadParagraph = this.#isInParagraph && !isLazy;
      const run = opening.exec(rest);
      if (run !== null) {
        leave();
        this.#isInParagraph = false;
        this.fence = { start, closing: run[1] ?? run[2] ?? '', depth: this.containers.length };
        return;
      }
      if ((hadParagraph && underline.test(rest)) || rule.test(rest) || heading.test(rest)) {
        leave();
        this.#isInParagraph = false;
        return;
      }
      const inner = this.containers.length < MAX_DEPTH ? innerOf(rest, hadParagraph) : undefined;
      if (inner === undefined) {
        if (!this.#isInParagraph) leave();
        this.#isInParagraph = true;
        return;
      }
      leave();
      this.#isInParagraph = false;
      this.containers.push(inner.container);
      matched = this.containers.length;
      rest = inner.rest;
      if (rest.trim() === '' && inner.container > 0) {
        this.#isBareItem = true;
        return;
      }
    }
  }

  /** What is left of the line within the containers it goes on with, and how many those are. */
  #within(line: string): { rest: string; matched: number } {
    let rest = line;
    let matched = 0;
    for (const container of this.containers) {
      if (container === 0) {
        const mark = quotation.exec(rest)?.[0];
        if (mark === undefined) break;
        rest = rest.slice(mark.length);
      } else if (rest.trim() !== '') {
        if (rest.slice(0, container).trim() !== '') break;
        rest = rest.slice(container);
      }
      matched += 1;
    }
    return { rest, matched };
  }
}

/** With blanks up to the next of the stops, which are four columns apart. */
function withoutTabs(line: string): string {
  if (!line.includes('\t')) return line;
  let text = '';
  for (const part of line.split(/(?<=\t)/)) {
    const plain = part.replace('\t', '');
    text += plain;
    if (plain !== part) text += ' '.repeat(4 - (text.length % 4));
  }
  return text;
}

/** The quotation or item that begins with the line, and what stands in it. */
function innerOf(line: string, hasParagraph: boolean): { container: Container; rest: string } | undefined {
  const mark = quotation.exec(line)?.[0];
  if (mark !== undefined) return { container: 0, rest: line.slice(mark.length) };
  const found = item.exec(line);
  if (found === null) return undefined;
  const [, marker = '', number, blanks = '', text = ''] = found;
  if (text !== '' && blanks === '') return undefined;
  // What might be a line of the paragraph before it begins no list.
  if (hasParagraph && (text === '' || (number !== undefined && Number(number) !== 1))) return undefined;
  const pad = text === '' || blanks.length > 4 ? 1 : blanks.length;
  return { container: marker.length + pad, rest: line.slice(marker.length + pad) };
}

/** The fence that is open at the end of the text. */
export function openFence(text: string): OpenFence | undefined {
  const blocks = new Blocks();
  let start = 0;
  for (const line of text.split(/\r\n|\r|\n/)) {
    blocks.line(line, start);
    start += line.length + (text.startsWith('\r\n', start + line.length) ? 2 : 1);
  }
  return blocks.fence?.depth === 0 ? blocks.fence : undefined;
}
