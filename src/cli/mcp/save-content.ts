// Saves a result to the file of --output: images, audio and binary data, in numbered files if necessary;
// otherwise the text. Files are replaced atomically. Pipes and devices, such as /dev/stdout, are written
// directly.

import { constants, type Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { printable } from '../../terminal/terminal-text.ts';
import { CommandLineError } from '../api/target-options.ts';
import { writeFileAtomically } from '../files/atomic-write.ts';
import { UnwritableFile } from '../files/replaceable-path.ts';
import { printMessage } from '../views/output.ts';
import { type FormattedResult, sizeText } from '../views/results.ts';

/** Saves a result. Throws CommandLineError if the file is not writable. */
export async function saveContent(file: string, { attachments, text }: FormattedResult): Promise<void> {
  const parts = attachments.length > 0 ? attachments : [{ type: 'text', bytes: Buffer.from(text) }];
  for (const [at, { type, bytes }] of parts.entries()) {
    const name = at === 0 ? file : numbered(file, at + 1);
    try {
      if (!(await writeInto(name, bytes))) await writeFileAtomically(name, bytes);
    } catch (error) {
      const { code = 'unknown reason', message } = error as NodeJS.ErrnoException;
      const why = error instanceof UnwritableFile ? message : `it cannot be written (${code})`;
      throw new CommandLineError(`--output ${printable(name)}: ${printable(why)}`);
    }
    printMessage(printable(`saved ${name} (${type}, ${sizeText(bytes.length)})`));
  }
}

/** Writes to a pipe or device. Returns false for any other file. */
async function writeInto(name: string, bytes: Uint8Array): Promise<boolean> {
  const isStream = (found: Stats) => found.isFIFO() || found.isCharacterDevice();
  const found = await stat(name).catch(() => undefined);
  if (found === undefined || !isStream(found)) return false;
  const handle = await open(name, constants.O_WRONLY);
  try {
    // The path has possibly changed since the first check.
    if (!isStream(await handle.stat())) return false;
    await handle.writeFile(bytes);
    return true;
  } finally {
    await handle.close();
  }
}

/** Returns a name such as `picture-2.png`. */
function numbered(file: string, number: number): string {
  const extension = extname(file);
  return `${file.slice(0, file.length - extension.length)}-${number}${extension}`;
}
