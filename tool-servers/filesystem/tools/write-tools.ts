// The tools that write, apart from edit_file.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { inMebibytes, MAX_WRITE_BYTES } from '../limits.ts';
import { pathOf } from './parameters.ts';

export function writeTools(confinement: Confinement): Tool[] {
  return [
    defineTool({
      name: 'write_file',
      title: 'Write file',
      description: `Create a text file, or replace the whole content of one without asking. The file is written completely or not at all, and keeps its permissions. The folder must exist: create_directory makes it. Content may have ${inMebibytes(MAX_WRITE_BYTES)} at most, and is written as UTF-8 exactly as given. To change parts of a file use edit_file.`,
      input: z.strictObject({
        path: pathOf('The file to write.'),
        content: z.string().describe('The whole new content.'),
      }),
      output: z.object({
        path: z.string(),
        bytes: z.number().int(),
        wasThere: z.boolean().describe('Whether a file was replaced.'),
      }),
      hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
      run: async ({ path, content }, { signal }) => {
        const bytes = encodeText(content, 'content');
        const { path: written, wasThere } = await confinement.write(path, bytes, signal);
        const what = wasThere ? 'Replaced' : 'Created';
        return {
          text: `${what} ${written} (${bytes.length} bytes).`,
          structured: { path: written, bytes: bytes.length, wasThere },
        };
      },
    }),
    defineTool({
      name: 'create_directory',
      title: 'Create directory',
      description:
        'Create a directory, with every parent that is missing. It is no error when the directory is there already.',
      input: z.strictObject({ path: pathOf('The directory to create.') }),
      output: z.object({
        path: z.string(),
        wasThere: z.boolean().describe('Whether it was there already.'),
      }),
      hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      run: async ({ path }) => {
        const made = await confinement.makeDirectory(path);
        const text = made.wasThere ? `${made.path} is there already.` : `Created ${made.path}.`;
        return { text, structured: { path: made.path, wasThere: made.wasThere } };
      },
    }),
    defineTool({
      name: 'move_file',
      title: 'Move or rename',
      description:
        'Move or rename a file or directory. It never replaces anything: when the destination is there, it fails. The folder of the destination must exist. Both ends must be in allowed directories.',
      input: z.strictObject({
        source: pathOf('What to move.'),
        destination: pathOf('Its whole new path, the new name included.'),
      }),
      output: z.object({ source: z.string(), destination: z.string() }),
      hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
      run: async ({ source, destination }) => {
        const moved = await confinement.move(source, destination);
        return {
          text: `Moved ${moved.source} to ${moved.destination}.`,
          structured: { source: moved.source, destination: moved.destination },
        };
      },
    }),
  ];
}

/**
 * `text` as UTF-8.
 * @throws ToolError when it is too long, or has half a character that UTF-8 cannot say
 */
export function encodeText(text: string, parameter: string): Uint8Array {
  // Half of a pair would be written as a question mark, and nobody would know.
  if (/\p{Surrogate}/u.test(text))
    throw new ToolError(
      `${parameter} has half of a surrogate pair, which no text file can hold. Nothing was written. Send whole characters.`,
    );
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_WRITE_BYTES)
    throw new ToolError(
      `${parameter} has ${bytes.length} bytes; ${MAX_WRITE_BYTES} are allowed. Nothing was written. Split it into several files.`,
    );
  return bytes;
}
