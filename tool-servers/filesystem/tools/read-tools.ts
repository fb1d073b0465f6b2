// Tools that read files. They return text once, without structured content, to save tokens.

import { z } from 'zod';
import { defineTool, type ServerTool, type ServerToolOutput } from '../../tool.ts';
import { ToolError } from '../../tool-error.ts';
import type { Confinement } from '../confinement/confinement.ts';
import { inMebibytes, MAX_BLOB_BYTES, MAX_FILES, MAX_TEXT_BYTES } from '../limits.ts';
import { pathToUri } from '../paths/file-uri.ts';
import { mediaTypeOf, mimeTypeOfName } from '../paths/media-type.ts';
import { decodeText, readBytes, readTextPart } from '../text/partial-read.ts';
import { pathParameter, readOnlyHints } from './parameters.ts';

const textInput = z.strictObject({
  path: pathParameter('File to read.'),
  head: z.number().int().min(1).optional().describe('Number of first lines to read.'),
  tail: z.number().int().min(1).optional().describe('Number of last lines to read.'),
  offset: z
    .number()
    .int()
    .min(0)
    .optional()
    .describe('First byte to read. A truncated result states the next offset.'),
  length: z
    .number()
    .int()
    .min(1)
    .optional()
    .describe('Number of bytes to read from offset, or from the start.'),
});

const textLimits = `Returns up to ${inMebibytes(MAX_TEXT_BYTES)}; a longer file is truncated, with a note on how to continue. head and tail are fast for files of any size. The text is unchanged, without line numbers. UTF-8 only; for images, audio and other bytes use read_media_file.`;

export function readTools(confinement: Confinement): ServerTool[] {
  const readText = (input: z.output<typeof textInput>) =>
    confinement.read(input.path, async (file): Promise<ServerToolOutput<never>> => {
      const { text, note } = await readTextPart(file, input, MAX_TEXT_BYTES);
      return { text, ...(note !== undefined && { content: [{ type: 'text', text: `(${note})` }] }) };
    });
  return [
    defineTool({
      name: 'read_file',
      title: 'Read file',
      description: `Read a text file: the whole file, its first lines (head), its last lines (tail), or a byte range (offset, length). ${textLimits}`,
      input: textInput,
      hints: readOnlyHints,
      run: readText,
    }),
    defineTool({
      name: 'read_text_file',
      title: 'Read text file',
      description:
        'Same as read_file, under the name that newer clients use: reads a UTF-8 text file, or a part of it with head, tail, or offset and length.',
      input: textInput,
      hints: readOnlyHints,
      run: readText,
    }),
    defineTool({
      name: 'read_multiple_files',
      title: 'Read several files',
      description: `Read up to ${MAX_FILES} text files. Each is returned as a separate content item that starts with its path; a file that cannot be read returns an error and does not affect other files. Total limit: ${inMebibytes(MAX_TEXT_BYTES)}; text above it is truncated or omitted, with a note.`,
      input: z.strictObject({
        paths: z
          .array(pathParameter('File to read.'))
          .min(1)
          .max(MAX_FILES)
          .describe('Files to read; results are in this order.'),
      }),
      hints: readOnlyHints,
      run: ({ paths }, { signal }) => readSeveral(confinement, paths, signal),
    }),
    defineTool({
      name: 'read_media_file',
      title: 'Read media file',
      description: `Read an image or audio file as media content, or any other file as bytes. Limit: ${inMebibytes(MAX_BLOB_BYTES)}; read larger files in ranges with offset and length, which are returned as plain bytes. The type is detected from the content, not the name. For text use read_file.`,
      input: z.strictObject({
        path: pathParameter('File to read.'),
        offset: z
          .number()
          .int()
          .min(0)
          .optional()
          .describe('First byte to read; ranges are returned as plain bytes.'),
        length: z.number().int().min(1).max(MAX_BLOB_BYTES).optional().describe('Number of bytes to read.'),
      }),
      hints: readOnlyHints,
      run: (input) => readMedia(confinement, input),
    }),
  ];
}

async function readSeveral(
  confinement: Confinement,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ServerToolOutput<never>> {
  const pieces: string[] = [];
  const failures: string[] = [];
  let budget = MAX_TEXT_BYTES;
  for (const path of paths) {
    signal.throwIfAborted();
    try {
      if (budget <= 0)
        throw new ToolError(
          `omitted, because the previous files reach the limit of ${inMebibytes(MAX_TEXT_BYTES)}. Read it separately.`,
        );
      const { text, bytes, note } = await confinement.read(path, (file) => readTextPart(file, {}, budget));
      budget -= bytes;
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
  {
    path: requestedPath,
    offset,
    length,
  }: { path: string; offset?: number | undefined; length?: number | undefined },
): Promise<ServerToolOutput<never>> {
  return confinement.read(requestedPath, async ({ path, sizeBytes, handle }) => {
    const isRange = offset !== undefined || length !== undefined;
    if (!isRange && sizeBytes > MAX_BLOB_BYTES)
      throw new ToolError(
        `${path} has ${sizeBytes} bytes; the limit is ${MAX_BLOB_BYTES}. Read it in ranges with offset and length.`,
      );
    const start = offset ?? 0;
    if (start > sizeBytes)
      throw new ToolError(`Offset ${start} is after the end: ${path} has ${sizeBytes} bytes.`);
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
    const range = isRange ? ` Bytes ${start} to ${start + bytes.length}.` : '';
    return {
      text: `${path}: ${resource.mimeType}, ${sizeBytes} bytes.${range}`,
      content: [{ type: 'resource', resource }],
    };
  });
}
