// The tools that give the content of files. Text comes once, as text: no structured copy doubles what a model has to read.

import { z } from 'zod';
import { defineTool, type Tool, type ToolAnswer } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { inMebibytes, MAX_BLOB_BYTES, MAX_FILES, MAX_TEXT_BYTES } from '../limits.ts';
import { pathToUri } from '../paths/file-uri.ts';
import { mediaTypeOf, mimeTypeOfName } from '../paths/media-type.ts';
import { decodeText, readBytes, readTextPart } from '../text/text-part.ts';
import { pathOf, readingHints } from './parameters.ts';

const textInput = z.strictObject({
  path: pathOf('The file to read.'),
  head: z.number().int().min(1).optional().describe('Only so many lines from the beginning.'),
  tail: z.number().int().min(1).optional().describe('Only so many lines up to the end.'),
  offset: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('Only from this byte on; a range that was cut says the next one.'),
  length: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Only so many bytes from offset on, or from the beginning.'),
});

const textLimits = `At most ${inMebibytes(MAX_TEXT_BYTES)} comes in one answer: of a longer file the beginning, with a note that says how to go on. head and tail read only what they give, so they are quick on files of any size. The text comes exactly as it stands in the file, without line numbers. UTF-8 only; for images, sound and other bytes use read_media_file.`;

export function readTools(confinement: Confinement): Tool[] {
  const runRead = (input: z.output<typeof textInput>) =>
    confinement.read(input.path, async (file): Promise<ToolAnswer<never>> => {
      const { text, note } = await readTextPart(file, input, MAX_TEXT_BYTES);
      return { text, ...(note !== undefined && { content: [{ type: 'text', text: `(${note})` }] }) };
    });
  return [
    defineTool({
      name: 'read_file',
      title: 'Read file',
      description: `Read a text file: whole, its first lines (head), its last lines (tail), or a range of bytes (offset, length). ${textLimits}`,
      input: textInput,
      hints: readingHints,
      run: runRead,
    }),
    defineTool({
      name: 'read_text_file',
      title: 'Read text file',
      description:
        'The same as read_file, under the name that newer clients know: a UTF-8 text file whole, or in part by head, tail, or offset and length.',
      input: textInput,
      hints: readingHints,
      run: runRead,
    }),
    defineTool({
      name: 'read_multiple_files',
      title: 'Read several files',
      description: `Read several text files at once, ${MAX_FILES} at most. Each comes as a piece of its own that begins with its path; a file that cannot be read says why and does not stop the others. Together they may have ${inMebibytes(MAX_TEXT_BYTES)}: what is beyond is cut or left out, and says so.`,
      input: z.strictObject({
        paths: z
          .array(pathOf('A file to read.'))
          .min(1)
          .max(MAX_FILES)
          .describe('The files to read, in the order in which they come back.'),
      }),
      hints: readingHints,
      run: ({ paths }, { signal }) => readSeveral(confinement, paths, signal),
    }),
    defineTool({
      name: 'read_media_file',
      title: 'Read media file',
      description: `Read an image or a sound file so that you can see or hear it, or any other file as bytes. ${inMebibytes(MAX_BLOB_BYTES)} at most; of a larger file take ranges with offset and length, which come as plain bytes. The type is told from the content, not from the name. For text use read_file.`,
      input: z.strictObject({
        path: pathOf('The file to read.'),
        offset: z
          .number()
          .int()
          .min(0)
          .optional()
          .describe('Only from this byte on, as bytes without a kind.'),
        length: z.number().int().min(1).max(MAX_BLOB_BYTES).optional().describe('Only so many bytes.'),
      }),
      hints: readingHints,
      run: (input) => readMedia(confinement, input),
    }),
  ];
}

async function readSeveral(
  confinement: Confinement,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ToolAnswer<never>> {
  const pieces: string[] = [];
  const failures: string[] = [];
  let room = MAX_TEXT_BYTES;
  for (const path of paths) {
    signal.throwIfAborted();
    try {
      if (room <= 0)
        throw new ToolError(
          `left out, as the files before it have ${inMebibytes(MAX_TEXT_BYTES)} already. Read it alone.`,
        );
      const { text, bytes, note } = await confinement.read(path, (file) => readTextPart(file, {}, room));
      room -= bytes;
      pieces.push(`${path}:\n${text}${note === undefined ? '' : `\n(${note})`}`);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      const failure = `${path}: Error - ${error.message}`;
      failures.push(failure);
      pieces.push(failure);
    }
  }
  if (failures.length === paths.length) throw new ToolError(failures.join('\n'));
  const [first = '', ...others] = pieces;
  return { text: first, content: others.map((text) => ({ type: 'text', text })) };
}

function readMedia(
  confinement: Confinement,
  { path: given, offset, length }: { path: string; offset?: number | undefined; length?: number | undefined },
): Promise<ToolAnswer<never>> {
  return confinement.read(given, async ({ path, sizeBytes, handle }) => {
    const isRange = offset !== undefined || length !== undefined;
    if (!isRange && sizeBytes > MAX_BLOB_BYTES)
      throw new ToolError(
        `${path} has ${sizeBytes} bytes; one answer holds ${MAX_BLOB_BYTES}. Take ranges of it with offset and length.`,
      );
    const start = offset ?? 0;
    if (start > sizeBytes)
      throw new ToolError(`Offset ${start} is behind the end: ${path} has ${sizeBytes} bytes.`);
    const bytes = await readBytes(handle, start, Math.min(length ?? MAX_BLOB_BYTES, sizeBytes - start));
    const { kind, mimeType } = isRange
      ? { kind: 'other' as const, mimeType: 'application/octet-stream' }
      : mediaTypeOf(path, bytes);
    const data = bytes.toString('base64');
    if (kind !== 'other')
      return { text: `${path}: ${mimeType}, ${sizeBytes} bytes.`, content: [{ type: kind, data, mimeType }] };
    const uri = pathToUri(path);
    const text = isRange || bytes.length > MAX_TEXT_BYTES ? undefined : decodeText(bytes);
    const resource =
      text === undefined
        ? { uri, mimeType, blob: data }
        : { uri, mimeType: mimeTypeOfName(path) ?? 'text/plain', text };
    const range = isRange ? ` Bytes from ${start} to ${start + bytes.length} of them.` : '';
    return {
      text: `${path}: ${resource.mimeType}, ${sizeBytes} bytes.${range}`,
      content: [{ type: 'resource', resource }],
    };
  });
}
