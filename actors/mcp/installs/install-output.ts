// Output of an installation by a package launcher such as npx, in a file without a name. With a pipe, the
// launcher would fail when the gateway is killed, and leave a damaged package folder. The file is read on
// demand.

import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redactor } from '../../base/errors/redact.ts';
import { StderrTail } from '../links/stdio/stderr-tail.ts';

const LF = 0x0a;
/**
 * Maximum number of bytes per read. Older bytes are skipped, so a flood of lines cannot block the gateway.
 */
const MAX_BYTES = 1024 * 1024;

export class InstallOutput {
  readonly fd: number;
  readonly #tail: StderrTail;
  #position = 0;
  #lineCount = 0;
  #isClosed = false;

  /** Throws an error of the system if the folder for temporary files is not writable. */
  constructor(redactor: Redactor) {
    this.#tail = new StderrTail(redactor);
    const folder = mkdtempSync(join(tmpdir(), 'actor-gateway-install-'));
    this.fd = openSync(join(folder, 'output'), 'w+');
    // The open file needs no name, and disappears with its last user.
    rmSync(folder, { recursive: true });
  }

  /** Number of lines so far. */
  get lineCount(): number {
    this.#read();
    return this.#lineCount;
  }

  /** Last lines, oldest first, redacted. */
  get lastLines(): readonly string[] {
    this.#read();
    return this.#tail.lines;
  }

  close(): void {
    this.#read();
    closeSync(this.fd);
    this.#isClosed = true;
  }

  #read(): void {
    if (this.#isClosed) return;
    const { size } = fstatSync(this.fd);
    this.#position = Math.max(this.#position, size - MAX_BYTES);
    if (size <= this.#position) return;
    const bytes = Buffer.alloc(size - this.#position);
    const count = readSync(this.fd, bytes, 0, bytes.length, this.#position);
    this.#position += count;
    const chunk = bytes.subarray(0, count);
    for (const byte of chunk) if (byte === LF) this.#lineCount += 1;
    this.#tail.push(chunk);
  }
}
