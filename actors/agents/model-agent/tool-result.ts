// Converts tool results for models: texts are unchanged, other content is described. Images are also returned
// for models that accept images. Results and call errors are limited to MAX_BYTES, and images to
// MAX_IMAGES_SIZE (A8, ARCHITECTURE.md). A cut result ends with a note, so that the model requests less
// instead of using a partial result.

import type { ResultImage } from '../../../machines/agent-run/journal.ts';
import type { ToolResult } from '../../mcp/clients/tool-request.ts';
import type { ToolBoxAnswer } from './tool-box.ts';

/** Size limit of a received result in JSON: the limits of text and images, with their escapes. */
export const MAX_RESULT_BYTES = 1_572_864;
/** Size limit for a result in UTF-8, including the truncation note. */
const MAX_BYTES = 65_536;
/** Reserved for the truncation note. */
const NOTE_BYTES = 100;
const MAX_NAME = 500;
/** Limits of the images in a result: count, and characters in Base64. */
const MAX_IMAGES = 4;
const MAX_IMAGES_SIZE = 900_000;

type ResultMembers = Readonly<Record<string, unknown>>;

export function convertResult({ content, structuredContent, isError }: ToolResult): ToolBoxAnswer {
  const parts = Array.isArray(content) ? content : [];
  const hasText = parts.some((part) => isObject(part) && typeof part.text === 'string' && part.text !== '');
  const data = !hasText && structuredContent !== undefined ? [JSON.stringify(structuredContent)] : [];
  const text = [...parts.map(textOf), ...data].filter((part) => part !== '').join('\n');
  const answer = { text: limitText(text === '' ? '(no content)' : text), isError: isError === true };
  const images = isError === true ? [] : imagesIn(parts);
  return images.length === 0 ? answer : { ...answer, images };
}

/** Beginnings of the formats that models accept, in Base64. Declared types are often wrong. */
const formats: readonly (readonly [start: string, mediaType: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
];

/** Returns the first images within the limits. */
function imagesIn(parts: readonly unknown[]): readonly ResultImage[] {
  const images: ResultImage[] = [];
  let size = 0;
  for (const part of parts) {
    const data = isObject(part) && part.type === 'image' ? stringOf(part.data) : '';
    const mediaType = formats.find(([start]) => data.startsWith(start))?.[1];
    if (mediaType === undefined || size + data.length > MAX_IMAGES_SIZE || !isBase64(data)) continue;
    size += data.length;
    images.push({ mediaType, data });
    if (images.length === MAX_IMAGES) break;
  }
  return images;
}

const isBase64 = (data: string) => data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);

function textOf(part: unknown): string {
  if (!isObject(part)) return '';
  switch (part.type) {
    case 'text':
      return stringOf(part.text);
    case 'image':
    case 'audio':
      return `(${part.type}${kindOf(part)}, ${sizeOf(part.data)})`;
    case 'resource_link':
      return `(resource ${nameOf(part)}${kindOf(part)})`;
    case 'resource':
      return isObject(part.resource) ? resourceText(part.resource) : '';
    default:
      return '(content of an unknown type)';
  }
}

function resourceText(resource: ResultMembers): string {
  const name = `resource ${nameOf(resource)}${kindOf(resource)}`;
  return typeof resource.text === 'string'
    ? `(${name})\n${resource.text}`
    : `(${name}, ${sizeOf(resource.blob)})`;
}

function nameOf({ name, uri }: ResultMembers): string {
  return [stringOf(name), stringOf(uri)]
    .filter((part) => part !== '')
    .join(' ')
    .slice(0, MAX_NAME);
}

function kindOf({ mimeType }: ResultMembers): string {
  return typeof mimeType === 'string' ? ` of type ${mimeType.slice(0, MAX_NAME)}` : '';
}

/** Returns the size of Base64 data. */
function sizeOf(data: unknown): string {
  return `${typeof data === 'string' ? Buffer.byteLength(data, 'base64') : 0} bytes`;
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * Cuts a text to the limit, not within a character. The conversion to UTF-8 replaces unpaired surrogates,
 * which no provider accepts.
 */
export function limitText(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= MAX_BYTES) return bytes.toString('utf8');
  let end = MAX_BYTES - NOTE_BYTES;
  // Moves back from the middle of the character: 0b10xxxxxx is a continuation byte of UTF-8.
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const omittedBytes = bytes.length - end;
  return `${bytes.toString('utf8', 0, end)}\n(truncated: ${omittedBytes} of ${bytes.length} bytes omitted; request less at a time)`;
}

function isObject(value: unknown): value is ResultMembers {
  return typeof value === 'object' && value !== null;
}
