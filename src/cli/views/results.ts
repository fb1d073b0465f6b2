// Formats results of MCP servers: tool results, resource contents and prompt messages. Text is printed. For
// images, audio and binary data, only type and size are printed; --output saves them.

import { isSame } from '../../../config/value-schema/schema-parts.ts';
import { jsonForTerminal, printable, printableLines } from '../../terminal/terminal-text.ts';
import { recordOf } from '../mcp/schema-fields.ts';

/** Image, audio or binary data in a result. */
export interface Attachment {
  readonly type: string;
  readonly bytes: Buffer;
}

export interface FormattedResult {
  readonly lines: readonly string[];
  readonly attachments: readonly Attachment[];
  /** Complete text of the result, for --output. */
  readonly text: string;
}

type FormattedPart = {
  readonly lines: readonly string[];
  readonly attachment?: Attachment;
  readonly text?: string;
};

/** Formats a tool result. `isIndented`: JSON is indented. */
export function formatResult(
  result: Readonly<Record<string, unknown>>,
  isIndented: boolean,
): FormattedResult {
  const { structuredContent } = result;
  const content = Array.isArray(result.content) ? result.content.map(recordOf) : [];
  if (structuredContent !== undefined && onlyWrapsText(structuredContent, content))
    return joinParts(content.map(formatPart));
  // For older clients, servers repeat structured content as text; print it once.
  const unrepeatedContent = content.filter(
    ({ text }) => structuredContent === undefined || !isSameJson(text, structuredContent),
  );
  const parts = unrepeatedContent.map(formatPart);
  if (structuredContent !== undefined) {
    const json = JSON.stringify(structuredContent, undefined, isIndented ? 2 : undefined);
    parts.push({ lines: [jsonForTerminal(json)], text: json });
  }
  return joinParts(parts);
}

/** Formats the contents of `resources/read`. */
export function formatContents(result: Readonly<Record<string, unknown>>): FormattedResult {
  const contents = Array.isArray(result.contents) ? result.contents.map(recordOf) : [];
  return joinParts(contents.map((each) => formatContent(each, { hasTitle: contents.length > 1 })));
}

/** Formats the messages of `prompts/get`. */
export function formatMessages(result: Readonly<Record<string, unknown>>): FormattedResult {
  const messages = Array.isArray(result.messages) ? result.messages.map(recordOf) : [];
  return joinParts(
    messages.map(({ role, content }) => {
      const part = formatPart(recordOf(content));
      return {
        ...part,
        lines: [
          `${printable(String(role))}:`,
          ...part.lines.map((line) => `  ${line.replaceAll('\n', '\n  ')}`),
        ],
      };
    }),
  );
}

/** Returns a size such as `1.2 kB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [size, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}

function joinParts(parts: readonly FormattedPart[]): FormattedResult {
  return {
    lines: parts.flatMap(({ lines }) => lines),
    attachments: parts.flatMap(({ attachment }) => attachment ?? []),
    text: parts.flatMap(({ text }) => text ?? []).join('\n'),
  };
}

/** Returns true if the structured content is only the text in an object: `{"content":"…"}`. */
function onlyWrapsText(structured: unknown, content: readonly Readonly<Record<string, unknown>>[]): boolean {
  const [only, ...more] = Object.values(recordOf(structured));
  const text = content.map((part) => part.text).join('\n');
  return (
    more.length === 0 && text !== '' && (only === text || (typeof only !== 'object' && String(only) === text))
  );
}

function isSameJson(text: unknown, structured: unknown): boolean {
  if (typeof text !== 'string') return false;
  try {
    return isSame(JSON.parse(text), structured);
  } catch {
    return false;
  }
}

function formatPart(part: Readonly<Record<string, unknown>>): FormattedPart {
  const { type, text, data, mimeType } = part;
  if (type === 'text') return textPart(text);
  if (type === 'image' || type === 'audio') return bytesPart(type, data, mimeType);
  if (type === 'resource') return formatContent(recordOf(part.resource), { hasTitle: true });
  if (type === 'resource_link') return { lines: [linkLine(part)] };
  return { lines: [jsonForTerminal(JSON.stringify(part))] };
}

function textPart(text: unknown): FormattedPart {
  const whole = String(text ?? '');
  return { lines: [printableLines(whole).replace(/\n$/, '')], text: whole };
}

function bytesPart(kind: string, data: unknown, mimeType: unknown, uri?: unknown): FormattedPart {
  const bytes = Buffer.from(String(data ?? ''), 'base64');
  const type = typeof mimeType === 'string' ? mimeType : 'unknown type';
  const where = uri === undefined ? '' : ` ${String(uri)}`;
  const line = printable(`[${kind}${where}: ${type}, ${sizeText(bytes.length)}; --output FILE saves it]`);
  return { lines: [line], attachment: { type, bytes } };
}

/** Formats a resource's content. `hasTitle`: the first line is the resource's address. */
function formatContent(
  { uri, mimeType, text, blob }: Readonly<Record<string, unknown>>,
  { hasTitle }: { readonly hasTitle: boolean },
): FormattedPart {
  if (typeof blob === 'string') return bytesPart('resource', blob, mimeType, uri);
  const part = textPart(text);
  const name = printable(`[resource ${String(uri)}${mimeType === undefined ? '' : `: ${String(mimeType)}`}]`);
  return hasTitle ? { ...part, lines: [name, ...part.lines] } : part;
}

function linkLine({ uri, name, mimeType, description }: Readonly<Record<string, unknown>>): string {
  const words = [name, mimeType, description].filter((word) => typeof word === 'string' && word !== '');
  return printable(`[link ${String(uri)}${words.length === 0 ? '' : `: ${words.join(', ')}`}]`);
}
