// The result of a tool as the page shows it: bounded, redacted, and in kinds of parts that the page knows how to show.
//
// SRS1 (A8)  MAX_PARTS parts, MAX_TEXT characters of each and ALL_TEXT of all, MAX_MEDIA of images and sounds. What is left out is told.
// SRS2       a picture or a sound is of one of the types that a browser shows as such, and its data is Base64 and nothing else.

import type { Redactor } from '../../../actors/base/errors/redact.ts';
import { redactedJson } from '../../../actors/base/errors/redacted-json.ts';
import type { ToolResult } from '../../../actors/mcp/clients/tool-request.ts';
import type { ShownPart, ShownResult } from '../wire/tool-wire.ts';

const MAX_PARTS = 100;
const MAX_TEXT = 100_000;
const ALL_TEXT = 400_000;
/** In Base64, of all together. */
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

type Members = Readonly<Record<string, unknown>>;

export function shownResult(
  { content, structuredContent, isError }: ToolResult,
  redactor: Redactor,
): ShownResult {
  const shown = new ShownParts(redactor);
  const all: readonly unknown[] = Array.isArray(content) ? content : [];
  const parts = all.slice(0, MAX_PARTS).map((part) => shown.part(part));
  if (all.length > MAX_PARTS)
    parts.push({ kind: 'note', text: `and ${all.length - MAX_PARTS} more parts that are not shown` });
  return {
    is_error: isError === true,
    parts,
    structured: structuredContent === undefined ? null : shown.json(structuredContent),
  };
}

class ShownParts {
  readonly #redactor: Redactor;
  #textLeft = ALL_TEXT;
  #mediaLeft = MAX_MEDIA;

  constructor(redactor: Redactor) {
    this.#redactor = redactor;
  }

  part(part: unknown): ShownPart {
    if (!isObject(part)) return { kind: 'note', text: 'a part that is no object' };
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
        return { kind: 'note', text: `a part of a type that is not shown: ${this.#short(part.type, 100)}` };
    }
  }

  /** Of any value, with secrets struck out. */
  json(value: unknown): string {
    try {
      return this.#text(
        JSON.stringify(
          redactedJson(value, (text) => this.#redactor.redact(text)),
          null,
          2,
        ),
      );
    } catch {
      return 'it is nested too deeply to be shown';
    }
  }

  #resource({ uri, mimeType, text, blob }: Members): ShownPart {
    if (typeof text === 'string')
      return {
        kind: 'resource',
        uri: this.#short(uri, MAX_URI),
        type: this.#short(mimeType, MAX_NAME),
        text: this.#text(text),
      };
    const media = typeof mimeType === 'string' && mimeType.startsWith('audio/') ? 'audio' : 'image';
    if (typeof mimeType === 'string' && types[media].has(mimeType)) return this.#media(media, mimeType, blob);
    const what = `the resource ${this.#short(uri, MAX_URI)} of type ${this.#short(mimeType, MAX_NAME) || 'unknown'}`;
    return { kind: 'note', text: `${what}, ${sizeOf(blob)}` };
  }

  #media(kind: 'image' | 'audio', mimeType: unknown, data: unknown): ShownPart {
    const type = typeof mimeType === 'string' ? mimeType.toLowerCase() : '';
    const what = kind === 'image' ? 'an image' : 'a sound';
    const told = `${what} of type ${this.#short(mimeType, 100) || 'unknown'}, ${sizeOf(data)}`;
    if (!types[kind].has(type)) return { kind: 'note', text: `${told}, that is not shown` };
    if (typeof data !== 'string' || data.length > this.#mediaLeft)
      return { kind: 'note', text: `${told}: too large to be shown` };
    if (!isBase64(data)) return { kind: 'note', text: `${told}: its data is no Base64` };
    this.#mediaLeft -= data.length;
    return { kind, type, data };
  }

  #text(value: unknown): string {
    if (typeof value !== 'string') return '';
    const most = Math.min(MAX_TEXT, this.#textLeft);
    const shown = this.#redactor.excerpt(value, most);
    this.#textLeft -= Math.min(most, value.length);
    return value.length > most
      ? `${shown}\n(cut here: ${value.length - most} characters are not shown)`
      : shown;
  }

  #short(value: unknown, most: number): string {
    return typeof value === 'string' ? this.#redactor.excerpt(value, most) : '';
  }
}

function sizeOf(data: unknown): string {
  return `${typeof data === 'string' ? Buffer.byteLength(data, 'base64') : 0} bytes`;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Looked for is what does not belong: a pattern for all of it would keep a way back from each of millions of characters. */
function isBase64(text: string): boolean {
  const padding = PADDING.exec(text.slice(-2))?.[0].length ?? 0;
  return text.length > padding && !NOT_BASE64.test(text.slice(0, text.length - padding));
}
