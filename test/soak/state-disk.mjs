// State folder of the gateway: a small separate disk, if it can be mounted. Only a separate disk can be
// filled.

import { execFileSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Disk size for the start. Each minute needs BYTES_A_MINUTE, because records are stored for days. */
const DISK_BYTES = 192 * 1024 * 1024;
const BYTES_A_MINUTE = 12 * 1024 * 1024;
const PIECE = Buffer.alloc(1024 * 1024);

export class StateDisk {
  folder;
  /** True for a separate disk, the only kind that can be filled. */
  canFill;

  constructor({ folder, canMount, minutes }) {
    this.folder = folder;
    this.canFill = canMount;
    mkdirSync(folder, { mode: 0o700 });
    if (!canMount) return;
    const options = `size=${DISK_BYTES + Math.ceil(minutes) * BYTES_A_MINUTE},mode=0700`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
  }

  /** Fills the disk to the last byte. */
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

  /** Copies the content of the disk, which is lost when this process exits. */
  copyTo(folder) {
    if (!this.canFill) return;
    this.free();
    cpSync(this.folder, folder, { recursive: true });
  }

  /** Unmounts the disk before the folder is removed. */
  release() {
    if (this.canFill) execFileSync('umount', ['--lazy', this.folder]);
  }

  get #ballast() {
    return join(this.folder, 'ballast');
  }
}
