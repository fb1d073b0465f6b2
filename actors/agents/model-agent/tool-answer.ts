// The result of a tool as a model is told it: texts as they are, and of what is no text that it was there.
//
// TAN1 (A8)  a result has at most MAX_BYTES, whatever a server gives, its refusal of a call too; what is cut is said, so that a model
//           asks for less instead of taking a part for the whole.

import type { ToolResult } from '../../mcp/clients/tool-request.ts';
import type { ToolAnswer } from './tool-box.ts';

/** In UTF-8, with what is said of the cut. */
const MAX_BYTES = 65_536;
/** For the words about a cut. */
const NOTE_BYTES = 100;
const MAX_NAME = 500;

type Members = Readonly<Record<string, unknown>>;

export function toolAnswer({ content, structuredContent, isError }: ToolResult): ToolAnswer {
  const parts = Array.isArray(content) ? content : [];
  const hasText = parts.some((part) => isObject(part) && typeof part.text === 'string' && part.text !== '');
  const data = !hasText && structuredContent !== undefined ? [JSON.stringify(structuredContent)] : [];
  const text = [...parts.map(textOf), ...data].filter((part) => part !== '').join('\n');
  return { text: boundedText(text === '' ? '(no content)' : text), isError: isError === true };
}

function textOf(part: unknown): string {
  if (!isObject(part)) return '';
  switch (part.type) {
    case 'text':
      return wordsOf(part.text);
    case 'image':
    case 'audio':
      return `(${part.type}${kindOf(part)}, ${sizeOf(part.data)})`;
    case 'resource_link':
      return `(resource ${nameOf(part)}${kindOf(part)})`;
    case 'resource':
      return isObject(part.resource) ? resourceText(part.resource) : '';
    default:
      return '(content that is not shown)';
  }
}

function resourceText(resource: Members): string {
  const name = `resource ${nameOf(resource)}${kindOf(resource)}`;
  return typeof resource.text === 'string'
    ? `(${name})\n${resource.text}`
    : `(${name}, ${sizeOf(resource.blob)})`;
}

function nameOf({ name, uri }: Members): string {
  return [wordsOf(name), wordsOf(uri)]
    .filter((word) => word !== '')
    .join(' ')
    .slice(0, MAX_NAME);
}

function kindOf({ mimeType }: Members): string {
  return typeof mimeType === 'string' ? ` of type ${mimeType.slice(0, MAX_NAME)}` : '';
}

/** Of what is given in Base64. */
function sizeOf(data: unknown): string {
  return `${typeof data === 'string' ? Buffer.byteLength(data, 'base64') : 0} bytes`;
}

function wordsOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** As much of it as a result may have, cut between two characters. Half of a pair is replaced: no provider takes it. */
export function boundedText(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= MAX_BYTES) return bytes.toString('utf8');
  let end = MAX_BYTES - NOTE_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  const left = bytes.length - end;
  return `${bytes.toString('utf8', 0, end)}\n(cut here: ${left} of ${bytes.length} bytes are left out; ask for less at once)`;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}
