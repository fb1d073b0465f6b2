// edit_file: exact replacements in one text file, all or none, with a diff.

import { z } from 'zod';
import { defineTool, type ServerTool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { inMebibytes, MAX_EDIT_FILE_BYTES, MAX_EDITS, MAX_OLD_TEXT_CHARS } from '../limits.ts';
import { applyEdits, type TextEdit, unifiedDiff } from '../text/edits.ts';
import { decodeText, notTextMessage, readBytes } from '../text/partial-read.ts';
import { pathParameter } from './parameters.ts';
import { encodeText } from './write-tools.ts';

export function editTool(confinement: Confinement): ServerTool {
  return defineTool({
    name: 'edit_file',
    title: 'Edit file',
    description: `Replace exact text in a text file. Each oldText must occur exactly once: include enough surrounding text. Edits are applied in order, all or none. Line endings are kept. Returns a unified diff; with dryRun it returns the diff and writes nothing. Maximum file size: ${inMebibytes(MAX_EDIT_FILE_BYTES)}. For a new file or completely new content use write_file.`,
    input: z.strictObject({
      path: pathParameter('The file to edit.'),
      edits: z
        .array(
          z.strictObject({
            oldText: z
              .string()
              .min(1)
              .max(MAX_OLD_TEXT_CHARS)
              .describe('Text to replace, exactly as in the file.'),
            newText: z.string().describe('New text; empty to delete.'),
          }),
        )
        .min(1)
        .max(MAX_EDITS)
        .describe('Replacements, applied in this order.'),
      dryRun: z.boolean().default(false).describe('Return the diff without writing.'),
    }),
    hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
    run: async ({ path, edits, dryRun }, { signal }) => {
      if (dryRun) return { text: await preview(confinement, path, edits, signal) };
      let before = '';
      let after = '';
      const edit = async (bytes: Buffer) => {
        before = textOf(path, bytes);
        after = await applyEdits(before, edits, signal);
        return Buffer.from(encodeText(after, 'newText'));
      };
      const changed = await confinement.change(path, MAX_EDIT_FILE_BYTES, edit, signal);
      return { text: unifiedDiff(changed.path, before, after) };
    },
  });
}

function preview(
  confinement: Confinement,
  path: string,
  edits: readonly TextEdit[],
  signal: AbortSignal,
): Promise<string> {
  return confinement.read(path, async (file) => {
    if (file.sizeBytes > MAX_EDIT_FILE_BYTES)
      throw new ToolError(
        `${file.path} has ${file.sizeBytes} bytes; the limit of edit_file is ${MAX_EDIT_FILE_BYTES}.`,
      );
    const before = textOf(file.path, await readBytes(file.handle, 0, file.sizeBytes));
    return unifiedDiff(file.path, before, await applyEdits(before, edits, signal));
  });
}

function textOf(path: string, bytes: Uint8Array): string {
  const text = decodeText(bytes);
  if (text === undefined) throw new ToolError(notTextMessage(path, bytes, bytes.length));
  return text;
}
