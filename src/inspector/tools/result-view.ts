// Converts a tool result to redacted parts that the page can show. Limits (A8, ARCHITECTURE.md): MAX_PARTS
// parts, MAX_TEXT characters each, ALL_TEXT in total, MAX_MEDIA for images and sounds. A note replaces an
// omitted part. Images and sounds have a media type that browsers show safely, and valid Base64 data.

import type { Redactor } from '../../../actors/base/errors/redact.ts';
import { redactJson } from '../../../actors/base/errors/redacted-json.ts';
import type { ToolResult } from '../../../actors/mcp/clients/tool-request.ts';
import type { ResultPart, ResultView } from '../wire/tools.ts';

const MAX_PARTS = 100;
const MAX_TEXT = 100_000;
const ALL_TEXT = 400_000;
/** Total size, in characters of Base64. */
const MAX_MEDIA = 8_000_000;
const MAX_NAME = 500;
const MAX_URI = 2_000;

const types = {
  image: new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  audio: new Set([
    'audio/wav',
    'audio/x-wav',
    'audio/wave',
    'audio/mpeg',
    'audio/mp3',
    'audio/ogg',
    'audio/webm',
    'audio/mp4',
    'audio/flac',
  ]),
} as const;
const PADDING = /={1,2}$/;
const NOT_BASE64 = /[^A-Za-z0-9+/]/;

type BlockMembers = Readonly<Record<string, unknown>>;

export function createResultView(
  { content, structuredContent, isError }: ToolResult,
  redactor: Redactor,
): ResultView {
  const views = new PartViews(redactor);
  const all: readonly unknown[] = Array.isArray(content) ? content : [];
  const parts = all.slice(0, MAX_PARTS).map((part) => views.part(part));
  if (all.length > MAX_PARTS)
    parts.push({ kind: 'note', text: `${all.length - MAX_PARTS} more parts omitted` });
  return {
    is_error: isError === true,
    parts,
    structured: structuredContent === undefined ? null : views.json(structuredContent),
  };
}

class PartViews {
  readonly #redactor: Redactor;
  #textLeft = ALL_TEXT;
  #mediaLeft = MAX_MEDIA;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  part(part: unknown): ResultPart {
    if (!isObject(part)) return { kind: 'note', text: 'invalid part: not an object' };
    switch (part.type) {
      case 'text':
        return { kind: 'text', text: this.#text(part.text) };
      case 'image':
      case 'audio':
        return this.#media(part.type, part.mimeType, part.data);
      case 'resource_link':
        return {
          kind: 'link',
          name: this.#short(part.title ?? part.name, MAX_NAME),
          uri: this.#short(part.uri, MAX_URI),
          type: this.#short(part.mimeType, MAX_NAME),
          description: this.#short(part.description, MAX_URI),
        };
      case 'resource':
        return this.#resource(isObject(part.resource) ? part.resource : {});
      default:
        return { kind: 'note', text: `unsupported part type: ${this.#short(part.type, 100)}` };
    }
  }

  /** Formats any value as JSON, with secrets redacted. */
  json(value: unknown): string {
    try {
      return this.#text(
        JSON.stringify(
          redactJson(value, (text) => this.#redactor.redact(text)),
          null,
          2,
        ),
      );
    } catch {
      return 'nested too deeply to show';
    }
  }

  #resource({ uri, mimeType, text, blob }: BlockMembers): ResultPart {
    if (typeof text === 'string')
      return {
        kind: 'resource',
        uri: this.#short(uri, MAX_URI),
        type: this.#short(mimeType, MAX_NAME),
        text: this.#text(text),
      };
    const media = typeof mimeType === 'string' && mimeType.startsWith('audio/') ? 'audio' : 'image';
    if (typeof mimeType === 'string' && types[media].has(mimeType)) return this.#media(media, mimeType, blob);
    const summary = `resource ${this.#short(uri, MAX_URI)} of type ${this.#short(mimeType, MAX_NAME) || 'unknown'}`;
    return { kind: 'note', text: `${summary}, ${sizeOf(blob)}` };
  }

  #media(kind: 'image' | 'audio', mimeType: unknown, data: unknown): ResultPart {
    const type = typeof mimeType === 'string' ? mimeType.toLowerCase() : '';
    const noun = kind === 'image' ? 'image' : 'sound';
    const summary = `${noun} of type ${this.#short(mimeType, 100) || 'unknown'}, ${sizeOf(data)}`;
    if (!types[kind].has(type)) return { kind: 'note', text: `${summary}: unsupported type` };
    if (typeof data !== 'string' || data.length > this.#mediaLeft)
      return { kind: 'note', text: `${summary}: too large to show` };
    if (!isBase64(data)) return { kind: 'note', text: `${summary}: invalid Base64` };
    this.#mediaLeft -= data.length;
    return { kind, type, data };
  }

  #text(value: unknown): string {
    if (typeof value !== 'string') return '';
    const maxChars = Math.min(MAX_TEXT, this.#textLeft);
    const excerpt = this.#redactor.excerpt(value, maxChars);
    this.#textLeft -= Math.min(maxChars, value.length);
    return value.length > maxChars
      ? `${excerpt}\n(truncated: ${value.length - maxChars} more characters)`
      : excerpt;
  }

  #short(value: unknown, maxChars: number): string {
    return typeof value === 'string' ? this.#redactor.excerpt(value, maxChars) : '';
  }
}

function sizeOf(data: unknown): string {
  return `${typeof data === 'string' ? Buffer.byteLength(data, 'base64') : 0} bytes`;
}

function isObject(value: unknown): value is BlockMembers {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Searches for an invalid character: a pattern for the whole text could backtrack over millions of
 * characters.
 */
function isBase64(text: string): boolean {
  const padding = PADDING.exec(text.slice(-2))?.[0].length ?? 0;
  return text.length > padding && !NOT_BASE64.test(text.slice(0, text.length - padding));
}
