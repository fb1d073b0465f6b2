// Waiting lines as bytes in blocks outside the heap. Strings that wait for the next write would outlive the
// young generation of the garbage collector, which costs more than the rest of a line (docs/internals.md).

/** Size of a usual block. A longer line has a block of its own. */
const BLOCK = 65_536;
/** Maximum number of bytes per UTF-16 unit. */
const UTF8 = 3;

interface LineBlock {
  readonly bytes: Buffer;
  used: number;
  /** End of each line. */
  readonly ends: number[];
  /** Number of removed lines. */
  removed: number;
}

export class LineQueue {
  readonly #blocks: LineBlock[] = [];
  /** Empty block for reuse. */
  #spare: LineBlock | undefined;
  #count = 0;
  #bytes = 0;

  get count(): number {
    return this.#count;
  }

  /** Size of the waiting lines. */
  get bytes(): number {
    return this.#bytes;
  }

  add(line: string): void {
    const maxBytes = line.length * UTF8;
    let block = this.#blocks.at(-1);
    if (block === undefined || block.used + maxBytes > block.bytes.length) {
      block = this.#newBlock(maxBytes);
      this.#blocks.push(block);
    }
    const size = block.bytes.write(line, block.used);
    block.used += size;
    block.ends.push(block.used);
    this.#count += 1;
    this.#bytes += size;
  }

  /** Returns the oldest lines up to a size, at least one if any waits. `overhead` is added per line. */
  peek(maxBytes: number, overhead: number): readonly Buffer[] {
    const lines: Buffer[] = [];
    let size = 0;
    for (const { bytes, ends, removed } of this.#blocks)
      for (let at = removed; at < ends.length; at += 1) {
        const line = bytes.subarray(ends[at - 1] ?? 0, ends[at]);
        size += line.length + overhead;
        if (size > maxBytes && lines.length > 0) return lines;
        lines.push(line);
      }
    return lines;
  }

  /** Removes the oldest lines. Their bytes may be overwritten afterwards. */
  remove(lines: readonly Buffer[]): void {
    for (const line of lines) {
      const block = this.#blocks[0];
      if (block === undefined) return;
      block.removed += 1;
      this.#count -= 1;
      this.#bytes -= line.length;
      if (block.removed === block.ends.length) this.#recycle(block);
    }
  }

  #newBlock(minBytes: number): LineBlock {
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare !== undefined && minBytes <= BLOCK) return spare;
    return { bytes: Buffer.allocUnsafeSlow(Math.max(BLOCK, minBytes)), used: 0, ends: [], removed: 0 };
  }

  #recycle(block: LineBlock): void {
    this.#blocks.shift();
    if (block.bytes.length > BLOCK) return;
    this.#spare = block;
    block.used = 0;
    block.ends.length = 0;
    block.removed = 0;
  }
}
