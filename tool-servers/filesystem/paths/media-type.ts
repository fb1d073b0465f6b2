// Media types of files. Images and audio are recognised by their first bytes, never by name: clients pass
// content and type to a model, and an HTML page declared as a PNG image would break the conversation.

import { extname } from 'node:path';

/** Number of first bytes that `mediaTypeOf` examines. */
export const SNIFF_BYTES = 16;

const typesByExtension: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.gz': 'application/gzip',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.mjs': 'text/javascript',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.svg': 'image/svg+xml',
  '.toml': 'application/toml',
  '.ts': 'text/x-typescript',
  '.tsv': 'text/tab-separated-values',
  '.webm': 'video/webm',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
};

const imageExtensions = new Set(['.avif', '.bmp', '.gif', '.jpeg', '.jpg', '.png', '.webp']);
const audioExtensions = new Set(['.aac', '.flac', '.m4a', '.mp3', '.oga', '.ogg', '.wav']);

export interface MediaType {
  /** MCP content kind; `other` is sent as an embedded resource. */
  readonly kind: 'image' | 'audio' | 'other';
  readonly mimeType: string;
}

/** Detects the type by the first `bytes` of the file; falls back to the file name. */
export function mediaTypeOf(name: string, bytes: Uint8Array): MediaType {
  const start = Buffer.from(bytes.subarray(0, SNIFF_BYTES)).toString('latin1');
  const signature = signatures.find(({ pattern }) => pattern.test(start));
  if (signature) return signature.type;
  return { kind: 'other', mimeType: mimeTypeOfName(name) ?? 'application/octet-stream' };
}

/**
 * Returns the type for a file name. Undefined for unknown extensions, and for images and audio, which only
 * `mediaTypeOf` recognises.
 */
export function mimeTypeOfName(name: string): string | undefined {
  const extension = extname(name).toLowerCase();
  if (imageExtensions.has(extension) || audioExtensions.has(extension)) return undefined;
  return typesByExtension[extension];
}

/** First bytes of the formats, as Latin-1 text. */
const signatures: readonly { pattern: RegExp; type: MediaType }[] = [
  // `\p{Cc}` is the control character 0x1A.
  image(/^\x89PNG\r\n\p{Cc}\n/u, 'image/png'),
  image(/^\xff\xd8\xff/, 'image/jpeg'),
  image(/^GIF8[79]a/, 'image/gif'),
  image(/^RIFF[\s\S]{4}WEBP/, 'image/webp'),
  image(/^BM[\s\S]{4}\0{4}/, 'image/bmp'),
  image(/^[\s\S]{4}ftypavif/, 'image/avif'),
  audio(/^RIFF[\s\S]{4}WAVE/, 'audio/wav'),
  audio(/^OggS/, 'audio/ogg'),
  audio(/^fLaC/, 'audio/flac'),
  // The byte after ID3 is a version number; in text it would be a letter or white space.
  audio(/^ID3[^\P{Cc}\s]/u, 'audio/mpeg'),
  audio(/^\xff[\xf2\xf3\xfa\xfb]/, 'audio/mpeg'),
  audio(/^\xff[\xf0\xf1\xf8\xf9]/, 'audio/aac'),
  audio(/^[\s\S]{4}ftypM4A/, 'audio/mp4'),
];

function image(pattern: RegExp, mimeType: string) {
  return { pattern, type: { kind: 'image' as const, mimeType } };
}

function audio(pattern: RegExp, mimeType: string) {
  return { pattern, type: { kind: 'audio' as const, mimeType } };
}
