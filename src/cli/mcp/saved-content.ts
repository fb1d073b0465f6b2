// Saves a result for --output: pictures, sounds and bytes in numbered files, or else its text. Files are replaced atomically; a pipe or
// a device, such as /dev/stdout, is written to, not replaced.

import { constants, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { printable } from '../../terminal/terminal-text.ts';
import { UsageError } from '../api/target-options.ts';
import { UnwritableFile } from '../files/replaceable-file.ts';
import { writeWhole } from '../files/whole-file.ts';
import { complain } from '../views/output.ts';
import { type ShownResult, sizeText } from '../views/result-views.ts';

/** Throws UsageError for a file that cannot be written. */
export async function saveContent(file: string, { attachments, text }: ShownResult): Promise<void> {
  const parts = attachments.length > 0 ? attachments : [{ type: 'text', bytes: Buffer.from(text) }];
  for (const [at, { type, bytes }] of parts.entries()) {
    const name = at === 0 ? file : numbered(file, at + 1);
    try {
      if (!(await writeInto(name, bytes))) await writeWhole(name, bytes);
    } catch (error) {
      const { code = 'unknown reason', message } = error as NodeJS.ErrnoException;
      const why = error instanceof UnwritableFile ? message : `it cannot be written (${code})`;
      throw new UsageError(`--output ${printable(name)}: ${printable(why)}`);
    }
    complain(printable(`saved ${name} (${type}, ${sizeText(bytes.length)})`));
  }
}

/** Writes into a pipe or a device. Returns false for anything else. */
async function writeInto(name: string, bytes: Uint8Array): Promise<boolean> {
  const isStream = (found: Stats) => found.isFIFO() || found.isCharacterDevice();
  const found = await stat(name).catch(() => undefined);
  if (found === undefined || !isStream(found)) return false;
  const handle = await open(name, constants.O_WRONLY);
  try {
    // The path may have changed since the first check.
    if (!isStream(await handle.stat())) return false;
    await handle.writeFile(bytes);
    return true;
  } finally {
    await handle.close();
  }
}

/** `picture-2.png`. */
function numbered(file: string, number: number): string {
  const extension = extname(file);
  return `${file.slice(0, file.length - extension.length)}-${number}${extension}`;
}
