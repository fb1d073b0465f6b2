// Tools that write, except edit_file.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { inMebibytes, MAX_WRITE_BYTES } from '../limits.ts';
import { pathParameter } from './parameters.ts';

export function writeTools(confinement: Confinement): ServerTool[] {
  return [writeFileTool(confinement), createDirectoryTool(confinement), moveFileTool(confinement)];
}

function writeFileTool(confinement: Confinement): ServerTool {
  return defineTool({
    name: 'write_file',
    title: 'Write file',
    description: `Create a text file, or replace the whole content of an existing one without confirmation. The write is atomic and keeps the permissions. The parent directory must exist; create it with create_directory. Content is written as UTF-8 without changes, up to ${inMebibytes(MAX_WRITE_BYTES)}. To change part of a file use edit_file.`,
    input: z.strictObject({
      path: pathParameter('The file to write.'),
      content: z.string().describe('Complete new content.'),
    }),
    output: z.object({
      path: z.string(),
      bytes: z.number().int(),
      wasThere: z.boolean().describe('True if an existing file was replaced.'),
    }),
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    run: async ({ path, content }, { signal }) => {
      const bytes = encodeText(content, 'content');
      const { path: written, existed: wasThere } = await confinement.write(path, bytes, signal);
      const verb = wasThere ? 'Replaced' : 'Created';
      return {
        text: `${verb} ${written} (${bytes.length} bytes).`,
        structured: { path: written, bytes: bytes.length, wasThere },
      };
    },
  });
}

function createDirectoryTool(confinement: Confinement): ServerTool {
  return defineTool({
    name: 'create_directory',
    title: 'Create directory',
    description: 'Create a directory and its missing parents. An existing directory is not an error.',
    input: z.strictObject({ path: pathParameter('The directory to create.') }),
    output: z.object({
      path: z.string(),
      wasThere: z.boolean().describe('True if the directory already existed.'),
    }),
    hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    run: async ({ path }) => {
      const result = await confinement.makeDirectory(path);
      const text = result.existed ? `${result.path} already exists.` : `Created ${result.path}.`;
      return { text, structured: { path: result.path, wasThere: result.existed } };
    },
  });
}

function moveFileTool(confinement: Confinement): ServerTool {
  return defineTool({
    name: 'move_file',
    title: 'Move or rename',
    description:
      'Move or rename a file or directory. Fails if the destination exists; nothing is replaced. The parent directory of the destination must exist. Source and destination must be in allowed directories.',
    input: z.strictObject({
      source: pathParameter('File or directory to move.'),
      destination: pathParameter('Full new path, including the name.'),
    }),
    output: z.object({ source: z.string(), destination: z.string() }),
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    run: async ({ source, destination }) => {
      const result = await confinement.move(source, destination);
      return {
        text: `Moved ${result.source} to ${result.destination}.`,
        structured: { source: result.source, destination: result.destination },
      };
    },
  });
}

/**
 * Encodes `text` as UTF-8.
 * @throws ToolError if the text is too long or contains half of a surrogate pair
 */
export function encodeText(text: string, parameter: string): Uint8Array {
  // TextEncoder would silently replace it.
  if (/\p{Surrogate}/u.test(text))
    throw new ToolError(
      `${parameter} contains half of a surrogate pair, which UTF-8 cannot encode. Nothing was written. Send complete characters.`,
    );
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_WRITE_BYTES)
    throw new ToolError(
      `${parameter} has ${bytes.length} bytes; the limit is ${MAX_WRITE_BYTES}. Nothing was written. Split it into several files.`,
    );
  return bytes;
}
