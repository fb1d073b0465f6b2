// What a server gives, for people: the result of a tool, the contents of a resource, the messages of a prompt. Text is printed as text;
// of pictures, sounds and bytes their type and size are said, and they can be saved.

import { isSame } from '../../../config/value-schema/schema-parts.ts';
import { jsonForTerminal, printable, printableLines } from '../../terminal/terminal-text.ts';
import { recordOf } from '../mcp/schema-fields.ts';

/** A part that is no text. */
export interface Attachment {
  readonly type: string;
  readonly bytes: Buffer;
}

export interface ShownResult {
  readonly lines: readonly string[];
  readonly attachments: readonly Attachment[];
  /** All of its text, as it came. */
  readonly text: string;
}

type Part = { readonly lines: readonly string[]; readonly attachment?: Attachment; readonly text?: string };

/** `isIndented`: JSON is for a person. */
export function shownResult(result: Readonly<Record<string, unknown>>, isIndented: boolean): ShownResult {
  const { structuredContent } = result;
  const content = Array.isArray(result.content) ? result.content.map(recordOf) : [];
  if (structuredContent !== undefined && wrapsText(structuredContent, content))
    return joined(content.map(shownPart));
  // Servers repeat it as text, for clients that know nothing else.
  const own = content.filter(
    ({ text }) => structuredContent === undefined || !repeats(text, structuredContent),
  );
  const parts = own.map(shownPart);
  if (structuredContent !== undefined) {
    const json = JSON.stringify(structuredContent, undefined, isIndented ? 2 : undefined);
    parts.push({ lines: [jsonForTerminal(json)], text: json });
  }
  return joined(parts);
}

/** The contents that `resources/read` gives. */
export function shownContents(result: Readonly<Record<string, unknown>>): ShownResult {
  const contents = Array.isArray(result.contents) ? result.contents.map(recordOf) : [];
  return joined(contents.map((each) => shownContent(each, contents.length > 1)));
}

/** The messages that `prompts/get` gives. */
export function shownMessages(result: Readonly<Record<string, unknown>>): ShownResult {
  const messages = Array.isArray(result.messages) ? result.messages.map(recordOf) : [];
  return joined(
    messages.map(({ role, content }) => {
      const part = shownPart(recordOf(content));
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

/** `1.2 kB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const [size, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}

function joined(parts: readonly Part[]): ShownResult {
  return {
    lines: parts.flatMap(({ lines }) => lines),
    attachments: parts.flatMap(({ attachment }) => attachment ?? []),
    text: parts.flatMap(({ text }) => text ?? []).join('\n'),
  };
}

/** Nothing but the text itself, as the only member of an object: `{"content":"…"}`. */
function wrapsText(structured: unknown, content: readonly Readonly<Record<string, unknown>>[]): boolean {
  const [only, ...more] = Object.values(recordOf(structured));
  const text = content.map((part) => part.text).join('\n');
  return (
    more.length === 0 && text !== '' && (only === text || (typeof only !== 'object' && String(only) === text))
  );
}

function repeats(text: unknown, structured: unknown): boolean {
  if (typeof text !== 'string') return false;
  try {
    return isSame(JSON.parse(text), structured);
  } catch {
    return false;
  }
}

function shownPart(part: Readonly<Record<string, unknown>>): Part {
  const { type, text, data, mimeType } = part;
  if (type === 'text') return textPart(text);
  if (type === 'image' || type === 'audio') return bytesPart(type, data, mimeType);
  if (type === 'resource') return shownContent(recordOf(part.resource), true);
  if (type === 'resource_link') return { lines: [linkLine(part)] };
  return { lines: [jsonForTerminal(JSON.stringify(part))] };
}

function textPart(text: unknown): Part {
  const whole = String(text ?? '');
  return { lines: [printableLines(whole).replace(/\n$/, '')], text: whole };
}

function bytesPart(kind: string, data: unknown, mimeType: unknown, uri?: unknown): Part {
  const bytes = Buffer.from(String(data ?? ''), 'base64');
  const type = typeof mimeType === 'string' ? mimeType : 'of no type';
  const where = uri === undefined ? '' : ` ${String(uri)}`;
  const line = printable(`[${kind}${where}: ${type}, ${sizeText(bytes.length)}; --output FILE saves it]`);
  return { lines: [line], attachment: { type, bytes } };
}

function shownContent(
  { uri, mimeType, text, blob }: Readonly<Record<string, unknown>>,
  isNamed: boolean,
): Part {
  if (typeof blob === 'string') return bytesPart('resource', blob, mimeType, uri);
  const part = textPart(text);
  const name = printable(`[resource ${String(uri)}${mimeType === undefined ? '' : `: ${String(mimeType)}`}]`);
  return isNamed ? { ...part, lines: [name, ...part.lines] } : part;
}

function linkLine({ uri, name, mimeType, description }: Readonly<Record<string, unknown>>): string {
  const words = [name, mimeType, description].filter((word) => typeof word === 'string' && word !== '');
  return printable(`[link ${String(uri)}${words.length === 0 ? '' : `: ${words.join(', ')}`}]`);
}
