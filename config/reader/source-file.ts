// Text of a configuration file, with conversion of offsets to line and column. Only regular UTF-8 files of at
// most 4 MiB are read. An MCP bundle is a ZIP archive with a server's files, and only its manifest is read.
// For an unusable file the result is a reason, not an exception: the caller knows the position to report.

import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { isBundlePath } from './bundle-path.ts';
import type { Problem } from './problem.ts';

const maxFileBytes = 4 * 1024 * 1024;

export class SourceFile {
  readonly path: string;
  readonly text: string;
  readonly #lineStarts: number[] = [0];

  constructor(path: string, text: string) {
    this.path = path;
    this.text = text;
    for (let index = text.indexOf('\n'); index !== -1; index = text.indexOf('\n', index + 1))
      this.#lineStarts.push(index + 1);
  }

  /** Creates a problem at an offset. An offset beyond the text refers to its end. */
  problem(offset: number, message: string, severity: Problem['severity'] = 'error'): Problem {
    const position = Math.max(0, Math.min(offset, this.text.length));
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#lineStarts[middle] ?? 0) <= position) low = middle;
      else high = middle - 1;
    }
    const column = position - (this.#lineStarts[low] ?? 0) + 1;
    return { file: this.path, line: low + 1, column, message, severity };
  }
}

const reasons: Record<string, string> = {
  ENOENT: 'the file does not exist',
  ENOTDIR: 'the file does not exist',
  EACCES: 'no permission to read the file',
  EPERM: 'no permission to read the file',
  EISDIR: 'this is a folder, not a file',
  ELOOP: 'too many symbolic links',
};

/** Reads a configuration file; `reason` is an error message. Never rejects. */
export async function readSourceFile(path: string): Promise<SourceFile | { readonly reason: string }> {
  let handle: FileHandle | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe would block until a writer connects.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await handle.stat();
    if (stat.isDirectory()) return { reason: 'this is a folder, not a file' };
    if (!stat.isFile()) return { reason: 'not a regular file' };
    if (isBundlePath(path)) {
      const { readManifest } = await import('./bundle-file.ts');
      const manifest = await readManifest(handle, stat.size, maxFileBytes);
      return Buffer.isBuffer(manifest) ? decode(path, manifest) : manifest;
    }
    const bytes = await readAtMost(handle, maxFileBytes + 1);
    if (bytes.length > maxFileBytes) return { reason: 'the file is larger than 4 MiB' };
    return decode(path, bytes);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return { reason: reasons[code] ?? `the file cannot be read (${code})` };
  } finally {
    await handle?.close().catch(() => {});
  }
}

/** The file may grow during the read, so the size from `stat` is not a limit. */
async function readAtMost(handle: FileHandle, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let total = 0;
  while (total < limit) {
    const chunk = Buffer.alloc(Math.min(64 * 1024, limit - total));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    total += bytesRead;
  }
  return Buffer.concat(chunks);
}

function decode(path: string, bytes: Buffer): SourceFile | { readonly reason: string } {
  try {
    // The decoder also removes a byte order mark.
    return new SourceFile(path, new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    const text = new TextDecoder('utf-8').decode(bytes);
    const { line, column } = new SourceFile(path, text).problem(text.indexOf('\uFFFD'), '');
    return { reason: `the file is not UTF-8 text (line ${line}, column ${column})` };
  }
}
