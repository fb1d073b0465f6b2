// Reads the text for options with the value `-` from stdin.

import { CommandLineError } from '../api/target-options.ts';

/** Above the gateway's own limit, which reports the precise error. */
const MAX_STDIN_BYTES = 524_288;

/** Returns the text without trailing white space. Throws CommandLineError above the limit. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_STDIN_BYTES)
      throw new CommandLineError('the text on stdin is longer than 512 KiB; send a shorter one');
  }
  return Buffer.concat(chunks).toString('utf8').replace(/\s+$/, '');
}
