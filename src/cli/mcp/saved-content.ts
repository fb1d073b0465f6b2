// What --output keeps of a result: its picture, sound or bytes, several of them in files with a number; of one that has none its text.

import { writeFileSync } from 'node:fs';
import { extname } from 'node:path';
import { UsageError } from '../api/target-options.ts';
import { complain } from '../views/output.ts';
import { type ShownResult, sizeText } from '../views/result-views.ts';
import { printable } from '../views/terminal-text.ts';

/** Throws UsageError for a file that cannot be written. */
export function saveContent(file: string, { attachments, text }: ShownResult): void {
  const parts = attachments.length > 0 ? attachments : [{ type: 'text', bytes: Buffer.from(text) }];
  for (const [at, { type, bytes }] of parts.entries()) {
    const name = at === 0 ? file : numbered(file, at + 1);
    try {
      writeFileSync(name, bytes);
    } catch (error) {
      const { code = 'unknown reason' } = error as { code?: string };
      throw new UsageError(`--output ${printable(name)}: it cannot be written (${code})`);
    }
    complain(printable(`saved ${name} (${type}, ${sizeText(bytes.length)})`));
  }
}

/** `picture-2.png`. */
function numbered(file: string, number: number): string {
  const extension = extname(file);
  return `${file.slice(0, file.length - extension.length)}-${number}${extension}`;
}
