// edit_file: exact replacements in one text file, all or none, with a diff of what they do.

import { z } from 'zod';
import { defineTool, type Tool } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { inMebibytes, MAX_EDIT_FILE_BYTES, MAX_EDITS, MAX_OLD_TEXT_CHARS } from '../limits.ts';
import { applyEdits, type TextEdit, unifiedDiff } from '../text/text-edits.ts';
import { decodeText, notTextOf, readBytes } from '../text/text-part.ts';
import { pathOf } from './parameters.ts';
import { encodeText } from './write-tools.ts';

export function editTool(confinement: Confinement): Tool {
  return defineTool({
    name: 'edit_file',
    title: 'Edit file',
    description: `Replace exact pieces of a text file. Each oldText must be found exactly once: give enough of the text around it. Edits are made in order, and either all of them or none. Line endings of the file are kept. Returns a unified diff; with dryRun it shows the diff and writes nothing. The file may have ${inMebibytes(MAX_EDIT_FILE_BYTES)} at most. For a new file or other content altogether use write_file.`,
    input: z.strictObject({
      path: pathOf('The file to edit.'),
      edits: z
        .array(
          z.strictObject({
            oldText: z
              .string()
              .min(1)
              .max(MAX_OLD_TEXT_CHARS)
              .describe('The text to replace, exactly as it stands in the file.'),
            newText: z.string().describe('What stands there afterwards; empty to delete.'),
          }),
        )
        .min(1)
        .max(MAX_EDITS)
        .describe('The replacements, in the order in which they are made.'),
      dryRun: z.boolean().default(false).describe('Show what would change, and change nothing.'),
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
        `${file.path} has ${file.sizeBytes} bytes; edit_file takes files of ${MAX_EDIT_FILE_BYTES} bytes at most.`,
      );
    const before = textOf(file.path, await readBytes(file.handle, 0, file.sizeBytes));
    return unifiedDiff(file.path, before, await applyEdits(before, edits, signal));
  });
}

function textOf(path: string, bytes: Uint8Array): string {
  const text = decodeText(bytes);
  if (text === undefined) throw new ToolError(notTextOf(path, bytes, bytes.length));
  return text;
}
