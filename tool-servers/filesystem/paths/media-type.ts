// What kind of content a file holds. Images and sound are known by their first bytes, never by their name: a client hands
// them to a model with the type that stands here, and a page of HTML called .png would break its conversation.

import { extname } from 'node:path';

/** Enough of the beginning for `mediaTypeOf`. */
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

const pictures = new Set(['.avif', '.bmp', '.gif', '.jpeg', '.jpg', '.png', '.webp']);
const sounds = new Set(['.aac', '.flac', '.m4a', '.mp3', '.oga', '.ogg', '.wav']);

export interface MediaType {
  /** How MCP carries it; `other` has no kind of its own. */
  readonly kind: 'image' | 'audio' | 'other';
  readonly mimeType: string;
}

/** The type of a file that begins with `bytes`; of what is not known by its bytes, what its name says. */
export function mediaTypeOf(name: string, bytes: Uint8Array): MediaType {
  const start = Buffer.from(bytes.subarray(0, SNIFF_BYTES)).toString('latin1');
  const found = signatures.find(({ pattern }) => pattern.test(start));
  if (found) return found.type;
  return { kind: 'other', mimeType: mimeTypeOfName(name) ?? 'application/octet-stream' };
}

/** What a name promises, apart from images and sound that must prove it; undefined when it promises nothing. */
export function mimeTypeOfName(name: string): string | undefined {
  const extension = extname(name).toLowerCase();
  if (pictures.has(extension) || sounds.has(extension)) return undefined;
  return typesByExtension[extension];
}

const signatures: readonly { pattern: RegExp; type: MediaType }[] = [
  image(/^\x89PNG\r\n\p{Cc}\n/u, 'image/png'),
  image(/^\xff\xd8\xff/, 'image/jpeg'),
  image(/^GIF8[79]a/, 'image/gif'),
  image(/^RIFF[\s\S]{4}WEBP/, 'image/webp'),
  image(/^BM[\s\S]{4}\0{4}/, 'image/bmp'),
  image(/^[\s\S]{4}ftypavif/, 'image/avif'),
  sound(/^RIFF[\s\S]{4}WAVE/, 'audio/wav'),
  sound(/^OggS/, 'audio/ogg'),
  sound(/^fLaC/, 'audio/flac'),
  // A version comes next; in text that begins like that there is a letter or white space.
  sound(/^ID3[^\P{Cc}\s]/u, 'audio/mpeg'),
  sound(/^\xff[\xf2\xf3\xfa\xfb]/, 'audio/mpeg'),
  sound(/^\xff[\xf0\xf1\xf8\xf9]/, 'audio/aac'),
  sound(/^[\s\S]{4}ftypM4A/, 'audio/mp4'),
];

function image(pattern: RegExp, mimeType: string) {
  return { pattern, type: { kind: 'image' as const, mimeType } };
}

function sound(pattern: RegExp, mimeType: string) {
  return { pattern, type: { kind: 'audio' as const, mimeType } };
}
