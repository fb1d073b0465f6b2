// The disk on which the gateway keeps its state: a small one of its own where that can be mounted, so that it can be filled.

import { execFileSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** At the beginning, and for what a minute leaves behind, since records are kept for days. */
const DISK_BYTES = 192 * 1024 * 1024;
const BYTES_A_MINUTE = 12 * 1024 * 1024;
const PIECE = Buffer.alloc(1024 * 1024);

export class StateDisk {
  folder;
  /** A disk of its own, which alone can be filled. */
  canFill;

  constructor({ folder, canMount, minutes }) {
    this.folder = folder;
    this.canFill = canMount;
    mkdirSync(folder, { mode: 0o700 });
    if (!canMount) return;
    const options = `size=${DISK_BYTES + Math.ceil(minutes) * BYTES_A_MINUTE},mode=0700`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  }

  /** Not one byte is left. */
  fill() {
    const file = openSync(this.#ballast, 'a');
    try {
      for (let piece = PIECE; piece.length > 0; ) {
        try {
          const written = writeSync(file, piece);
          if (written < piece.length) piece = piece.subarray(0, Math.floor(piece.length / 2));
        } catch {
          piece = piece.subarray(0, Math.floor(piece.length / 2));
        }
      }
    } finally {
      closeSync(file);
    }
  }

  free() {
    rmSync(this.#ballast, { force: true });
  }

  /** What was mounted is gone with this process: here it is kept. */
  copyTo(folder) {
    if (!this.canFill) return;
    this.free();
    cpSync(this.folder, folder, { recursive: true });
  }

  /** The folder can be removed. */
  release() {
    if (this.canFill) execFileSync('umount', ['--lazy', this.folder]);
  }

  get #ballast() {
    return join(this.folder, 'ballast');
  }
}
