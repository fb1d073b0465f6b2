// What stands on stdin, for options that take `-`.

import { UsageError } from '../api/target-options.ts';

/** More than the gateway takes, so that this is for it to say. */
const MAX_STDIN_BYTES = 524_288;

/** Without the line end. Throws UsageError for what is far too long. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_STDIN_BYTES) throw new UsageError('what stands on stdin is too long for a message');
  }
  return Buffer.concat(chunks).toString('utf8').replace(/\s+$/, '');
}
