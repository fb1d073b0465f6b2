// Counts the tool calls in each line of an event stream while it arrives. The client libraries parse a line
// as a whole, slowly if it contains many calls. Providers that send one call per event need no count here.

const LINE_FEED = 10;
/** Members that begin a call. Quotes within texts are escaped. */
const CALL = /(?<!\\)"(?:function|functionCall)"\s*:/g;
/** Length of a member that may be split between two pieces. */
const MAX_MEMBER = 32;

export class LineCalls {
  #count = 0;
  /** End of the previous piece, in the same line. */
  #rest = '';

  /** Adds a piece. Returns the largest number of calls in a line that the piece continues, begins or ends. */
  add(piece: Uint8Array): number {
    let most = 0;
    for (let start = 0; start <= piece.length; ) {
      const found = piece.indexOf(LINE_FEED, start);
      const end = found === -1 ? piece.length : found;
      most = Math.max(most, this.#addToLine(piece.subarray(start, end)));
      if (found !== -1) {
        this.#count = 0;
        this.#rest = '';
      }
      start = end + 1;
    }
    return most;
  }

  #addToLine(bytes: Uint8Array): number {
    const text = this.#rest + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
    let end = 0;
    for (const { index, 0: member } of text.matchAll(CALL)) {
      this.#count += 1;
      end = index + member.length;
    }
    this.#rest = text.slice(Math.max(end, text.length - MAX_MEMBER));
    return this.#count;
  }
}
